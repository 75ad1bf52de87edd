//! Tasks and the events of a stream. `final` is not kept anywhere: it is what the state says (P-25).

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    Form,
    message::{ReadMessage, WriteMessage},
    part::{WritePart, parts},
    words::{is_kind, read_state, read_time, state},
};
use crate::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Message, Metadata, Part, StatusUpdate, Task, TaskId,
    TaskState, TaskStatus, Timestamp, proto,
};

/// Whether a status is the last event of both streams of 0.3 (P-25).
pub(super) const fn is_final(state: TaskState) -> bool {
    state.is_terminal() || matches!(state, TaskState::InputRequired)
}

#[derive(Deserialize)]
struct ReadStatus {
    #[serde(deserialize_with = "read_state")]
    state: TaskState,
    // `update` is the field's own name in the proto file.
    #[serde(default, alias = "update")]
    message: Option<ReadMessage>,
    #[serde(default, deserialize_with = "read_time")]
    timestamp: Option<Timestamp>,
}

impl From<ReadStatus> for TaskStatus {
    fn from(status: ReadStatus) -> Self {
        let message = status.message.map(|message| message.0);
        Self { state: status.state, message, timestamp: status.timestamp }
    }
}

/// An artifact whose parts are read as `P`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "P: Deserialize<'de> + Into<Part>")]
struct ReadArtifact<P> {
    #[serde(alias = "artifact_id")]
    artifact_id: ArtifactId,
    #[serde(default, deserialize_with = "proto::filled")]
    name: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    description: Option<String>,
    #[serde(deserialize_with = "parts::<P, _>")]
    parts: Vec<Part>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default, deserialize_with = "proto::unset")]
    extensions: Vec<String>,
    #[serde(skip)]
    form: std::marker::PhantomData<P>,
}

impl<P> From<ReadArtifact<P>> for Artifact {
    fn from(artifact: ReadArtifact<P>) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: artifact.name,
            description: artifact.description,
            parts: artifact.parts,
            metadata: artifact.metadata,
            extensions: artifact.extensions,
        }
    }
}

/// A task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "P: Deserialize<'de> + Into<Part>")]
pub(super) struct ReadTask<P> {
    #[serde(default, deserialize_with = "kind_task")]
    #[expect(dead_code, reason = "checked while it is read")]
    kind: (),
    id: TaskId,
    #[serde(default, alias = "context_id", deserialize_with = "proto::filled")]
    context_id: Option<ContextId>,
    status: ReadStatus,
    #[serde(default = "Vec::new", deserialize_with = "proto::unset")]
    artifacts: Vec<ReadArtifact<P>>,
    #[serde(default, deserialize_with = "proto::unset")]
    history: Vec<ReadMessage>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

fn kind_task<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    is_kind(Option::<String>::deserialize(deserializer)?.as_deref(), "task")
}

impl<P> From<ReadTask<P>> for Task {
    fn from(task: ReadTask<P>) -> Self {
        Self {
            id: task.id,
            context_id: task.context_id,
            status: task.status.into(),
            artifacts: task.artifacts.into_iter().map(Into::into).collect(),
            history: task.history.into_iter().map(|message| message.0).collect(),
            metadata: task.metadata,
        }
    }
}

/// A change of a status.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadStatusUpdate {
    #[serde(alias = "task_id")]
    task_id: TaskId,
    #[serde(alias = "context_id")]
    context_id: ContextId,
    status: ReadStatus,
    #[serde(default)]
    metadata: Option<Metadata>,
}

impl From<ReadStatusUpdate> for StatusUpdate {
    fn from(update: ReadStatusUpdate) -> Self {
        Self {
            task_id: update.task_id,
            context_id: update.context_id,
            status: update.status.into(),
            metadata: update.metadata,
        }
    }
}

/// A new artifact, or more of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "P: Deserialize<'de> + Into<Part>")]
pub(super) struct ReadArtifactUpdate<P> {
    #[serde(alias = "task_id")]
    task_id: TaskId,
    #[serde(alias = "context_id")]
    context_id: ContextId,
    artifact: ReadArtifact<P>,
    #[serde(default, deserialize_with = "proto::unset")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "proto::unset")]
    last_chunk: bool,
    #[serde(default)]
    metadata: Option<Metadata>,
}

impl<P> From<ReadArtifactUpdate<P>> for ArtifactUpdate {
    fn from(update: ReadArtifactUpdate<P>) -> Self {
        Self {
            task_id: update.task_id,
            context_id: update.context_id,
            artifact: update.artifact.into(),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata,
        }
    }
}

#[derive(Serialize)]
struct WriteStatus<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<WriteMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> WriteStatus<'a> {
    fn of(form: Form, status: &'a TaskStatus) -> Self {
        Self {
            state: state(form, status.state),
            message: status.message.as_ref().map(|message| WriteMessage::of(form, message)),
            timestamp: status.timestamp,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteArtifact<'a> {
    artifact_id: &'a ArtifactId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: Vec<WritePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    extensions: &'a [String],
}

impl<'a> WriteArtifact<'a> {
    fn of(form: Form, artifact: &'a Artifact) -> Self {
        Self {
            artifact_id: &artifact.artifact_id,
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: WritePart::all(form, &artifact.parts),
            metadata: artifact.metadata.as_ref(),
            extensions: &artifact.extensions,
        }
    }
}

/// A task as it is written. `contextId` is required in 0.3; a task of ours has one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteTask<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: &'a TaskId,
    context_id: &'a str,
    status: WriteStatus<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<WriteArtifact<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<WriteMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

impl<'a> WriteTask<'a> {
    pub(super) fn of(form: Form, task: &'a Task) -> Self {
        let message = |message: &'a Message| WriteMessage::of(form, message);
        Self {
            kind: (form == Form::Json).then_some("task"),
            id: &task.id,
            context_id: task.context_id.as_ref().map_or("", ContextId::as_str),
            status: WriteStatus::of(form, &task.status),
            artifacts: task.artifacts.iter().map(|artifact| WriteArtifact::of(form, artifact)).collect(),
            history: task.history.iter().map(message).collect(),
            metadata: task.metadata.as_ref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteStatusUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a TaskId,
    context_id: &'a ContextId,
    status: WriteStatus<'a>,
    r#final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

impl<'a> WriteStatusUpdate<'a> {
    pub(super) fn of(form: Form, update: &'a StatusUpdate) -> Self {
        Self {
            kind: (form == Form::Json).then_some("status-update"),
            task_id: &update.task_id,
            context_id: &update.context_id,
            status: WriteStatus::of(form, &update.status),
            r#final: is_final(update.status.state),
            metadata: update.metadata.as_ref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteArtifactUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a TaskId,
    context_id: &'a ContextId,
    artifact: WriteArtifact<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    append: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

impl<'a> WriteArtifactUpdate<'a> {
    pub(super) fn of(form: Form, update: &'a ArtifactUpdate) -> Self {
        Self {
            kind: (form == Form::Json).then_some("artifact-update"),
            task_id: &update.task_id,
            context_id: &update.context_id,
            artifact: WriteArtifact::of(form, &update.artifact),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_ref(),
        }
    }
}
