//! Whether the namespaces hold on this machine: one process really goes in and tries to get out.
//!
//! Called once when the custody is opened. It never starts another program.

#![expect(unsafe_code, reason = "what the process that goes in tries")]
#![expect(clippy::disallowed_methods, reason = "reads /proc and /sys")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::isolation::{Hidden, Isolation, Level};
use super::super::{custodian, spawn};
use super::namespace::{self, Maps, Recipe, Step};

/// The maps that held when they were tried.
static MAPS: OnceLock<Maps> = OnceLock::new();

/// The maps for a birth.
pub(super) fn maps() -> Maps {
    MAPS.get().cloned().unwrap_or_else(own_ids)
}

/// Tries with `hidden` covered, of which `secret` is a file in one.
pub(in super::super) fn probe(hidden: &[Hidden], secret: &Path) -> Isolation {
    let mut failed = None;
    for maps in choices() {
        match try_out(hidden, secret, maps.clone()) {
            Ok(()) => {
                let _ = MAPS.set(maps);
                let why =
                    "children live in a user and mount namespace with the node's files covered".to_owned();
                return Isolation { level: Level::Namespace, why, mend: String::new() };
            }
            Err(error) => failed = Some(error),
        }
    }
    let (step, error) = failed.unwrap_or_else(|| (None, io::ErrorKind::Unsupported.into()));
    let step = step.unwrap_or_else(|| "starting the trial".to_owned());
    Isolation { level: Level::None, why: format!("no user namespace: {step}: {error}"), mend: mend(&error) }
}

/// Root's children keep the power over files of all users where the system lets it; else everyone maps himself.
fn choices() -> Vec<Maps> {
    let mut choices = vec![own_ids()];
    if rustix::process::geteuid().is_root() {
        let map = |kind: &str| {
            let text = std::fs::read_to_string(format!("/proc/self/{kind}")).unwrap_or_default();
            identity(&text)
        };
        choices.insert(0, Maps { uid: map("uid_map"), gid: map("gid_map"), all: true });
    }
    choices
}

fn own_ids() -> Maps {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Maps { uid: format!("{uid} {uid} 1\n").into(), gid: format!("{gid} {gid} 1\n").into(), all: false }
}

/// Every id that is known here, mapped to itself: `inside outside count` becomes `inside inside count`.
fn identity(map: &str) -> Vec<u8> {
    let lines = map.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (inside, _, count) = (words.next()?, words.next()?, words.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    lines.collect::<String>().into()
}

fn try_out(hidden: &[Hidden], secret: &Path, maps: Maps) -> Result<(), (Option<String>, io::Error)> {
    let plain = |error| (None, error);
    let recipe = Recipe::new(hidden, maps).map_err(plain)?;
    let recipe = std::sync::Arc::new(recipe);
    let (told, tell) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|error| plain(error.into()))?;
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(|error| plain(error.into()));
    let (file, cover) = (path(secret)?, path(secret.parent().unwrap_or(secret))?);
    let explain = super::Explain { told, recipe: Some(recipe.clone()) };
    let steps = move || {
        let tried = namespace::enter(&recipe).and_then(|()| get_out(&file, &cover));
        if let Err((step, error)) = tried {
            super::tell_step(&tell, step);
            return Err(error);
        }
        // SAFETY: ends the process without running anything of the node.
        unsafe { libc::_exit(0) }
    };
    let rehearsed =
        custodian::run(move || spawn::rehearse(steps)).unwrap_or_else(|| Err(io::ErrorKind::Other.into()));
    match rehearsed {
        Ok(Some(0)) => Ok(()),
        Ok(_) => Err(plain(io::Error::other("the trial was killed"))),
        Err(error) => Err((explain.step(), error)),
    }
}

/// In the process that went in: the file must be gone, its cover must stay, the user must be the same.
fn get_out(file: &CStr, cover: &CStr) -> Result<(), (Step, io::Error)> {
    // SAFETY: the path ends with NUL.
    let opened = unsafe { libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if opened != -1 {
        return Err((Step::Seen, io::Error::from_raw_os_error(libc::EEXIST)));
    }
    // SAFETY: the path ends with NUL.
    let taken_off = unsafe { libc::umount2(cover.as_ptr(), libc::MNT_DETACH) };
    if taken_off == 0 {
        return Err((Step::TakenOff, io::Error::from_raw_os_error(libc::EBUSY)));
    }
    let same = rustix::process::getuid() == node_user();
    if same { Ok(()) } else { Err((Step::User, io::Error::from_raw_os_error(libc::EPERM))) }
}

/// Asked before the fork.
fn node_user() -> rustix::process::Uid {
    static USER: OnceLock<rustix::process::Uid> = OnceLock::new();
    *USER.get_or_init(rustix::process::getuid)
}

/// Files by which a child that is root would get around every cover without any power: the disks themselves, and
/// settings through which the kernel starts a program outside. Empty for other users, who may not open them.
pub(super) fn ways_of_root() -> Vec<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let settings = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
    ];
    let devices = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let disks = devices.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    disks.map(|entry| entry.path()).chain(settings.map(PathBuf::from)).filter(|path| path.exists()).collect()
}

/// What the operator can do about it.
fn mend(error: &io::Error) -> String {
    let setting = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let status = setting("/proc/self/status");
    let filtered = status.lines().any(|line| line.starts_with("Seccomp:") && line.trim_end().ends_with('2'));
    if setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        "sysctl -w kernel.unprivileged_userns_clone=1".to_owned()
    } else if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        "AppArmor restricts user namespaces: install the profile /etc/apparmor.d/a2ad (rule `userns,`), or \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
            .to_owned()
    } else if setting("/proc/sys/user/max_user_namespaces") == "0" {
        "sysctl -w user.max_user_namespaces=10000".to_owned()
    } else if filtered {
        "a seccomp filter is in force: in a container allow unshare and mount (Docker: --security-opt \
         seccomp=unconfined or a profile of yours); under systemd drop RestrictNamespaces= and @mount filters"
            .to_owned()
    } else if error.raw_os_error() == Some(libc::ENOSPC) {
        "too many user namespaces: raise user.max_user_namespaces, or nest fewer containers".to_owned()
    } else {
        "run the node where unprivileged user namespaces are allowed, or under a user of its own".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_made_identical_whatever_the_outer_numbers() {
        assert_eq!(identity("         0          0 4294967295\n"), b"0 0 4294967295\n");
        assert_eq!(identity("0 100000 65536\n65536 5 1\n"), b"0 0 65536\n65536 65536 1\n");
        assert_eq!(identity(""), b"");
    }
}
