//! What `/proc` tells of processes.
//!
//! Read by `tree`. It never believes a name or an argument, which a process chooses itself.

#![expect(clippy::disallowed_methods, reason = "reads /proc")]

use std::collections::VecDeque;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags, RawDir};

use super::super::lease::{Mark, Process, World};

/// A process at the moment of the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proc {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) session: u32,
    /// Clock ticks since boot.
    pub(super) start: u64,
    state: u8,
    threads: u32,
    /// Clock ticks.
    pub(super) cpu: u64,
    /// Pages.
    pub(super) rss: u64,
}

impl Proc {
    /// Whether it can still do something. A process whose first thread has ended looks like a zombie while others run.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.threads > 1
    }

    pub(super) fn is_zombie(&self) -> bool {
        self.state == b'Z' && self.threads <= 1
    }
}

/// The process with this number now.
pub(super) fn read(pid: u32) -> Option<Proc> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The fields of proc_pid_stat(5). The second one, a name in parentheses, may hold anything.
fn parse(pid: u32, stat: &[u8]) -> Option<Proc> {
    let after = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let text = std::str::from_utf8(stat.get(after..)?).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    // The third field of the manual is the first here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let small = |field: usize| number(field).and_then(|number| u32::try_from(number).ok());
    Some(Proc {
        pid,
        state: *fields.first()?.as_bytes().first()?,
        parent: small(4)?,
        session: small(6)?,
        threads: small(20)?,
        start: number(22)?,
        cpu: number(14)?.saturating_add(number(15)?),
        rss: number(24)?,
    })
}

/// All processes, each read the moment the walk meets it.
///
/// The kernel lists them by number, and a new process has a higher number than all before it. So whoever forks and
/// exits to get away from a walk is met again further on, as long as no time passes between listing a process and
/// reading it: hence one entry at a time.
pub(super) fn all() -> impl Iterator<Item = Proc> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open("/proc", flags, Mode::empty()).ok();
    let mut walk = Walk { directory, at_processes: false, listed: VecDeque::new() };
    std::iter::from_fn(move || {
        loop {
            // One that is gone by now is passed over.
            if let Some(found) = read(walk.number()?) {
                return Some(found);
            }
        }
    })
}

struct Walk {
    directory: Option<OwnedFd>,
    /// The files that are no processes come first, and their names are longer.
    at_processes: bool,
    listed: VecDeque<u32>,
}

impl Walk {
    /// An entry with a number of up to seven digits has 32 bytes; there is room for one, wherever the buffer lies.
    const ONE: usize = 32 + 7;

    fn number(&mut self) -> Option<u32> {
        while self.listed.is_empty() {
            let mut buffer = [MaybeUninit::uninit(); 512];
            let room = if self.at_processes { Self::ONE } else { buffer.len() };
            let mut batch = RawDir::new(self.directory.as_ref()?, &mut buffer[..room]);
            loop {
                let entry = batch.next()?.ok()?;
                self.listed.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
                if batch.is_buffer_empty() {
                    break;
                }
            }
            self.at_processes |= !self.listed.is_empty();
        }
        self.listed.pop_front()
    }
}

/// The hash of the `A2AD_RUN` that a process was started with.
pub(super) fn mark(pid: u32) -> Option<Mark> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let nonce = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(b"A2AD_RUN="))?;
    Some(Mark::of(nonce))
}

/// The identity of a process.
pub(in super::super) fn process(pid: u32) -> Option<Process> {
    read(pid).map(|found| Process { pid, start: found.start })
}

/// This boot and this process namespace.
pub(in super::super) fn world() -> World {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let pid_namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino());
    World { boot: boot.trim().to_owned(), pid_namespace }
}

/// A user namespace, held open: its number is not given to another one meanwhile.
#[derive(Debug)]
pub(super) struct UserNamespace {
    pub(super) inode: u64,
    _held: File,
}

impl UserNamespace {
    /// That of a process; `None` where it is the node's own, or cannot be seen.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let held = File::open(format!("/proc/{pid}/ns/user")).ok()?;
        let inode = held.metadata().ok()?.ino();
        (inode != own_user_namespace()).then_some(Self { inode, _held: held })
    }

    /// Whether a process lives in it or in one below it. No process can leave its user namespace upward.
    pub(super) fn holds(&self, pid: u32) -> bool {
        let Ok(mut namespace) = File::open(format!("/proc/{pid}/ns/user")) else { return false };
        // The kernel nests 32 deep.
        for _ in 0..=32 {
            match namespace.metadata().map(|about| about.ino()) {
                Ok(inode) if inode == self.inode => return true,
                Ok(inode) if inode != own_user_namespace() => {}
                _ => return false,
            }
            match parent_of(&namespace) {
                Some(parent) => namespace = parent,
                None => return false,
            }
        }
        false
    }
}

fn own_user_namespace() -> u64 {
    static OWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *OWN.get_or_init(|| std::fs::metadata("/proc/self/ns/user").map_or(0, |about| about.ino()))
}

fn parent_of(namespace: &File) -> Option<File> {
    /// `NS_GET_PARENT` of ioctl_ns(2).
    const PARENT: libc::Ioctl = 0xb702;
    // SAFETY: the request takes no argument; the descriptor is open for the whole call.
    let parent = unsafe { libc::ioctl(namespace.as_raw_fd(), PARENT) };
    // SAFETY: a descriptor that the call has just made belongs to nobody else.
    (parent >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(parent) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_move_the_fields() {
        let stat = b"42 (a) R 1 (b) S 7 42 43 0 -1 4194560 1 2 3 4 10 5 0 0 20 0 3 0 999 1000 55 18446744073709551615 1\n";
        let read = parse(42, stat).unwrap();
        assert_eq!((read.parent, read.session, read.start, read.threads), (7, 43, 999, 3));
        assert_eq!((read.cpu, read.rss), (15, 55));
        assert!(read.is_alive());
    }

    #[test]
    fn a_zombie_with_threads_is_alive() {
        let line = |threads: u32| {
            format!("42 (x) Z 7 42 43 0 -1 0 1 2 3 4 10 5 0 0 20 0 {threads} 0 999 1000 55 1\n")
        };
        assert!(parse(42, line(2).as_bytes()).unwrap().is_alive());
        let dead = parse(42, line(1).as_bytes()).unwrap();
        assert!(dead.is_zombie() && !dead.is_alive());
    }

    #[test]
    fn this_process_is_found_with_its_parent() {
        let me = read(std::process::id()).unwrap();
        assert!(me.is_alive());
        assert_eq!(me.parent, std::os::unix::process::parent_id());
        assert_eq!(
            all()
                .filter(|found| *found
                    == Proc {
                        cpu: found.cpu,
                        rss: found.rss,
                        state: found.state,
                        threads: found.threads,
                        ..me
                    })
                .count(),
            1
        );
        let numbers: Vec<u32> = all().map(|found| found.pid).collect();
        assert!(numbers.contains(&1) || numbers.len() > 1, "{numbers:?}");
        assert!(numbers.is_sorted(), "by number, or the walk proves nothing: {numbers:?}");
        assert_eq!(process(me.pid), Some(Process { pid: me.pid, start: me.start }));
        assert!(!world().boot.is_empty() && world().pid_namespace != 0);
    }
}
