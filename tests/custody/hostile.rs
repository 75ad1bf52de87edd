//! The child that tries to get at the node. Prints a line `attempt=denied: why` or `attempt=GOT: what` for each way.

#![expect(unsafe_code, reason = "what it tries are system calls")]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "it attacks files")]

use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What lies in every file that no child may read.
pub(crate) const SECRET: &str = "TOPSECRET-0123456789";

/// The attempts, in order; the suite checks that none was left out.
pub(crate) const ATTEMPTS: &[&str] = &[
    // First: later attempts open descriptors of their own.
    "descriptors",
    "open",
    "configuration",
    "list",
    "link",
    "link-configuration",
    "rename",
    "rename-parent",
    "create",
    "remove",
    "umount",
    "move-mount",
    "remount",
    "nested",
    "nested-bind",
    "file-handle",
    "nested-file-handle",
    "proc-root",
    "node-environ",
    "node-memory",
    "node-descriptors",
    "node-namespace",
    "ptrace",
    "read-memory",
    "take-descriptor",
    "socket",
    "environment",
    "disks",
    "make-disk",
    "kernel-settings",
];

struct Target {
    node: i32,
    state: PathBuf,
    configuration: PathBuf,
    socket: PathBuf,
    work: PathBuf,
    /// The inode of the token, which a lucky child would have guessed.
    inode: u32,
}

impl Target {
    fn token(&self) -> PathBuf {
        self.state.join("token")
    }
}

/// Arguments: the node's pid, the state directory, the configuration file, the socket, the workspace, the token's inode.
pub(crate) fn attack(args: &[String]) {
    let [node, state, configuration, socket, work, inode] = args else {
        panic!("six arguments, not {args:?}")
    };
    let target = Target {
        node: node.parse().expect("a pid"),
        state: state.into(),
        configuration: configuration.into(),
        socket: socket.into(),
        work: work.into(),
        inode: inode.parse().expect("an inode"),
    };
    // SAFETY: no arguments.
    println!("uid={}", unsafe { libc::getuid() });
    for attempt in ATTEMPTS {
        match attempt_one(attempt, &target) {
            Ok(got) => println!("{attempt}=GOT: {got}"),
            Err(why) => println!("{attempt}=denied: {why}"),
        }
    }
}

fn attempt_one(attempt: &str, target: &Target) -> io::Result<String> {
    let token = target.token();
    match attempt {
        "open" => secret(&token),
        "configuration" => secret(&target.configuration),
        "list" => {
            some(fs::read_dir(&target.state)?.flatten().map(|entry| entry.path().display().to_string()))
        }
        "link" => through_link(&token, &target.work.join("link")),
        "link-configuration" => through_link(&target.configuration, &target.work.join("link2")),
        "rename" => {
            fs::rename(&target.state, target.work.join("moved"))?;
            secret(&target.work.join("moved/token"))
        }
        "rename-parent" => rename_parent(target),
        "create" => fs::write(target.state.join("planted"), "x").map(|()| "wrote".to_owned()),
        "remove" => fs::remove_file(&token).map(|()| "removed".to_owned()),
        "umount" => umount(target),
        "move-mount" => mount(&target.state, &target.work, libc::MS_MOVE).and_then(|()| secret(&token)),
        "remount" => mount(&target.state, &target.state, libc::MS_REMOUNT | libc::MS_BIND)
            .map(|()| "remounted".to_owned()),
        "nested" => nested(|| umount(target)),
        "nested-bind" => nested(|| bind_elsewhere(target)),
        "file-handle" => file_handle(target),
        "nested-file-handle" => nested(|| file_handle(target)),
        "proc-root" => proc_roots(&token),
        "node-environ" => fs::read(node(target, "environ")).and_then(|bytes| some(bytes.first())),
        "node-memory" => fs::File::open(node(target, "mem")).map(|_| "opened".to_owned()),
        "node-descriptors" => node_descriptors(target),
        "node-namespace" => enter_node(target),
        "ptrace" => ptrace(target.node),
        "read-memory" => read_memory(target.node),
        "take-descriptor" => take_descriptor(target.node),
        "socket" => std::os::unix::net::UnixStream::connect(&target.socket).map(|_| "connected".to_owned()),
        "descriptors" => descriptors(),
        "environment" => some(std::env::vars().find(|(name, value)| {
            value.contains(SECRET) || (name.starts_with("A2AD_") && name != "A2AD_RUN")
        })),
        "disks" => disks(),
        "make-disk" => make_disk(&target.work.join("disk")),
        "kernel-settings" => kernel_settings(),
        unknown => panic!("no such attempt: {unknown}"),
    }
}

