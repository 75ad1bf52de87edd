//! What has happened to a task: the entries of its journal. Stored as JSON, so every kind and version in
//! `proto-fixtures/journal/` must decode for ever.

use serde::{Deserialize, Serialize};

use crate::model::{
    AgentName, Artifact, ArtifactUpdate, Ask, ContextId, FailureClass, Message, Metadata, PrincipalId, Seq,
    StatusUpdate, TaskId, TaskState, TaskStatus, Timestamp, Update,
};

/// Who made an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Author {
    /// The principal.
    pub principal: PrincipalId,
    /// The run it spoke through, if it is an agent at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<TaskId>,
}

/// A fact at its place in the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Dense, from 1.
    pub seq: Seq,
    /// Never before the event before it.
    pub at: Timestamp,
    /// Who made it.
    pub by: Author,
    /// What happened.
    pub fact: Fact,
}

/// What can happen to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// It was asked for.
    Opened {
        /// Its id.
        task: TaskId,
        /// Its conversation.
        context: ContextId,
        /// Who is to do it.
        agent: AgentName,
        /// What was said.
        message: Message,
        /// Media types that the caller can show.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modes: Vec<String>,
        /// Metadata of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// The caller said more.
    Said(Message),
    /// Work began, went on or told of itself.
    Working(Option<Message>),
    /// An artifact began or grew.
    Wrote {
        /// The parts that came.
        artifact: Artifact,
        /// Whether they continue an artifact of this id.
        append: bool,
        /// Whether this is the end of it.
        last: bool,
        /// Whether text continues the artifact's last text rather than standing beside it (token streams).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        joined: bool,
    },
    /// The turn stopped at a question.
    Asked {
        /// The question.
        message: Message,
        /// What kind of answer is needed.
        kind: Ask,
    },
    /// The turn stopped for want of a login.
    NeedsAuth(Message),
    /// A bare message was the whole answer (J-16).
    Replied(Message),
    /// Back into the queue.
    Requeued {
        /// Why.
        why: String,
    },
    /// Ended well.
    Completed {
        /// The last word.
        message: Option<Message>,
        /// Merged into the task's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// Ended with an error.
    Failed {
        /// What went wrong.
        message: Message,
        /// What kind of failure.
        class: FailureClass,
        /// Merged into the task's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// Ended because somebody asked.
    Canceled {
        /// The last word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    /// The agent declined.
    Rejected(Message),
}

/// The kind of a fact, stored beside it so that a reader can stop at a terminal one without decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names of Fact's variants")]
pub enum FactKind {
    Opened = 1,
    Said = 2,
    Working = 3,
    Wrote = 4,
    Asked = 5,
    NeedsAuth = 6,
    Replied = 7,
    Requeued = 8,
    Completed = 9,
    Failed = 10,
    Canceled = 11,
    Rejected = 12,
}

impl FactKind {
    const ALL: [Self; 12] = [
        Self::Opened,
        Self::Said,
        Self::Working,
        Self::Wrote,
        Self::Asked,
        Self::NeedsAuth,
        Self::Replied,
        Self::Requeued,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// The number it is stored under.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind of a stored number.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Whether nothing follows it in a journal.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Replied | Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether it suspends the turn.
    #[must_use]
    pub const fn is_interrupting(self) -> bool {
        matches!(self, Self::Asked | Self::NeedsAuth)
    }
}

/// The version of the JSON that [`Fact::encode`] writes.
const VERSION: u16 = 1;

/// A stored fact that this binary can't read.
#[derive(Debug, thiserror::Error)]
pub enum UnknownFact {
    /// Written by a newer version.
    #[error(
        "an event of version {0} is newer than this a2ad; start the version that wrote it, or a later one"
    )]
    Version(u16),
    /// Damaged.
    #[error("an event can't be read: {0}")]
    Json(#[from] serde_json::Error),
}

impl Fact {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> FactKind {
        match self {
            Self::Opened { .. } => FactKind::Opened,
            Self::Said(_) => FactKind::Said,
            Self::Working(_) => FactKind::Working,
            Self::Wrote { .. } => FactKind::Wrote,
            Self::Asked { .. } => FactKind::Asked,
            Self::NeedsAuth(_) => FactKind::NeedsAuth,
            Self::Replied(_) => FactKind::Replied,
            Self::Requeued { .. } => FactKind::Requeued,
            Self::Completed { .. } => FactKind::Completed,
            Self::Failed { .. } => FactKind::Failed,
            Self::Canceled { .. } => FactKind::Canceled,
            Self::Rejected(_) => FactKind::Rejected,
        }
    }

    /// The form that is stored, and its version.
    #[must_use]
    pub fn encode(&self) -> (u16, Vec<u8>) {
        // Facts hold only text keys and JSON of their own, so writing them cannot fail; an empty fact would be
        // refused by `decode`, not taken for another.
        (VERSION, serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads the form that is stored.
    ///
    /// # Errors
    /// A version from the future, or bytes that are no fact.
    pub fn decode(version: u16, bytes: &[u8]) -> Result<Self, UnknownFact> {
        if version > VERSION {
            return Err(UnknownFact::Version(version));
        }
        Ok(serde_json::from_slice(bytes)?)
    }

    /// The status that the task has with this fact; `None`: the fact leaves the status alone.
    #[must_use]
    pub fn status(&self, at: Timestamp) -> Option<TaskStatus> {
        let (state, message) = match self {
            Self::Said(_) | Self::Wrote { .. } => return None,
            Self::Opened { .. } | Self::Requeued { .. } => (TaskState::Submitted, None),
            Self::Working(message) => (TaskState::Working, message.as_ref()),
            Self::Asked { message, .. } => (TaskState::InputRequired, Some(message)),
            Self::NeedsAuth(message) => (TaskState::AuthRequired, Some(message)),
            Self::Replied(message) => (TaskState::Completed, Some(message)),
            Self::Completed { message, .. } => (TaskState::Completed, message.as_ref()),
            Self::Failed { message, .. } => (TaskState::Failed, Some(message)),
            Self::Canceled { message } => (TaskState::Canceled, message.as_ref()),
            Self::Rejected(message) => (TaskState::Rejected, Some(message)),
        };
        Some(TaskStatus { state, message: message.cloned(), timestamp: Some(at) })
    }

    /// What the fact tells about the task beside its status.
    #[must_use]
    pub fn metadata(&self) -> Option<Metadata> {
        match self {
            Self::Completed { metadata, .. } => metadata.clone(),
            Self::Failed { class, metadata, .. } => {
                let mut metadata = metadata.clone().unwrap_or_default();
                let mut failure: Metadata =
                    metadata.get("a2ad/failure").and_then(|json| json.read().ok()).unwrap_or_default();
                failure.set("class", class);
                metadata.set("a2ad/failure", &failure);
                Some(metadata)
            }
            Self::Opened { .. }
            | Self::Said(_)
            | Self::Working(_)
            | Self::Wrote { .. }
            | Self::Asked { .. }
            | Self::NeedsAuth(_)
            | Self::Replied(_)
            | Self::Requeued { .. }
            | Self::Canceled { .. }
            | Self::Rejected(_) => None,
        }
    }

    /// What the world may see of it. `None`: nothing, as of what the caller said itself; of `Opened` neither, since
    /// every stream begins with the task. Needs no task, so that a reader holds none.
    #[must_use]
    pub fn update(&self, task: &TaskId, context: &ContextId, at: Timestamp) -> Option<Update> {
        match self {
            Self::Opened { .. } | Self::Said(_) => None,
            Self::Replied(message) => Some(Update::Message(message.clone())),
            Self::Wrote { artifact, append, last, .. } => Some(Update::ArtifactUpdate(ArtifactUpdate {
                task_id: task.clone(),
                context_id: context.clone(),
                artifact: artifact.clone(),
                append: *append,
                last_chunk: *last,
                metadata: None,
            })),
            Self::Working(_)
            | Self::Asked { .. }
            | Self::NeedsAuth(_)
            | Self::Requeued { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Canceled { .. }
            | Self::Rejected(_) => self.status(at).map(|status| {
                Update::StatusUpdate(StatusUpdate {
                    task_id: task.clone(),
                    context_id: context.clone(),
                    status,
                    metadata: self.metadata(),
                })
            }),
        }
    }
}
