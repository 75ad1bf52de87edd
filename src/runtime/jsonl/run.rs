//! A run at work: lines in and out, timers, follow-ups, cancel (J-12 to J-25).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::super::child::Stdin;
use super::super::pen::Written;
use super::super::talk::{Cut, Talk};
use super::super::turn::{self, Failure, Program, Start, TERM, Timer, tell};
use super::super::{Answers, Job, Reason};
use super::input;
use super::keeper::Keeper;
use super::link::{Gone, Heard, Link, Own};
use super::output::Said;
use super::turn::{Step, Turn};
use crate::model::{FailureClass, Message, Outcome, Progress, Session, TaskState};

/// One run, from its start to `Done`, or to the loss of a suspended program.
pub(super) async fn run(
    program: Program,
    keeper: Option<Arc<Keeper>>,
    job: Job,
    progress: mpsc::Sender<Progress>,
    answers: Answers,
) {
    let link = match begin(&program, keeper, &job).await {
        Ok(link) => link,
        Err(outcome) => {
            tell(&progress, Progress::Done(outcome)).await;
            return;
        }
    };
    let bare = program.agent.replies == super::Replies::Message && job.prompt.history.is_empty();
    let idle = program.agent.idle_timeout;
    let attending = Attending {
        turn: Turn::new(bare),
        session: job.session.clone(),
        unread: None,
        why: None,
        silence: Timer::after(idle),
        link,
        program: &program,
        job: &job,
        progress: &progress,
        answers,
    };
    attending.attend().await;
}

async fn begin(program: &Program, keeper: Option<Arc<Keeper>>, job: &Job) -> Result<Link, Outcome> {
    if job.stop.asked().is_some() {
        return Err(Outcome::Canceled);
    }
    let first = input::first(job);
    if let Some(keeper) = keeper {
        return tokio::select! {
            seat = keeper.seat(job, first) => seat.map(Link::Seat),
            _ = job.stop.wait() => Err(Outcome::Canceled),
        };
    }
    let start = Start {
        task: job.task.to_string(),
        env: turn::told(job, &program.custody),
        stdin: Stdin::Piped,
        ..Start::default()
    };
    let child = program.start(&job.tracker, start).await?;
    let agent = &program.agent;
    let mut talk = Talk::new(child, &Cut::Lines(agent.limits.line), Some(agent.grace));
    talk.write_first(first);
    Ok(Link::Own(Box::new(Own::new(talk, agent.limits.line))))
}

/// Why the program was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The node asked.
    Asked(Reason),
    /// It said nothing for too long (J-23).
    Silent,
}

impl Why {
    const fn reason(self) -> Reason {
        match self {
            Self::Asked(reason) => reason,
            Self::Silent => Reason::Timeout,
        }
    }
}

struct Attending<'a> {
    turn: Turn,
    session: Option<Session>,
    /// Whether the newest follow-up has reached the program.
    unread: Option<Written>,
    why: Option<Why>,
    /// While a turn runs or is suspended: how long the program may be silent. After a cancel line: its grace.
    silence: Timer,
    link: Link,
    program: &'a Program,
    job: &'a Job,
    progress: &'a mpsc::Sender<Progress>,
    answers: Answers,
}

/// How a run ends.
enum End {
    /// With an outcome; `obeyed`: the program said or did so itself.
    Done { outcome: Outcome, obeyed: bool },
    /// With the whole answer.
    Replied(Message),
    /// Suspended, without its program (J-18, J-20); or nobody listens any more.
    Closed,
}

