//! What comes into the actor of a task, and what one begins with.

use tokio::sync::oneshot;

use super::dispatch::Permit;
use crate::{
    lifecycle::Author,
    model::{Fault, Message, Metadata, Seq},
    store::Row,
};

/// What comes into an actor.
pub(super) enum Envelope {
    /// A caller's further message; the answer is the place of its entry.
    Say { said: Said, answer: oneshot::Sender<Result<Seq, Fault>> },
    /// Somebody wants the task to end; the answer comes when it has.
    Cancel { by: Author, answer: oneshot::Sender<Result<(), Fault>> },
    /// A place is free: the turn begins.
    Begin(Permit),
    /// Another task waits for the conversation of this suspended one.
    MakeRoom,
    /// The node stops.
    Shutdown,
}

/// A caller's message and what came with it.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) by: Author,
    pub(super) message: Message,
    pub(super) metadata: Option<Metadata>,
    pub(super) modes: Vec<String>,
    /// Idempotency rows that belong in the same commit, completed once the entry's place is known.
    pub(super) rows: Vec<Row>,
}

/// What the first turn of a new task starts from.
pub(super) struct First {
    pub(super) message: Message,
    pub(super) metadata: Option<Metadata>,
    pub(super) modes: Vec<String>,
    /// Whether the conversation begins with it.
    pub(super) new_context: bool,
}
