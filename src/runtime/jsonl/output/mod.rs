//! What a `jsonl` program prints, read leniently where the node overwrites and strictly where it does not
//! (J-1 to J-3, J-8, J-9).
//!
//! Pure: bytes in, a [`Line`] out.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use crate::model::{ArtifactId, Message, MessageId, Metadata, Part, Role, TaskId, TaskState};
use crate::runtime::child::lines::plain;

/// A line with a known member.
#[derive(Debug)]
pub(super) struct Line {
    /// Which task it is about, where it says so.
    pub(super) task: Option<String>,
    /// What it says, or `path: why` of what is wrong with it.
    pub(super) said: Result<Said, String>,
}

/// What a program can say.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Status { state: TaskState, message: Option<Message>, metadata: Option<Metadata> },
    Artifact { artifact: Artifact, append: bool, last: bool },
    Message(Message),
    Session(String),
}

/// An artifact that may leave its id out (J-10).
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Artifact {
    #[serde(alias = "artifact_id", deserialize_with = "unset")]
    artifact_id: String,
    #[serde(deserialize_with = "unset")]
    pub(super) name: String,
    #[serde(deserialize_with = "unset")]
    pub(super) description: String,
    #[serde(deserialize_with = "unset")]
    pub(super) parts: Vec<Part>,
    pub(super) metadata: Option<Metadata>,
    #[serde(deserialize_with = "unset")]
    pub(super) extensions: Vec<String>,
}

impl Artifact {
    pub(super) fn id(&self) -> Option<ArtifactId> {
        (!self.artifact_id.is_empty()).then(|| self.artifact_id.as_str().into())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, default, alias = "task_id")]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "status_update")]
    status_update: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "artifact_update")]
    artifact_update: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct StatusUpdate {
    status: Status,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Status {
    state: TaskState,
    #[serde(default)]
    message: Option<LooseMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdate {
    artifact: Artifact,
    #[serde(default, deserialize_with = "unset")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "unset")]
    last_chunk: bool,
    #[serde(default)]
    metadata: Option<Metadata>,
}

/// A message without what the node fills in itself (J-9).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LooseMessage {
    #[serde(default, alias = "message_id", deserialize_with = "unset")]
    message_id: String,
    #[serde(default, deserialize_with = "role")]
    #[expect(dead_code, reason = "checked, then overwritten: the program is the agent")]
    role: (),
    parts: Vec<Part>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default, deserialize_with = "unset")]
    extensions: Vec<String>,
    #[serde(default, alias = "reference_task_ids", deserialize_with = "unset")]
    reference_task_ids: Vec<TaskId>,
}

/// Reads a line. `None`: there is nothing in it for the node (J-2); the caller logs it.
pub(super) fn read(bytes: &[u8]) -> Option<Line> {
    let bytes: Cow<'_, [u8]> = plain(bytes);
    // An object that is broken inside (a member that stands twice) is no text of the program's, but a wrong line.
    let object: Result<&RawValue, _> = serde_json::from_slice(&bytes);
    let object = object.ok().filter(|object| object.get().starts_with('{'))?;
    let members: Members<'_> = match serde_json::from_str(object.get()) {
        Ok(members) => members,
        Err(error) => return Some(Line { task: None, said: Err(format!("$: {}", reason(&error))) }),
    };
    let known = [members.status_update, members.artifact_update, members.message, members.session];
    let inner = known.iter().flatten().find_map(|member| task_in(member));
    let task = members.task_id.and_then(|id| serde_json::from_str(id.get()).ok()).or(inner);
    let said = match known {
        [None, None, None, None] => return None,
        [Some(update), None, None, None] => status(update),
        [None, Some(update), None, None] => artifact(update),
        [None, None, Some(message), None] => parse::<LooseMessage>("message", message)
            .and_then(|message| message.filled().map(Said::Message).map_err(|why| format!("message.{why}"))),
        [None, None, None, Some(session)] => parse("session", session).map(Said::Session),
        _ => Err("$: holds more than one of statusUpdate, artifactUpdate, message, session".to_owned()),
    };
    Some(Line { task, said })
}

fn status(update: &RawValue) -> Result<Said, String> {
    let StatusUpdate { status, metadata } = parse("statusUpdate", update)?;
    let message = status.message.map(LooseMessage::filled).transpose();
    let message = message.map_err(|why| format!("statusUpdate.status.message.{why}"))?;
    Ok(Said::Status { state: status.state, message, metadata: metadata.and_then(of_program) })
}

fn artifact(update: &RawValue) -> Result<Said, String> {
    let ArtifactUpdate { mut artifact, append, last_chunk, metadata } = parse("artifactUpdate", update)?;
    if artifact.parts.is_empty() {
        return Err("artifactUpdate.artifact.parts: needs at least one part".to_owned());
    }
    // Progress has one place for what is said about an artifact.
    if let Some(more) = metadata {
        artifact.metadata.get_or_insert_default().merge(more);
    }
    artifact.metadata = artifact.metadata.and_then(Metadata::stripped);
    Ok(Said::Artifact { artifact, append, last: last_chunk })
}

impl LooseMessage {
    fn filled(self) -> Result<Message, &'static str> {
        if self.parts.is_empty() {
            return Err("parts: needs at least one part");
        }
        let mut message = Message::new(Role::Agent, self.parts);
        if !self.message_id.is_empty() {
            message.message_id = MessageId::from(self.message_id);
        }
        message.metadata = self.metadata.and_then(Metadata::stripped);
        message.extensions = self.extensions;
        message.reference_task_ids = self.reference_task_ids;
        Ok(message)
    }
}

/// What a program may say of its turn: all but what the node stamps; its own usage is its to tell.
fn of_program(metadata: Metadata) -> Option<Metadata> {
    let usage = metadata.get("a2ad/usage").cloned();
    let mut kept = metadata.stripped();
    if let Some(usage) = usage {
        kept.get_or_insert_default().set("a2ad/usage", &usage);
    }
    kept
}

fn parse<'a, T: Deserialize<'a>>(name: &str, raw: &'a RawValue) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let dot = if path == "." { String::new() } else { format!(".{path}") };
        format!("{name}{dot}: {}", reason(error.inner()))
    })
}

/// An error without its place in a text that the reader of the message does not see.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
}

/// The task id inside a member, whatever else is wrong with it.
fn task_in(member: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Inner {
        #[serde(alias = "taskId")]
        task_id: String,
    }
    serde_json::from_str(member.get()).ok().map(|Inner { task_id }| task_id)
}

/// `null` and absence are the default.
fn unset<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A role may be left out, but an unknown one is a mistake that would hide another.
fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let unset = value.is_null() || value == 0 || value == "" || value == "ROLE_UNSPECIFIED";
    if !unset {
        serde_json::from_value::<Role>(value).map_err(de::Error::custom)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