fn node(target: &Target, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{file}", target.node))
}

fn secret(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    if text.contains(SECRET) { Ok(text) } else { Err(io::Error::other("the secret is not in it")) }
}

fn some<T: std::fmt::Debug>(found: impl IntoIterator<Item = T>) -> io::Result<String> {
    found
        .into_iter()
        .next()
        .map(|found| format!("{found:?}"))
        .ok_or_else(|| io::Error::other("nothing there"))
}

fn through_link(file: &Path, link: &Path) -> io::Result<String> {
    fs::hard_link(file, link)?;
    secret(link)
}

fn rename_parent(target: &Target) -> io::Result<String> {
    let parent = target.state.parent().expect("a parent");
    let moved = parent.with_extension("moved");
    fs::rename(parent, &moved)?;
    let got = secret(&moved.join("state/token"));
    fs::rename(&moved, parent)?;
    got
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

fn check(returned: libc::c_long) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn mount(source: &Path, to: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let (source, to) = (text(source), text(to));
    // SAFETY: the strings outlive the call.
    let mounted =
        unsafe { libc::mount(source.as_ptr(), to.as_ptr(), std::ptr::null(), flags, std::ptr::null()) };
    check(mounted.into())
}

fn umount(target: &Target) -> io::Result<String> {
    let mut why = io::Error::other("never tried");
    for path in [&target.state, &target.configuration, &target.socket] {
        for flags in [0, libc::MNT_FORCE, libc::MNT_DETACH] {
            let path = text(path);
            // SAFETY: the string outlives the call.
            if let Err(error) = check(unsafe { libc::umount2(path.as_ptr(), flags) }.into()) {
                why = error;
            }
        }
    }
    secret(&target.token()).or_else(|_| secret(&target.configuration)).map_err(|_| why)
}

/// In a further user and mount namespace, where it has every power.
fn nested(act: impl FnOnce() -> io::Result<String>) -> io::Result<String> {
    let (mut told, mut tell) = io::pipe()?;
    // SAFETY: this program has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no memory is involved.
        let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
        // SAFETY: no memory is involved.
        let entered = check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) }.into())
            .and_then(|()| fs::write("/proc/self/setgroups", "deny"))
            .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {uid} 1")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {gid} 1")));
        let told = match entered.and_then(|()| act()) {
            Ok(got) => format!("+{got}"),
            Err(why) => format!("-{why}"),
        };
        let _ = io::Write::write_all(&mut tell, told.as_bytes());
        // SAFETY: ends the fork without the parent's exit handlers.
        unsafe { libc::_exit(0) };
    }
    drop(tell);
    let said = io::read_to_string(&mut told)?;
    // SAFETY: a child of this process; no status is wanted.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    match said.split_at_checked(1) {
        Some(("+", got)) => Ok(got.to_owned()),
        Some((_, why)) => Err(io::Error::other(why.to_owned())),
        None => Err(io::Error::other("it said nothing")),
    }
}

/// The tree with the state directory, seen at another place where the cover might be missing.
fn bind_elsewhere(target: &Target) -> io::Result<String> {
    let place = target.work.join("elsewhere");
    let _ = fs::create_dir(&place);
    let parent = target.state.parent().expect("a parent");
    let mut why = io::Error::other("never tried");
    for (source, below) in [
        (parent, "state/token"),
        (Path::new("/"), target.state.join("token").to_str().expect("text").trim_start_matches('/')),
    ] {
        for flags in [libc::MS_BIND, libc::MS_BIND | libc::MS_REC] {
            if let Err(error) = mount(source, &place, flags) {
                why = error;
                continue;
            }
            let cover = text(place.join(below).parent().expect("a parent"));
            // SAFETY: the string outlives the call.
            let taken_off = check(unsafe { libc::umount2(cover.as_ptr(), libc::MNT_DETACH) }.into());
            match secret(&place.join(below)) {
                Ok(got) => return Ok(got),
                Err(error) => why = taken_off.err().unwrap_or(error),
            }
        }
    }
    Err(why)
}

fn proc_roots(token: &Path) -> io::Result<String> {
    let mut why = io::Error::other("no process at all");
    for entry in fs::read_dir("/proc")?.flatten() {
        let below = token.strip_prefix("/").expect("absolute");
        match secret(&entry.path().join("root").join(below)) {
            Ok(got) => return Ok(format!("{}: {got}", entry.path().display())),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => why = error,
            Err(_) => {}
        }
    }
    Err(why)
}

