//! The one thread that writes. Everything that waits becomes one transaction and one fsync.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use super::error::Error;
use super::log::Log;
use super::rows::StreamId;
use super::tasks::{self, Stored};
use super::{Shared, schema};
use crate::model::{AgentName, PrincipalId, TaskId, TaskState};

/// How many changes become one transaction at most.
const MOST: usize = 1024;

/// How long nobody must have written before the house is put in order.
const IDLE: Duration = Duration::from_secs(1);

/// Something to be done inside a transaction that others share.
pub(super) trait Work: Send {
    /// Does it. An error undoes the transaction; then this is called again, alone in one.
    fn run(&mut self, group: &mut Group<'_>) -> Result<(), Error>;

    /// Tells the one who waits, once the transaction is on disk or has failed.
    fn done(self: Box<Self>, outcome: Result<(), Error>, shared: &Shared);
}

/// What the writer is sent.
pub(super) enum Call {
    /// Something to do.
    Work(Box<dyn Work>),
    /// Do what came before, close the database, let go of the lock, answer.
    Close(oneshot::Sender<()>),
}

/// Work that is a closure.
pub(super) struct Job<T, F> {
    act: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> Job<T, F> {
    pub(super) fn new(act: F) -> (Box<Self>, oneshot::Receiver<Result<T, Error>>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { act, value: None, reply }), answer)
    }
}

impl<T, F> Work for Job<T, F>
where
    T: Send,
    F: FnMut(&mut Group<'_>) -> Result<T, Error> + Send,
{
    fn run(&mut self, group: &mut Group<'_>) -> Result<(), Error> {
        self.value = Some((self.act)(group)?);
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), Error>, _shared: &Shared) {
        let answer = match (outcome, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(Error::Closed),
            (Err(error), _) => Err(error),
        };
        // Whoever asked may have gone; what is written stays written.
        let _ = self.reply.send(answer);
    }
}

/// Numbers of the owners that have been met.
type Owners = HashMap<(PrincipalId, AgentName), i64>;

/// What is stored of tasks that go on, so that it need not be read again with each step.
type Live = HashMap<TaskId, Stored>;

/// How many of these are kept.
const LIVE: usize = 4096;

/// A transaction that is being filled.
pub(super) struct Group<'a> {
    /// The connection, inside the transaction.
    pub(super) db: &'a Connection,
    owners: &'a mut Owners,
    live: &'a mut Live,
    totals: HashMap<(i64, u8), i64>,
    newest: i64,
    gone: Vec<StreamId>,
}

impl Group<'_> {
    /// The number of an owner, given on first sight.
    pub(super) fn owner(&mut self, scope: &PrincipalId, agent: &AgentName) -> Result<i64, Error> {
        let key = (scope.clone(), agent.clone());
        if let Some(id) = self.owners.get(&key) {
            return Ok(*id);
        }
        let names = (scope.as_str(), agent.as_str());
        let known: Option<i64> = self
            .db
            .prepare_cached("SELECT id FROM owners WHERE scope = ?1 AND agent = ?2")?
            .query_row(names, |row| row.get(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                self.db.prepare_cached("INSERT INTO owners (scope, agent) VALUES (?1, ?2)")?.insert(names)?
            }
        };
        self.owners.insert(key, id);
        Ok(id)
    }

    /// What is stored of a task.
    pub(super) fn stored(&mut self, id: &TaskId) -> Result<Option<Stored>, Error> {
        match self.live.get(id) {
            Some(stored) => Ok(Some(*stored)),
            None => tasks::stored(self.db, id),
        }
    }

    /// Notes what has just been stored of a task; `None`: it is to be read.
    pub(super) fn note(&mut self, id: &TaskId, stored: Option<Stored>) {
        let Some(stored) = stored.filter(|stored| !stored.state.is_terminal()) else {
            self.live.remove(id);
            return;
        };
        if self.live.len() >= LIVE {
            self.live.clear();
        }
        self.live.insert(id.clone(), stored);
    }

    /// Counts a task of an owner in or out of a state.
    pub(super) fn count(&mut self, owner: i64, state: TaskState, by: i64) {
        *self.totals.entry((owner, state.number())).or_default() += by;
    }

    /// Notes a time that must not come again (O-45).
    pub(super) fn seen(&mut self, millis: i64) {
        self.newest = self.newest.max(millis);
    }

    /// Notes a journal whose readers are to be told that it is no more.
    pub(super) fn deleted(&mut self, stream: StreamId) {
        self.gone.push(stream);
    }

    /// Writes what was summed up.
    fn settle(&mut self) -> Result<(), Error> {
        for ((owner, state), by) in self.totals.drain().filter(|(_, by)| *by != 0) {
            self.db
                .prepare_cached(
                    "INSERT INTO totals (owner, state, tasks) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
                )?
                .execute((owner, state, by))?;
        }
        if self.newest > i64::MIN {
            schema::set_clock(self.db, self.newest)?;
        }
        Ok(())
    }
}

