//! A run at work: the CLI started, heard out, interrupted, fed with follow-ups, and left.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::super::child::Stdin;
use super::super::talk::{Cut, Heard, Talk};
use super::super::turn::{self, Program, Start, TERM, Timer, tell};
use super::super::{Answers, Job};
use super::answer::Answer;
use super::busy::Busy;
use super::outcome::{self, NO_CONVERSATION};
use super::session::{Session, Usage};
use super::{command, prompt, wire};
use crate::model::{Message, Outcome, Progress};

/// Longest line that is read; a longer one is dropped and the turn goes on (UR-34).
const LINE: usize = 64 * 1024 * 1024;

/// How long the CLI may take to leave after a turn that was broken off.
const LEAVE: Duration = Duration::from_millis(500);

/// One run, from its start to `Done`, or to a missing login.
pub(super) async fn run(
    program: Program,
    busy: Arc<Busy>,
    job: Job,
    progress: mpsc::Sender<Progress>,
    answers: Answers,
) {
    let workspace = &program.agent.workspace;
    let kept = job.session.as_deref().filter(|text| !text.is_empty());
    let known = kept.and_then(|text| Session::read(text, workspace));
    let mut resume = known.is_some();
    if kept.is_some() && !resume && !tell(&progress, begins_anew()).await {
        return;
    }
    let mut attending = Attending {
        session: known.unwrap_or_else(|| fresh(&program)),
        usage: Usage::default(),
        denied: HashSet::new(),
        turns: 0,
        turn: Turn::default(),
        why: None,
        timer: Timer::never(),
        program: &program,
        job: &job,
        progress: &progress,
        answers,
    };
    loop {
        let _held = tokio::select! {
            held = busy.hold(&attending.session.id) => held,
            () = progress.closed() => return,
            _ = job.stop.wait() => {
                tell(&progress, Progress::Done(Outcome::Canceled)).await;
                return;
            }
        };
        match attending.start(resume).await {
            Ok(talk) => {
                if !attending.attend(talk, resume).await {
                    return;
                }
            }
            Err(outcome) => {
                tell(&progress, Progress::Done(outcome)).await;
                return;
            }
        }
        // The conversation is gone: once more, from the beginning (UR-39).
        resume = false;
        attending.session = fresh(&program);
        attending.turn = Turn::default();
        if !tell(&progress, begins_anew()).await {
            return;
        }
    }
}

fn fresh(program: &Program) -> Session {
    Session::new(uuid::Uuid::new_v4().to_string(), &program.agent.workspace)
}

fn begins_anew() -> Progress {
    let text = "The earlier conversation of this context could not be resumed; a new one begins.";
    Progress::Working(Some(Message::agent(text)))
}

/// Why the CLI was asked to break off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The node asked.
    Asked,
    /// It did not say a word for that long.
    Silent(Duration),
}

/// What is known of the turn that runs.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) answer: Answer,
    /// Whether readers have an artifact of it.
    pub(super) opened: bool,
    /// Tools at work: silence is theirs.
    pub(super) tools: HashSet<String>,
    /// What a message said of a failure.
    pub(super) error: Option<String>,
    /// Whether the CLI has said anything.
    pub(super) heard: bool,
}

/// A run, whose events `events` takes.
pub(super) struct Attending<'a> {
    pub(super) session: Session,
    pub(super) usage: Usage,
    /// Tools that were denied, by their use.
    pub(super) denied: HashSet<String>,
    /// Turns that are over.
    pub(super) turns: usize,
    pub(super) turn: Turn,
    pub(super) why: Option<Why>,
    /// Before an interrupt: silence. After it: the grace.
    timer: Timer,
    program: &'a Program,
    pub(super) job: &'a Job,
    pub(super) progress: &'a mpsc::Sender<Progress>,
    pub(super) answers: Answers,
}

/// How a process was done with.
pub(super) enum End {
    /// The run is over.
    Done(Outcome),
    /// The run waits for a login.
    Login(String),
    /// There is no such conversation.
    NoConversation,
    /// Nobody listens any more.
    Closed,
}

