//! A2A 1.0: thin, for the model carries its shapes itself.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Method, Page, PushPage, Single,
    read::{self, answer, bytes, filled, not_negative, object},
};
use crate::model::{
    Artifact, ArtifactUpdate, ContextId, Fault, Message, Metadata, Operation, PushConfig, Role, Send,
    StatusUpdate, Task, TaskId, TaskStatus, Update, proto,
};

/// Most tasks in a page (A2A-82).
const MOST_TASKS: i32 = 100;

pub(super) fn decode_call(method: Method, params: Option<&RawValue>) -> Result<Operation, Fault> {
    let text = object(params)?;
    let operation = match method {
        Method::Send => param(text).map(Operation::Send),
        Method::Stream => param(text).map(Operation::Stream),
        Method::GetTask => param(text).map(Operation::GetTask),
        Method::ListTasks => param(text).map(Operation::ListTasks),
        Method::CancelTask => param(text).map(Operation::CancelTask),
        Method::Subscribe => param(text).map(Operation::Subscribe),
        Method::CreatePush => param(text).map(Operation::CreatePush),
        Method::GetPush => param(text).map(Operation::GetPush),
        Method::ListPush => param(text).map(Operation::ListPush),
        Method::DeletePush => param(text).map(Operation::DeletePush),
        Method::GetCard => param(text).map(Operation::GetCard),
    }?;
    check(&operation)?;
    Ok(operation)
}

/// Reads parameters. Of the two roles a caller has one.
fn param<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    read::param(text).map_err(|fault| {
        let Fault::InvalidParams { path, why } = &fault else { return fault };
        match (path.as_str(), why.as_str()) {
            ("message.role", "is missing") => {
                Fault::invalid("message.role", "is missing: it must be ROLE_USER")
            }
            ("message.role", _) => Fault::invalid("message.role", "must be ROLE_USER"),
            _ => fault,
        }
    })
}

/// What a type of the model cannot say of itself.
fn check(operation: &Operation) -> Result<(), Fault> {
    match operation {
        Operation::Send(send) | Operation::Stream(send) => check_send(send),
        Operation::GetTask(get) => not_negative("historyLength", get.history_length),
        Operation::ListTasks(list) => {
            not_negative("historyLength", list.history_length)?;
            match list.page_size {
                Some(size) if !(1..=MOST_TASKS).contains(&size) => {
                    Err(Fault::invalid("pageSize", format!("must be between 1 and {MOST_TASKS} inclusive")))
                }
                Some(_) | None => Ok(()),
            }
        }
        Operation::CreatePush(config) => {
            filled("taskId", config.task_id.as_ref().map_or("", TaskId::as_str))?;
            filled("url", &config.url)
        }
        Operation::GetPush(get) => filled("id", &get.id),
        Operation::ListPush(list) => not_negative("pageSize", list.page_size),
        Operation::DeletePush(delete) => filled("id", &delete.id),
        Operation::CancelTask(_) | Operation::Subscribe(_) | Operation::GetCard(_) => Ok(()),
    }
}

fn check_send(send: &Send) -> Result<(), Fault> {
    if send.message.role != Role::User {
        return Err(Fault::invalid("message.role", "must be ROLE_USER: only an agent speaks as ROLE_AGENT"));
    }
    if let Some(config) = &send.configuration.task_push_notification_config {
        filled("configuration.taskPushNotificationConfig.url", &config.url)?;
    }
    not_negative("configuration.historyLength", send.configuration.history_length)
}

pub(super) fn encode_call(operation: &Operation) -> Bytes {
    match operation {
        Operation::Send(call) | Operation::Stream(call) => bytes(call),
        Operation::GetTask(call) => bytes(call),
        Operation::ListTasks(call) => bytes(call),
        Operation::CancelTask(call) => bytes(call),
        Operation::Subscribe(call) => bytes(call),
        Operation::CreatePush(call) => bytes(call),
        Operation::GetPush(call) => bytes(call),
        Operation::ListPush(call) => bytes(call),
        Operation::DeletePush(call) => bytes(call),
        Operation::GetCard(call) => bytes(call),
    }
}

/// `SendMessageResponse` and `StreamResponse`: the name of the member tells which (A2A-22).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Member<'a> {
    Task(&'a Task),
    Message(&'a Message),
}

pub(super) fn encode_reply(method: Method, reply: &Single<'_>) -> Bytes {
    let wrapped = method == Method::Send;
    match reply {
        Single::Task(task) if wrapped => bytes(&Member::Task(task)),
        Single::Message(message) if wrapped => bytes(&Member::Message(message)),
        Single::Stored(task) if wrapped => [b"{\"task\":", &task[..], b"}"].concat().into(),
        Single::Task(task) => bytes(task),
        Single::Message(message) => bytes(message),
        Single::Stored(task) => task.clone(),
        Single::Page(page) => bytes(&WritePage::of(page)),
        Single::Card(card) => bytes(card),
        Single::Push(config) => bytes(config),
        Single::PushPage(page) => {
            bytes(&WritePushPage { configs: &page.configs, next_page_token: &page.next_page_token })
        }
        Single::Null => Bytes::from_static(b"null"),
    }
}

/// All four members are always there (A2A-79, A2A-80).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WritePage<'a> {
    tasks: Vec<WriteTask<'a>>,
    next_page_token: &'a str,
    page_size: i32,
    total_size: i32,
}