impl Attending<'_> {
    async fn attend(mut self) {
        let end = loop {
            if let Some(end) = self.step().await {
                break end;
            }
        };
        let grace = self.program.agent.grace;
        match end {
            End::Closed => self.link.end().await,
            // Who asked for the end hears of it when nothing is left (P-29).
            End::Done { outcome, obeyed } if self.why.is_some() => {
                self.link
                    .leave(if obeyed { self.silence.left() } else { Duration::ZERO }, TERM, obeyed)
                    .await;
                tell(self.progress, Progress::Done(outcome)).await;
            }
            End::Done { outcome, obeyed } => {
                tell(self.progress, Progress::Done(outcome)).await;
                self.link.leave(if obeyed { grace } else { Duration::ZERO }, grace, true).await;
            }
            End::Replied(message) => {
                tell(self.progress, Progress::Reply(message)).await;
                tell(self.progress, Progress::Done(Outcome::Completed { message: None, metadata: None }))
                    .await;
                self.link.leave(grace, grace, true).await;
            }
        }
    }

    async fn step(&mut self) -> Option<End> {
        let limit = self.program.agent.limits.line;
        tokio::select! {
            heard = self.link.hear(limit) => match heard {
                Heard::Line { number, said } => self.line(number, said).await,
                Heard::Clogged => Some(self.broken("the agent's program does not read its input".to_owned())),
                Heard::Gone(gone) => Some(self.gone(gone)),
            },
            Some(message) = self.answers.recv(), if self.why.is_none() => {
                self.follow_up(&message);
                None
            }
            reason = self.job.stop.wait(), if self.why.is_none() => self.cancel(Why::Asked(reason)),
            () = self.silence.passed() => match self.why {
                Some(why) => Some(End::Done { outcome: self.stopped(why), obeyed: false }),
                None if self.turn.waits.is_some() && self.link.is_own() => Some(End::Closed),
                None if self.turn.waits.is_some() => { self.silence = Timer::never(); None }
                None => self.cancel(Why::Silent),
            },
            () = self.progress.closed() => Some(End::Closed),
        }
    }

    async fn line(&mut self, number: u64, said: Result<Said, String>) -> Option<End> {
        if self.why.is_none() {
            self.silence = Timer::after(self.program.agent.idle_timeout);
        }
        if let Ok(Said::Session(session)) = &said {
            self.session = Some(session.clone());
        }
        let before = self.turn.waits.is_some();
        let step = said.and_then(|said| self.turn.take(said).map_err(str::to_owned));
        if before != self.turn.waits.is_some() {
            self.link.suspended(self.turn.waits.is_some());
        }
        match step {
            Ok(Step::Ignored) => None,
            Ok(Step::Tell(progress) | Step::Suspend(progress)) => {
                (!tell(self.progress, progress).await).then_some(End::Closed)
            }
            Ok(Step::Reply(message)) => Some(End::Replied(message)),
            Ok(Step::End(outcome)) => self.over(outcome).await,
            Err(why) => Some(self.broken(format!("line {number}: {why}"))),
        }
    }

    /// The program says that the turn is over. A follow-up that it could not have read before makes the next turn
    /// (J-21); it is already on its way, or is taken now.
    async fn over(&mut self, outcome: Outcome) -> Option<End> {
        let outcome = match (outcome, self.why) {
            (Outcome::Canceled, Some(why)) => self.stopped(why),
            (outcome, _) => outcome,
        };
        let Outcome::Completed { message, metadata } = outcome else {
            return Some(End::Done { outcome, obeyed: true });
        };
        let on_its_way = self.unread.as_ref().is_some_and(|unread| !unread.is_done());
        if self.why.is_none()
            && !on_its_way
            && let Some(said) = self.answers.try_recv()
        {
            self.turn.begin();
            self.follow_up(&said);
        } else if self.why.is_none() && on_its_way {
            self.turn.begin();
        } else {
            return Some(End::Done { outcome: Outcome::Completed { message, metadata }, obeyed: true });
        }
        (!tell(self.progress, Progress::Working(message)).await).then_some(End::Closed)
    }

    /// A message for a turn that runs (J-21) or waits (J-20).
    fn follow_up(&mut self, message: &Message) {
        let state = self.turn.waits.unwrap_or(TaskState::Working);
        if self.turn.waits.is_some() {
            self.turn.begin();
            self.link.suspended(false);
        }
        let line = input::follow_up(self.job, message, self.session.as_deref(), state);
        // A closed pipe is no error by itself (J-19): the exit decides, and it has come or will come.
        self.unread = self.link.write(line);
        self.silence = Timer::after(self.program.agent.idle_timeout);
    }

    /// Asks the program to end the turn. `Some`: it cannot be asked.
    fn cancel(&mut self, why: Why) -> Option<End> {
        self.why = Some(why);
        self.turn.canceling = true;
        if self.link.write(input::cancel(self.job, why.reason())).is_none() {
            return Some(End::Done { outcome: self.stopped(why), obeyed: false });
        }
        self.silence = Timer::after(self.program.agent.grace);
        None
    }

    /// What the end of a turn that was asked to end is. The node knows what its own reasons mean.
    fn stopped(&self, why: Why) -> Outcome {
        match why {
            Why::Asked(_) => Outcome::Canceled,
            Why::Silent => turn::silent(self.program.agent.idle_timeout.unwrap_or_default()),
        }
    }

    /// The process is gone (J-17, J-18, J-24, J-26).
    fn gone(&self, gone: Gone) -> End {
        if let Some(why) = self.why {
            return End::Done { outcome: self.stopped(why), obeyed: true };
        }
        if self.turn.waits.is_some() {
            return End::Closed;
        }
        let outcome = match gone {
            Gone::Exit(exit, _) if exit.is_success() && self.link.is_own() => {
                Outcome::Completed { message: None, metadata: None }
            }
            Gone::Exit(exit, tail) => turn::exited(exit, &tail),
            Gone::Mute(tail) => turn::closed(&tail),
            Gone::Unknown => Outcome::failed(FailureClass::Exit, "the agent's program ended"),
        };
        End::Done { outcome, obeyed: false }
    }

    /// The program broke the contract (J-3, J-4, J-29).
    fn broken(&self, why: String) -> End {
        let outcome = match self.why {
            Some(why) => self.stopped(why),
            None => {
                let failure = Failure { reason: Some("INVALID_AGENT_RESPONSE"), ..Failure::default() };
                turn::failed(FailureClass::Protocol, why, &failure)
            }
        };
        End::Done { outcome, obeyed: false }
    }
}
