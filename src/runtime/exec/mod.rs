//! The runtime `exec`: any program; the prompt on its stdin, its stdout is the answer, its exit status decides.
//!
//! It takes no message while it runs, keeps no session, and asks nothing.

use std::time::Duration;

use tokio::sync::mpsc;
use tracing::Instrument;

use super::child::Stdin;
use super::config::PromptMode;
use super::talk::{Cut, Heard, Talk};
use super::text::Plain;
use super::turn::{self, Program, Start, TERM, Timer, tell};
use super::{Answers, Job, PROGRESS, Profile, Run, Runtime, answers};
use crate::model::{Artifact, ArtifactId, Content, Message, Outcome, Part, Progress};

/// A program without a protocol.
pub(super) struct Exec {
    profile: Profile,
    program: Program,
}

impl Exec {
    pub(super) const fn new(program: Program) -> Self {
        let profile = Profile { kind: "exec", tokens: true, steers: false, replies: false };
        Self { profile, program }
    }
}

impl Runtime for Exec {
    fn about(&self) -> &Profile {
        &self.profile
    }

    fn start(&self, job: Job) -> Run {
        let (told, progress) = mpsc::channel(PROGRESS);
        let (answers, unread) = answers();
        let span = tracing::info_span!("run", task = %job.task, agent = %job.agent);
        let tracker = job.tracker.clone();
        tracker.spawn(run(self.program.clone(), job, told, unread).instrument(span));
        Run { progress, answers }
    }
}

/// One turn. `_unread` lives as long as the turn, so that what is sent meanwhile counts as not read.
async fn run(program: Program, job: Job, progress: mpsc::Sender<Progress>, _unread: Answers) {
    let outcome = match begin(&program, &job).await {
        Ok(talk) => {
            let answer = Answer { id: turn::answer_id(&job.prompt, 0), begun: false, progress: &progress };
            match attend(&program, &job, talk, answer).await {
                Some(outcome) => outcome,
                None => return,
            }
        }
        Err(outcome) => outcome,
    };
    tell(&progress, Progress::Done(outcome)).await;
}

async fn begin(program: &Program, job: &Job) -> Result<Talk, Outcome> {
    if job.stop.asked().is_some() {
        return Err(Outcome::Canceled);
    }
    let prompt = text(&job.prompt.message);
    let mut start =
        Start { task: job.task.to_string(), env: turn::told(job, &program.custody), ..Start::default() };
    match program.agent.prompt {
        PromptMode::Stdin => start.stdin = Stdin::Piped,
        PromptMode::None => {}
        PromptMode::File => {
            let temp = program.custody.temp().map_err(|error| turn::cannot_start(&error))?;
            let file = temp.write("prompt", prompt.as_bytes()).map_err(|error| turn::cannot_start(&error))?;
            start.args.push(file.into());
            start.temp = Some(temp);
        }
    }
    let child = program.start(&job.tracker, start).await?;
    let mut talk = Talk::new(child, &Cut::Chunks, None);
    talk.write(prompt.into_bytes());
    talk.close();
    Ok(talk)
}

/// Hears the program out. `None`: the run was dropped, and the program with it.
async fn attend(program: &Program, job: &Job, mut talk: Talk, mut answer: Answer<'_>) -> Option<Outcome> {
    let agent = &program.agent;
    let mut plain = Plain::default();
    let mut silence = Timer::after(agent.idle_timeout);
    let exit = loop {
        tokio::select! {
            heard = talk.hear() => match heard {
                Heard::Piece(bytes) => {
                    silence = Timer::after(agent.idle_timeout);
                    answer.more(plain.push(&bytes), false).await?;
                }
                Heard::Exit(exit) => break exit,
                Heard::TooLong(_) | Heard::Mute => {}
            },
            _ = job.stop.wait() => {
                talk.leave(Duration::ZERO, agent.grace).await;
                return Some(Outcome::Canceled);
            }
            () = silence.passed() => {
                talk.leave(Duration::ZERO, agent.grace).await;
                return Some(turn::silent(agent.idle_timeout.unwrap_or_default()));
            }
            () = answer.progress.closed() => return None,
        }
    };
    answer.more(plain.finish(), true).await?;
    let tail = turn::tail(talk.child());
    // What it left running ends with it.
    talk.leave(Duration::ZERO, TERM).await;
    Some(match exit.code {
        Some(code) if agent.success.contains(&code) => Outcome::Completed { message: None, metadata: None },
        _ => turn::exited(exit, &tail),
    })
}

/// The answer as it grows.
struct Answer<'a> {
    id: ArtifactId,
    begun: bool,
    progress: &'a mpsc::Sender<Progress>,
}

impl Answer<'_> {
    /// Adds text. An answer that never began is none.
    async fn more(&mut self, text: String, last: bool) -> Option<()> {
        if text.is_empty() && !(last && self.begun) {
            return Some(());
        }
        let artifact = Artifact::text(self.id.clone(), text);
        let append = std::mem::replace(&mut self.begun, true);
        tell(self.progress, Progress::Artifact { artifact, append, last }).await.then_some(())
    }
}

/// A message as plain text: texts and text files as they are, data as JSON, addresses as they are. Bytes that are
/// no text are named, not given: a program that reads text can do nothing with them.
fn text(message: &Message) -> String {
    let texts: Vec<String> = message.parts.iter().map(part).collect();
    texts.join("\n")
}

fn part(part: &Part) -> String {
    match &part.content {
        Content::Text(text) | Content::Url(text) => text.clone(),
        Content::Data(json) => json.get().to_owned(),
        Content::Raw(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!(
                "[file {}: {} bytes of {}]",
                part.filename.as_deref().unwrap_or("without a name"),
                bytes.len(),
                part.media_type.as_deref().unwrap_or("an unknown type")
            ),
        },
    }
}

#[cfg(test)]
mod tests;
