//! What the run tells of itself and what the clock says of it: what is committed, and what follows from it.

use super::{
    super::{
        book::Patience,
        dispatch::Permit,
        turn::{Told, Turn},
    },
    Actor,
};
use crate::{
    lifecycle::Command,
    model::{FailureClass, Fault, Message, Outcome, Progress, TaskState},
    runtime::Reason,
    store::{Row, SessionRow},
};

impl Actor {
    /// The run told something; all that is there goes into one commit.
    pub(super) async fn told(&mut self, told: Told) {
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
    pub(super) async fn rang(&mut self) {
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
            _ => super::super::author_of_run(row),
        };
        self.book.step(&by, commands, rows, Patience::Minute).await.map(|_| ())
    }

    pub(super) async fn step(&mut self, commands: Vec<Command>) -> Result<(), Fault> {
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
    pub(super) fn end_run(&mut self) {
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
            let _ = answer.send(if ended {
                Ok(())
            } else {
                Err(super::super::incident(&format!("{id} did not end")))
            });
        }
    }

    /// The task ends because somebody asked, with no run in the way.
    pub(super) async fn canceled(&mut self, message: Option<Message>) {
        let by = self.canceled_by.clone().unwrap_or_else(super::super::node_itself);
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