/// A task in a page: whether it has `artifacts` is the caller's choice, not the task's (A2A-81).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteTask<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: &'a Option<ContextId>,
    status: &'a TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<&'a [Artifact]>,
    #[serde(skip_serializing_if = "<[Message]>::is_empty")]
    history: &'a [Message],
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: &'a Option<Metadata>,
}

impl<'a> WritePage<'a> {
    fn of(page: &'a Page<'_>) -> Self {
        let tasks = page.tasks.iter().map(|task| WriteTask {
            id: &task.id,
            context_id: &task.context_id,
            status: &task.status,
            artifacts: page.artifacts.then_some(&task.artifacts[..]),
            history: &task.history,
            metadata: &task.metadata,
        });
        Self {
            tasks: tasks.collect(),
            next_page_token: &page.next_page_token,
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WritePushPage<'a> {
    configs: &'a [PushConfig],
    #[serde(skip_serializing_if = "str::is_empty")]
    next_page_token: &'a str,
}

pub(super) fn encode_update(update: &Update) -> Bytes {
    bytes(update)
}

pub(super) fn decode_reply(method: Method, result: &RawValue) -> Result<Single<'static>, Fault> {
    let text = result.get();
    match method {
        Method::Send => match one_of(text)? {
            Update::Task(task) => Ok(Single::Task(Cow::Owned(task))),
            Update::Message(message) => Ok(Single::Message(Cow::Owned(message))),
            Update::StatusUpdate(_) | Update::ArtifactUpdate(_) => {
                Err(Fault::InvalidAgentResponse("neither task nor message".into()))
            }
        },
        Method::GetTask | Method::CancelTask => answer(text).map(|task| Single::Task(Cow::Owned(task))),
        Method::ListTasks => answer::<ReadPage>(text).map(|page| Single::Page(page.into())),
        Method::CreatePush | Method::GetPush => answer(text).map(|config| Single::Push(Cow::Owned(config))),
        Method::ListPush => answer::<ReadPushPage>(text).map(|page| {
            Single::PushPage(PushPage {
                configs: Cow::Owned(page.configs),
                next_page_token: Cow::Owned(page.next_page_token),
            })
        }),
        // `null`, `{}`, anything: it is gone (A2A-99).
        Method::DeletePush => Ok(Single::Null),
        Method::GetCard => answer(text).map(|card| Single::Card(Cow::Owned(card))),
        Method::Stream | Method::Subscribe => {
            Err(Fault::InvalidAgentResponse("one answer where a stream was asked for".into()))
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadPage {
    #[serde(default, deserialize_with = "proto::unset")]
    tasks: Vec<Task>,
    #[serde(default, alias = "next_page_token", deserialize_with = "proto::unset")]
    next_page_token: String,
    #[serde(default, alias = "page_size", deserialize_with = "proto::int32")]
    page_size: Option<i32>,
    #[serde(default, alias = "total_size", deserialize_with = "proto::int32")]
    total_size: Option<i32>,
}

impl From<ReadPage> for Page<'static> {
    fn from(page: ReadPage) -> Self {
        Self {
            artifacts: page.tasks.iter().any(|task| !task.artifacts.is_empty()),
            tasks: Cow::Owned(page.tasks),
            next_page_token: Cow::Owned(page.next_page_token),
            page_size: page.page_size.unwrap_or(0),
            total_size: page.total_size.unwrap_or(0),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadPushPage {
    #[serde(default, deserialize_with = "proto::unset")]
    configs: Vec<PushConfig>,
    #[serde(default, alias = "next_page_token", deserialize_with = "proto::unset")]
    next_page_token: String,
}

/// The members of the two oneofs. Unlike an enum it lets unknown members beside the known one pass (A2A-14).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadMember {
    #[serde(default)]
    task: Option<Task>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default, alias = "status_update")]
    status_update: Option<StatusUpdate>,
    #[serde(default, alias = "artifact_update")]
    artifact_update: Option<ArtifactUpdate>,
}

/// The one member of a oneof.
fn one_of(text: &str) -> Result<Update, Fault> {
    let found: ReadMember = answer(text)?;
    let mut members = [
        found.task.map(Update::Task),
        found.message.map(Update::Message),
        found.status_update.map(Update::StatusUpdate),
        found.artifact_update.map(Update::ArtifactUpdate),
    ]
    .into_iter()
    .flatten();
    match (members.next(), members.next()) {
        (Some(update), None) => Ok(update),
        (None, _) => Err(Fault::InvalidAgentResponse(
            "holds none of task, message, statusUpdate, artifactUpdate".into(),
        )),
        (Some(_), Some(_)) => Err(Fault::InvalidAgentResponse(
            "holds more than one of task, message, statusUpdate, artifactUpdate".into(),
        )),
    }
}

pub(super) fn decode_update(event: &RawValue) -> Result<Update, Fault> {
    one_of(event.get())
}
