//! What a runtime tells while it works (P-33).

use serde::{Deserialize, Serialize};

use super::{Artifact, Message, Metadata, Session};

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The session that later turns of this context resume; empty forgets it.
    Session(Session),
    /// At work, perhaps with something to say.
    Working(Option<Message>),
    /// A new artifact, or more of one.
    Artifact {
        /// The parts that came.
        artifact: Artifact,
        /// Whether they continue an artifact of this id.
        append: bool,
        /// Whether this is the end of it.
        last: bool,
    },
    /// A question: the turn is suspended until the caller answers.
    Ask {
        /// What is asked.
        message: Message,
        /// What kind of answer is needed.
        kind: Ask,
    },
    /// A login is missing: the turn is suspended.
    NeedAuth(Message),
    /// The whole answer without a task, where the agent may give one (`replies = "message"`).
    Reply(Message),
    /// The turn is over. Always the last.
    Done(Outcome),
}

/// What kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Anybody who may speak may answer.
    Question,
    /// A permission: a person answers, never a model (O-5).
    Approval,
    /// A result to be looked at.
    Review,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Well.
    Completed {
        /// The last word.
        message: Option<Message>,
        /// `a2ad/usage` and the like.
        metadata: Option<Metadata>,
    },
    /// With an error.
    Failed {
        /// What went wrong, for the caller.
        message: Message,
        /// What kind of failure.
        class: FailureClass,
        /// `a2ad/failure` (all but its class is the runtime's), `a2ad/usage`.
        metadata: Option<Metadata>,
    },
    /// The agent declined.
    Rejected(Message),
    /// It was asked to stop and did.
    Canceled,
}

impl Outcome {
    /// A failure that has nothing beside its text and class.
    #[must_use]
    pub fn failed(class: FailureClass, text: impl Into<String>) -> Self {
        Self::Failed { message: Message::agent(text), class, metadata: None }
    }
}

/// `class` in the metadata `a2ad/failure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A restart or a shutdown ended the turn.
    Interrupted,
    /// The program could not be started.
    Start,
    /// It ended with an error.
    Exit,
    /// It said what it may not.
    Protocol,
    /// It has no login.
    Login,
    /// Its model refused for now.
    RateLimit,
    /// Its model failed.
    Model,
    /// A limit of tokens or turns.
    Limit,
    /// It took too long.
    Timeout,
    /// It said too much.
    Output,
    /// The caller's deadline passed.
    Deadline,
}
