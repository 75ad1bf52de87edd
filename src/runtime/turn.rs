//! What the runtimes that start a program share: how it is started, how a turn that went wrong ends, how long is
//! waited.
//!
//! Used by `exec`, `jsonl` and `claude`. It knows no protocol.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::child::{self, Child, Custody, Exit, Order, Stdin, Temp};
use super::config::Agent;
use super::{Job, Prompt};
use crate::model::{ArtifactId, FailureClass, Message, Metadata, Outcome, Progress, Role};

/// How much of a failed program's stderr the caller sees.
const TAIL: usize = 2048;

/// How long a tree that was asked to end has before it is killed (P-29).
pub(super) const TERM: Duration = Duration::from_secs(1);

/// An agent's program: what the configuration says of it, and who starts it.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) agent: Arc<Agent>,
    pub(super) custody: Custody,
}

/// What a runtime adds to the configuration when it starts the program.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// The task it is for; empty for one that serves many.
    pub(super) task: String,
    /// After the arguments of the configuration.
    pub(super) args: Vec<OsString>,
    /// Before the environment of the configuration, which wins.
    pub(super) env: Vec<(String, String)>,
    /// Names that the program needs from the node's environment.
    pub(super) env_from: Vec<String>,
    pub(super) stdin: Stdin,
    pub(super) temp: Option<Temp>,
}

impl Program {
    /// Starts it in the workspace. Looking for it and forking block, so another thread does it.
    pub(super) async fn start(&self, tracker: &TaskTracker, start: Start) -> Result<Child, Outcome> {
        let this = self.clone();
        let started = tracker.spawn_blocking(move || this.spawn(start)).await;
        match started {
            Ok(Ok(child)) => Ok(child),
            Ok(Err(error)) => Err(cannot_start(&error)),
            Err(error) => {
                Err(Outcome::failed(FailureClass::Start, format!("the program was not started: {error}")))
            }
        }
    }

    fn spawn(&self, start: Start) -> Result<Child, child::Error> {
        let agent = &self.agent;
        let command = agent.command.first().map_or("", String::as_str);
        let program = self.custody.find(command, &agent.workspace)?;
        let args = agent.command.iter().skip(1).map(OsString::from).chain(start.args).collect();
        let mut env = start.env;
        env.retain(|(name, _)| !agent.env.iter().any(|(given, _)| given == name));
        env.extend(agent.env.iter().cloned());
        let mut env_from = start.env_from;
        env_from.extend(agent.env_from.iter().cloned());
        self.custody.spawn(Order {
            program,
            args,
            cwd: agent.workspace.clone(),
            env,
            env_from,
            stdin: start.stdin,
            task: start.task,
            agent: agent.name.to_string(),
            umask: agent.umask,
            nice: agent.nice,
            temp: start.temp,
        })
    }
}

/// The program is not there or will not run (UR-25, J-18).
pub(super) fn cannot_start(error: &child::Error) -> Outcome {
    let text = format!("the agent's program did not start: {error}. `a2ad doctor` on the node tells more.");
    Outcome::failed(FailureClass::Start, text)
}

/// The program ended where it should have gone on, or with an error.
pub(super) fn exited(exit: Exit, tail: &str) -> Outcome {
    let failure = Failure { exit_code: exit.code, ..Failure::default() };
    failed(
        FailureClass::Exit,
        with_tail(format!("the agent's program ended early or badly: {exit}"), tail),
        &failure,
    )
}

/// The program closed its stdout, lived on and was ended (J-17).
pub(super) fn closed(tail: &str) -> Outcome {
    let text = "the agent's program closed its stdout without ending and was ended";
    failed(FailureClass::Exit, with_tail(text.to_owned(), tail), &Failure::default())
}

/// The program said nothing for longer than it may.
pub(super) fn silent(limit: Duration) -> Outcome {
    let text = format!("the agent's program said nothing for {} s and was ended", limit.as_secs_f32());
    Outcome::failed(FailureClass::Timeout, text)
}

/// A text with the end of stderr below it, if there is one.
fn with_tail(text: String, tail: &str) -> String {
    let tail = tail.trim();
    if tail.is_empty() { text } else { format!("{text}\n{tail}") }
}

/// The end of a program's stderr, for the caller.
pub(super) fn tail(child: &Child) -> String {
    child.stderr_tail(TAIL)
}

/// `a2ad/failure`, but for its class, which the node writes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retryable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
}

/// A failure with what is known of it.
pub(super) fn failed(class: FailureClass, text: impl Into<String>, failure: &Failure) -> Outcome {
    let mut metadata = Metadata::default();
    metadata.set("a2ad/failure", failure);
    Outcome::Failed { message: Message::agent(text), class, metadata: Some(metadata) }
}

/// Tells the node. `false`: nobody listens, the run was dropped.
pub(super) async fn tell(progress: &mpsc::Sender<Progress>, step: Progress) -> bool {
    progress.send(step).await.is_ok()
}

/// The artifact that holds the answer of a turn: one a turn, so that a later turn of the task replaces none.
pub(super) fn answer_id(prompt: &Prompt, turn: usize) -> ArtifactId {
    let before = prompt.history.iter().filter(|message| message.role == Role::User).count();
    match before + turn {
        0 => "answer".into(),
        _ if prompt.truncated => ArtifactId::fresh(),
        turn => format!("answer-{}", turn + 1).into(),
    }
}

/// What the program is told of its turn (J-30).
pub(super) fn told(job: &Job, custody: &Custody) -> Vec<(String, String)> {
    let mut env = told_of_node(job.agent.as_str(), custody);
    env.push(("A2AD_TASK_ID".to_owned(), job.task.to_string()));
    env.push(("A2AD_CONTEXT_ID".to_owned(), job.context.to_string()));
    env
}

/// What a program that serves many turns is told (J-30).
pub(super) fn told_of_node(agent: &str, custody: &Custody) -> Vec<(String, String)> {
    vec![
        ("A2AD_AGENT".to_owned(), agent.to_owned()),
        ("A2AD_NODE_URL".to_owned(), custody.node_url().to_owned()),
    ]
}

/// A moment that may come. Waiting for it can be dropped and begun again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer(Option<Instant>);

impl Timer {
    /// So much later; `None` never comes.
    pub(super) fn after(time: impl Into<Option<Duration>>) -> Self {
        Self(time.into().and_then(|time| Instant::now().checked_add(time)))
    }

    /// Never.
    pub(super) const fn never() -> Self {
        Self(None)
    }

    /// How long until then; zero once it has come, or if it never comes.
    pub(super) fn left(self) -> Duration {
        self.0.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits for it.
    pub(super) async fn passed(self) {
        match self.0 {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