impl Attending<'_> {
    async fn start(&mut self, resume: bool) -> Result<Talk, Outcome> {
        if self.job.stop.asked().is_some() {
            return Err(Outcome::Canceled);
        }
        let agent = &self.program.agent;
        let start = Start {
            task: self.job.task.to_string(),
            args: command::args(agent, &self.session, resume),
            env: command::env(agent),
            env_from: command::KEYS.iter().map(|key| (*key).to_owned()).collect(),
            stdin: Stdin::Piped,
            temp: None,
        };
        let child = self.program.start(&self.job.tracker, start).await?;
        let mut talk =
            Talk::new(child, &Cut::Lines(Some(agent.limits.line.unwrap_or(LINE))), Some(agent.grace));
        talk.write(wire::user(&prompt::blocks(&self.job.prompt.message)));
        self.timer = Timer::after(agent.start_timeout);
        Ok(talk)
    }

    /// Hears the process out and tells how it ended. `true`: another one is needed.
    async fn attend(&mut self, mut talk: Talk, resume: bool) -> bool {
        let end = loop {
            if let Some(end) = self.step(&mut talk, resume).await {
                break end;
            }
        };
        let grace = self.program.agent.grace;
        match end {
            End::NoConversation => {
                talk.leave(LEAVE, TERM).await;
                return true;
            }
            End::Closed => drop(talk.leave(Duration::ZERO, TERM).await),
            // Who asked for the end hears of it when nothing is left (P-29).
            End::Done(outcome) if self.why.is_some() => {
                talk.leave(LEAVE.min(self.timer.left()), TERM).await;
                tell(self.progress, Progress::Done(outcome)).await;
            }
            // The turn is over whatever the process does now (UR-4, UR-5).
            End::Done(outcome) => {
                tell(self.progress, Progress::Done(outcome)).await;
                talk.leave(grace, grace).await;
            }
            End::Login(said) => {
                // What is said from here on goes to the next run.
                self.answers.close();
                tell(self.progress, Progress::NeedAuth(Message::agent(login(&said)))).await;
                talk.leave(grace, grace).await;
            }
        }
        false
    }

    async fn step(&mut self, talk: &mut Talk, resume: bool) -> Option<End> {
        tokio::select! {
            heard = talk.hear() => match heard {
                Heard::Piece(line) => {
                    let end = self.line(&line, talk).await;
                    if self.why.is_none() {
                        let idle = self.program.agent.idle_timeout.filter(|_| self.turn.tools.is_empty());
                        self.timer = Timer::after(idle);
                    }
                    end
                }
                Heard::TooLong(bytes) => {
                    tracing::warn!(bytes, "a line of the agent's program is over the limit and is dropped");
                    None
                }
                Heard::Exit(exit) => Some(self.gone(|tail| turn::exited(exit, tail), &turn::tail(talk.child()), resume)),
                Heard::Mute => Some(self.gone(turn::closed, &turn::tail(talk.child()), resume)),
            },
            _ = self.job.stop.wait(), if self.why.is_none() => self.interrupt(talk, Why::Asked),
            () = self.timer.passed() => match self.why {
                Some(why) => Some(End::Done(stopped(why))),
                None => self.interrupt(talk, Why::Silent(self.patience())),
            },
            () = self.progress.closed() => Some(End::Closed),
        }
    }

    /// The limit that the timer stands for.
    fn patience(&self) -> Duration {
        let agent = &self.program.agent;
        let limit = if self.turn.heard { agent.idle_timeout } else { agent.start_timeout };
        limit.unwrap_or_default()
    }

    /// Asks for the end of the turn. `Some`: there is nobody to ask.
    fn interrupt(&mut self, talk: &mut Talk, why: Why) -> Option<End> {
        self.why = Some(why);
        self.timer = Timer::after(self.program.agent.grace);
        if !talk.is_open() {
            return Some(End::Done(stopped(why)));
        }
        talk.write(wire::interrupt());
        None
    }

    /// The process is gone, and had not said how the turn ended.
    fn gone(&self, outcome: impl FnOnce(&str) -> Outcome, tail: &str, resume: bool) -> End {
        match self.why {
            Some(why) => End::Done(stopped(why)),
            None if resume && tail.contains(NO_CONVERSATION) => End::NoConversation,
            None => End::Done(outcome::with(outcome(tail), self.figures())),
        }
    }
}

/// What the end of a turn that was asked to end is.
pub(super) fn stopped(why: Why) -> Outcome {
    match why {
        Why::Asked => Outcome::Canceled,
        Why::Silent(limit) => turn::silent(limit),
    }
}

/// What to do about a missing login (UR-46).
fn login(said: &str) -> String {
    format!(
        "Claude Code is not logged in on this node ({said}). On the node's machine, as the node's user, run `claude` \
         and then /login, or give the node ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN; then send any message to \
         this task."
    )
}
