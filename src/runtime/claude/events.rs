//! What each event of the CLI leads to.

use super::super::talk::Talk;
use super::super::turn::{answer_id, tell};
use super::answer::Change;
use super::outcome::{self, Verdict};
use super::run::{Attending, End, Turn, stopped};
use super::wire::{self, Block, Delta, Ended, Event, Request, Said, Stream, System};
use super::{prompt, tool};
use crate::model::{Artifact, FailureClass, Message, Metadata, Outcome, Progress};

/// What the CLI writes in the place of the model.
const SYNTHETIC: &str = "<synthetic>";

impl Attending<'_> {
    /// Takes a line of the CLI. `Some`: the process has nothing more to do for the run.
    pub(super) async fn line(&mut self, line: &[u8], talk: &mut Talk) -> Option<End> {
        let Some(event) = wire::read(line) else {
            tracing::debug!(bytes = line.len(), "a line that is no event of the CLI is skipped");
            return None;
        };
        self.turn.heard = true;
        match event {
            Event::System(system) => self.system(system).await,
            Event::Stream { event, parent_tool_use_id: None } => self.stream(event).await,
            Event::Assistant { message, parent_tool_use_id, error } => {
                self.turn.error = error.or_else(|| self.turn.error.take());
                self.assistant(message, parent_tool_use_id.is_some()).await
            }
            Event::User { message } => {
                for block in message.content {
                    if let Block::ToolResult { tool_use_id } = block {
                        self.turn.tools.remove(&tool_use_id);
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
            Event::Stream { .. } | Event::Other => None,
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
        for block in message.content {
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
                if self.why.is_none()
                    && let Some(said) = self.answers.try_recv()
                {
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

    /// What the run has used, and how often it was denied something.
    pub(super) fn figures(&self) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.set("a2ad/usage", &self.usage);
        if !self.denied.is_empty() {
            metadata.set("a2ad/permissionDenials", &self.denied.len());
        }
        metadata
    }
}
