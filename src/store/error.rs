//! What can go wrong with the store.

use std::{io, path::Path, path::PathBuf};

use rusqlite::ErrorCode;

use super::rows::{Sent, StreamId};
use crate::model::{Seq, Timestamp};

/// What went wrong, why, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else wrote first, or a later holder has the task.
    #[error("the journal {stream} has gone on to {head} meanwhile")]
    Conflict {
        /// Which journal.
        stream: StreamId,
        /// Its last entry now; 0 if there is none.
        head: Seq,
    },
    /// This message was accepted before (P-21).
    #[error("this message was accepted before, as {}", .0.stream)]
    Replayed(Sent),
    /// A batch that contradicts itself.
    #[error("a change contradicts itself: {0}")]
    Malformed(String),
    /// The journal that was read has been deleted.
    #[error("{0} has been deleted")]
    Deleted(StreamId),
    /// The node stops.
    #[error("the store is closed")]
    Closed,
    /// No space is left.
    #[error("no space is left for the state: {0}; free some, or raise `store.max`")]
    Full(String),
    /// The place can't be written.
    #[error(
        "the state can't be written: {0}; mend the permissions, or choose another place with --state-dir"
    )]
    ReadOnly(String),
    /// The database is damaged, or none of ours. It is left as it is.
    #[error(
        "the database can't be used: {0}; the file is kept as it is: put a backup in its place, or move it away"
    )]
    Corrupt(String),
    /// The database was made by a later version.
    #[error(
        "{} has schema {found}, written by {written_by}; this is a2ad {}, which knows schema {known}: start the version that wrote it, or a later one",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this binary knows.
        known: u32,
        /// The binary that wrote it.
        written_by: String,
    },
    /// A copy has to be made before the schema changes, and there is no room for it (O-37).
    #[error(
        "{} has to be brought from schema {from} to {to}, and there is no room for the copy that is made before: {needed} bytes are needed, {free} are free",
        path.display()
    )]
    NoRoomToMigrate {
        /// The database.
        path: PathBuf,
        /// Its schema.
        from: u32,
        /// The schema of this binary.
        to: u32,
        /// Bytes that the copy takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Another node works here (UR-72).
    #[error(
        "a node is running on {}{}: add to it with `a2ad agent add`, stop it, or start another with --name",
        dir.display(), holder(*pid, *since)
    )]
    Locked {
        /// The state directory.
        dir: PathBuf,
        /// The process that holds it, where it can be read.
        pid: Option<u32>,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// SQLite's locks can't be trusted there.
    #[error(
        "{} lies on a network file system ({kind}), where the state would be damaged: choose a local directory with --state-dir",
        dir.display()
    )]
    NetworkFs {
        /// The state directory.
        dir: PathBuf,
        /// Which kind.
        kind: String,
    },
    /// Reading or writing failed.
    #[error("{0}")]
    Io(String),
}

/// Who holds the lock, in words.
fn holder(pid: Option<u32>, since: Option<Timestamp>) -> String {
    match (pid, since) {
        (Some(pid), Some(since)) => format!(" (pid {pid}, since {since})"),
        (Some(pid), None) => format!(" (pid {pid})"),
        (None, _) => String::new(),
    }
}

impl Error {
    /// Whether another place or another binary is what helps, not a free disk or other permissions.
    #[must_use]
    pub const fn is_about_its_place(&self) -> bool {
        matches!(self, Self::Newer { .. } | Self::NetworkFs { .. })
    }

    /// Whether the batch was looked at and turned down before anything of it was written.
    pub(super) const fn is_refusal(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Replayed(_) | Self::Malformed(_))
    }

    /// A failure of a file operation: `what` was tried on `path`.
    pub(super) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        let text = format!("cannot {what} {}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(text),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(text),
            _ => Self::Io(text),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.to_string()),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            _ => Self::Io(format!("the database failed: {error}")),
        }
    }
}
