//! What can go wrong, in the specification's words. `wire` holds the one table of codes; nothing below knows them.

use std::time::Duration;

use super::{AgentName, TaskId};

/// The one vocabulary of errors towards callers (A2A 1.0 section 5.4).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Unknown, or not the caller's: the two are not told apart (A2A-176).
    #[error("task {0} was not found")]
    TaskNotFound(TaskId),
    /// It has ended.
    #[error("task {0} has ended and can't be canceled")]
    TaskNotCancelable(TaskId),
    /// Callbacks are off.
    #[error("this agent sends no push notifications; stream, subscribe or poll instead")]
    PushNotSupported,
    /// Not in this state, or not by this agent.
    #[error("{0}")]
    Unsupported(String),
    /// The agent takes no such input.
    #[error("this agent takes no {media_type}; it takes {takes}")]
    ContentType {
        /// What came.
        media_type: String,
        /// What is taken.
        takes: String,
    },
    /// The agent broke the contract.
    #[error("the agent's answer is not valid: {0}")]
    InvalidAgentResponse(String),
    /// There is no extended card.
    #[error("this agent has no extended card")]
    NoExtendedCard,
    /// A required extension was not declared.
    #[error("this agent requires the extension {0}; declare it in the header A2A-Extensions")]
    ExtensionRequired(String),
    /// A version that is not spoken here.
    #[error("{why}")]
    VersionNotSupported {
        /// What was asked for, and what to do.
        why: String,
        /// The versions that are, with commas between.
        served: String,
    },
    /// No JSON.
    #[error("the body is not JSON: {0}")]
    Malformed(String),
    /// JSON, but no request.
    #[error("{0}")]
    InvalidRequest(String),
    /// A parameter is missing or wrong.
    #[error("{path}: {why}")]
    InvalidParams {
        /// Where, as `message.parts[0]`.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// No such method.
    #[error("there is no method {0}")]
    MethodNotFound(String),
    /// No credential, or a bad one.
    #[error("{}", if *.sent { "the credential is not valid: send `Authorization: Bearer TOKEN` with a token of `a2ad token new NAME`" } else { "a credential is needed: send `Authorization: Bearer TOKEN`" })]
    Unauthenticated {
        /// Whether one was sent.
        sent: bool,
    },
    /// A good credential that is not enough.
    #[error("{0}")]
    Forbidden(String),
    /// No agent of that name.
    #[error("there is no agent {0}")]
    NoAgent(String),
    /// One that there was: its tasks are still there (O-22).
    #[error(
        "there is no agent {0} any more: it was removed from this node; its tasks can still be read (GetTask, ListTasks, \
         SubscribeToTask) and canceled (CancelTask)"
    )]
    AgentRemoved(AgentName),
    /// More than is taken.
    #[error("{0}")]
    TooLarge(String),
    /// A rate or queue limit.
    #[error("{why}; try again in {} s", .retry_after.as_secs().max(1))]
    Busy {
        /// Which limit.
        why: String,
        /// When to try again.
        retry_after: Duration,
    },
    /// About to stop.
    #[error("the node is shutting down; try again in {} s", .retry_after.as_secs().max(1))]
    Draining {
        /// When to try again.
        retry_after: Duration,
    },
    /// The disk is full.
    #[error("the node has no room for new tasks: {0}")]
    NoSpace(String),
    /// Ours. The detail is in the log, under the incident.
    #[error("internal error, incident {0}")]
    Internal(String),
}

impl Fault {
    /// A parameter that is wrong.
    #[must_use]
    pub fn invalid(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self::InvalidParams { path: path.into(), why: why.into() }
    }

    /// A caller without this agent.
    #[must_use]
    pub fn not_yours(agent: &AgentName) -> Self {
        Self::Forbidden(format!("this credential does not cover the agent {agent}"))
    }
}
