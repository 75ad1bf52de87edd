//! Child processes: the one place where a program is started and ended.
//!
//! Called by the runtimes, which give an [`Order`] and get a [`Child`] with pipes, and by the daemon, which opens
//! the one [`Custody`] and clears what a dead node left. It never reads a protocol, never uses a shell, never puts a
//! prompt into an argument, and never says that a child is gone before a fresh look has found its tree empty.
//!
//! | file | what |
//! |---|---|
//! | `spawn` | the only `Command`: order in, process out |
//! | `environment`, `program` | what a child may know (O-24) and which file it is (O-27) |
//! | `isolation` | which paths no child reaches, and whether that holds here |
//! | `process` | [`Child`]: wait, end, leave |
//! | `custodian` | the one thread that forks, and buries what the node adopted |
//! | `lease` | what the next start needs to find the children of a node that was killed |
//! | `lines`, `stderr` | what comes out of the pipes |
//! | `linux`, `posix`, `windows` | what differs between systems, one set of names; `unix` is shared by the first two |

mod custodian;
mod environment;
mod isolation;
mod lease;
pub mod lines;
mod process;
mod program;
mod spawn;
mod status;
mod stderr;
mod temp;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod posix;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use self::linux as host;
#[cfg(all(unix, not(target_os = "linux")))]
use self::posix as host;
#[cfg(windows)]
use self::windows as host;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::task::TaskTracker;

pub use isolation::{Isolation, Level};
pub use lease::Left;
pub use process::{Child, Ended, Exit, Stdout};
pub use status::ChildStatus;
pub use temp::Temp;

use isolation::Hides;
use status::Record;
use stderr::Mask;

/// How long a version probe may take (O-69, UR-2).
const PROBE: Duration = Duration::from_secs(5);

/// What the daemon says once.
#[derive(Clone, Debug, Default)]
pub struct CustodyConfig {
    /// Where leases lie; in the state directory, so that no child reaches them.
    pub runs: PathBuf,
    /// Where the private temporary directories of tasks are made; outside everything in `hide`.
    pub temp: PathBuf,
    /// Directories and files that no child may reach. Those that do not exist when a child is born are passed over.
    /// A file is better named by its directory where that is the node's own: an editor that replaces the file gives
    /// a running child a new one to see, a directory stays covered.
    pub hide: Vec<PathBuf>,
    /// `[node] path`; `None`: the node's own `PATH`.
    pub path: Option<String>,
    /// Values shown as `***` in the ends of stderr, besides those of an order (O-35).
    pub secrets: Vec<String>,
    /// The node's own address, for runtimes that tell it (J-30).
    pub node_url: String,
    /// The umask of children that have none of their own; `None`: the node's (O-25).
    pub umask: Option<u32>,
    /// Where the work of custody is spawned; a stop of the node waits for it.
    pub tracker: TaskTracker,
}

/// Starts children and keeps them. Cheap to clone; the daemon opens it once.
#[derive(Clone)]
pub struct Custody(Arc<Inner>);

struct Inner {
    config: CustodyConfig,
    hides: Hides,
    isolation: Isolation,
    mask: Mask,
    living: Mutex<BTreeMap<u32, Arc<Record>>>,
}

/// A program to start.
#[derive(Debug, Default)]
pub struct Order {
    /// Absolute, as [`Custody::find`] gives it.
    pub program: PathBuf,
    /// Its arguments. Never a prompt: arguments are short and everybody may read them (UR-23).
    pub args: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// Added to the allow-list of O-24. All of it counts as secret but the names of J-30.
    pub env: Vec<(String, String)>,
    /// Names taken over from the node's environment.
    pub env_from: Vec<String>,
    /// What its stdin is.
    pub stdin: Stdin,
    /// The task it works for, for `ps` and the lease.
    pub task: String,
    /// The agent it belongs to.
    pub agent: String,
    /// Its umask; `None`: as the custody says.
    pub umask: Option<u32>,
    /// Added to the node's niceness.
    pub nice: i32,
    /// Its temporary directory where something had to lie in it before the start; `None`: an empty one is made.
    pub temp: Option<Temp>,
}

/// What a child reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: the end comes at once (UR-1 to UR-3).
    #[default]
    Null,
    /// A pipe, which the runtime writes and closes.
    Piped,
}

