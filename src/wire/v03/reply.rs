//! Results and events. In JSON-RPC they are bare and tell what they are by `kind`; in ProtoJSON the name of a member
//! tells it. Both are read in either, and what leaves `kind` out is known by what it holds.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Form, card,
    message::{ReadMessage, WriteMessage},
    part::{JsonPart, ProtoPart},
    push::{ReadTaskConfig, WriteTaskConfig},
    task::{
        ReadArtifactUpdate, ReadStatusUpdate, ReadTask, WriteArtifactUpdate, WriteStatusUpdate, WriteTask,
    },
};
use crate::{
    model::{Fault, PushConfig, Task, Update, proto},
    wire::{
        Method, PushPage, Single,
        read::{answer, bytes},
    },
};

/// What ProtoJSON wraps results and events in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Member<'a> {
    Task(WriteTask<'a>),
    Message(WriteMessage<'a>),
    StatusUpdate(WriteStatusUpdate<'a>),
    ArtifactUpdate(WriteArtifactUpdate<'a>),
}

pub(in crate::wire) fn encode_reply(form: Form, method: Method, reply: &Single<'_>) -> Bytes {
    let wrapped = form == Form::Proto && method == Method::Send;
    let task = |task: &Task| {
        let written = WriteTask::of(form, task);
        if wrapped { bytes(&Member::Task(written)) } else { bytes(&written) }
    };
    match reply {
        Single::Task(whole) => task(whole),
        // Bytes of ours, which we read every day.
        Single::Stored(stored) => {
            serde_json::from_slice(stored).map_or(Bytes::from_static(b"null"), |whole| task(&whole))
        }
        Single::Message(message) => {
            let written = WriteMessage::of(form, message);
            if wrapped { bytes(&Member::Message(written)) } else { bytes(&written) }
        }
        Single::Card(card) => card::encode(card),
        Single::Push(config) => bytes(&WriteTaskConfig::of(form, config)),
        Single::PushPage(page) => {
            let configs = page.configs.iter().map(|config| WriteTaskConfig::of(form, config)).collect();
            match form {
                Form::Json => bytes::<Vec<_>>(&configs),
                Form::Proto => bytes(&WritePage { configs, next_page_token: &page.next_page_token }),
            }
        }
        Single::Null if form == Form::Proto => Bytes::from_static(b"{}"),
        // 0.3 has no pages of tasks, so nobody asked for one.
        Single::Null | Single::Page(_) => Bytes::from_static(b"null"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WritePage<'a> {
    configs: Vec<WriteTaskConfig<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    next_page_token: &'a str,
}

pub(in crate::wire) fn encode_update(form: Form, update: &Update) -> Bytes {
    match form {
        Form::Json => match update {
            Update::Task(task) => bytes(&WriteTask::of(form, task)),
            Update::Message(message) => bytes(&WriteMessage::of(form, message)),
            Update::StatusUpdate(update) => bytes(&WriteStatusUpdate::of(form, update)),
            Update::ArtifactUpdate(update) => bytes(&WriteArtifactUpdate::of(form, update)),
        },
        Form::Proto => bytes(&match update {
            Update::Task(task) => Member::Task(WriteTask::of(form, task)),
            Update::Message(message) => Member::Message(WriteMessage::of(form, message)),
            Update::StatusUpdate(update) => Member::StatusUpdate(WriteStatusUpdate::of(form, update)),
            Update::ArtifactUpdate(update) => Member::ArtifactUpdate(WriteArtifactUpdate::of(form, update)),
        }),
    }
}

pub(in crate::wire) fn decode_reply(
    form: Form,
    method: Method,
    result: &RawValue,
) -> Result<Single<'static>, Fault> {
    let text = result.get();
    match method {
        Method::Send => match any(form, text)? {
            Update::Task(task) => Ok(Single::Task(Cow::Owned(task))),
            Update::Message(message) => Ok(Single::Message(Cow::Owned(message))),
            Update::StatusUpdate(_) | Update::ArtifactUpdate(_) => {
                Err(Fault::InvalidAgentResponse("neither task nor message".into()))
            }
        },
        Method::GetTask | Method::CancelTask => task(form, text).map(|task| Single::Task(Cow::Owned(task))),
        Method::CreatePush | Method::GetPush => {
            answer::<ReadTaskConfig>(text).map(|config| Single::Push(Cow::Owned(config.into())))
        }
        Method::ListPush => push_page(text).map(Single::PushPage),
        // `null`, `{}`, nothing at all: it is gone.
        Method::DeletePush => Ok(Single::Null),
        Method::GetCard => card::decode(text).map(|card| Single::Card(Cow::Owned(card))),
        Method::ListTasks => Err(Fault::InvalidAgentResponse("A2A 0.3 has no list of tasks".into())),
        Method::Stream | Method::Subscribe => {
            Err(Fault::InvalidAgentResponse("one answer where a stream was asked for".into()))
        }
    }
}

fn task(form: Form, text: &str) -> Result<Task, Fault> {
    match form {
        Form::Json => answer::<ReadTask<JsonPart>>(text).map(Into::into),
        Form::Proto => answer::<ReadTask<ProtoPart>>(text).map(Into::into),
    }
}

/// A list, bare or as the proto file has it.
fn push_page(text: &str) -> Result<PushPage<'static>, Fault> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ReadPage {
        #[serde(default, deserialize_with = "proto::unset")]
        configs: Vec<ReadTaskConfig>,
        #[serde(default, alias = "next_page_token", deserialize_with = "proto::unset")]
        next_page_token: String,
    }
    let page = if text.starts_with('[') {
        ReadPage { configs: answer(text)?, ..ReadPage::default() }
    } else {
        answer(text)?
    };
    let configs: Vec<PushConfig> = page.configs.into_iter().map(Into::into).collect();
    Ok(PushPage { configs: Cow::Owned(configs), next_page_token: Cow::Owned(page.next_page_token) })
}

/// What tells a result or event apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe<'a> {
    #[serde(default)]
    kind: Option<String>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "msg")]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "status_update")]
    status_update: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "artifact_update")]
    artifact_update: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    artifact: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "message_id")]
    message_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// What a result or event is.
