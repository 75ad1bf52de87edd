//! The log before the database (WAL): how long it is, and when it is moved into the database.
//!
//! Used by the writer, after each transaction. Moving means writing and syncing megabytes, so a thread of its own does
//! most of it, begun when there is much to move for the first time; the writer itself moves only what came meanwhile,
//! and only to let a long log begin anew, which SQLite does by itself only when by chance nobody reads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::config::Config;
use super::error::Error;
use super::schema;

/// New pages that are worth moving: 16 MiB.
const STEP: u32 = 4096;

/// Pages of a log that is to begin anew: 32 MiB.
const LONG: u32 = 8192;

/// What the writer knows of the log.
pub(super) struct Log {
    path: PathBuf,
    config: Config,
    /// Its pages after the newest transaction.
    pages: Arc<AtomicU32>,
    /// Its pages when they were last moved.
    moved: u32,
    mover: Option<Mover>,
    moves: bool,
}

/// The thread that moves.
struct Mover {
    begin: mpsc::Sender<()>,
    busy: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Log {
    /// Of a database; `db` is the one connection that writes.
    pub(super) fn new(path: PathBuf, config: Config, db: &mut Connection) -> Result<Self, Error> {
        let pages = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&pages);
        // In place of SQLite's own hook, which moves the log while everybody waits.
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            count.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { path, config, pages, moved: 0, mover: None, moves: false })
    }

    /// After a transaction: has the log moved where it has grown, and begun anew where it is long.
    pub(super) fn look(&mut self, db: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        self.moved = if pages < self.moved { 0 } else { self.moved };
        if self.moves {
            self.moves = self.mover.as_ref().is_some_and(Mover::is_busy);
            if !self.moves && pages >= LONG {
                warn(schema::begin_anew(db).map(drop));
            }
        } else if pages - self.moved >= STEP {
            self.moved = pages;
            self.moves = self.begin();
            if !self.moves {
                warn(schema::move_log(db));
            }
        }
    }

    /// Has the thread move what is there; says whether there is one.
    fn begin(&mut self) -> bool {
        if self.mover.is_none() {
            self.mover = Mover::start(&self.path, &self.config).inspect_err(warn_of).ok();
        }
        self.mover.as_ref().is_some_and(Mover::begin)
    }

    /// Ends the thread: the connection that is closed last tidies up.
    pub(super) fn close(self) {
        if let Some(Mover { begin, thread, .. }) = self.mover {
            drop(begin);
            // A panic there has been logged; nothing is to be saved from it.
            let _ = thread.join();
        }
    }
}

impl Mover {
    fn start(path: &std::path::Path, config: &Config) -> Result<Self, Error> {
        let db = schema::open_beside(path, config)?;
        let (begin, begun) = mpsc::channel();
        let busy = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&busy);
        let work = move || {
            for () in begun {
                warn(schema::move_log(&db));
                done.store(false, Ordering::Release);
            }
        };
        let thread = std::thread::Builder::new()
            .name("store log".to_owned())
            .spawn(work)
            .map_err(|error| Error::Io(format!("the log's thread can't be started: {error}")))?;
        Ok(Self { begin, busy, thread })
    }

    fn begin(&self) -> bool {
        self.busy.store(true, Ordering::Relaxed);
        self.begin.send(()).is_ok()
    }

    /// A thread that is no more is busy no more.
    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) && !self.thread.is_finished()
    }
}

fn warn(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        warn_of(&error);
    }
}

fn warn_of(error: &Error) {
    tracing::warn!(%error, "the store's log could not be shortened");
}
