//! The state directory: private, local, and of one node at a time (UR-72).

#![expect(clippy::disallowed_methods, reason = "the state directory is the store's own")]

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::error::Error;
use crate::model::Timestamp;

/// Makes the directory if it is missing, and takes from others what they may do there.
pub(super) fn prepare(dir: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| Error::file("make the directory", dir, &error))?;
    #[cfg(unix)]
    private(dir, 0o700).map_err(|error| Error::file("make private", dir, &error))?;
    match network(dir) {
        Some(kind) => Err(Error::NetworkFs { dir: dir.to_owned(), kind }),
        None => Ok(()),
    }
}

/// Opens a file for its owner only, whatever the umask says.
pub(super) fn create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    private(path, 0o600)?;
    Ok(file)
}

#[cfg(unix)]
fn private(path: &Path, mode: u32) -> io::Result<()> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::metadata(path)?.permissions();
    if found.mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// For an instant a lock may be held by who only looks whether a node lives, or by a child that has been forked and has
/// not yet let go of its parent's files; neither is a node.
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock that a node holds as long as it lives, and writes into it who that is.
pub(super) fn lock(dir: &Path, now: Timestamp) -> Result<File, Error> {
    let path = dir.join("node.lock");
    let mut file = create(&path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .map_err(|error| Error::file("open", &path, &error))?;
    let mut tries = LOCK_TRIES;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let (pid, since) = holder(&mut file);
                return Err(Error::Locked { dir: dir.to_owned(), pid, since });
            }
            Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path, &error)),
        }
    }
    let text = format!("{} {now}\n", std::process::id());
    file.set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()))
        .map_err(|error| Error::file("write", &path, &error))?;
    Ok(file)
}

/// Who wrote its pid and time into the lock; where a locked file can't be read, nobody.
fn holder(file: &mut File) -> (Option<u32>, Option<Timestamp>) {
    let mut text = String::new();
    if file.read_to_string(&mut text).is_err() {
        return (None, None);
    }
    let mut words = text.split_whitespace();
    let pid = words.next().and_then(|word| word.parse().ok());
    (pid, words.next().and_then(|word| Timestamp::parse(word).ok()))
}

/// The kind of network file system that a directory lies on, if it does.
#[cfg(target_os = "linux")]
fn network(dir: &Path) -> Option<String> {
    let found = rustix::fs::statfs(dir).ok()?;
    // The number is a word of the machine's size; the magic ones have 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low 32 bits are meant")]
    let magic = found.f_type as u32;
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    network_kind(magic, || mount_kind(&mounts(), &std::fs::canonicalize(dir).ok()?)).map(str::to_owned)
}

/// The kind of network file system that a directory lies on, if it does.
#[cfg(not(target_os = "linux"))]
fn network(_dir: &Path) -> Option<String> {
    None
}

/// What a file system's number, and for FUSE its name, says of it (statfs(2)).
#[cfg(target_os = "linux")]
fn network_kind(magic: u32, name: impl FnOnce() -> Option<String>) -> Option<&'static str> {
    const FUSE: u32 = 0x6573_5546;
    /// What is behind FUSE is often local (overlays of containers, NTFS); these are not.
    const REMOTE: [&str; 12] = [
        "sshfs",
        "rclone",
        "s3fs",
        "gcsfuse",
        "goofys",
        "mount-s3",
        "blobfuse",
        "glusterfs",
        "ceph-fuse",
        "davfs",
        "curlftpfs",
        "juicefs",
    ];
    match magic {
        0x6969 => Some("NFS"),
        0x517B => Some("SMB"),
        0xFF53_4D42 | 0xFE53_4D42 => Some("SMB/CIFS"),
        0x0102_1997 => Some("9p"),
        0x5346_414F | 0x6B41_4653 => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        0x00C3_6400 => Some("Ceph"),
        0x0BD0_0BD0 => Some("Lustre"),
        FUSE => {
            let name = name()?;
            REMOTE.into_iter().find(|remote| name.contains(remote))
        }
        _ => None,
    }
}

/// The name of the file system with the longest mount point above a path (proc_pid_mountinfo(5)).
#[cfg(target_os = "linux")]
fn mount_kind(mounts: &str, path: &Path) -> Option<String> {
    let line = mounts
        .lines()
        .filter_map(|line| {
            let (point, rest) = (line.split(' ').nth(4)?, line.split_once(" - ")?.1);
            path.starts_with(point).then(|| (point.len(), rest.split(' ').next().unwrap_or_default()))
        })
        // Of two at one point the later lies on top.
        .max_by_key(|(length, _)| *length)?;
    Some(line.1.to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_by_their_number() {
        assert_eq!(network_kind(0x6969, || None), Some("NFS"));
        assert_eq!(network_kind(0xFF53_4D42, || None), Some("SMB/CIFS"));
        assert_eq!(network_kind(0x0102_1997, || None), Some("9p"));
        assert_eq!(network_kind(0xEF53, || None), None, "ext4");
        assert_eq!(network_kind(0x0102_1994, || None), None, "tmpfs");
    }

    #[test]
    fn of_fuse_only_what_is_remote_is_refused() {
        let mounts = "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n\
                      30 22 0:30 / /mnt/far rw,nosuid - fuse.sshfs ann@host: rw\n\
                      31 22 0:31 / /mnt/near rw - fuseblk /dev/sdb1 rw\n";
        let kind = |path: &str| network_kind(0x6573_5546, || mount_kind(mounts, Path::new(path)));
        assert_eq!(kind("/mnt/far/state"), Some("sshfs"));
        assert_eq!(kind("/mnt/near/state"), None);
        assert_eq!(kind("/home/ann"), None);
    }
}
