//! Leases: what the next start needs to find the children of a node that was killed (UR-13).
//!
//! Written by `spawn` before a child can do harm, removed by `process` when its tree is proven empty, read by
//! [`super::Custody::reap_left`]. A process is never taken for ours by its name, arguments or age (UR-14).

#![expect(clippy::disallowed_methods, reason = "owns the lease files of the state directory")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::host::{self, Tree};
use super::{Error, temp};

/// How long killing goes on before survivors are reported.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The mark of a child: known to it as `A2AD_RUN`, to its lease by this hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark([u8; 32]);

impl Mark {
    /// Of the value of `A2AD_RUN`.
    pub(super) fn of(nonce: &[u8]) -> Self {
        Self(Sha256::digest(nonce).into())
    }

    fn hex(self) -> String {
        hex(&self.0)
    }

    fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// Bytes as small hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A process, told apart from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// In the system's own count since boot.
    pub(super) start: u64,
}

/// Where process numbers mean something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct World {
    pub(super) boot: String,
    pub(super) pid_namespace: u64,
}

/// What a lease file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Terms {
    agent: String,
    task: String,
    nonce_sha256: String,
    #[serde(flatten)]
    world: World,
    node: Process,
    /// Absent for the instant between the writing and the birth.
    child: Option<Process>,
    user_namespace: Option<u64>,
    temp: PathBuf,
}

/// A lease that is held.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    terms: Terms,
}

/// What an earlier node left and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Of which agent.
    pub agent: String,
    /// For which task.
    pub task: String,
    /// How many processes were ended.
    pub ended: usize,
    /// How many could not be; the lease stays.
    pub survivors: usize,
}

impl Lease {
    /// Written before the fork, so that no instant is left in which a child has none.
    pub(super) fn write(
        runs: &Path,
        mark: Mark,
        agent: &str,
        task: &str,
        temp: &Path,
    ) -> Result<Self, Error> {
        let terms = Terms {
            agent: agent.to_owned(),
            task: task.to_owned(),
            nonce_sha256: mark.hex(),
            world: host::world(),
            node: this_process(),
            child: None,
            user_namespace: None,
            temp: temp.to_owned(),
        };
        let lease = Self { path: runs.join(format!("{}.json", &mark.hex()[..32])), terms };
        lease.save()?;
        Ok(lease)
    }

    /// Written again with what the birth told.
    pub(super) fn born(&mut self, child: Process, user_namespace: Option<u64>) -> Result<(), Error> {
        self.terms.child = Some(child);
        self.terms.user_namespace = user_namespace;
        self.save()
    }

    /// The tree is proven empty.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a lease was not removed");
        }
    }

    /// Whole or not at all. Not synced: after a loss of power there is no child to find.
    fn save(&self) -> Result<(), Error> {
        let failed = |source| Error::File { what: "write the lease", path: self.path.clone(), source };
        let new = self.path.with_extension("new");
        let bytes = serde_json::to_vec(&self.terms).map_err(|error| failed(io::Error::other(error)))?;
        temp::private_file(&new, &bytes).map_err(failed)?;
        std::fs::rename(&new, &self.path).map_err(failed)
    }
}

/// Goes through the leases in `runs`. Temporary directories below `temps` go with their trees, and those without a
/// lease too: no other node uses them while this one holds the instance lock.
pub(super) fn reap(runs: &Path, temps: &Path) -> Vec<Left> {
    let mut left = Vec::new();
    let mut kept = Vec::new();
    for path in entries(runs) {
        match read(&path) {
            Some(terms) if is_alive(terms.node) && terms.world == host::world() => kept.push(terms.temp),
            Some(terms) => {
                let gone = end(&terms);
                if gone.survivors > 0 {
                    tracing::error!(
                        agent = gone.agent,
                        task = gone.task,
                        survivors = gone.survivors,
                        "left processes cannot be ended"
                    );
                    kept.push(terms.temp);
                } else {
                    drop_file(&path);
                }
                left.push(gone);
            }
            // Half-written leases are `.new` files, so this one is not ours to understand: nobody is ended for it.
            None => drop_file(&path),
        }
    }
    for path in entries(temps).filter(|path| !kept.contains(path)) {
        temp::remove(&path);
    }
    left
}

fn end(terms: &Terms) -> Left {
    let mut left = Left { agent: terms.agent.clone(), task: terms.task.clone(), ended: 0, survivors: 0 };
    // After a restart of the machine, or in another container, the numbers mean nothing and the children are gone.
    if terms.world != host::world() {
        return left;
    }
    let Some(mark) = Mark::from_hex(&terms.nonce_sha256) else { return left };
    let tree = Tree::left(mark, terms.child, terms.node, terms.user_namespace);
    left.ended = tree.alive().unwrap_or(0);
    if left.ended > 0 {
        left.survivors = tree.kill(PATIENCE);
        left.ended -= left.survivors.min(left.ended);
    }
    left
}

/// Whether a lease is that of a living node: this one, or another on the same directory (tests only, as the lock
/// forbids it).
fn is_alive(node: Process) -> bool {
    host::process(node.pid).is_some_and(|now| now.start == node.start)
}

fn this_process() -> Process {
    let pid = std::process::id();
    host::process(pid).unwrap_or(Process { pid, start: 0 })
}

fn read(path: &Path) -> Option<Terms> {
    let bytes = std::fs::read(path).ok()?;
    serde_json::from_slice(&bytes)
        .inspect_err(
            |error| tracing::warn!(path = %path.display(), %error, "a lease is not readable and dropped"),
        )
        .ok()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn drop_file(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "a lease was not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_text() {
        let mark = Mark::of(b"nonce");
        assert_eq!(Mark::from_hex(&mark.hex()), Some(mark));
        for wrong in ["", "00", &"é".repeat(32), &"g".repeat(64)] {
            assert_eq!(Mark::from_hex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_lease_holds_the_hash_and_never_the_nonce() {
        let root = tempfile::tempdir().unwrap();
        let mut lease =
            Lease::write(root.path(), Mark::of(b"the-nonce"), "claude", "task-1", Path::new("/t")).unwrap();
        lease.born(Process { pid: 7, start: 8 }, Some(9)).unwrap();
        let text = std::fs::read_to_string(&lease.path).unwrap();
        assert!(text.contains("task-1") && text.contains("\"pid\":7") && text.contains("boot"), "{text}");
        assert!(!text.contains("the-nonce"), "{text}");
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &std::fs::metadata(&lease.path).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        lease.remove();
        assert_eq!(entries(root.path()).count(), 0);
    }
}
