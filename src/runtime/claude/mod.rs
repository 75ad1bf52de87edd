//! The runtime `claude`: Claude Code over its stream-json protocol, both ways.
//!
//! Called through [`Runtime`]. One process a run; further messages of the task are taken at the turn's end by the
//! same process (P-24). The conversation is the CLI's and is resumed by its id in later runs of the context.
//! Permission questions and questions to the user are denied at once, the model is told so, and they are counted.
//!
//! | file | what |
//! |---|---|
//! | `command` | arguments and environment |
//! | `wire` | the lines, read and written |
//! | `prompt` | a caller's message as content |
//! | `answer` | the answer out of the stream |
//! | `session` | the conversation, and what it costs |
//! | `outcome` | what a `result` means |
//! | `run`, `events` | a run at work, and what each event leads to |
//! | `busy`, `tool` | who has a conversation; what is told of a tool |

mod answer;
mod busy;
mod command;
mod events;
mod outcome;
mod prompt;
mod run;
mod session;
mod tool;
mod wire;

use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::Instrument;

use super::turn::Program;
use super::{Job, PROGRESS, Profile, Run, Runtime, answers};
use busy::Busy;

/// Claude Code.
pub(super) struct Claude {
    profile: Profile,
    program: Program,
    busy: Arc<Busy>,
}

impl Claude {
    pub(super) fn new(program: Program) -> Self {
        let profile = Profile { kind: "claude", tokens: true, steers: true, replies: false };
        Self { profile, program, busy: Arc::default() }
    }
}

impl Runtime for Claude {
    fn about(&self) -> &Profile {
        &self.profile
    }

    fn start(&self, job: Job) -> Run {
        let (told, progress) = mpsc::channel(PROGRESS);
        let (answers, asked) = answers();
        let span = tracing::info_span!("run", task = %job.task, agent = %job.agent);
        let tracker = job.tracker.clone();
        let run = run::run(self.program.clone(), Arc::clone(&self.busy), job, told, asked);
        tracker.spawn(run.instrument(span));
        Run { progress, answers }
    }
}

#[cfg(test)]
mod tests;
