//! The covers over what no child may reach: a user and a mount namespace, and a second user namespace that locks them.
//!
//! Entered by `arm` and `probe` between fork and exec: only system calls on memory that was prepared. It never
//! changes a child's user or group.
//!
//! The order is that of O-1: the process becomes dumpable (the node is not, and its `/proc` files would belong to
//! root), takes a user and a mount namespace with the ids mapped to themselves, covers the paths, and takes another
//! user namespace. The mounts belong to the first one, in which the child has no power any more.

#![expect(unsafe_code, reason = "system calls between fork and exec")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use super::super::isolation::Hidden;
use super::super::unix::check;

/// How ids are mapped to themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maps {
    pub(super) uid: Vec<u8>,
    pub(super) gid: Vec<u8>,
    /// All ids that there are, so that root's children can own and change files as before. Only a process outside
    /// with the power to change ids may write such maps.
    pub(super) all: bool,
}

/// What is prepared before the fork.
#[derive(Debug)]
pub(super) struct Recipe {
    covers: Vec<Cover>,
    maps: Maps,
}

#[derive(Debug)]
struct Cover {
    target: CString,
    directory: bool,
    /// Failing is no failure: more than was promised.
    optional: bool,
}

/// Where entering can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Dumpable = 1,
    Unshare,
    Map,
    Private,
    /// With the number of the cover.
    Cover(u16),
    Lock,
    LockMap,
    /// What was to be hidden is still there.
    Seen,
    /// The cover could be taken off.
    TakenOff,
    /// The child is another user than the node.
    User,
}

impl Recipe {
    pub(super) fn new(hidden: &[Hidden], maps: Maps) -> io::Result<Self> {
        let cover = |path: &std::path::Path, directory, optional| {
            let target = CString::new(path.as_os_str().as_bytes())?;
            Ok(Cover { target, directory, optional })
        };
        let mut covers = hidden
            .iter()
            .map(|hidden| cover(&hidden.path, hidden.directory, false))
            .collect::<io::Result<Vec<_>>>()?;
        for path in super::probe::ways_of_root() {
            covers.push(cover(&path, false, true)?);
        }
        Ok(Self { covers, maps })
    }
}

impl Step {
    /// For the pipe to the node.
    pub(super) fn bytes(self) -> [u8; 3] {
        let [high, low] = if let Self::Cover(at) = self { at.to_be_bytes() } else { [0; 2] };
        [self.number(), high, low]
    }

    const fn number(self) -> u8 {
        match self {
            Self::Dumpable => 1,
            Self::Unshare => 2,
            Self::Map => 3,
            Self::Private => 4,
            Self::Cover(_) => 5,
            Self::Lock => 6,
            Self::LockMap => 7,
            Self::Seen => 8,
            Self::TakenOff => 9,
            Self::User => 10,
        }
    }

    pub(super) fn from_bytes([number, high, low]: [u8; 3]) -> Option<Self> {
        let plain = [
            Self::Dumpable,
            Self::Unshare,
            Self::Map,
            Self::Private,
            Self::Lock,
            Self::LockMap,
            Self::Seen,
            Self::TakenOff,
            Self::User,
        ];
        let cover = Self::Cover(u16::from_be_bytes([high, low]));
        plain.into_iter().chain([cover]).find(|step| step.number() == number)
    }

    /// For a person.
    pub(super) fn text(self, recipe: Option<&Recipe>) -> String {
        match self {
            Self::Dumpable => "making the process its own".to_owned(),
            Self::Unshare => "a new user and mount namespace".to_owned(),
            Self::Map => "mapping the ids of the user namespace".to_owned(),
            Self::Private => "making the mounts private".to_owned(),
            Self::Cover(at) => {
                let cover = recipe.and_then(|recipe| recipe.covers.get(usize::from(at)));
                format!(
                    "covering {}",
                    cover.map_or_else(|| "a path".into(), |cover| cover.target.to_string_lossy())
                )
            }
            Self::Lock => "the second user namespace".to_owned(),
            Self::LockMap => "mapping the ids of the second user namespace".to_owned(),
            Self::Seen => "a covered file could still be opened".to_owned(),
            Self::TakenOff => "a cover could be taken off".to_owned(),
            Self::User => "the child became another user".to_owned(),
        }
    }
}

/// Takes the calling process in. It has to be single-threaded, as one that was just forked is.
pub(super) fn enter(recipe: &Recipe) -> Result<(), (Step, io::Error)> {
    dumpable().map_err(|error| (Step::Dumpable, error))?;
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS, &recipe.maps, Step::Unshare, Step::Map)?;
    let everything = libc::MS_REC | libc::MS_PRIVATE;
    mount(None, c"/", None, everything, None).map_err(|error| (Step::Private, error))?;
    for (at, cover) in recipe.covers.iter().enumerate() {
        match cover.put() {
            Err(error) if !cover.optional && error.raw_os_error() != Some(libc::ENOENT) => {
                return Err((Step::Cover(u16::try_from(at).unwrap_or(u16::MAX)), error));
            }
            _ => {}
        }
    }
    dumpable().map_err(|error| (Step::Dumpable, error))?;
    unshare(libc::CLONE_NEWUSER, &recipe.maps, Step::Lock, Step::LockMap)
}

impl Cover {
    fn put(&self) -> io::Result<()> {
        if self.directory {
            let empty = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            mount(Some(c"tmpfs"), &self.target, Some(c"tmpfs"), empty, Some(c"size=4k,mode=0555"))
        } else {
            mount(Some(c"/dev/null"), &self.target, None, libc::MS_BIND, None)
        }
    }
}