/// The thread's own.
pub(super) struct Writer {
    db: Connection,
    shared: Arc<Shared>,
    owners: Owners,
    live: Live,
    /// Why nothing may be written any more.
    broken: Option<Error>,
    log: Log,
    /// Held until the database is closed.
    lock: File,
}

impl Writer {
    pub(super) fn new(db: Connection, log: Log, shared: Arc<Shared>, lock: File) -> Self {
        Self { db, shared, owners: HashMap::new(), live: HashMap::new(), broken: None, log, lock }
    }

    /// Works until told to stop, or until nobody is left who could ask.
    pub(super) fn run(mut self, calls: &Receiver<Call>) {
        let mut closing = None;
        let mut written = true;
        while closing.is_none() {
            let call = if written {
                calls.recv_timeout(IDLE)
            } else {
                calls.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match call {
                Ok(Call::Work(work)) => {
                    closing = self.drain(work, calls);
                    written = true;
                }
                Ok(Call::Close(reply)) => closing = Some(reply),
                Err(RecvTimeoutError::Timeout) => written = !self.tidy(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.finish();
        if let Some(reply) = closing {
            let _ = reply.send(());
        }
    }

    /// Takes what else waits into the transaction of `first`.
    fn drain(&mut self, first: Box<dyn Work>, calls: &Receiver<Call>) -> Option<oneshot::Sender<()>> {
        let mut works = Vec::with_capacity(16);
        works.push(first);
        let mut closing = None;
        while works.len() < MOST && closing.is_none() {
            match calls.try_recv() {
                Ok(Call::Work(work)) => works.push(work),
                Ok(Call::Close(reply)) => closing = Some(reply),
                Err(_) => break,
            }
        }
        self.commit(works);
        self.log.look(&self.db);
        closing
    }

    /// One transaction for all; if that fails, one for each, so that nobody fails for his neighbour's fault.
    fn commit(&mut self, mut works: Vec<Box<dyn Work>>) {
        let Err(error) = self.attempt(&mut works) else {
            works.into_iter().for_each(|work| work.done(Ok(()), &self.shared));
            return;
        };
        if matches!(error, Error::Full(_)) {
            self.shared.space.give_up_ballast();
        }
        for work in works {
            let mut alone = [work];
            let outcome = self.attempt(&mut alone);
            let [work] = alone;
            work.done(outcome, &self.shared);
        }
    }

    /// All of it on disk, or nothing.
    fn attempt(&mut self, works: &mut [Box<dyn Work>]) -> Result<(), Error> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let filled = fill(&self.db, &mut self.owners, &mut self.live, works).inspect_err(|error| {
            if matches!(error, Error::Corrupt(_)) {
                self.broken = Some(error.clone());
            }
        });
        let committed = filled.and_then(|gone| {
            let end = self.db.prepare_cached("COMMIT").and_then(|mut commit| commit.execute(()));
            end.map_err(Error::from).map(|_| gone).inspect_err(|error| {
                // After a failed fsync the system may take lost pages for written: later success proves nothing.
                if !matches!(error, Error::Full(_)) {
                    self.broken = Some(error.clone());
                }
            })
        });
        match committed {
            Ok(gone) => {
                self.shared.counted();
                self.shared.ended.forget(&gone);
                self.shared.wakes.gone(&gone);
                Ok(())
            }
            Err(error) => {
                self.undo();
                Err(error)
            }
        }
    }

    /// Forgets what a failed transaction did.
    fn undo(&mut self) {
        self.owners.clear();
        self.live.clear();
        if !self.db.is_autocommit() {
            // Fails only where SQLite has undone the transaction itself.
            let _ = self.db.execute_batch("ROLLBACK");
        }
        if let Some(error) = &self.broken {
            tracing::error!(%error, "the store can't be trusted any more: nothing is written until a restart");
            self.shared.space.broken(error.to_string());
        }
    }

    /// Shortens the files. Says whether nothing is left to do.
    fn tidy(&mut self) -> bool {
        schema::shrink(&self.db).unwrap_or_else(|error| {
            tracing::warn!(%error, "the store's files could not be shortened");
            true
        })
    }

    fn finish(self) {
        self.shared.wakes.close();
        self.log.close();
        if let Err(error) = schema::shrink(&self.db) {
            tracing::warn!(%error, "the store's files could not be shortened");
        }
        if let Err((_, error)) = self.db.close() {
            tracing::warn!(%error, "the database could not be closed");
        }
        drop(self.lock);
    }
}

/// Begins a transaction and runs all in it; answers with the journals that it deletes.
fn fill(
    db: &Connection,
    owners: &mut Owners,
    live: &mut Live,
    works: &mut [Box<dyn Work>],
) -> Result<Vec<StreamId>, Error> {
    db.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
    let mut group = Group { db, owners, live, totals: HashMap::new(), newest: i64::MIN, gone: Vec::new() };
    for work in works {
        work.run(&mut group)?;
    }
    group.settle()?;
    Ok(group.gone)
}
