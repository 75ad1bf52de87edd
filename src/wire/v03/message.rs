//! Messages. ProtoJSON calls their parts `content` and has no word for `referenceTaskIds`.

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{
    Form,
    part::{JsonPart, ProtoPart, WritePart, parts},
    words::{is_kind, read_role, role},
};
use crate::model::{ContextId, Message, MessageId, Metadata, Part, Role, TaskId, proto};

/// A message that was read.
pub(super) struct ReadMessage(pub(super) Message);

/// The wire form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMessage {
    #[serde(default)]
    kind: Option<String>,
    #[serde(alias = "message_id")]
    message_id: MessageId,
    #[serde(default, alias = "context_id", deserialize_with = "proto::filled")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "task_id", deserialize_with = "proto::filled")]
    task_id: Option<TaskId>,
    #[serde(deserialize_with = "read_role")]
    role: Role,
    #[serde(default, deserialize_with = "of_schema")]
    parts: Option<Vec<Part>>,
    #[serde(default, deserialize_with = "of_proto")]
    content: Option<Vec<Part>>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default, deserialize_with = "proto::unset")]
    extensions: Vec<String>,
    #[serde(default, alias = "reference_task_ids", deserialize_with = "proto::unset")]
    reference_task_ids: Vec<TaskId>,
}

fn of_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Part>>, D::Error> {
    parts::<JsonPart, D>(deserializer).map(Some)
}

fn of_proto<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Part>>, D::Error> {
    parts::<ProtoPart, D>(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for ReadMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: RawMessage = proto::object(deserializer)?;
        is_kind(raw.kind.as_deref(), "message")?;
        let parts = match (raw.parts, raw.content) {
            (Some(parts), None) | (None, Some(parts)) => parts,
            (None, None) => return Err(D::Error::missing_field("parts")),
            (Some(_), Some(_)) => return Err(D::Error::custom("holds both parts and content")),
        };
        Ok(Self(Message {
            message_id: raw.message_id,
            context_id: raw.context_id,
            task_id: raw.task_id,
            role: raw.role,
            parts,
            metadata: raw.metadata,
            extensions: raw.extensions,
            reference_task_ids: raw.reference_task_ids,
        }))
    }
}

/// A message as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteMessage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    message_id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<WritePart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<WritePart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    extensions: &'a [String],
    #[serde(skip_serializing_if = "<[TaskId]>::is_empty")]
    reference_task_ids: &'a [TaskId],
}

impl<'a> WriteMessage<'a> {
    pub(super) fn of(form: Form, message: &'a Message) -> Self {
        let written = WritePart::all(form, &message.parts);
        let (kind, parts, content, reference_task_ids) = match form {
            Form::Json => (Some("message"), Some(written), None, &message.reference_task_ids[..]),
            Form::Proto => (None, None, Some(written), &[][..]),
        };
        Self {
            kind,
            message_id: &message.message_id,
            context_id: message.context_id.as_ref(),
            task_id: message.task_id.as_ref(),
            role: role(form, message.role),
            parts,
            content,
            metadata: message.metadata.as_ref(),
            extensions: &message.extensions,
            reference_task_ids,
        }
    }
}
