//! Linux: `/proc`, namespaces, the subreaper.
//!
//! The host of `spawn`, `process`, `lease` and `isolation`. It never trusts a child's word about itself.

#![expect(unsafe_code, reason = "what happens between fork and exec")]

mod namespace;
mod probe;
mod proc;
mod tree;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use process_wrap::tokio::CommandWrap;

use super::spawn::Conditions;
use super::unix;
use namespace::{Recipe, Step};

pub(super) use probe::probe;
pub(super) use proc::{process, world};
pub(super) use tree::{Tree, bury_adopted};

/// Whether the node had no children before its first own one, and is not the parent of everybody: only then can
/// what it adopts be of nobody else.
static ADOPTS_ONLY_OURS: OnceLock<bool> = OnceLock::new();

pub(super) fn harden() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    unix::no_core()?;
    let me = std::process::id();
    ADOPTS_ONLY_OURS.get_or_init(|| !is_init() && !proc::all().any(|found| found.parent == me));
    Ok(rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))?)
}

/// Whether the node is the parent of every orphan of its world, as in a container.
pub(super) fn is_init() -> bool {
    std::process::id() == 1
}

/// A file or directory, followed wherever it is moved.
pub(super) struct Pin(OwnedFd);

impl Pin {
    pub(super) fn new(path: &Path) -> Option<Self> {
        rustix::fs::open(
            path,
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .ok()
        .map(Self)
    }

    /// Where it is now; `None`: it was removed.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let link = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        let path = link.read_link().ok()?;
        // The kernel marks what is gone in the name itself, so the name alone proves nothing.
        let (here, there) = (link.metadata().ok()?, path.metadata().ok()?);
        (here.dev() == there.dev() && here.ino() == there.ino()).then_some(path)
    }
}

fn adopts_only_ours() -> bool {
    ADOPTS_ONLY_OURS.get().copied().unwrap_or(false)
}

/// The session of the node, in which its children are until they have one of their own. 0, for its children too, if
/// who leads it is outside of the node's PID namespace, as when a container was entered: `rustix` holds that for
/// impossible.
fn own_session() -> u32 {
    // SAFETY: asks for a number of this process; there is no memory involved and no way to fail.
    unsafe { libc::getsid(0) }.unsigned_abs()
}

/// Tells which step of a birth failed.
pub(super) struct Explain {
    told: OwnedFd,
    recipe: Option<std::sync::Arc<Recipe>>,
}

impl Explain {
    /// The step of isolation that failed, in words; `None`: another one did. To be asked once, after the command is
    /// dropped.
    pub(super) fn step(&self) -> Option<String> {
        let mut said = [0; 3];
        let read = rustix::io::read(&self.told, &mut said).unwrap_or(0);
        let step = Step::from_bytes(said)?;
        (read == said.len()).then(|| step.text(self.recipe.as_deref()))
    }
}

/// Prepares a command: everything that needs memory is made here, before the fork.
pub(super) fn arm(command: &mut CommandWrap, conditions: &Conditions) -> io::Result<Explain> {
    let (told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (umask, nice) = (conditions.umask, conditions.nice);
    let recipe = conditions.hidden.as_ref().map(|hidden| Recipe::new(hidden, probe::maps())).transpose()?;
    let recipe = recipe.map(std::sync::Arc::new);
    let (explain, node) = (Explain { told, recipe: recipe.clone() }, std::process::id());
    let steps = move || {
        unix::detach()?;
        unix::condition(umask, nice)?;
        if let Some(recipe) = &recipe {
            namespace::enter(recipe).map_err(|(step, error)| {
                tell_step(&tell, step);
                error
            })?;
        }
        die_with(node)
    };
    // SAFETY: the steps make system calls on memory that was prepared; they allocate nothing and take no lock.
    unsafe { command.command_mut().pre_exec(steps) };
    Ok(explain)
}

/// Adds steps that are as careful as those of [`arm`].
pub(super) fn before_exec(
    command: &mut std::process::Command,
    steps: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the only caller gives the steps of `probe`, which allocate nothing and take no lock.
    unsafe { command.pre_exec(steps) };
}

fn tell_step(tell: &OwnedFd, step: Step) {
    let bytes = step.bytes();
    // SAFETY: the buffer lives through the call. A failing write loses an explanation, no more.
    unsafe { libc::write(tell.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

/// The kernel ends the child when the thread that made it ends, which is when the node does.
fn die_with(node: u32) -> io::Result<()> {
    // SAFETY: a number of this process.
    unix::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
    // SAFETY: no arguments. The node may have died before the line above.
    if unsafe { libc::getppid() }.unsigned_abs() == node {
        Ok(())
    } else {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}
