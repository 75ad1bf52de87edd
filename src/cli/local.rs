//! The node of this machine: what its state directory says, believed only while its lock is held (O-41).
#![expect(clippy::disallowed_methods, reason = "reads the state directory's small files")]

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use crate::peer::{Address, Credential};

/// What lies in a state directory.
#[derive(Debug)]
pub(super) enum Found {
    /// A node runs.
    Running(Running),
    /// None does.
    Nothing,
    /// One may, but this user can't tell.
    Closed(io::Error),
}

/// A node that runs.
#[derive(Debug)]
pub(super) struct Running {
    /// Its process.
    pub(super) pid: u32,
    /// Where it is dialed from this machine, best first; empty when it listens elsewhere only.
    pub(super) addresses: Vec<Address>,
    /// The local admin token, made anew at every start; `None` if this user can't read it.
    pub(super) token: Option<Credential>,
}

/// `node.json`.
#[derive(Debug, Deserialize)]
struct Said {
    pid: u32,
    #[serde(default)]
    since: String,
    #[serde(default)]
    urls: Vec<String>,
    #[serde(default)]
    unix: Vec<PathBuf>,
}

impl Said {
    /// Whether it is of the node that wrote its pid and start into the lock. Where a lock can't be read while it is
    /// held, there is nothing to compare.
    fn is_of(&self, lock: &str) -> bool {
        let mut words = lock.split_whitespace();
        match (words.next(), words.next()) {
            (Some(pid), Some(since)) => pid == self.pid.to_string() && since == self.since,
            _ => true,
        }
    }
}

/// How often a node that is about to be ready is looked at again, every 50 ms.
const LOOKS: u32 = 60;

/// Looks into a state directory. A node that has just started is waited for.
#[must_use]
pub(super) fn look(dir: &Path) -> Found {
    for _ in 0..LOOKS {
        match look_once(dir) {
            Ok(Some(Some(running))) => return Found::Running(running),
            Ok(Some(None)) => std::thread::sleep(Duration::from_millis(50)),
            Ok(None) => return Found::Nothing,
            Err(error) => return Found::Closed(error),
        }
    }
    Found::Closed(io::Error::other("a node holds the lock there but has not said where it listens"))
}

/// `None`: no node; `Some(None)`: one that is not ready to be dialed.
fn look_once(dir: &Path) -> io::Result<Option<Option<Running>>> {
    if !is_held(&dir.join("node.lock"))? {
        return Ok(None);
    }
    let said = match std::fs::read(dir.join("node.json")) {
        Ok(said) => said,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(None)),
        Err(error) => return Err(error),
    };
    // Half written, or of another version: looked at again, then given up.
    let Ok(said) = serde_json::from_slice::<Said>(&said) else { return Ok(Some(None)) };
    // A node that has just taken the lock may not yet have removed what a dead one left.
    let holder = std::fs::read_to_string(dir.join("node.lock")).unwrap_or_default();
    if !said.is_of(&holder) {
        return Ok(Some(None));
    }
    let token =
        std::fs::read_to_string(dir.join("token")).ok().and_then(|token| Credential::new(&token).ok());
    Ok(Some(Some(Running { pid: said.pid, addresses: addresses(&said), token })))
}

/// Whether a process holds the lock. Held for an instant by us if none does.
fn is_held(lock: &Path) -> io::Result<bool> {
    let file = match File::open(lock) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The addresses where the local token counts: loopback and unix sockets. A wildcard is reached by loopback.
fn addresses(said: &Said) -> Vec<Address> {
    let tcp = said.urls.iter().filter_map(|url| {
        let url = url.replacen("://0.0.0.0", "://127.0.0.1", 1).replacen("://[::]", "://[::1]", 1);
        Address::parse(&url).ok().filter(Address::is_loopback)
    });
    let unix = said.unix.iter().filter(|_| cfg!(unix)).map(|path| Address::unix(path.clone()));
    tcp.chain(unix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(json: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("node.json"), json).unwrap();
        std::fs::write(dir.path().join("token"), "a2ad_local\n").unwrap();
        std::fs::write(dir.path().join("node.lock"), "").unwrap();
        dir
    }

    const JSON: &str =
        r#"{"pid":7,"urls":["http://192.0.2.1:80","http://0.0.0.0:7878"],"unix":["/run/x.sock"]}"#;

    #[test]
    fn an_address_is_believed_only_while_the_lock_is_held() {
        let dir = state(JSON);
        assert!(matches!(look(dir.path()), Found::Nothing));
        let lock = File::open(dir.path().join("node.lock")).unwrap();
        lock.lock().unwrap();
        let Found::Running(running) = look(dir.path()) else { panic!("a held lock is a node") };
        assert_eq!(running.pid, 7);
        assert!(running.token.is_some());
        let dialed: Vec<String> = running.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(dialed, ["http://127.0.0.1:7878", "unix:/run/x.sock"]);
        drop(lock);
        assert!(matches!(look(dir.path()), Found::Nothing));
    }

    #[test]
    fn what_a_dead_node_left_is_not_taken_for_the_one_that_starts() {
        let since = "2026-11-30T10:00:00.000Z";
        let json = format!(r#"{{"pid":7,"since":"{since}","urls":["http://127.0.0.1:7878"]}}"#);
        let dir = state(&json);
        let lock = File::open(dir.path().join("node.lock")).unwrap();
        lock.lock().unwrap();
        let found = |holder: String| {
            std::fs::write(dir.path().join("node.lock"), holder).unwrap();
            look_once(dir.path()).unwrap().unwrap().is_some()
        };
        assert!(!found(format!("8 {since}\n")));
        // In a container every node has the same number.
        assert!(!found("7 2026-11-30T10:00:01.000Z\n".into()));
        assert!(found(format!("7 {since}\n")));
    }

    #[test]
    fn an_empty_place_has_no_node() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(look(dir.path()), Found::Nothing));
        assert!(matches!(look(&dir.path().join("absent")), Found::Nothing));
    }
}
