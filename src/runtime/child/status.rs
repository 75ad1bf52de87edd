//! What `ps` shows of each child.
//!
//! Records are made by `spawn`, touched by the pipes, and read by [`super::Custody::children`]. It never asks the
//! system about a process before somebody asks it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::host;

/// A child as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildStatus {
    /// The process that was started.
    pub pid: u32,
    /// For which task.
    pub task: String,
    /// Of which agent.
    pub agent: String,
    /// How long ago it was started.
    pub age: Duration,
    /// How long ago it last said something on stdout or stderr; `None`: never yet.
    pub silent: Option<Duration>,
    /// Resident memory of the whole tree in bytes; 0 where the system does not tell.
    pub rss: u64,
    /// Processor time that the living part of the tree has used.
    pub cpu: Duration,
    /// Processes in the tree; 0 where the system does not tell, or when all are gone.
    pub tree: usize,
}

/// What is used now by a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) processes: usize,
    pub(super) rss: u64,
    pub(super) cpu: Duration,
}

/// What is known of a child from its birth on.
pub(super) struct Record {
    pub(super) pid: u32,
    pub(super) task: String,
    pub(super) agent: String,
    pub(super) tree: host::Tree,
    born: Instant,
    /// Milliseconds after birth, plus one; 0: never.
    spoke: AtomicU64,
}

impl Record {
    pub(super) fn new(pid: u32, task: String, agent: String, tree: host::Tree) -> Self {
        Self { pid, task, agent, tree, born: Instant::now(), spoke: AtomicU64::new(0) }
    }

    /// It said something just now.
    pub(super) fn touch(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.spoke.store(now + 1, Ordering::Relaxed);
    }

    fn status(&self) -> ChildStatus {
        let age = self.born.elapsed();
        let spoke = self.spoke.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_millis);
        let usage = self.tree.usage();
        ChildStatus {
            pid: self.pid,
            task: self.task.clone(),
            agent: self.agent.clone(),
            age,
            silent: spoke.map(|spoke| age.saturating_sub(spoke)),
            rss: usage.rss,
            cpu: usage.cpu,
            tree: usage.processes,
        }
    }
}

/// All of `living`, the oldest first.
pub(super) fn of(living: &Mutex<BTreeMap<u32, Arc<Record>>>) -> Vec<ChildStatus> {
    let records: Vec<_> = living.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
    let mut children: Vec<_> = records.iter().map(|record| record.status()).collect();
    children.sort_by_key(|child| std::cmp::Reverse(child.age));
    children
}
