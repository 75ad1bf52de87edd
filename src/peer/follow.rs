//! A stream that outlives its connection: reconnects, and resumes where it was (A2A 1.0 section 3.1.6, P-26).

use std::time::Duration;

use tokio::time::Instant;

use super::{Error, Event, Events, Peer, Refusal};
use crate::model::{Operation, Send, Seq, Subscribe, TaskId, TaskState, Update};
use crate::wire::Dialect;

/// Waits between attempts: the first, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What [`Follow::next`] yields.
#[derive(Debug)]
pub enum Step {
    /// An event. After a reconnection a `task` may come again: it replaces what was known.
    Event(Box<Event>),
    /// The connection is gone; another attempt follows after a pause.
    Reconnecting(Error),
    /// The task or its turn has ended, or the whole answer has come.
    End,
}

/// What is followed.
#[derive(Debug)]
enum Goal {
    /// One turn: ends with the task, or when it waits for somebody.
    Turn(Box<Send>),
    /// The task, to its end.
    Task,
}

/// One turn or one task, followed over any number of connections.
#[derive(Debug)]
pub struct Follow<'p> {
    peer: &'p Peer,
    goal: Goal,
    task: Option<TaskId>,
    after: Option<Seq>,
    events: Option<Events>,
    /// The open stream is a subscription, not the one that sent the message.
    resumed: bool,
    /// A stream was open before, so that a failure is a loss and not an error of the caller.
    opened: bool,
    over: bool,
    state: Option<TaskState>,
    wait: Duration,
    /// When to give up, while nothing is connected.
    deadline: Option<Instant>,
    patience: Duration,
}

impl<'p> Follow<'p> {
    /// Sends a message and follows the turn it starts.
    #[must_use]
    pub fn turn(peer: &'p Peer, send: Send, patience: Duration) -> Self {
        let task = send.message.task_id.clone();
        Self { goal: Goal::Turn(Box::new(send)), ..Self::new(peer, task, None, patience) }
    }

    /// Follows a task to its end. `after`: the last event already seen.
    #[must_use]
    pub fn task(peer: &'p Peer, id: TaskId, after: Option<Seq>, patience: Duration) -> Self {
        Self::new(peer, Some(id), after, patience)
    }

    const fn new(peer: &'p Peer, task: Option<TaskId>, after: Option<Seq>, patience: Duration) -> Self {
        Self {
            peer,
            goal: Goal::Task,
            task,
            after,
            events: None,
            resumed: false,
            opened: false,
            over: false,
            state: None,
            wait: FIRST_WAIT,
            deadline: None,
            patience,
        }
    }

    /// The task, once the first event has named it.
    #[must_use]
    pub const fn id(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// The next step. Nothing is lost when this is dropped while it waits.
    ///
    /// # Errors
    /// Refusals as they come; [`Error::Lost`] when there was a stream and it did not come back within the patience.
    pub async fn next(&mut self) -> Result<Step, Error> {
        if self.over {
            return Ok(Step::End);
        }
        let Some(events) = &mut self.events else { return self.open().await };
        match events.next().await {
            Ok(Some(event)) => {
                self.note(&event);
                Ok(Step::Event(Box::new(event)))
            }
            Ok(None) if self.is_settled() => {
                self.over = true;
                Ok(Step::End)
            }
            Ok(None) => {
                let url = self.peer.endpoint().url.to_string();
                Ok(self.lose(Error::Cut { url, why: "it ended before the task".into() }))
            }
            Err(error) if error.is_passing() => Ok(self.lose(error)),
            Err(error) => Err(error),
        }
    }

    /// Opens a stream, or tells that it has to wait.
    async fn open(&mut self) -> Result<Step, Error> {
        if self.deadline.is_some() {
            tokio::time::sleep(self.wait).await;
        }
        let error = match self.connect().await {
            Ok(Some(event)) => {
                self.note(&event);
                self.over = true;
                return Ok(Step::Event(Box::new(event)));
            }
            Ok(None) => {
                self.opened = true;
                return Box::pin(self.next()).await;
            }
            Err(error) => error,
        };
        let renewed = error.refusal().is_some_and(Refusal::is_unauthenticated) && self.peer.http.renew();
        if !self.opened || !(error.is_passing() || renewed) {
            return Err(error);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::Lost { task: self.task.clone(), why: error.to_string() });
        }
        Ok(self.lose(error))
    }

