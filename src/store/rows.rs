//! What goes into the store and comes out: plain data.

use bytes::Bytes;

use crate::lifecycle::Author;
use crate::model::{AgentName, ContextId, PrincipalId, Seq, Session, TaskId, TaskState, Timestamp};

/// A journal; a task's has its id.
pub type StreamId = TaskId;

/// A fact at its place in a journal. What the fact says is for the reader to decode.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Dense, from 1.
    pub seq: Seq,
    /// When.
    pub at: Timestamp,
    /// Who made it.
    pub by: Author,
    /// The number of its kind.
    pub kind: u8,
    /// The version of its form.
    pub v: u16,
    /// Its form.
    pub fact: Bytes,
}

/// A change: all of it is stored, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// What the journals gain.
    pub appends: Vec<Append>,
    /// What stands beside them. At most one head a task.
    pub rows: Vec<Row>,
}

/// Entries for the end of one journal.
#[derive(Clone, Debug)]
pub struct Append {
    /// Which journal.
    pub stream: StreamId,
    /// Its last entry so far, 0 if it has none. The first entry is numbered one higher.
    pub expected: Seq,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// A row of one of the tables beside the journal.
#[derive(Clone, Debug)]
pub enum Row {
    /// A task that begins.
    NewTask(TaskRow),
    /// A task that goes on.
    Head(Head),
    /// A message that was accepted.
    Sent(Sent),
    /// An earlier acceptance that no longer counts (P-21): forgotten if it is still the one that is stored.
    Unsent(Sent),
    /// What a runtime remembers of a context.
    Session(SessionRow),
}

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow {
    /// Which.
    pub id: TaskId,
    /// Who does it.
    pub agent: AgentName,
    /// Its conversation.
    pub context: ContextId,
    /// Who may see it.
    pub scope: PrincipalId,
    /// Who asked for it.
    pub requester: PrincipalId,
    /// Where it stands.
    pub state: TaskState,
    /// Since when.
    pub status_at: Timestamp,
    /// When anything last happened to it.
    pub updated_at: Timestamp,
    /// When it was asked for.
    pub opened_at: Timestamp,
    /// The last entry of its journal.
    pub seq: Seq,
    /// Which holder may write; an earlier one can't.
    pub epoch: u64,
    /// Whether the caller has been told of it.
    pub born: bool,
    /// Not to be begun before.
    pub not_before: Option<Timestamp>,
    /// The task as it was when it was last written whole.
    pub snapshot: Option<Snapshot>,
}

/// A task written whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// `model::Task` in the JSON of A2A 1.0.
    pub json: Bytes,
    /// The last entry that it holds.
    pub seq: Seq,
    /// How many messages its history has.
    pub history: usize,
}

/// What changes in a task's row when its journal grows.
#[derive(Clone, Debug)]
pub struct Head {
    /// Which.
    pub id: TaskId,
    /// The last entry before this change.
    pub expected: Seq,
    /// The writer's epoch.
    pub epoch: u64,
    /// Where it stands.
    pub state: TaskState,
    /// Since when.
    pub status_at: Timestamp,
    /// When this happened.
    pub updated_at: Timestamp,
    /// The last entry after this change.
    pub seq: Seq,
    /// Whether the caller has been told of it.
    pub born: bool,
    /// Not to be begun before.
    pub not_before: Option<Timestamp>,
    /// `None`: the stored one stays.
    pub snapshot: Option<Snapshot>,
}

/// A message that was accepted, and where it went (P-21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Who sent it.
    pub principal: PrincipalId,
    /// To whom.
    pub agent: AgentName,
    /// `h:` and an `Idempotency-Key`, which counts whatever the request says; or `m:` and a message id, which
    /// counts only together with the digest.
    pub key: String,
    /// SHA-256 of the request.
    pub digest: [u8; 32],
    /// The task.
    pub stream: StreamId,
    /// The entry.
    pub seq: Seq,
    /// When.
    pub at: Timestamp,
}

/// What a runtime remembers of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Whose runtime.
    pub agent: AgentName,
    /// Whose context.
    pub principal: PrincipalId,
    /// Which context.
    pub context: ContextId,
    /// As the runtime names it; empty: forget it.
    pub session: Session,
}
