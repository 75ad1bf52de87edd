//! What the node does: every operation of every caller, on tasks that live in the store.
//!
//! Called by the doors and by the daemon. Never sees JSON of a caller, a socket or a dialect.

pub mod agents;
pub mod config;

use futures_util::stream::BoxStream;

use crate::model::{AgentName, Caller, Fault, Message, Operation, Seq, Task, Update};

/// One request, decoded and authenticated.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who asks.
    pub caller: Caller,
    /// Of which agent.
    pub agent: AgentName,
    /// What.
    pub operation: Operation,
    /// The `Idempotency-Key` header (P-21).
    pub key: Option<String>,
    /// `Last-Event-ID` (P-26).
    pub after: Option<Seq>,
    /// Extensions that the caller declared.
    pub extensions: Vec<String>,
}

/// What comes back.
pub struct Answer {
    /// The answer itself.
    pub reply: Reply,
    /// Whether it belongs to an earlier, equal send (P-21).
    pub replayed: bool,
}

/// The kinds of answers.
pub enum Reply {
    /// A task.
    Task(Task),
    /// A task, whole, as the JSON of A2A 1.0 that is stored.
    Stored(bytes::Bytes),
    /// A bare message.
    Message(Message),
    /// A page of tasks.
    Page(TaskPage),
    /// A stream.
    Updates(Updates),
}

/// A page of `ListTasks`.
#[derive(Clone, Debug)]
pub struct TaskPage {
    /// The tasks, history and artifacts cut as asked.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// As used for this page.
    pub page_size: i32,
    /// Of all pages (P-32).
    pub total_size: i32,
}

/// A stream of events, each with its place in the journal (P-26).
pub type Updates = BoxStream<'static, Result<(Seq, Update), Fault>>;