    /// One attempt. An event, if that is all there is to come.
    async fn connect(&mut self) -> Result<Option<Event>, Error> {
        match (&self.goal, &self.task) {
            (Goal::Turn(send), _) if !self.opened => {
                self.events = Some(self.peer.stream(&Operation::Stream((**send).clone()), None).await?);
            }
            (Goal::Turn(send), None) => {
                // Broken before the first event: whether the message arrived is unknown. A node of our kind joins
                // the same message to the task that it made (P-21); elsewhere it might be carried out twice.
                if !self.peer.endpoint().ours {
                    let why =
                        "the connection broke before the first event; the message may have arrived".into();
                    return Err(Error::Lost { task: None, why });
                }
                self.events = Some(self.peer.stream(&Operation::Stream((**send).clone()), None).await?);
            }
            (_, Some(id)) => {
                let id = id.clone();
                let subscribe = Operation::Subscribe(Subscribe { tenant: None, id: id.clone() });
                match self.peer.stream(&subscribe, self.after).await {
                    Ok(events) => {
                        self.events = Some(events);
                        self.resumed = true;
                    }
                    // It has ended: what is left is to look at it (A2A-64).
                    Err(error) if self.has_ended(&error) => return self.look(id, error).await.map(Some),
                    Err(error) => return Err(error),
                }
            }
            (Goal::Task, None) => self.over = true,
        }
        Ok(None)
    }

    async fn look(&self, id: TaskId, refused: Error) -> Result<Event, Error> {
        let task = self.peer.task(&id, None).await?;
        if task.status.state.is_terminal() {
            Ok(Event { seq: None, update: Update::Task(task) })
        } else {
            Err(refused)
        }
    }

    fn lose(&mut self, error: Error) -> Step {
        self.events = None;
        match self.deadline {
            Some(_) => self.wait = (self.wait * 2).min(LONGEST_WAIT),
            None => self.deadline = Some(Instant::now() + self.patience),
        }
        Step::Reconnecting(error)
    }

    /// Takes note of an event: where we are, and whether it is the last.
    fn note(&mut self, event: &Event) {
        self.deadline = None;
        self.wait = FIRST_WAIT;
        self.after = event.seq.or(self.after);
        let (id, state) = match &event.update {
            Update::Task(task) => (Some(&task.id), Some(task.status.state)),
            Update::StatusUpdate(update) => (Some(&update.task_id), Some(update.status.state)),
            Update::ArtifactUpdate(update) => (Some(&update.task_id), None),
            Update::Message(_) => {
                self.over = true;
                (None, None)
            }
        };
        if let (None, Some(id)) = (&self.task, id) {
            self.task = Some(id.clone());
        }
        let Some(state) = state else { return };
        self.state = Some(state);
        let told = self.resumed || matches!(event.update, Update::StatusUpdate(_));
        // The first `task` of a stream that sent an answer may still show the question: that is no end of the turn.
        let waits = matches!(self.goal, Goal::Turn(_)) && state.is_interrupted() && told;
        self.over |= state.is_terminal() || waits;
    }

    /// Whether a clean end of the stream is the end of what is followed.
    fn is_settled(&self) -> bool {
        match self.goal {
            Goal::Turn(_) => self.state.is_some_and(|state| state.is_terminal() || state.is_interrupted()),
            // In 0.3 every stream ends at a question, and would end there again (P-25).
            Goal::Task if self.peer.dialect() != Dialect::V1 => {
                self.state.is_some_and(|state| state.is_terminal() || state == TaskState::InputRequired)
            }
            Goal::Task => self.state.is_some_and(TaskState::is_terminal),
        }
    }

    /// Whether a subscription was refused because the task has ended. Servers of 0.3 have each their own code for that.
    fn has_ended(&self, error: &Error) -> bool {
        error.refusal().is_some_and(|refusal| {
            refusal.is("UNSUPPORTED_OPERATION", -32004)
                || (self.peer.dialect() != Dialect::V1 && !refusal.is_unauthenticated() && refusal.code != 0)
        })
    }
}
