//! Batches: looked at first, written then. What is refused has written nothing, so a group needs no savepoints.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};
use tokio::sync::oneshot;

use super::error::Error;
use super::rows::{Append, Batch, Entry, Row, Snapshot, StreamId};
use super::tasks::{self, Stored};
use super::writer::{Group, Work};
use super::{Shared, sends, sessions};
use crate::lifecycle::Author;
use crate::model::{PrincipalId, Seq, TaskId, Timestamp};

/// A batch on its way.
pub(super) struct Commit {
    batch: Batch,
    refused: Option<Error>,
    reply: oneshot::Sender<Result<(), Error>>,
}

impl Commit {
    pub(super) fn new(batch: Batch) -> (Box<Self>, oneshot::Receiver<Result<(), Error>>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { batch, refused: None, reply }), answer)
    }
}

impl Work for Commit {
    fn run(&mut self, group: &mut Group<'_>) -> Result<(), Error> {
        self.refused = None;
        match check(group, &self.batch) {
            Ok(heads) => write(group, &self.batch, heads),
            Err(error) if error.is_refusal() => {
                self.refused = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn done(self: Box<Self>, outcome: Result<(), Error>, shared: &Shared) {
        let answer = match (outcome, self.refused) {
            (Ok(()), None) => {
                let Batch { appends, rows } = self.batch;
                for append in appends {
                    let snapshot = snapshot(&rows, &append.stream);
                    shared.wakes.publish(append, snapshot);
                }
                Ok(())
            }
            (Ok(()), Some(refused)) => Err(refused),
            (Err(error), _) => Err(error),
        };
        // Whoever asked may have gone; what is written stays written.
        let _ = self.reply.send(answer);
    }
}

/// The task as a batch writes it whole.
fn snapshot(rows: &[Row], stream: &StreamId) -> Option<Snapshot> {
    rows.iter().find_map(|row| match row {
        Row::Head(head) if head.id == *stream => head.snapshot.clone(),
        _ => None,
    })
}

/// Looks whether a batch may be written; answers with what is stored of its heads, in their order.
fn check(group: &mut Group<'_>, batch: &Batch) -> Result<Vec<Stored>, Error> {
    let mut heads = Vec::new();
    for row in &batch.rows {
        match row {
            Row::NewTask(task) => {
                if let Some(stored) = tasks::stored(group.db, &task.id)? {
                    return Err(Error::Conflict { stream: task.id.clone(), head: stored.seq });
                }
            }
            Row::Head(head) => {
                let stored = group.stored(&head.id)?;
                let found = stored.as_ref().map_or(0, |stored| stored.seq);
                match stored {
                    Some(stored) if stored.seq == head.expected && stored.epoch == head.epoch => {
                        heads.push(stored);
                    }
                    _ => return Err(Error::Conflict { stream: head.id.clone(), head: found }),
                }
            }
            Row::Sent(sent) => sends::check(group.db, sent, &batch.rows)?,
            Row::Unsent(_) | Row::Session(_) => {}
        }
    }
    batch.appends.iter().try_for_each(|append| check_append(group.db, append, &batch.rows))?;
    Ok(heads)
}

/// The entries must be dense, follow what is stored, and end where the task's row says.
fn check_append(db: &Connection, append: &Append, rows: &[Row]) -> Result<(), Error> {
    let mut last = append.expected;
    for entry in &append.entries {
        if entry.seq != last + 1 {
            let text = format!("{}: entry {} stands after {last}", append.stream, entry.seq);
            return Err(Error::Malformed(text));
        }
        last = entry.seq;
    }
    // The row, looked at before, tells where the journal ends.
    let row = rows.iter().find_map(|row| match row {
        Row::NewTask(task) if task.id == append.stream => Some((0, task.seq)),
        Row::Head(head) if head.id == append.stream => Some((head.expected, head.seq)),
        _ => None,
    });
    match row {
        Some(row) if row == (append.expected, last) => Ok(()),
        Some((from, to)) => Err(Error::Malformed(format!(
            "{}: the journal goes from {} to {last}, the row from {from} to {to}",
            append.stream, append.expected
        ))),
        None => match head(db, &append.stream)? {
            head if head == append.expected => Ok(()),
            head => Err(Error::Conflict { stream: append.stream.clone(), head }),
        },
    }
}

fn write(group: &mut Group<'_>, batch: &Batch, heads: Vec<Stored>) -> Result<(), Error> {
    let mut heads = heads.into_iter();
    for row in &batch.rows {
        match row {
            Row::NewTask(task) => tasks::insert(group, task)?,
            Row::Head(head) => {
                if let Some(stored) = heads.next() {
                    tasks::update(group, head, &stored)?;
                }
            }
            Row::Sent(sent) => sends::write(group.db, sent)?,
            Row::Unsent(sent) => sends::forget(group.db, sent)?,
            Row::Session(session) => sessions::write(group.db, session)?,
        }
    }
    for append in &batch.appends {
        for entry in &append.entries {
            insert(group, &append.stream, entry)?;
        }
    }
    Ok(())
}

fn insert(group: &mut Group<'_>, stream: &StreamId, entry: &Entry) -> Result<(), Error> {
    group.seen(entry.at.millis());
    group
        .db
        .prepare_cached(
            "INSERT INTO events (stream, seq, at, by, run, v, kind, fact) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            stream.as_str(),
            number(entry.seq),
            entry.at.millis(),
            entry.by.principal.as_str(),
            entry.by.run.as_ref().map(TaskId::as_str),
            entry.v,
            entry.kind,
            &*entry.fact,
        ))?;
    Ok(())
}

/// The last entry of a journal; 0 if it has none.
pub(super) fn head(db: &Connection, stream: &StreamId) -> Result<Seq, Error> {
    let head: Option<i64> = db
        .prepare_cached("SELECT seq FROM events WHERE stream = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([stream.as_str()], |row| row.get(0))
        .optional()?;
    Ok(head.map_or(0, seq))
}

/// A run of entries.
pub(super) struct Entries {
    pub(super) entries: Vec<Entry>,
    /// Whether the limits cut it off.
    pub(super) more: bool,
}

/// The entries after a place, at most so many and, but for the first, at most so many bytes of facts.
pub(super) fn entries(
    db: &Connection,
    stream: &StreamId,
    after: Seq,
    most: usize,
    bytes: usize,
) -> Result<Entries, Error> {
    let mut statement = db.prepare_cached(
        "SELECT seq, at, by, run, v, kind, fact FROM events WHERE stream = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query((stream.as_str(), number(after), limit))?;
    let mut entries = Vec::new();
    let mut size = 0;
    while let Some(row) = rows.next()? {
        let entry = entry(row)?;
        size += entry.fact.len();
        if size > bytes && !entries.is_empty() {
            return Ok(Entries { entries, more: true });
        }
        entries.push(entry);
    }
    let more = entries.len() == most;
    Ok(Entries { entries, more })
}

fn entry(row: &SqlRow<'_>) -> rusqlite::Result<Entry> {
    let by: &str = row.get_ref(2)?.as_str()?;
    let run: Option<&str> = row.get_ref(3)?.as_str_or_null()?;
    Ok(Entry {
        seq: seq(row.get(0)?),
        at: Timestamp::from_millis(row.get(1)?),
        by: Author { principal: PrincipalId::from(by), run: run.map(TaskId::from) },
        v: row.get(4)?,
        kind: row.get(5)?,
        fact: Bytes::copy_from_slice(row.get_ref(6)?.as_blob()?),
    })
}

/// A sequence number or epoch as SQLite keeps it.
pub(super) fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// A sequence number or epoch as it was kept.
pub(super) fn seq(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