/// By inode number, past all paths; ext4 takes generation 0 for any.
fn file_handle(target: &Target) -> io::Result<String> {
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        inode: u32,
        generation: u32,
    }
    let mut why = io::Error::other("never tried");
    for place in [Path::new("/"), target.state.parent().expect("a parent"), &target.work] {
        let place = fs::File::open(place)?;
        let mut handle = Handle { bytes: 8, kind: 1, inode: target.inode, generation: 0 };
        // SAFETY: the pointer is to a live handle whose length is in its first field.
        let file = unsafe {
            libc::syscall(libc::SYS_open_by_handle_at, place.as_raw_fd(), &raw mut handle, libc::O_RDONLY)
        };
        match check(file) {
            Ok(()) => return secret(Path::new(&format!("/proc/self/fd/{file}"))),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Their numbers are no secret; what is behind them is.
fn node_descriptors(target: &Target) -> io::Result<String> {
    let mut why = io::Error::other("none");
    for entry in fs::read_dir(node(target, "fd"))?.flatten() {
        match fs::read_link(entry.path()).map(|link| link.display().to_string()) {
            Ok(link) => return Ok(link),
            Err(error) => why = error,
        }
        if fs::File::open(entry.path()).is_ok() {
            return Ok(entry.path().display().to_string());
        }
    }
    Err(why)
}

fn enter_node(target: &Target) -> io::Result<String> {
    let namespace = fs::File::open(node(target, "ns/mnt"))?;
    // SAFETY: the descriptor is open.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNS) }.into())?;
    secret(&target.token())
}

const NULL: *mut libc::c_void = std::ptr::null_mut();

fn ptrace(pid: i32) -> io::Result<String> {
    // SAFETY: seizing reads and writes no memory of this process.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, NULL, NULL) })?;
    Ok("attached".to_owned())
}

fn read_memory(pid: i32) -> io::Result<String> {
    let mut byte = 0_u8;
    let here = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // An address that is mapped in every program of this kind: this function's own, the binary being the same.
    let there = libc::iovec { iov_base: read_memory as *mut libc::c_void, iov_len: 1 };
    // SAFETY: one byte into a live local; the other address is of another process.
    check(unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) } as libc::c_long)?;
    Ok(format!("read {byte}"))
}

fn take_descriptor(pid: i32) -> io::Result<String> {
    // SAFETY: numbers only.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    check(handle)?;
    // SAFETY: numbers only.
    check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, handle, 1, 0) })?;
    Ok("taken".to_owned())
}

fn descriptors() -> io::Result<String> {
    let listing = fs::read_dir("/proc/self/fd")?.flatten();
    let numbers: Vec<i32> = listing.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The listing has one itself, which is closed by now.
    // SAFETY: asks about a number.
    some(
        numbers.into_iter().find(|&number| number > 2 && unsafe { libc::fcntl(number, libc::F_GETFD) } != -1),
    )
}

fn disks() -> io::Result<String> {
    let mut why = io::Error::other("no disk");
    for entry in fs::read_dir("/dev")?.flatten() {
        // By name: under a cover it is no block device any more.
        let disk = ["vd", "sd", "nvme", "xvd", "dm-", "loop"]
            .iter()
            .any(|start| entry.file_name().to_string_lossy().starts_with(start));
        if !disk && !entry.file_type()?.is_block_device() {
            continue;
        }
        let read = fs::File::open(entry.path()).and_then(|mut disk| {
            let mut bytes = [0; 512];
            io::Read::read(&mut disk, &mut bytes)
        });
        match read {
            Ok(0) => why = io::Error::other("empty"),
            Ok(_) => return Ok(entry.path().display().to_string()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn make_disk(path: &Path) -> io::Result<String> {
    let partitions = fs::read_to_string("/proc/partitions")?;
    let mut numbers = partitions.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?.parse::<u32>().ok()?, words.next()?.parse::<u32>().ok()?))
    });
    let (major, minor) = numbers.next().ok_or_else(|| io::Error::other("no disk"))?;
    let name = text(path);
    // SAFETY: the string outlives the call.
    check(unsafe { libc::mknod(name.as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(major, minor)) }.into())?;
    fs::File::open(path).map(|_| format!("{major}:{minor}"))
}

/// Only looked at: writing would change the machine if it worked.
fn kernel_settings() -> io::Result<String> {
    let setting = "/proc/sys/kernel/core_pattern";
    let writable = fs::OpenOptions::new().write(true).open(setting);
    if fs::read_to_string(setting)?.is_empty() {
        Err(io::Error::other("covered"))
    } else {
        writable.map(|_| setting.to_owned())
    }
}
