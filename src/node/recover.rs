//! What becomes of unfinished tasks when the node starts, and of old ones while it runs.

use std::{sync::Arc, time::Duration};

use super::{
    Inner,
    book::{Book, Patience},
    fault_of,
};
use crate::{
    lifecycle::{Command, Event, Fact},
    model::{Ask, FailureClass, Fault, Message, TaskState},
    runtime::config::OnRestart,
    store::TaskRow,
};

/// Why a turn that is run again went back into the queue.
pub(super) const AGAIN: &str = "the node restarted; the turn runs again";

/// How often old tasks are looked for.
const EVERY: Duration = Duration::from_secs(300);

impl Inner {
    /// Brings every unfinished task into a truthful state. Called once, before the doors open.
    pub(super) async fn recover(self: &Arc<Self>) -> Result<(), Fault> {
        for row in self.store.unfinished().await.map_err(fault_of)? {
            let waits = row.state == TaskState::Submitted && row.born;
            if waits && self.registry.load().get(row.agent.as_str()).is_some() {
                self.dispatch.enqueue(self.needs(&row));
            } else {
                self.mend(row).await?;
            }
        }
        Ok(())
    }

    /// The first row of the table that fits.
    async fn mend(self: &Arc<Self>, row: TaskRow) -> Result<(), Fault> {
        let Some((mut book, events)) = Book::claim(&self.store, &row.id).await? else { return Ok(()) };
        let registry = self.registry.load();
        let served = registry.get(row.agent.as_str());
        let interrupted =
            || Command::Abandon { why: "interrupted by restart".into(), class: FailureClass::Interrupted };
        let command = match (row.state, served) {
            (TaskState::Submitted, None) => {
                let text = format!("the agent {} is no longer configured", row.agent);
                Command::Report {
                    progress: crate::model::Progress::Done(crate::model::Outcome::Rejected(Message::agent(
                        text,
                    ))),
                    tokens: false,
                }
            }
            (TaskState::Working, Some(served))
                if served.config.on_restart == OnRestart::Resume && row.born =>
            {
                Command::Requeue { why: AGAIN.into() }
            }
            (TaskState::Working | TaskState::Submitted, _) => interrupted(),
            (TaskState::InputRequired, _) if asked_permission(&events) => interrupted(),
            (
                TaskState::InputRequired
                | TaskState::AuthRequired
                | TaskState::Completed
                | TaskState::Failed
                | TaskState::Canceled
                | TaskState::Rejected,
                _,
            ) => return Ok(()),
        };
        let again = matches!(command, Command::Requeue { .. });
        // An unborn task that the crash met is born with its failure, so that a repetition of its send finds it (J-15).
        book.row.born = true;
        book.step(&super::node_itself(), vec![command], Vec::new(), Patience::None).await?;
        if again {
            self.dispatch.enqueue(self.needs(&book.row));
        }
        Ok(())
    }

    /// Deletes what is older than the configuration keeps; ends what nobody answered. For as long as the node lives.
    pub(super) async fn keep_house(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.stopped.cancelled() => return,
            }
            match self.store.expire(self.store.now()).await {
                Ok(expired) => {
                    for id in expired.waiting {
                        if let Err(fault) = self.give_up(&id).await {
                            tracing::warn!(task = %id, %fault, "a task that nobody answered could not be ended");
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "old tasks could not be deleted"),
            }
        }
    }

    /// Ends a task that has waited too long.
    async fn give_up(self: &Arc<Self>, id: &crate::model::TaskId) -> Result<(), Fault> {
        if self.desk.has(id) {
            let by = super::node_itself();
            return self.ask(id, |answer| super::envelope::Envelope::Cancel { by: by.clone(), answer }).await;
        }
        if let Some((mut book, _)) = Book::claim(&self.store, id).await? {
            let command = Command::Cancel { message: Some(Message::agent("nobody answered")) };
            book.step(&super::node_itself(), vec![command], Vec::new(), Patience::None).await?;
        }
        Ok(())
    }
}

/// Whether a suspended task waits for a permission, whose question lived in the program.
fn asked_permission(events: &[Event]) -> bool {
    events.iter().rev().find_map(|event| match &event.fact {
        Fact::Asked { kind, .. } => Some(*kind == Ask::Approval),
        _ => None,
    }) == Some(true)
}
