//! What a stream carries: the `StreamResponse` oneof, whose member name tells which (A2A-22).

use serde::{Deserialize, Serialize};

use super::{Artifact, ContextId, Message, Metadata, Task, TaskId, TaskStatus, proto};

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Update {
    /// The task as it stands; replaces what the reader has.
    Task(Task),
    /// The whole answer, without a task.
    Message(Message),
    /// A change of status.
    #[serde(alias = "status_update")]
    StatusUpdate(StatusUpdate),
    /// A new or longer artifact.
    #[serde(alias = "artifact_update")]
    ArtifactUpdate(ArtifactUpdate),
}

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// Which task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Its conversation.
    #[serde(alias = "context_id")]
    pub context_id: ContextId,
    /// The new status.
    pub status: TaskStatus,
    /// Anything else, as `a2ad/usage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// A new artifact, or more of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// Which task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Its conversation.
    #[serde(alias = "context_id")]
    pub context_id: ContextId,
    /// The parts that came.
    pub artifact: Artifact,
    /// Whether they continue an artifact of this id (A2A-69).
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// Whether this is the end of it.
    #[serde(
        default,
        alias = "last_chunk",
        deserialize_with = "proto::unset",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub last_chunk: bool,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}
