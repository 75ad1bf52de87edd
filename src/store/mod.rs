//! The journal and what stands beside it, in SQLite: events, tasks, acceptances, sessions, tokens.
//!
//! `node` commits batches and reads; `outbox` and whoever watches use [`Store::tail`]. One thread writes and makes
//! of everything that waits one transaction (group commit); readers never wait for it. The store knows no fact, no
//! rule of a task and no caller; SQL stands nowhere else.

pub mod config;

mod clock;
mod dir;
mod ended;
mod error;
mod journal;
mod log;
mod page;
mod readers;
mod retention;
mod rows;
mod schema;
mod sends;
mod sessions;
mod space;
mod tail;
mod tasks;
mod tokens;
mod writer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::oneshot;

pub use config::{Config, Durability};
pub use error::Error;
pub use page::{Page, PageQuery, Total, Totals};
pub use retention::{ContextGone, Expired};
pub use rows::{Append, Batch, Entry, Head, Row, Sent, SessionRow, Snapshot, StreamId, TaskRow};
pub use space::Room;
pub use tail::{Tail, Watch};
pub use tokens::TokenRow;

use self::clock::Clock;
use self::ended::Ended;
use self::log::Log;
use self::readers::Readers;
use self::space::Space;
use self::tail::Wakes;
use self::writer::{Call, Group, Job, Writer};
use crate::model::{AgentName, ContextId, PrincipalId, Seq, Session, TaskId, TaskState, Timestamp};

/// The store: a cheap handle, the same for all clones.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    config: Config,
    calls: mpsc::Sender<Call>,
    readers: Arc<Readers>,
    shared: Arc<Shared>,
    clock: Clock,
    used: Mutex<HashMap<[u8; 32], Timestamp>>,
}

/// What the writer and the handles share.
struct Shared {
    wakes: Arc<Wakes>,
    ended: Ended,
    space: Space,
    transactions: AtomicU64,
}

impl Shared {
    fn counted(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }
}

/// The version of the schema that this program writes (O-37).
#[must_use]
pub const fn schema_version() -> usize {
    schema::SCRIPTS.len()
}

impl Store {
    /// Opens the store in the state directory, making what is missing; `now` is the wall clock.
    ///
    /// # Errors
    /// Another node holds the directory, it lies on a network file system or can't be written, or the database is
    /// damaged, foreign or too new.
    pub async fn open(config: &Config, now: Timestamp) -> Result<Self, Error> {
        let config = config.clone();
        blocking(move || Self::open_now(config, now, schema::SCRIPTS)).await
    }

