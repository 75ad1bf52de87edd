//! The runtime `jsonl`: any program in any language as a full A2A agent, over JSON lines (J-1 to J-30).
//!
//! Called through [`Runtime`]. One process serves one task, or with `keep_alive` many; the turn itself is the same.
//! It never keeps state of a task beyond its run: sessions and history come from the node.
//!
//! | file | what |
//! |---|---|
//! | `input`, `output` | the lines, written and read |
//! | `turn` | what each line leads to |
//! | `run` | a turn at work: pipes, timers, cancel, follow-ups |
//! | `link` | the process as a run sees it: its own, or a place at one that many share |
//! | `keeper`, `host` | one process for many tasks (J-26 to J-28) |

mod host;
mod input;
mod keeper;
mod link;
mod output;
mod run;
mod turn;

use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::Instrument;

use super::config::Replies;
use super::turn::Program;
use super::{Job, PROGRESS, Profile, Run, Runtime, answers};
use keeper::Keeper;

/// A program that speaks JSON lines.
pub(super) struct Jsonl {
    profile: Profile,
    program: Program,
    keeper: Option<Arc<Keeper>>,
}

impl Jsonl {
    pub(super) fn new(program: Program) -> Self {
        let replies = program.agent.replies == Replies::Message;
        let profile = Profile { kind: "jsonl", tokens: false, steers: true, replies };
        let keeper = program.agent.keep_alive.then(|| Arc::new(Keeper::new(program.clone())));
        Self { profile, program, keeper }
    }
}

impl Runtime for Jsonl {
    fn about(&self) -> &Profile {
        &self.profile
    }

    fn start(&self, job: Job) -> Run {
        let (told, progress) = mpsc::channel(PROGRESS);
        let (answers, asked) = answers();
        let span = tracing::info_span!("run", task = %job.task, agent = %job.agent);
        let tracker = job.tracker.clone();
        let run = run::run(self.program.clone(), self.keeper.clone(), job, told, asked);
        tracker.spawn(run.instrument(span));
        Run { progress, answers }
    }
}

#[cfg(test)]
mod tests;
