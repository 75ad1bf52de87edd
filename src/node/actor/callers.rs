//! What callers say to a task, and the dispatcher: further messages, cancels, a place to begin.

use std::time::Duration;

use tokio::sync::oneshot;

use super::{
    super::{
        book::Patience,
        dispatch::{Admission, Permit},
        envelope::Said,
    },
    Actor,
};
use crate::{
    lifecycle::{Author, Command},
    model::{Fault, Message, Seq},
    runtime::Reason,
};

impl Actor {
    /// A further message (P-24).
    pub(super) async fn say(&mut self, said: Said) -> Result<Seq, Fault> {
        let state = self.book.row.state;
        let running = self.turn.as_ref().is_some_and(|turn| !turn.suspended);
        if running {
            let steers = self.served().is_ok_and(|served| served.runtime.about().steers);
            if !steers {
                return Err(Fault::Unsupported(format!(
                    "task {} is at work and its agent takes no further message until its turn ends; wait for that, or \
                     cancel it",
                    self.book.row.id
                )));
            }
            if self.turn.as_ref().is_some_and(|turn| !turn.takes()) {
                return Err(Fault::Busy {
                    why: format!("task {} has as many unread messages as it can hold", self.book.row.id),
                    retry_after: Duration::from_secs(5),
                });
            }
        }
        let at_once = running || (state.is_interrupted() && self.place()?);
        let place = self.say_it(said.clone(), at_once).await?;
        self.before = state;
        self.metadata = said.metadata;
        self.modes = said.modes;
        let message = self.book.task().history.last().cloned().unwrap_or(said.message);
        if running || (at_once && self.turn.is_some()) {
            self.hand(message);
        } else {
            self.unread.push_back(message);
            if at_once {
                self.run();
            } else if state.is_interrupted() {
                self.node.dispatch.confirm(&self.book.row.id);
            }
        }
        Ok(place)
    }

    /// Commits the message, with its idempotency row; a place that was reserved for it is given back on an error.
    async fn say_it(&mut self, said: Said, at_once: bool) -> Result<Seq, Fault> {
        let queues = self.book.row.state.is_interrupted() && !at_once;
        let place = self.book.row.seq + 1;
        let rows = super::super::send::placed(said.rows, &self.book.row.id, place);
        let command = Command::Say { message: said.message, at_once };
        let result = self.book.step(&said.by, vec![command], rows, Patience::None).await;
        if result.is_err() {
            if queues {
                self.node.dispatch.withdraw(&self.book.row.id);
            } else if at_once
                && self.turn.as_ref().is_none_or(|turn| turn.suspended)
                && let Some(permit) = &mut self.permit
            {
                permit.suspend();
            }
        }
        result.map(|_| place)
    }

    /// Whether a suspended task goes on at once; else it has a place in the queue, to be confirmed.
    pub(super) fn place(&mut self) -> Result<bool, Fault> {
        if let Some(permit) = &mut self.permit
            && permit.resume()
        {
            return Ok(true);
        }
        match self.node.dispatch.admit(self.node.needs(&self.book.row)) {
            Admission::Run(permit) => {
                self.permit = Some(permit);
                Ok(true)
            }
            Admission::Queued => Ok(false),
            Admission::Full(limit) => Err(super::super::full(limit)),
        }
    }

    /// Gives a message to the run; to a new one, if its program has just gone (J-20).
    fn hand(&mut self, message: Message) {
        let Some(turn) = &mut self.turn else { return };
        match turn.hand(message) {
            Ok(()) => turn.resume(),
            Err(message) => {
                let unread = turn.unread();
                self.turn = None;
                self.unread.push_front(*message);
                unread.into_iter().rev().for_each(|earlier| self.unread.push_front(earlier));
                self.run();
            }
        }
    }

    /// Somebody wants the task to end (P-29).
    pub(super) async fn cancel(&mut self, by: Author, answer: oneshot::Sender<Result<(), Fault>>) {
        if self.book.row.state.is_terminal() {
            let _ = answer.send(Err(Fault::TaskNotCancelable(self.book.row.id.clone())));
            return;
        }
        let grace = self.node.grace(&self.book.row.agent);
        self.canceled_by.get_or_insert(by);
        self.waiting.push(answer);
        if let Some(turn) = &mut self.turn {
            turn.ask(Reason::Caller, grace);
        } else {
            self.node.dispatch.withdraw(&self.book.row.id);
            self.canceled(None).await;
        }
    }

    /// A place is free.
    pub(super) async fn begin(&mut self, permit: Permit) {
        if self.book.row.state.is_terminal() || self.turn.as_ref().is_some_and(|turn| !turn.suspended) {
            return;
        }
        self.permit = Some(permit);
        if let Err(fault) = self.step(vec![Command::Start]).await {
            tracing::error!(task = %self.book.row.id, %fault, "a waiting task could not begin");
            self.permit = None;
            self.node.dispatch.enqueue(self.node.needs(&self.book.row));
            return;
        }
        if self.turn.is_some() {
            while let Some(message) = self.unread.pop_front() {
                self.hand(message);
            }
        } else {
            self.run();
        }
    }
}
