//! The live actors by task: found, started on demand, forgotten when they have nothing left to do.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use super::{
    Inner,
    actor::{self, Actor},
    book::{Book, Patience},
    dispatch::{Permit, Wake},
    envelope::Envelope,
};
use crate::{
    lifecycle::Command,
    model::{FailureClass, Fault, TaskId},
};

/// How often a message is handed to an actor anew that left just then.
const TRIES: usize = 16;

/// All live actors.
#[derive(Default)]
pub(super) struct Desk {
    live: Mutex<HashMap<TaskId, mpsc::UnboundedSender<Box<Envelope>>>>,
}

impl Desk {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, mpsc::UnboundedSender<Box<Envelope>>>> {
        // One insert or remove a lock: a panic elsewhere can't have torn it.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells every live actor that the node stops.
    pub(super) fn shut(&self) {
        for inbox in self.lock().values() {
            let _ = inbox.send(Box::new(Envelope::Shutdown));
        }
    }

    /// Whether any actor lives.
    pub(super) fn is_busy(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Whether an actor lives.
    pub(super) fn has(&self, id: &TaskId) -> bool {
        self.lock().contains_key(id)
    }

    /// An actor leaves, unless something came in meanwhile.
    pub(super) fn leave(&self, id: &TaskId, inbox: &mpsc::UnboundedReceiver<Box<Envelope>>) -> bool {
        let mut live = self.lock();
        if !inbox.is_empty() {
            return false;
        }
        live.remove(id);
        true
    }
}

impl Inner {
    /// The actor of a task that was just committed; whoever calls has yet to let it work.
    pub(super) fn employ(self: &Arc<Self>, book: Book) -> Box<Actor> {
        let (sender, inbox) = mpsc::unbounded_channel();
        self.desk.lock().insert(book.row.id.clone(), sender);
        Box::new(Actor::new(self.clone(), book, inbox))
    }

    /// The inbox of a task's actor, which is started if need be.
    fn inbox(self: &Arc<Self>, id: &TaskId) -> mpsc::UnboundedSender<Box<Envelope>> {
        let mut live = self.desk.lock();
        if let Some(inbox) = live.get(id) {
            return inbox.clone();
        }
        let (sender, inbox) = mpsc::unbounded_channel();
        live.insert(id.clone(), sender.clone());
        drop(live);
        let node = self.clone();
        let task = id.clone();
        self.watch_over(id.clone(), actor::revive(node, task, inbox));
        sender
    }

    /// Runs an actor; a bug in it fails its task, never the node. What is large is boxed, since a task is moved often
    /// until it runs.
    pub(super) fn watch_over(self: &Arc<Self>, id: TaskId, work: impl Future<Output = ()> + Send + 'static) {
        let node = self.clone();
        let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
        self.tracker.spawn(async move {
            if work.await.is_err() {
                node.desk.lock().remove(&id);
                let incident = super::incident(&"an actor panicked");
                tracing::error!(task = %id, %incident, "the turn is given up");
                Box::pin(node.bury(&id, &format!("the node failed at this turn ({incident})"))).await;
            }
        });
    }

    /// Writes a failure into a task whose actor is gone.
    async fn bury(&self, id: &TaskId, why: &str) {
        if let Ok(Some((mut book, _))) = Book::claim(&self.store, id).await {
            let command = Command::Abandon { why: why.into(), class: FailureClass::Interrupted };
            if let Err(fault) =
                book.step(&super::node_itself(), vec![command], Vec::new(), Patience::Minute).await
            {
                tracing::error!(task = %id, %fault, "the failure could not be written");
            }
        }
    }

    /// Asks a task's actor and waits for its answer.
    pub(super) async fn ask<T>(
        self: &Arc<Self>,
        id: &TaskId,
        mut envelope: impl FnMut(oneshot::Sender<Result<T, Fault>>) -> Envelope,
    ) -> Result<T, Fault> {
        for _ in 0..TRIES {
            let (answer, answered) = oneshot::channel();
            if self.inbox(id).send(Box::new(envelope(answer))).is_ok()
                && let Ok(result) = answered.await
            {
                return result;
            }
            tokio::task::yield_now().await;
        }
        Err(super::incident(&"the task's actor left every time it was asked"))
    }

    /// Does what the dispatcher asks, for as long as the node lives.
    pub(super) async fn attend(self: Arc<Self>, mut wakes: mpsc::UnboundedReceiver<Wake>) {
        loop {
            tokio::select! {
                wake = wakes.recv() => match wake {
                    Some(Wake::Begin(task, permit)) => self.begin(&task, permit),
                    Some(Wake::MakeRoom(task)) => {
                        let inbox = self.desk.lock().get(&task).cloned();
                        if let Some(inbox) = inbox {
                            let _ = inbox.send(Box::new(Envelope::MakeRoom));
                        }
                    }
                    None => return,
                },
                () = self.stopped.cancelled() => return,
            }
        }
    }

    /// A waiting task begins. An actor that leaves just then is started again.
    fn begin(self: &Arc<Self>, task: &TaskId, permit: Permit) {
        let mut envelope = Box::new(Envelope::Begin(permit));
        for _ in 0..TRIES {
            match self.inbox(task).send(envelope) {
                Ok(()) => return,
                Err(mpsc::error::SendError(unsent)) => envelope = unsent,
            }
        }
        tracing::error!(%task, "a waiting task could not begin");
    }
}
