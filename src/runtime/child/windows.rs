//! Windows: a job object that ends with the node (UR-15).
//!
//! The host of `spawn`, `process`, `lease` and `isolation` there. The job holds the whole tree, so nothing outlives
//! the node and no lease is needed; there is no polite signal for a program without a console window.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::windows::Win32::System::Threading::{
    BELOW_NORMAL_PRIORITY_CLASS, CREATE_NO_WINDOW, IDLE_PRIORITY_CLASS, PROCESS_CREATION_FLAGS,
};
use process_wrap::tokio::{CommandWrap, CreationFlags, JobObject, KillOnDrop};

use super::isolation::{Hidden, Isolation, Level};
use super::lease::{Mark, Process, World};
use super::spawn::Conditions;
use super::status::Usage;

pub(super) fn harden() -> io::Result<()> {
    Ok(())
}

pub(super) fn probe(_: &[Hidden], _: &Path) -> Isolation {
    Isolation {
        level: Level::None,
        why: "this system has no user and mount namespaces".to_owned(),
        mend: "run the agents on Linux, or the node under an account of its own".to_owned(),
    }
}

pub(super) struct Explain;

impl Explain {
    pub(super) fn step(&self) -> Option<String> {
        None
    }
}

/// A console without a window, which the whole tree inherits (UR-29), in a job that is assigned before the first
/// instruction runs.
pub(super) fn arm(command: &mut CommandWrap, conditions: &Conditions) -> io::Result<Explain> {
    let priority = match conditions.nice {
        ..=0 => PROCESS_CREATION_FLAGS(0),
        1..=14 => BELOW_NORMAL_PRIORITY_CLASS,
        15.. => IDLE_PRIORITY_CLASS,
    };
    command.wrap(CreationFlags(CREATE_NO_WINDOW | priority)).wrap(JobObject).wrap(KillOnDrop);
    Ok(Explain)
}

pub(super) fn bury_adopted() {}

pub(super) fn world() -> World {
    World::default()
}

/// Numbers are not believed after the node's death: its jobs died with it.
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

/// A child; its job is ended through the process itself.
pub(super) struct Tree(Process);

impl Tree {
    pub(super) fn new(_: Mark, child: Process) -> Self {
        Self(child)
    }

    pub(super) fn left(_: Mark, child: Option<Process>, node: Process, _: Option<u64>) -> Self {
        Self(child.unwrap_or(node))
    }

    pub(super) fn child(&self) -> Process {
        self.0
    }

    pub(super) fn user_namespace(&self) -> Option<u64> {
        None
    }

    /// Only ending the job tells.
    pub(super) fn alive(&self) -> Option<usize> {
        None
    }

    pub(super) fn usage(&self) -> Usage {
        Usage::default()
    }

    /// Nobody hears (UR-17: go on at once).
    pub(super) fn terminate(&self) -> bool {
        false
    }

    /// The job was ended before; the system ends all of it.
    pub(super) fn kill(&self, _: Duration) -> usize {
        0
    }
}
