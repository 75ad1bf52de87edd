//! A run at work: the CLI started, heard out, interrupted, fed with follow-ups, and left.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::super::child::Stdin;
use super::super::talk::{Cut, Heard, Talk};
use super::super::turn::{self, Program, Start, TERM, Timer, answer_id, tell};
use super::super::Job;
use super::answer::{Answer, Change};
use super::busy::Busy;
use super::outcome::{self, NO_CONVERSATION, Verdict};
use super::session::{Session, Usage};
use super::wire::{self, Block, Content, Delta, Ended, Event, Request, Said, Stream, System};
use super::{command, prompt, tool};
use crate::model::{Artifact, FailureClass, Message, Metadata, Outcome, Progress};

/// Longest line that is read; a longer one is dropped and the turn goes on (UR-34).
const LINE: usize = 64 * 1024 * 1024;

/// How long the CLI may take to leave after a turn that was broken off.
const LEAVE: Duration = Duration::from_millis(500);

/// What the CLI writes in the place of the model.
const SYNTHETIC: &str = "<synthetic>";

/// One run, from its start to `Done`, or to a missing login.
pub(super) async fn run(
    program: Program,
    busy: Arc<Busy>,
    job: Job,
    progress: mpsc::Sender<Progress>,
    answers: mpsc::Receiver<Message>,
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
enum Why {
    /// The node asked.
    Asked,
    /// It did not say a word for that long.
    Silent(Duration),
}

/// What is known of the turn that runs.
#[derive(Debug, Default)]
struct Turn {
    answer: Answer,
    /// Whether readers have an artifact of it.
    opened: bool,
    /// Tools at work: silence is theirs.
    tools: HashSet<String>,
    /// What a message said of a failure.
    error: Option<String>,
    /// Whether the CLI has said anything.
    heard: bool,
}

struct Attending<'a> {
    session: Session,
    usage: Usage,
    /// Tools that were denied, by their use.
    denied: HashSet<String>,
    /// Turns that are over.
    turns: usize,
    turn: Turn,
    why: Option<Why>,
    /// Before an interrupt: silence. After it: the grace.
    timer: Timer,
    program: &'a Program,
    job: &'a Job,
    progress: &'a mpsc::Sender<Progress>,
    answers: mpsc::Receiver<Message>,
}

/// How a process was done with.
enum End {
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
        let mut talk = Talk::new(child, &Cut::Lines(Some(agent.limits.line.unwrap_or(LINE))), Some(agent.grace));
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

    async fn line(&mut self, line: &[u8], talk: &mut Talk) -> Option<End> {
        let Some(event) = wire::read(line) else {
            tracing::debug!(bytes = line.len(), "a line that is no event of the CLI is skipped");
            return None;
        };
        self.turn.heard = true;
        match event {
            Event::System(system) => self.system(system).await,
            Event::StreamEvent { event, parent_tool_use_id: None } => self.stream(event).await,
            Event::Assistant { message, parent_tool_use_id, error } => {
                self.turn.error = error.or_else(|| self.turn.error.take());
                self.assistant(message, parent_tool_use_id.is_some()).await
            }
            Event::User { message } => {
                if let Content::Blocks(blocks) = message.content {
                    for block in blocks {
                        if let Block::ToolResult { tool_use_id } = block {
                            self.turn.tools.remove(&tool_use_id);
                        }
                    }
                }
                None
            }
            Event::ControlRequest { request_id, request } => {
                self.control(&request_id, request, talk);
                None
            }
            Event::Result(ended) => self.over(*ended, talk).await,
            // A subagent's words are not the answer.
            Event::StreamEvent { .. } | Event::Other => None,
        }
    }

    async fn system(&mut self, system: System) -> Option<End> {
        match system.subtype.as_str() {
            "init" if uuid::Uuid::parse_str(&system.session_id).is_ok() => {
                self.session.id = system.session_id;
                self.tell(Progress::Session(self.session.text())).await
            }
            "api_retry" => {
                let lost = self.turn.answer.discard();
                if let Some(end) = self.change(lost).await {
                    return Some(end);
                }
                let status = system.error_status.map(|status| format!("status {status}"));
                let why = status.or(system.error).unwrap_or_else(|| "unknown".to_owned());
                let text = format!(
                    "The model's service failed ({why}); trying again ({} of {}).",
                    system.attempt, system.max_retries
                );
                self.tell(Progress::Working(Some(Message::agent(text)))).await
            }
            _ => None,
        }
    }

