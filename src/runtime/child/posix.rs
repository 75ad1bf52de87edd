//! Other Unixes, macOS foremost: a session is all that holds a tree together.
//!
//! The host of `spawn`, `process`, `lease` and `isolation` there. A process that leaves its process group is not
//! found again, and it never claims otherwise: there is no isolation, and `doctor` says so.

#![expect(unsafe_code, reason = "what happens between fork and exec")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process_wrap::tokio::CommandWrap;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::isolation::{Hidden, Isolation, Level};
use super::lease::{Mark, Process, World};
use super::spawn::Conditions;
use super::status::Usage;
use super::unix;

pub(super) fn harden() -> io::Result<()> {
    unix::no_core()
}

pub(super) fn probe(_: &[Hidden], _: &Path) -> Isolation {
    Isolation {
        level: Level::None,
        why: "this system has no user and mount namespaces".to_owned(),
        mend: "run the agents on Linux, or the node under a user of its own with nothing but this node in it"
            .to_owned(),
    }
}

pub(super) struct Explain;

impl Explain {
    pub(super) fn step(&self) -> Option<String> {
        None
    }
}

pub(super) fn arm(command: &mut CommandWrap, conditions: &Conditions) -> io::Result<Explain> {
    let (umask, nice) = (conditions.umask, conditions.nice);
    let steps = move || {
        unix::detach()?;
        unix::condition(umask, nice)
    };
    // SAFETY: the steps make system calls only; they allocate nothing and take no lock.
    unsafe { command.command_mut().pre_exec(steps) };
    Ok(Explain)
}

pub(super) fn bury_adopted() {}

pub(super) fn world() -> World {
    World::default()
}

/// Numbers are not believed after the node's death: when a process began is not told by a public interface.
pub(super) fn process(pid: u32) -> Option<Process> {
    (pid == std::process::id()).then_some(Process { pid, start: 0 })
}

/// Files are hidden by nothing here, so none is followed.
pub(super) struct Pin;

impl Pin {
    pub(super) fn new(_: &Path) -> Option<Self> {
        None
    }

    pub(super) fn path(&self) -> Option<PathBuf> {
        None
    }
}

pub(super) fn is_init() -> bool {
    false
}

/// The process group of a child.
pub(super) struct Tree(Option<Process>);

impl Tree {
    pub(super) fn new(_: Mark, child: Process) -> Self {
        Self(Some(child))
    }

    /// Nothing is provably ours after the node's death.
    pub(super) fn left(_: Mark, _: Option<Process>, _: Process, _: Option<u64>) -> Self {
        Self(None)
    }

    pub(super) fn child(&self) -> Process {
        self.0.unwrap_or(Process { pid: 0, start: 0 })
    }

    pub(super) fn user_namespace(&self) -> Option<u64> {
        None
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.0?.pid).ok().and_then(Pid::from_raw)
    }

    pub(super) fn alive(&self) -> Option<usize> {
        Some(usize::from(self.group().is_some_and(|group| test_kill_process_group(group).is_ok())))
    }

    pub(super) fn usage(&self) -> Usage {
        Usage::default()
    }

    pub(super) fn terminate(&self) -> bool {
        self.group().is_some_and(|group| kill_process_group(group, Signal::TERM).is_ok())
    }

    pub(super) fn kill(&self, patience: Duration) -> usize {
        let until = Instant::now() + patience;
        while let Some(group) = self.group() {
            // Not permitted: only the dead, not yet waited for, are left in it.
            if kill_process_group(group, Signal::KILL).is_err() {
                break;
            }
            if Instant::now() >= until {
                return 1;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        0
    }
}
