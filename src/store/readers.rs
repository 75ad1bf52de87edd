//! Connections that only read: a few are kept, more are made when all are busy.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::Error;
use super::schema;

/// How many idle connections are kept.
const KEPT: usize = 4;

/// The pool. A connection is used by one call and never across an `await`, so no read transaction can hold the WAL.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Mutex::new(Vec::with_capacity(KEPT)) }
    }

    /// Lends a connection to `read`.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let kept = self.idle().pop();
        let db = kept.map_or_else(|| self.open(), Ok)?;
        let outcome = read(&db);
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(db);
        }
        outcome
    }

    /// Lends a connection whose statements all see the same state.
    pub(super) fn snapshot<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.with(|db| {
            let same = db.unchecked_transaction()?;
            let outcome = read(&same)?;
            same.commit()?;
            Ok(outcome)
        })
    }

    /// Lets go of all idle connections.
    pub(super) fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<Connection, Error> {
        let db = Connection::open_with_flags(
            &self.path,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        db.busy_timeout(Duration::from_secs(5))?;
        schema::cache_statements(&db)?;
        // A quarter of a MiB: the pages lie in the system's cache anyway.
        db.execute_batch("PRAGMA cache_size = -256; PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;")?;
        Ok(db)
    }
}
