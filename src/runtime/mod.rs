//! Who does the work: the trait [`Runtime`], a [`Job`] in, [`Progress`] out.
//!
//! Called by `node`, which starts a run for a turn and reads what it tells. A runtime never sees the store, a
//! caller's socket or another task; failing to start is simply a first and last `Done(Failed)`.

pub mod child;
mod claude;
pub mod config;
mod echo;
mod exec;
mod jsonl;
pub mod kinds;
mod pen;
mod talk;
#[cfg(test)]
mod testing;
mod text;
mod turn;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::model::{
    AgentName, ContextId, Message, Metadata, PrincipalId, Progress, Session, TaskId, TaskState,
};

/// A kind of agent program, bound to one agent's configuration.
pub trait Runtime: Send + Sync + 'static {
    /// What it can do; fixed for its life.
    fn about(&self) -> &Profile;

    /// Begins a turn. Never fails and never blocks.
    fn start(&self, job: Job) -> Run;
}

/// What a runtime can do.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its word in the configuration, as `claude`.
    pub kind: &'static str,
    /// Whether its text is a token stream, to be coalesced before it becomes facts (P-28).
    pub tokens: bool,
    /// Whether it takes a message while a turn runs (P-24).
    pub steers: bool,
    /// Whether a bare message may be the whole answer (`replies = "message"`, J-15).
    pub replies: bool,
}

/// One turn to run.
#[derive(Clone)]
pub struct Job {
    /// The task.
    pub task: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// Which agent runs it.
    pub agent: AgentName,
    /// What to work on.
    pub prompt: Prompt,
    /// What an earlier turn of this context left.
    pub session: Option<Session>,
    /// Cancelled when the turn is to stop; the run still ends with `Done`.
    pub stop: Stop,
    /// Where the run's own work is spawned, so that a stop of the node waits for it.
    pub tracker: TaskTracker,
}

/// What a turn starts from.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The message that starts it.
    pub message: Message,
    /// Earlier messages of the task, oldest first: the first user message, then the newest (J-7).
    pub history: Vec<Message>,
    /// Whether some were left out.
    pub truncated: bool,
    /// The state before this message.
    pub state: TaskState,
    /// Metadata of the request.
    pub metadata: Option<Metadata>,
    /// Media types that the caller can show.
    pub accepted_output_modes: Vec<String>,
    /// Who asks.
    pub principal: PrincipalId,
    /// Whether the node runs this turn again after a restart.
    pub resumed: bool,
}

/// A turn that runs. Dropping it ends the program and its whole tree.
pub struct Run {
    /// What it tells, `Done` last. Closed without `Done`: the program went away while suspended.
    pub progress: mpsc::Receiver<Progress>,
    /// Messages for the running or suspended turn.
    pub answers: AnswerSender,
}

/// How many messages wait at most for a run to take them.
const ANSWERS: usize = 64;

/// The two ends of a run's messages. The runtime takes one out only when it hands it to the program, so what was not
/// taken when `Done` arrives was not read and starts the next turn.
#[must_use]
pub fn answers() -> (AnswerSender, Answers) {
    let (sender, receiver) = mpsc::channel(ANSWERS);
    let taken = Arc::new(AtomicUsize::new(0));
    (AnswerSender { sender, taken: taken.clone() }, Answers { receiver, taken })
}

/// The node's end. Knows how many messages were taken even after the other end is gone.
#[derive(Debug)]
pub struct AnswerSender {
    sender: mpsc::Sender<Box<Message>>,
    taken: Arc<AtomicUsize>,
}

impl AnswerSender {
    /// Gives a message to the run.
    ///
    /// # Errors
    /// The message, if the run is gone or has as many as it can hold.
    pub fn send(&self, message: Message) -> Result<(), Box<Message>> {
        self.sender.try_send(Box::new(message)).map_err(mpsc::error::TrySendError::into_inner)
    }

    /// Whether there is room for a message.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.sender.capacity() > 0
    }

    /// How many messages the run has taken so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

/// The run's end.
#[derive(Debug)]
pub struct Answers {
    receiver: mpsc::Receiver<Box<Message>>,
    taken: Arc<AtomicUsize>,
}

impl Answers {
    /// Takes the next message; `None` once the node wants nothing more of the run. Safe to drop and call again.
    pub async fn recv(&mut self) -> Option<Message> {
        let message = self.receiver.recv().await;
        self.count(message)
    }

    /// Takes no more: what is said from here on is given back to the node, which starts a new run with it.
    pub fn close(&mut self) {
        self.receiver.close();
    }

    /// Takes a message if one is there.
    pub fn try_recv(&mut self) -> Option<Message> {
        let message = self.receiver.try_recv().ok();
        self.count(message)
    }

    fn count(&self, message: Option<Box<Message>>) -> Option<Message> {
        if message.is_some() {
            self.taken.fetch_add(1, Ordering::AcqRel);
        }
        message.map(|message| *message)
    }
}

/// How many steps a run may be ahead of the journal (J-29: the node reads as fast as it commits).
pub const PROGRESS: usize = 64;

/// Why a turn is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The caller canceled.
    Caller,
    /// The node shuts down.
    Shutdown,
    /// A time limit.
    Timeout,
}

impl Reason {
    /// The word of J-5.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Shutdown => "shutdown",
            Self::Timeout => "timeout",
        }
    }
}

/// Tells a run to stop, once, with the reason. Clones share the state.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<Option<Reason>>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Stop {
    /// Asks to stop. The first reason stays.
    pub fn ask(&self, reason: Reason) {
        self.0.send_if_modified(|asked| {
            let first = asked.is_none();
            asked.get_or_insert(reason);
            first
        });
    }

    /// The reason, once asked.
    #[must_use]
    pub fn asked(&self) -> Option<Reason> {
        *self.0.borrow()
    }

    /// Waits until asked. Safe to drop and call again.
    pub async fn wait(&self) -> Reason {
        let mut asked = self.0.subscribe();
        loop {
            if let Some(reason) = *asked.borrow_and_update() {
                return reason;
            }
            if asked.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