/// Why a program was not found, not started or not kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program.
    #[error(
        "the program {command:?} was not found (searched {searched}): install it, or write its absolute path in `command`"
    )]
    NotFound {
        /// As written.
        command: String,
        /// Where.
        searched: String,
    },
    /// It is there and cannot be run.
    #[error("{} cannot be run: {why}", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Found only where an agent or a repository can put files.
    #[error("{command:?} was found only as {}, in the workspace or the current directory: write its absolute path in `command` if that one is meant", path.display())]
    InWorkspace {
        /// As written.
        command: String,
        /// What was found.
        path: PathBuf,
    },
    /// A path that is neither absolute nor marked as the workspace's.
    #[error(
        "{command:?} is a relative path: write ./{command} for a program of the workspace, or an absolute path"
    )]
    Relative {
        /// As written.
        command: String,
    },
    /// The directory to start in is not one.
    #[error("cannot start in {}: {why}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something of the order lies where no child may look.
    #[error("{} lies in {}, which no agent may reach: choose another place", path.display(), hidden.display())]
    Hidden {
        /// What was to be used.
        path: PathBuf,
        /// What covers it.
        hidden: PathBuf,
    },
    /// The system refused to start it.
    #[error("cannot start {}: {why}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says, and what it means.
        why: String,
        /// The system's error.
        source: io::Error,
    },
    /// The isolation that holds on this machine could not be made for this child, so it was not started.
    #[error("cannot isolate {} from the node: {step}: {source}", program.display())]
    Isolate {
        /// The program.
        program: PathBuf,
        /// Which step.
        step: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file or directory of custody itself.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The node could not be protected from its children.
    #[error("cannot protect the node's own process: {0}")]
    Harden(io::Error),
    /// Used outside the asynchronous runtime.
    #[error("a child can be started only inside the node's runtime: {0}")]
    Runtime(#[from] tokio::runtime::TryCurrentError),
    /// No randomness for the mark of a child.
    #[error("no randomness from the system: {0}")]
    Random(getrandom::Error),
    /// A probe ended badly.
    #[error("{} {why}", program.display())]
    Probe {
        /// The program.
        program: PathBuf,
        /// What happened.
        why: String,
    },
}

/// Makes the node's process unreadable for its children and the parent of their orphans. The first thing that `main`
/// does; [`Custody::open`] does it again.
///
/// # Errors
/// What the system says.
pub fn harden() -> io::Result<()> {
    host::harden()
}

/// The file that `command` names, seen from `workspace`, on this `PATH` or the process's own (O-27).
///
/// # Errors
/// Not found, not executable, or only where a repository could have put it.
pub fn find(command: &str, path: Option<&str>, workspace: &Path) -> Result<PathBuf, Error> {
    let path = path.map_or_else(|| std::env::var_os("PATH").unwrap_or_default(), Into::into);
    program::find(command, &path, workspace, std::env::current_dir().ok().as_deref())
}

impl Custody {
    /// Hardens the node, makes the directories, and tries out once which isolation holds here.
    ///
    /// # Errors
    /// A directory that cannot be made, or a process that cannot be hardened. Missing isolation is none:
    /// see [`Custody::isolation`].
    pub fn open(config: CustodyConfig) -> Result<Self, Error> {
        harden().map_err(Error::Harden)?;
        temp::private_dir(&config.runs)?;
        temp::private_dir(&config.temp)?;
        let hides = Hides::new(&config.hide);
        let isolation = isolation::probe(&hides, &config.temp)?;
        let mask = Mask::new(config.secrets.clone());
        Ok(Self(Arc::new(Inner { config, hides, isolation, mask, living: Mutex::default() })))
    }

    /// What keeps children from the node here, and how to mend it where nothing does.
    #[must_use]
    pub fn isolation(&self) -> &Isolation {
        &self.0.isolation
    }

    /// The node's own address (J-30).
    #[must_use]
    pub fn node_url(&self) -> &str {
        &self.0.config.node_url
    }

    /// Ends what an earlier node left, as far as it is provably ours (UR-13, UR-14). Called once, at start, while
    /// the instance lock is held.
    pub async fn reap_left(&self) -> Vec<Left> {
        let (runs, temp) = (self.0.config.runs.clone(), self.0.config.temp.clone());
        let reaping = self.0.config.tracker.spawn_blocking(move || lease::reap(&runs, &temp));
        reaping.await.unwrap_or_else(|error| {
            tracing::error!(%error, "looking for left children failed");
            Vec::new()
        })
    }

    /// The file that `command` names, seen from `workspace` (O-27).
    ///
    /// # Errors
    /// Not found, not executable, or only where a repository could have put it.
    pub fn find(&self, command: &str, workspace: &Path) -> Result<PathBuf, Error> {
        find(command, self.0.config.path.as_deref(), workspace)
    }

    /// An empty private directory, for an order that needs files in it before the start.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn temp(&self) -> Result<Temp, Error> {
        Temp::new(&self.0.config.temp)
    }

    /// What `program` prints for `args`, as `--version`: no stdin, an empty directory, five seconds (UR-2, O-69).
    ///
    /// # Errors
    /// It cannot be started, ends with another status than 0, or is not done in time.
    pub async fn probe(&self, program: &Path, args: &[&str]) -> Result<String, Error> {
        process::probe(self, program, args, PROBE).await
    }

    /// Starts a program. Blocks for the few milliseconds that a fork takes.
    ///
    /// # Errors
    /// The program, its directory, the isolation or the lease; nothing is left then.
    pub fn spawn(&self, order: Order) -> Result<Child, Error> {
        spawn::spawn(self, order)
    }

    /// The children that are not proven gone, the oldest first, with what the system says of them now. Reads the
    /// system's table of processes for each: not on a thread that serves others.
    #[must_use]
    pub fn children(&self) -> Vec<ChildStatus> {
        status::of(&self.0.living)
    }
}

#[cfg(test)]
mod tests;