    fn open_now(config: Config, now: Timestamp, scripts: &[&str]) -> Result<Self, Error> {
        dir::prepare(&config.dir)?;
        let lock = dir::lock(&config.dir, now)?;
        let space = Space::new(&config);
        let path = config.dir.join("node.db");
        let mut db = match open_database(&path, &config, scripts) {
            Err(Error::Full(_)) => {
                space.give_up_ballast();
                open_database(&path, &config, scripts)?
            }
            outcome => outcome?,
        };
        space.lay_ballast();
        let clock = Clock::new(now, schema::clock(&db)?, Instant::now());
        if clock.is_early() {
            tracing::warn!(%now, "the clock is wrong: it shows a time before this program was made");
        }
        let shared = Arc::new(Shared {
            wakes: Arc::default(),
            ended: Ended::default(),
            space,
            transactions: AtomicU64::new(0),
        });
        let (calls, inbox) = mpsc::channel();
        let log = Log::new(path.clone(), config.clone(), &mut db)?;
        let writer = Writer::new(db, log, Arc::clone(&shared), lock);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run(&inbox))
            .map_err(|error| Error::Io(format!("the store's thread can't be started: {error}")))?;
        let readers = Arc::new(Readers::new(&path));
        let inner = Inner { config, calls, readers, shared, clock, used: Mutex::default() };
        Ok(Self(Arc::new(inner)))
    }

    /// The time: never before any that was told or stored (O-45).
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now(Timestamp::now())
    }

    /// Whether the clock showed a time before this program was made: nothing that expires can be judged.
    #[must_use]
    pub fn clock_is_early(&self) -> bool {
        self.0.clock.is_early()
    }

    /// Stores a batch: on disk when this answers. Once polled it is stored or refused, also if the caller goes away.
    ///
    /// # Errors
    /// [`Error::Conflict`] and [`Error::Replayed`] refuse it; others say why nothing could be written.
    pub async fn commit(&self, batch: Batch) -> Result<(), Error> {
        let (work, answer) = journal::Commit::new(batch);
        self.send(Call::Work(work))?;
        received(answer).await
    }

    /// Gives a task to a new holder, whose epoch is in the row; an earlier one can't write any more.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn claim(&self, id: &TaskId) -> Result<Option<TaskRow>, Error> {
        let id = id.clone();
        self.act(move |group| tasks::claim(group, &id)).await
    }

    /// A task.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn task(&self, id: &TaskId) -> Result<Option<TaskRow>, Error> {
        let deletions = match self.0.shared.ended.get(id) {
            Ok(row) => return Ok(Some(row)),
            Err(deletions) => deletions,
        };
        let row = self.0.readers.with(|db| tasks::load(db, id))?;
        row.iter().for_each(|row| self.0.shared.ended.keep(row, deletions));
        Ok(row)
    }

    /// Entries of a journal after a place, at most so many.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn entries(&self, stream: &StreamId, after: Seq, most: usize) -> Result<Vec<Entry>, Error> {
        let page = self.0.readers.with(|db| journal::entries(db, stream, after, most, usize::MAX))?;
        Ok(page.entries)
    }

    /// What was accepted under a key and still exists, the newest first; also what is older than it counts.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn sent(&self, principal: &PrincipalId, agent: &AgentName, key: &str) -> Result<Vec<Sent>, Error> {
        self.0.readers.with(|db| sends::under(db, principal, agent, key))
    }

    /// What a runtime remembers of a context.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn session(
        &self,
        agent: &AgentName,
        principal: &PrincipalId,
        context: &ContextId,
    ) -> Result<Option<Session>, Error> {
        self.0.readers.with(|db| sessions::get(db, agent, principal, context))
    }

    /// A part of a list.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn page(&self, query: PageQuery) -> Result<Page, Error> {
        self.look(move |db| page::page(db, &query)).await
    }

    /// Tasks that nobody has begun, the oldest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn queued(&self) -> Result<Vec<TaskRow>, Error> {
        self.look(|db| tasks::in_states(db, &[TaskState::Submitted])).await
    }

    /// Tasks that have not ended, the oldest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn unfinished(&self) -> Result<Vec<TaskRow>, Error> {
        self.look(|db| {
            let states: Vec<_> = TaskState::ALL.into_iter().filter(|state| !state.is_terminal()).collect();
            tasks::in_states(db, &states)
        })
        .await
    }

    /// How many tasks there are, by owner and state.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn totals(&self) -> Result<Totals, Error> {
        self.look(page::totals).await
    }

    /// Whether there is a task of an agent, whoever owns it.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn knows(&self, agent: &AgentName) -> Result<bool, Error> {
        self.0.readers.with(|db| page::knows(db, agent))
    }

    /// How many tasks a principal owns.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn owned(&self, scope: &PrincipalId) -> Result<u64, Error> {
        self.0.readers.with(|db| page::owned(db, scope))
    }

    /// A cursor over a journal: what comes after a place, and what will come.
    #[must_use]
    pub fn tail(&self, stream: &StreamId, after: Seq) -> Tail {
        Tail::new(Arc::clone(&self.0.readers), &self.0.shared.wakes, stream, after)
    }

    /// A cursor over a journal whose first batch is yet to be committed; `after` lies in that batch.
    #[must_use]
    pub fn tail_of_new(&self, stream: &StreamId, after: Seq) -> Tail {
        Tail::of_new(Arc::clone(&self.0.readers), &self.0.shared.wakes, stream, after)
    }

    /// The newest number of a journal, as far as it grows while somebody watches.
    #[must_use]
    pub fn head(&self, stream: &StreamId) -> Watch {
        self.0.shared.wakes.watch(stream)
    }

    /// What there is room for, as of a second ago at most.
    #[must_use]
    pub fn room(&self) -> Room {
        self.0.shared.space.room(Instant::now())
    }

    /// How many transactions were written since the store was opened.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.0.shared.transactions.load(Ordering::Relaxed)
    }

    /// Writes what waits, shortens the files, closes the database and lets go of the directory.
    pub async fn close(self) {
        self.0.readers.clear();
        let (reply, answer) = oneshot::channel();
        if self.send(Call::Close(reply)).is_ok() {
            // The writer may have gone already.
            let _ = answer.await;
        }
    }

    /// Does something inside a transaction of the writer.
    async fn act<T: Send + 'static>(
        &self,
        act: impl FnMut(&mut Group<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (work, answer) = Job::new(act);
        self.send(Call::Work(work))?;
        received(answer).await
    }

    /// Reads what may take a while, all of it from one state of the database.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = Arc::clone(&self.0.readers);
        blocking(move || readers.snapshot(read)).await
    }

    fn send(&self, call: Call) -> Result<(), Error> {
        self.0.calls.send(call).map_err(|_| Error::Closed)
    }
}

fn open_database(path: &Path, config: &Config, scripts: &[&str]) -> Result<Connection, Error> {
    schema::open(path, config, scripts).map_err(|error| match error {
        Error::Corrupt(why) => Error::Corrupt(format!("{}: {why}", path.display())),
        other => other,
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::Io(format!("the store stopped: {error}")))?
}

async fn received<T>(answer: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    answer.await.map_err(|_| Error::Closed)?
}

#[cfg(test)]
mod tests;
