//! Steps between fork and exec that every Unix takes.
//!
//! Called by `linux` and `posix` in a forked child of a process with many threads: only system calls, no memory from
//! the heap, nothing that locks.

#![expect(unsafe_code, reason = "system calls between fork and exec")]

use std::io;

/// What a call that returns -1 on failure says.
pub(super) fn check(returned: libc::c_int) -> io::Result<()> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A session of its own without a terminal, signals as a program expects them, no descriptor beyond the three.
pub(super) fn detach() -> io::Result<()> {
    // SAFETY: no arguments; a freshly forked process leads no group, so it may lead a session.
    check(unsafe { libc::setsid() })?;
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGCHLD, libc::SIGALRM] {
        // SAFETY: the default action runs no code of ours. A node started by nohup ignores SIGHUP; its children
        // are not to inherit that.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    close_at_exec();
    Ok(())
}

/// `umask` and the niceness added to the node's.
pub(super) fn condition(umask: Option<u32>, nice: i32) -> io::Result<()> {
    if let Some(umask) = umask {
        // SAFETY: sets a number of this process.
        unsafe { libc::umask(umask as libc::mode_t) };
    }
    if nice != 0 {
        // SAFETY: asks and sets a number of this process; -1 is a priority too, so only setting can fail.
        check(unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, libc::getpriority(libc::PRIO_PROCESS, 0) + nice)
        })?;
    }
    Ok(())
}

/// Every descriptor above 2 is closed when the program begins: marked, not closed, as the standard library tells
/// about a failing exec through one of them.
fn close_at_exec() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: marks descriptors of this process; no memory is involved. Kernels before 5.11 refuse.
        let marked =
            unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        if marked == 0 {
            return;
        }
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live local of the right type.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let last = if asked == 0 { limit.rlim_cur.min(1 << 20) as libc::c_int } else { 1 << 16 };
    for descriptor in 3..last {
        // SAFETY: a number that is no descriptor is refused.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// No core file: it would hold the node's memory. The hard limit stays, children may raise theirs again.
pub(super) fn no_core() -> io::Result<()> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    limit.current = Some(0);
    Ok(rustix::process::setrlimit(rustix::process::Resource::Core, limit)?)
}
