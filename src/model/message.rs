//! One unit of communication between caller and agent.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ContextId, MessageId, Metadata, Part, TaskId, proto};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The caller.
    User,
    /// The agent.
    Agent,
}

const ROLES: [&str; 3] = ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::User => ROLES[1],
            Self::Agent => ROLES[2],
        })
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match proto::member(deserializer, &ROLES)? {
            1 => Ok(Self::User),
            2 => Ok(Self::Agent),
            _ => Err(serde::de::Error::custom("must be ROLE_USER or ROLE_AGENT")),
        }
    }
}

/// A message, as A2A 1.0 section 4.1.4 has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Made by the author.
    #[serde(alias = "message_id")]
    pub message_id: MessageId,
    /// The conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The task it belongs to.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// Who speaks.
    pub role: Role,
    /// At least one (A2A-12).
    #[serde(deserialize_with = "parts")]
    pub parts: Vec<Part>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// URIs of extensions that contributed.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Tasks it refers to.
    #[serde(
        default,
        alias = "reference_task_ids",
        deserialize_with = "proto::unset",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<TaskId>,
}

/// Most parts that one message or artifact may have on input (P-3).
pub const MOST_PARTS: usize = 10_000;

/// A required list of parts: at least one, at most [`MOST_PARTS`].
pub(super) fn parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    let parts: Vec<Part> = proto::unset(deserializer)?;
    if parts.is_empty() {
        return Err(serde::de::Error::custom("needs at least one part"));
    }
    if parts.len() > MOST_PARTS {
        return Err(serde::de::Error::custom(format_args!("holds more than {MOST_PARTS} parts")));
    }
    Ok(parts)
}

impl Message {
    /// What an agent says, in one text part, with a fresh id.
    #[must_use]
    pub fn agent(text: impl Into<String>) -> Self {
        Self::new(Role::Agent, vec![Part::text(text)])
    }

    /// What a caller says, in one text part, with a fresh id.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::text(text)])
    }

    /// A message with a fresh id that belongs nowhere yet.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            message_id: MessageId::fresh(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// Its text parts, a line break between them.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match &part.content {
                super::Content::Text(text) => Some(text.as_str()),
                super::Content::Raw(_) | super::Content::Url(_) | super::Content::Data(_) => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Roughly how many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        self.parts.iter().map(Part::size).sum()
    }
}