fn dumpable() -> io::Result<()> {
    // SAFETY: a number of this process.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1 as libc::c_ulong) })
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: each pointer is null or to a string that ends with NUL and outlives the call.
    check(unsafe {
        libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, pointer(data).cast())
    })
}

fn unshare(flags: libc::c_int, maps: &Maps, step: Step, map: Step) -> Result<(), (Step, io::Error)> {
    if maps.all {
        return unshare_with_helper(flags, maps, step, map);
    }
    // SAFETY: the process has one thread and shares no memory.
    check(unsafe { libc::unshare(flags) }).map_err(|error| (step, error))?;
    // Who has no power outside may map his own ids only, and only after giving up the changing of groups.
    let mapped = write_file(c"/proc/self/setgroups", b"deny")
        .and_then(|()| write_file(c"/proc/self/gid_map", &maps.gid))
        .and_then(|()| write_file(c"/proc/self/uid_map", &maps.uid));
    mapped.map_err(|error| (map, error))
}

/// An argument of full width: the call takes what it gets for a pointer.
const NONE: libc::c_long = 0;

/// The maps of all ids are written by a process that stays outside: a fork of this one, made before it goes in.
fn unshare_with_helper(
    flags: libc::c_int,
    maps: &Maps,
    step: Step,
    map: Step,
) -> Result<(), (Step, io::Error)> {
    let mut go = [0; 2];
    // SAFETY: the pointer is to two live integers.
    check(unsafe { libc::pipe2(go.as_mut_ptr(), libc::O_CLOEXEC) }).map_err(|error| (map, error))?;
    let [wait_for, tell] = go;
    // SAFETY: no arguments.
    let me = unsafe { libc::getpid() };
    // SAFETY: a plain fork by the raw call (no handlers of the C library run, as another thread of the node may have
    // held their locks); without CLONE_VM the child has its own memory, and it makes system calls only.
    let helper =
        unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_long, NONE, NONE, NONE, NONE) };
    if helper == 0 {
        close(tell);
        let status = if read_byte(wait_for) { write_maps(me, maps) } else { 1 };
        // SAFETY: ends the helper without running anything of the node.
        unsafe { libc::_exit(status) };
    }
    close(wait_for);
    let forked = check(if helper < 0 { -1 } else { 0 }).map_err(|error| (map, error));
    let entered = forked.and_then(|()| {
        // SAFETY: the process has one thread and shares no memory.
        check(unsafe { libc::unshare(flags) }).map_err(|error| (step, error))
    });
    if entered.is_ok() {
        // SAFETY: one byte of a static string; a failing write shows in the helper's status.
        unsafe { libc::write(tell, c"g".as_ptr().cast(), 1) };
    }
    close(tell);
    let mut status = 0;
    if helper > 0 {
        // SAFETY: the pointer is to a live integer, and the process is a child of this one.
        unsafe { libc::waitpid(helper as libc::pid_t, &raw mut status, 0) };
    }
    entered?;
    match libc::WEXITSTATUS(status) {
        0 if libc::WIFEXITED(status) => Ok(()),
        code => Err((map, io::Error::from_raw_os_error(code))),
    }
}

/// 0, or the number of the error.
fn write_maps(pid: libc::pid_t, maps: &Maps) -> libc::c_int {
    let mut name = [0; 32];
    for (kind, map) in [(&b"/uid_map\0"[..], &maps.uid), (b"/gid_map\0", &maps.gid)] {
        let Some(path) = proc_path(&mut name, pid, kind) else { return libc::EINVAL };
        if let Err(error) = write_file(path, map) {
            return error.raw_os_error().unwrap_or(libc::EINVAL);
        }
    }
    0
}

/// `/proc/PID/KIND` without the heap.
fn proc_path<'a>(buffer: &'a mut [u8; 32], pid: libc::pid_t, kind: &[u8]) -> Option<&'a CStr> {
    let mut digits = [0; 10];
    let mut first = digits.len();
    let mut rest = pid.unsigned_abs();
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut end = 0;
    for part in [b"/proc/", &digits[first..], kind] {
        buffer.get_mut(end..end + part.len())?.copy_from_slice(part);
        end += part.len();
    }
    CStr::from_bytes_until_nul(buffer).ok()
}

fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with NUL.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    check(file)?;
    // SAFETY: the buffer lives through the call. The kernel takes such files in one write.
    let written = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
    let result = check(if written < 0 { -1 } else { 0 });
    close(file);
    result
}

fn read_byte(descriptor: libc::c_int) -> bool {
    let mut byte = 0_u8;
    // SAFETY: one byte into a live local.
    unsafe { libc::read(descriptor, (&raw mut byte).cast(), 1) == 1 }
}

fn close(descriptor: libc::c_int) {
    // SAFETY: the caller owns it and uses it no more.
    unsafe { libc::close(descriptor) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_without_the_heap() {
        let mut buffer = [0; 32];
        assert_eq!(proc_path(&mut buffer, 4_194_304, b"/uid_map\0"), Some(c"/proc/4194304/uid_map"));
        assert_eq!(proc_path(&mut buffer, 1, b"/gid_map\0"), Some(c"/proc/1/gid_map"));
        assert_eq!(proc_path(&mut buffer, 1, &[b'x'; 40]), None);
    }

    #[test]
    fn a_step_survives_the_pipe() {
        for step in [Step::Dumpable, Step::Cover(0), Step::Cover(300), Step::LockMap, Step::User] {
            assert_eq!(Step::from_bytes(step.bytes()), Some(step));
        }
        assert_eq!(Step::from_bytes([0; 3]), None);
    }
}
