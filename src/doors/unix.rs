//! Unix sockets (O-57): made with no moment in which more may connect than in the end, and never in the place of
//! something that is not ours.
#![expect(clippy::disallowed_methods, reason = "makes and removes sockets, reads /etc/group")]

use std::{
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, chmod, chown, fchmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with},
    process::{Gid, geteuid},
};
use tokio::net::UnixListener;

use super::Error;

/// How many may wait to be accepted.
const BACKLOG: i32 = 1024;

/// The longest path of a socket.
const LONGEST: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A socket in the file system; dropping it removes the file, if it is still the same.
pub(super) struct Socket {
    path: PathBuf,
    made: (u64, u64),
}

impl Socket {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a socket.
///
/// # Errors
/// The path is too long, taken or not ours to write, or there is no such group.
pub(super) fn open(path: &Path, mode: u32, group: Option<&str>) -> Result<(UnixListener, Socket), Error> {
    let failed = |source: io::Error| Error::Socket { path: path.to_owned(), source };
    if path.as_os_str().len() > LONGEST {
        return Err(Error::SocketPath { path: path.to_owned(), longest: LONGEST });
    }
    let group = group.map(gid).transpose()?;
    clear(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| failed(error.into()))?;
    // On Linux the file gets no more than the mode of the descriptor, so nobody connects before it is narrowed.
    // Where a system refuses this, the mode set below is what holds.
    let _ = fchmod(&socket, Mode::RUSR | Mode::WUSR);
    let name = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
    bind(&socket, &name).map_err(|error| failed(error.into()))?;
    let meta = std::fs::symlink_metadata(path).map_err(failed)?;
    let made = Socket { path: path.to_owned(), made: (meta.dev(), meta.ino()) };
    if let Some(group) = group {
        chown(path, None, Some(group)).map_err(|error| failed(error.into()))?;
    }
    chmod(path, Mode::from_raw_mode(mode as rustix::fs::RawMode)).map_err(|error| failed(error.into()))?;
    listen(&socket, BACKLOG).map_err(|error| failed(error.into()))?;
    let listener = UnixListener::from_std(socket.into()).map_err(failed)?;
    Ok((listener, made))
}

/// Makes room for a socket: removes one of ours that nobody accepts on.
fn clear(path: &Path) -> Result<(), Error> {
    let taken = |why: &'static str| Err(Error::SocketTaken { path: path.to_owned(), why });
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() {
        return taken("something that is no socket has that name");
    }
    if meta.uid() != geteuid().as_raw() {
        return taken("a socket of another user has that name");
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|source| Error::Socket { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => taken("another program accepts calls there; stop it, or choose another path"),
    }
}

/// The number of a group, which may be given as one.
fn gid(group: &str) -> Result<Gid, Error> {
    let groups = || std::fs::read_to_string("/etc/group").unwrap_or_default();
    group
        .parse()
        .ok()
        .or_else(|| numbered(&groups(), group))
        .map(Gid::from_raw)
        .ok_or_else(|| Error::NoGroup { group: group.to_owned() })
}

fn numbered(groups: &str, group: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(group)).then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

impl Drop for Socket {
    fn drop(&mut self) {
        let same = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.made && meta.file_type().is_socket());
        if same {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_has_its_mode_and_leaves_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let (_listener, socket) = open(&path, 0o660, None).unwrap();
        assert_eq!(std::fs::symlink_metadata(&path).unwrap().mode() & 0o777, 0o660);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_socket_of_ours_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener of the standard library leaves its file");
        let _held = open(&path, 0o600, None).unwrap();
        let error = open(&path, 0o600, None).err().unwrap().to_string();
        assert!(error.contains("accepts calls there"), "{error}");
    }

    #[tokio::test]
    async fn what_is_no_socket_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.txt");
        std::fs::write(&path, "mine").unwrap();
        assert!(open(&path, 0o600, None).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[tokio::test]
    async fn a_path_that_no_socket_can_have_is_said_with_its_length() {
        let path = Path::new("/tmp").join("x".repeat(LONGEST));
        assert!(open(&path, 0o600, None).err().unwrap().to_string().contains(&LONGEST.to_string()));
    }

    #[test]
    fn groups_are_found_by_name_or_number() {
        assert_eq!(numbered("root:x:0:\ncaddy:x:998:ann\n", "caddy"), Some(998));
        assert_eq!(numbered("root:x:0:\n", "caddy"), None);
        assert_eq!(gid("42").unwrap().as_raw(), 42);
        assert!(matches!(gid("no-such-group-here"), Err(Error::NoGroup { .. })));
    }
}
