//! The core unit of action.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Artifact, ContextId, Message, Metadata, TaskId, Timestamp, proto};

/// Where a task stands (A2A-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Accepted, not begun.
    Submitted,
    /// The agent is at it.
    Working,
    /// Ended well.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended because somebody asked.
    Canceled,
    /// Waits for the caller.
    InputRequired,
    /// The agent declined.
    Rejected,
    /// Waits for a login.
    AuthRequired,
}

const STATES: [&str; 9] = [
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

impl TaskState {
    /// All states, in the order of their proto numbers, from 1.
    pub const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// The proto number, 1 to 8.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Submitted => 1,
            Self::Working => 2,
            Self::Completed => 3,
            Self::Failed => 4,
            Self::Canceled => 5,
            Self::InputRequired => 6,
            Self::Rejected => 7,
            Self::AuthRequired => 8,
        }
    }

    /// The state of a proto number; `None` for 0 and what is no number of a state.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.number() == number)
    }

    /// The proto name, as `TASK_STATE_WORKING`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        STATES[usize::from(self.number())]
    }

    /// In one word for people, as `input-required`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::InputRequired => "input-required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "auth-required",
        }
    }

    /// Whether a task in it never changes again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether it waits for somebody outside (P-25).
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        filter(deserializer)?.ok_or_else(|| serde::de::Error::custom("must be a state, not UNSPECIFIED"))
    }
}

/// A state to filter by: `null`, 0 and UNSPECIFIED are no filter (A2A-83).
pub(super) fn filter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskState>, D::Error> {
    let number = proto::member(deserializer, &STATES)?;
    Ok(u8::try_from(number).ok().and_then(TaskState::of_number))
}

/// A state, since when, and what was said with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// Where the task stands.
    pub state: TaskState,
    /// The newest status message (P-31).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when; never decreases within a task (P-32). We always set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// A task, as A2A 1.0 section 4.1.1 has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Made by the node.
    pub id: TaskId,
    /// The conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it produced.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What was said (P-31).
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}