#[derive(Clone, Copy)]
enum What {
    Task,
    Message,
    Status,
    Artifact,
}

impl<'a> Probe<'a> {
    /// What it is, and where it stands.
    fn what(&self, text: &'a str) -> Result<(What, &'a str), Fault> {
        let invalid = |why: String| Err(Fault::InvalidAgentResponse(why));
        match self.kind.as_deref() {
            Some("task") => return Ok((What::Task, text)),
            Some("message") => return Ok((What::Message, text)),
            Some("status-update") => return Ok((What::Status, text)),
            Some("artifact-update") => return Ok((What::Artifact, text)),
            Some(other) => return invalid(format!("kind: `{other}` is no kind of result or event")),
            None => {}
        }
        let mut members = [
            (What::Task, self.task),
            (What::Message, self.message),
            (What::Status, self.status_update),
            (What::Artifact, self.artifact_update),
        ]
        .into_iter()
        .filter_map(|(what, member)| Some((what, member?.get())));
        match (members.next(), members.next()) {
            (Some(member), None) => return Ok(member),
            (Some(_), Some(_)) => {
                return invalid("holds more than one of task, message, statusUpdate, artifactUpdate".into());
            }
            (None, _) => {}
        }
        match (self.artifact, self.message_id, self.id, self.status) {
            (Some(_), ..) => Ok((What::Artifact, text)),
            (None, Some(_), ..) => Ok((What::Message, text)),
            (None, None, Some(_), _) => Ok((What::Task, text)),
            (None, None, None, Some(_)) => Ok((What::Status, text)),
            _ => invalid("is no task, message, status-update or artifact-update".into()),
        }
    }
}

fn any(form: Form, text: &str) -> Result<Update, Fault> {
    let probe: Probe<'_> = answer(text)?;
    let (what, text) = probe.what(text)?;
    match what {
        What::Task => task(form, text).map(Update::Task),
        What::Message => answer::<ReadMessage>(text).map(|message| Update::Message(message.0)),
        What::Status => answer::<ReadStatusUpdate>(text).map(|update| Update::StatusUpdate(update.into())),
        What::Artifact => match form {
            Form::Json => answer::<ReadArtifactUpdate<JsonPart>>(text).map(Into::into),
            Form::Proto => answer::<ReadArtifactUpdate<ProtoPart>>(text).map(Into::into),
        }
        .map(Update::ArtifactUpdate),
    }
}

pub(in crate::wire) fn decode_update(form: Form, event: &RawValue) -> Result<Update, Fault> {
    any(form, event.get())
}
