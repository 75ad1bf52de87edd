//! The loop of one live task: what callers say, what the run tells and what the clock says become commands; every
//! command becomes facts in one commit. An actor may live without a run and leaves when nothing is to do.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    Inner,
    agents::Served,
    book::{Book, Patience},
    dispatch::{Admission, Permit},
    envelope::{Envelope, First, Said},
    prompt,
    turn::{Told, Turn},
};
use crate::{
    lifecycle::{Author, Command, Fact},
    model::{AgentName, FailureClass, Fault, Message, Metadata, Outcome, Progress, Seq, TaskId, TaskState},
    runtime::{Job, Prompt, Reason},
    store::{Row, SessionRow},
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

    /// A further message (P-24).
    async fn say(&mut self, said: Said) -> Result<Seq, Fault> {
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
        let rows = super::send::placed(said.rows, &self.book.row.id, place);
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
    fn place(&mut self) -> Result<bool, Fault> {
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
            Admission::Full(limit) => Err(super::full(limit)),
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
    async fn cancel(&mut self, by: Author, answer: oneshot::Sender<Result<(), Fault>>) {
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
    async fn begin(&mut self, permit: Permit) {
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

    /// The run told something; all that is there goes into one commit.
    async fn told(&mut self, told: Told) {
        let Some(turn) = &mut self.turn else { return };
        let mut steps = turn.gather(told);
        if turn.gone && turn.suspended {
            // The task stays as it is; its answer starts a new run (J-18, J-20).
            self.take_in(steps).await;
            self.end_run();
            Box::pin(self.go_on()).await;
            return;
        }
        if turn.gone {
            steps.push(Progress::Done(Turn::vanished()));
        }
        self.take_in(steps).await;
    }

    /// What a suspended run left unread starts the next turn.
    async fn go_on(&mut self) {
        if self.unread.is_empty() || !self.book.row.state.is_interrupted() {
            return;
        }
        self.before = self.book.row.state;
        let report = Command::Report { progress: Progress::Working(None), tokens: false };
        match self.place() {
            Ok(true) if self.step(vec![report]).await.is_ok() => self.run(),
            Ok(false) => {
                let requeue = Command::Requeue { why: "waits for its turn".into() };
                if self.step(vec![requeue]).await.is_ok() {
                    self.node.dispatch.confirm(&self.book.row.id);
                } else {
                    self.node.dispatch.withdraw(&self.book.row.id);
                }
            }
            // The message is in the history; the next answer finds it there.
            Ok(true) | Err(_) => self.permit = None,
        }
    }

    /// A time has come: text that waited is written, or the turn has taken too long.
    async fn rang(&mut self) {
        let grace = self.node.grace(&self.book.row.agent);
        let Some(turn) = &mut self.turn else { return };
        let steps = turn.rang(grace);
        self.take_in(steps).await;
    }

    /// Commits what a run told and does what follows from it.
    async fn take_in(&mut self, steps: Vec<Progress>) {
        let mut commands = Vec::new();
        let mut rows = Vec::new();
        let mut outcome = None;
        let mut suspends = false;
        for progress in steps {
            match progress {
                Progress::Session(session) => rows.push(Row::Session(self.session_row(session))),
                Progress::Done(done) => outcome = Some(done),
                Progress::Reply(message) if self.book.row.born => {
                    outcome = Some(Outcome::Completed { message: Some(message), metadata: None });
                }
                progress => {
                    suspends = matches!(progress, Progress::Ask { .. } | Progress::NeedAuth(_));
                    commands.push(progress);
                }
            }
        }
        let reply = matches!(commands.first(), Some(Progress::Reply(_)));
        if (!commands.is_empty() || outcome.is_some()) && !reply {
            self.book.row.born = true;
        }
        if !suspends && !commands.is_empty() {
            self.wake();
        }
        let tokens = self.turn.as_ref().is_some_and(|turn| turn.tokens);
        let mut commands: Vec<Command> =
            commands.into_iter().map(|progress| Command::Report { progress, tokens }).collect();
        let next = match outcome {
            // A bare message is the end, whatever its runtime still says.
            _ if reply => Next::Ends,
            Some(outcome) => self.conclude(outcome, &mut commands),
            None => Next::Goes,
        };
        let result = self.write(commands, rows).await;
        self.follow(result, next, suspends).await;
    }

    /// What the end of a run means, given who asked for it and what was not read.
    fn conclude(&mut self, outcome: Outcome, commands: &mut Vec<Command>) -> Next {
        let resumes = self.resumes();
        let Some(turn) = &mut self.turn else { return Next::Ends };
        self.unread.extend(turn.unread());
        let asked = turn.asked();
        let (tokens, gone) = (turn.tokens, turn.gone);
        let report = |outcome| Command::Report { progress: Progress::Done(outcome), tokens };
        match (outcome, asked) {
            (Outcome::Completed { message, .. }, None) if !self.unread.is_empty() => {
                commands.push(Command::Report { progress: Progress::Working(message), tokens });
                return Next::Again;
            }
            // It went away before it could read what was handed to it: a new run does (J-20).
            (Outcome::Failed { .. }, None) if gone && !self.unread.is_empty() => return Next::Again,
            (Outcome::Canceled, Some(Reason::Caller)) => commands.push(Command::Cancel { message: None }),
            (Outcome::Canceled, Some(Reason::Shutdown)) if resumes => return Next::Leaves,
            (Outcome::Canceled, Some(Reason::Shutdown)) => commands.push(Command::Abandon {
                why: "interrupted by shutdown".into(),
                class: FailureClass::Interrupted,
            }),
            (Outcome::Canceled, Some(Reason::Timeout)) => {
                commands.push(Command::Abandon { why: turn.overdue(), class: FailureClass::Timeout });
            }
            (outcome, _) => commands.push(report(outcome)),
        }
        Next::Ends
    }

    /// Writes what a run told, in the name of who made it so.
    async fn write(&mut self, commands: Vec<Command>, rows: Vec<Row>) -> Result<(), Fault> {
        let row = &self.book.row;
        let canceled = matches!(commands.last(), Some(Command::Cancel { .. }));
        let by = match (&self.canceled_by, canceled) {
            (Some(by), true) => by.clone(),
            _ => super::author_of_run(row),
        };
        self.book.step(&by, commands, rows, Patience::Minute).await.map(|_| ())
    }

    async fn step(&mut self, commands: Vec<Command>) -> Result<(), Fault> {
        self.write(commands, Vec::new()).await
    }

    /// What happens after a commit.
    async fn follow(&mut self, result: Result<(), Fault>, next: Next, suspends: bool) {
        if let Err(fault) = result {
            tracing::error!(task = %self.book.row.id, %fault, "a turn's progress could not be stored");
            self.end_run();
            self.release();
            return;
        }
        match next {
            Next::Goes if suspends => self.suspend(),
            Next::Goes => {}
            Next::Again => {
                self.turn = None;
                self.before = TaskState::Working;
                self.run();
            }
            Next::Leaves => {
                self.turn = None;
                self.release();
            }
            Next::Ends => {
                self.end_run();
                self.release();
            }
        }
    }

    /// The turn waits for somebody outside: its place is free (P-25).
    fn suspend(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.suspend();
        }
        if let Some(permit) = &mut self.permit {
            permit.suspend();
        }
    }

    /// A suspended turn goes on by itself (J-22).
    fn wake(&mut self) {
        if let Some(turn) = &mut self.turn
            && turn.suspended
        {
            turn.resume();
            let placed = self.permit.as_mut().is_some_and(Permit::resume);
            if !placed {
                self.permit = Some(self.node.dispatch.force(self.node.needs(&self.book.row)));
            }
        }
    }

    /// Ends what is left of the run; a suspended task stays as it is.
    fn end_run(&mut self) {
        if let Some(mut turn) = self.turn.take() {
            self.unread.extend(turn.unread());
        }
        self.permit = None;
    }

    /// Nothing runs any more: who waits for the end is answered.
    fn release(&mut self) {
        self.permit = None;
        let ended = self.book.row.state.is_terminal();
        for answer in self.waiting.drain(..) {
            let id = self.book.row.id.clone();
            let _ =
                answer.send(if ended { Ok(()) } else { Err(super::incident(&format!("{id} did not end"))) });
        }
    }

    /// The task ends because somebody asked, with no run in the way.
    async fn canceled(&mut self, message: Option<Message>) {
        let by = self.canceled_by.clone().unwrap_or_else(super::node_itself);
        let result = self.book.step(&by, vec![Command::Cancel { message }], Vec::new(), Patience::None).await;
        self.unread.clear();
        if let Err(fault) = result {
            for answer in self.waiting.drain(..) {
                let _ = answer.send(Err(fault.clone()));
            }
        }
        self.release();
    }

    fn resumes(&self) -> bool {
        self.served()
            .is_ok_and(|served| served.config.on_restart == crate::runtime::config::OnRestart::Resume)
    }

    fn served(&self) -> Result<Arc<Served>, AgentName> {
        let name = &self.book.row.agent;
        self.node.registry.load().get(name.as_str()).cloned().ok_or_else(|| name.clone())
    }

    fn session_row(&self, session: String) -> SessionRow {
        let row = &self.book.row;
        SessionRow {
            agent: row.agent.clone(),
            principal: row.scope.clone(),
            context: row.context.clone(),
            session,
        }
    }
}

/// What follows a commit.
enum Next {
    /// The run goes on.
    Goes,
    /// It ended with messages unread: the next turn begins.
    Again,
    /// It is left for the next start of the node.
    Leaves,
    /// The task has ended.
    Ends,
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
