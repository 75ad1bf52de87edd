//! Keeps one process for an agent with `keep_alive`: starts it at the first message, starts a fresh one when it is
//! gone or condemned, and waits longer and longer when it does not start (J-26, J-28).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};

use super::super::child::Stdin;
use super::super::talk::{Cut, Talk};
use super::super::turn::{self, Program, Start, Timer};
use super::super::{Job, PROGRESS};
use super::host::{Command, Host, Starts};
use super::link::Seat;
use crate::model::Outcome;

/// Failed starts that are forgiven before the next one waits.
const FORGIVEN: u32 = 3;

/// How long the first wait is, and the longest.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The process of one agent, if it runs.
pub(super) struct Keeper {
    program: Program,
    starts: Arc<Starts>,
    current: Mutex<Option<mpsc::UnboundedSender<Command>>>,
}

impl Keeper {
    pub(super) fn new(program: Program) -> Self {
        Self { program, starts: Arc::default(), current: Mutex::default() }
    }

    /// A place for a task at the process. Who comes while it cannot be started waits.
    pub(super) async fn seat(&self, job: &Job, first: Vec<u8>) -> Result<Seat, Outcome> {
        let mut current = self.current.lock().await;
        loop {
            if let Some(commands) = &*current
                && let Some(seat) = enter(commands, job, first.clone()).await
            {
                return Ok(seat);
            }
            let (failures, since) = self.starts.failures();
            let wait = backoff(failures).saturating_sub(since);
            if !wait.is_zero() {
                Timer::after(wait).passed().await;
            }
            *current = Some(self.start(job).await?);
        }
    }

    async fn start(&self, job: &Job) -> Result<mpsc::UnboundedSender<Command>, Outcome> {
        let Program { agent, custody } = &self.program;
        let start = Start {
            env: turn::told_of_node(agent.name.as_str(), custody),
            stdin: Stdin::Piped,
            ..Start::default()
        };
        let child = self.program.start(&job.tracker, start).await.inspect_err(|_| self.starts.failed())?;
        let talk = Talk::new(child, &Cut::Lines(agent.limits.line), Some(agent.grace));
        let (commands, inbox) = mpsc::unbounded_channel();
        let host = Host::new(talk, Arc::clone(agent), Arc::clone(&self.starts), job.tracker.clone());
        job.tracker.spawn(host.serve(inbox));
        Ok(commands)
    }
}

/// Asks for a place. `None`: the process takes no new task.
async fn enter(commands: &mpsc::UnboundedSender<Command>, job: &Job, first: Vec<u8>) -> Option<Seat> {
    let (lines, heard) = mpsc::channel(PROGRESS);
    let (taken, answer) = oneshot::channel();
    let task = job.task.to_string();
    commands.send(Command::Enter { task: task.clone(), line: first, lines, taken }).ok()?;
    answer.await.ok()?;
    Some(Seat { task, heard, commands: commands.clone() })
}

/// How long after a failed start the next may come.
fn backoff(failures: u32) -> Duration {
    match failures.checked_sub(FORGIVEN) {
        None => Duration::ZERO,
        Some(more) => SHORTEST.saturating_mul(1 << more.min(16)).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j_26_after_three_failed_starts_the_wait_doubles_from_a_second_to_a_minute() {
        let waits: Vec<u64> = (0..12).map(|failures| backoff(failures).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(backoff(u32::MAX), LONGEST);
    }
}
