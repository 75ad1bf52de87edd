//! The loop of one live task: what callers say, what the run tells and what the clock says become commands; every
//! command becomes facts in one commit. An actor may live without a run and leaves when nothing is to do.
//!
//! `callers` has what is asked of it, `report` what its run tells. The desk starts it; it never answers a socket and
//! never writes but through its book.

mod callers;
mod report;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    Inner,
    agents::Served,
    book::Book,
    dispatch::Permit,
    envelope::{Envelope, First},
    prompt,
    turn::{Told, Turn},
};
use crate::{
    lifecycle::{Author, Fact},
    model::{AgentName, Fault, Message, Metadata, Outcome, TaskId, TaskState},
    runtime::{Job, Prompt, Reason},
};

/// Beyond `grace`, how long a run may take to end until it is dropped (P-29).
pub(super) const AFTER_GRACE: Duration = Duration::from_millis(1500);

/// One live task.
pub(super) struct Actor {
    node: Arc<Inner>,
    book: Book,
    inbox: mpsc::UnboundedReceiver<Box<Envelope>>,
    turn: Option<Turn>,
    permit: Option<Permit>,
    /// Messages that no run has been given.
    unread: VecDeque<Message>,
    /// What came with the newest message.
    metadata: Option<Metadata>,
    modes: Vec<String>,
    /// The state before the newest message (J-6).
    before: TaskState,
    /// Whether the node runs the turn again after a restart.
    resumed: bool,
    /// Whether the conversation began with this task, so that no runtime can remember it.
    new_context: bool,
    /// Who asked for the end, and who waits for it.
    canceled_by: Option<Author>,
    waiting: Vec<oneshot::Sender<Result<(), Fault>>>,
}

/// The actor of a stored task: takes it over and works.
pub(super) async fn revive(node: Arc<Inner>, id: TaskId, inbox: mpsc::UnboundedReceiver<Box<Envelope>>) {
    match Book::claim(&node.store, &id).await {
        Ok(Some((book, events))) => {
            let mut actor = Box::new(Actor::new(node, book, inbox));
            if let Some(Fact::Opened { modes, metadata, .. }) = events.first().map(|event| &event.fact) {
                actor.modes.clone_from(modes);
                actor.metadata.clone_from(metadata);
            }
            if actor.book.row.state == TaskState::Submitted {
                actor.unread = prompt::unread(&events).into();
                actor.resumed = matches!(
                    events.last().map(|event| &event.fact),
                    Some(Fact::Requeued { why }) if why == super::recover::AGAIN
                );
            }
            actor.work().await;
        }
        Ok(None) => {
            // Whoever asks is told by the closed channel, looks again and finds no task.
            node.desk.leave(&id, &inbox);
        }
        Err(fault) => {
            tracing::error!(task = %id, %fault, "a task could not be taken up");
            node.desk.leave(&id, &inbox);
        }
    }
}

impl Actor {
    pub(super) fn new(node: Arc<Inner>, book: Book, inbox: mpsc::UnboundedReceiver<Box<Envelope>>) -> Self {
        Self {
            node,
            book,
            inbox,
            turn: None,
            permit: None,
            unread: VecDeque::new(),
            metadata: None,
            modes: Vec::new(),
            before: TaskState::Submitted,
            resumed: false,
            new_context: false,
            canceled_by: None,
            waiting: Vec::new(),
        }
    }

    /// Begins the first turn of a new task, which has its place.
    pub(super) fn begins(&mut self, first: First, permit: Permit) {
        self.unread.push_back(first.message);
        self.metadata = first.metadata;
        self.modes = first.modes;
        self.new_context = first.new_context;
        self.permit = Some(permit);
        self.run();
    }

    /// Works until nothing is to do. What happens seldom has its state elsewhere, so that most tasks stay small.
    pub(super) async fn work(mut self: Box<Self>) {
        loop {
            if self.idle() && self.node.desk.leave(&self.book.row.id, &self.inbox) {
                return;
            }
            let alarm = self.turn.as_ref().and_then(Turn::alarm);
            tokio::select! {
                envelope = self.inbox.recv() => match envelope {
                    Some(envelope) => Box::pin(self.receive(*envelope)).await,
                    None => return,
                },
                told = told(&mut self.turn) => self.told(told).await,
                () = at(alarm) => Box::pin(self.rang()).await,
            }
        }
    }

    fn idle(&self) -> bool {
        self.turn.is_none()
            && self.waiting.is_empty()
            && (self.permit.is_none() || self.book.row.state.is_terminal())
    }

    async fn receive(&mut self, envelope: Envelope) {
        match envelope {
            Envelope::Say { said, answer } => {
                let result = self.say(said).await;
                // Whoever hung up has its message accepted all the same.
                let _ = answer.send(result);
            }
            Envelope::Cancel { by, answer } => self.cancel(by, answer).await,
            Envelope::Begin(permit) => self.begin(permit).await,
            Envelope::MakeRoom => {
                if self.turn.as_ref().is_some_and(|turn| turn.suspended) {
                    self.end_run();
                }
            }
            Envelope::Shutdown => match &mut self.turn {
                Some(turn) if !turn.suspended => {
                    turn.ask(Reason::Shutdown, self.node.grace(&self.book.row.agent))
                }
                Some(_) | None => self.end_run(),
            },
        }
    }

    /// Starts the runtime with the first unread message; the others follow it.
    fn run(&mut self) {
        let Some(message) = self.unread.pop_front() else { return };
        let served = match self.served() {
            Ok(served) => served,
            Err(name) => {
                let text = format!("the agent {name} is no longer configured");
                self.turn = Some(Turn::stillborn(Outcome::Rejected(Message::agent(text))));
                return;
            }
        };
        let row = &self.book.row;
        let session = match std::mem::take(&mut self.new_context) {
            true => None,
            false => self.node.store.session(&row.agent, &row.scope, &row.context).ok().flatten(),
        };
        let (history, truncated) = prompt::history(self.book.task(), self.unread.len() + 1);
        let prompt = Prompt {
            message,
            history,
            truncated,
            state: self.before,
            metadata: self.metadata.clone(),
            accepted_output_modes: self.modes.clone(),
            principal: row.requester.clone(),
            resumed: std::mem::take(&mut self.resumed),
        };
        let job = Job {
            task: row.id.clone(),
            context: row.context.clone(),
            agent: row.agent.clone(),
            prompt,
            session,
            stop: crate::runtime::Stop::default(),
            tracker: self.node.tracker.clone(),
        };
        let mut turn = Turn::start(&served, job, self.node.limits());
        while let Some(message) = self.unread.pop_front() {
            if let Err(message) = turn.hand(message) {
                self.unread.push_front(*message);
                break;
            }
        }
        self.turn = Some(turn);
    }

    fn served(&self) -> Result<Arc<Served>, AgentName> {
        let name = &self.book.row.agent;
        self.node.registry.load().get(name.as_str()).cloned().ok_or_else(|| name.clone())
    }
}

/// What the run tells next; never, without one.
async fn told(turn: &mut Option<Turn>) -> Told {
    match turn {
        Some(turn) => turn.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for a time; never, without one.
async fn at(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