    async fn stream(&mut self, event: Stream) -> Option<End> {
        let change = match event {
            Stream::MessageStart { message } => self.turn.answer.begin(&message.id),
            Stream::ContentBlockDelta { delta: Delta::TextDelta { text } } => self.turn.answer.delta(&text),
            Stream::ContentBlockDelta { .. } | Stream::Other => None,
        };
        self.change(change).await
    }

    async fn assistant(&mut self, message: Said, subagent: bool) -> Option<End> {
        let Content::Blocks(blocks) = message.content else { return None };
        for block in blocks {
            let end = match block {
                Block::Text { text } if !subagent && message.model != SYNTHETIC => {
                    let change = self.turn.answer.whole(&message.id, &text);
                    self.change(change).await
                }
                Block::ToolUse { id, name, input } => {
                    let started = tool::started(&id, &name, &input);
                    self.turn.tools.insert(id);
                    self.tell(Progress::Working(Some(started))).await
                }
                Block::Text { .. } | Block::ToolResult { .. } | Block::Other => None,
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }

    fn control(&mut self, id: &str, request: Request, talk: &mut Talk) {
        match request {
            Request::CanUseTool { tool_name, tool_use_id } => {
                tracing::info!(tool = tool_name, "a tool was denied: nobody can be asked");
                self.denied.insert(tool_use_id);
                talk.write(wire::deny(id, tool::denial(&tool_name)));
            }
            Request::Other => drop(talk.write(wire::unsupported(id))),
        }
    }

    /// A change of the answer, as an artifact.
    async fn change(&mut self, change: Option<Change>) -> Option<End> {
        let (text, append) = match change? {
            Change::Append(text) => (text, self.turn.opened),
            Change::Replace(text) => (text, false),
        };
        self.wrote(text, append, false).await
    }

    async fn wrote(&mut self, text: String, append: bool, last: bool) -> Option<End> {
        self.turn.opened = true;
        let artifact = Artifact::text(answer_id(&self.job.prompt, self.turns), text);
        self.tell(Progress::Artifact { artifact, append, last }).await
    }

    /// `Some`: nobody listens any more.
    async fn tell(&self, progress: Progress) -> Option<End> {
        (!tell(self.progress, progress).await).then_some(End::Closed)
    }

    /// The turn is over: what the CLI says of it counts, not how its process ends.
    async fn over(&mut self, ended: Ended, talk: &mut Talk) -> Option<End> {
        self.usage.add(&ended, &mut self.session);
        self.denied.extend(ended.permission_denials.iter().map(|denial| denial.tool_use_id.clone()));
        let verdict = outcome::judge(&ended, self.turn.error.as_deref());
        if verdict == Verdict::NoConversation {
            return Some(End::NoConversation);
        }
        if uuid::Uuid::parse_str(&ended.session_id).is_ok()
            && let Some(end) = self.tell(Progress::Session(self.session.text())).await
        {
            return Some(end);
        }
        let outcome = match (verdict, self.why) {
            (Verdict::Completed, _) => {
                if let Some(end) = self.close_answer(ended.result).await {
                    return Some(end);
                }
                if self.why.is_none() && let Ok(said) = self.answers.try_recv() {
                    self.go_on(&said, talk);
                    return None;
                }
                Outcome::Completed { message: None, metadata: None }
            }
            (_, Some(why)) => stopped(why),
            (Verdict::Login(said), None) => return Some(End::Login(said)),
            (Verdict::Failed(outcome), None) => outcome,
            (Verdict::Interrupted | Verdict::NoConversation, None) => {
                Outcome::failed(FailureClass::Exit, "the agent's turn was broken off by itself")
            }
        };
        Some(End::Done(outcome::with(outcome, self.figures())))
    }

    /// The end of the answer. One that was never streamed, as that of a command of the CLI, is the result itself.
    async fn close_answer(&mut self, result: Option<String>) -> Option<End> {
        if self.turn.answer.is_told() {
            return self.wrote(String::new(), true, true).await;
        }
        match result.filter(|text| !text.is_empty()) {
            Some(text) => self.wrote(text, false, true).await,
            None => None,
        }
    }

    /// A message that waited for the end of the turn starts the next one, on the same process (P-24).
    fn go_on(&mut self, said: &Message, talk: &mut Talk) {
        self.turns += 1;
        self.turn = Turn { heard: true, ..Turn::default() };
        talk.write(wire::user(&prompt::blocks(said)));
    }

    fn figures(&self) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.set("a2ad/usage", &self.usage);
        if !self.denied.is_empty() {
            metadata.set("a2ad/permissionDenials", &self.denied.len());
        }
        metadata
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
fn stopped(why: Why) -> Outcome {
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
