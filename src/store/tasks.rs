//! The rows of tasks: one each, changed with every commit, and beside it the snapshot.

use bytes::Bytes;
use rusqlite::{Connection, Row as SqlRow};

use super::error::Error;
use super::journal::{number, seq};
use super::rows::{Head, Snapshot, TaskRow};
use super::writer::Group;
use crate::model::{AgentName, ContextId, PrincipalId, Seq, TaskId, TaskState, Timestamp};

/// What a change has to know of a stored task.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) seq: Seq,
    pub(super) epoch: u64,
    pub(super) state: TaskState,
    pub(super) owner: i64,
    pub(super) snapshot: Option<i64>,
}

pub(super) fn stored(db: &Connection, id: &TaskId) -> Result<Option<Stored>, Error> {
    let mut statement =
        db.prepare_cached("SELECT seq, epoch, state, owner, snapshot FROM tasks WHERE id = ?1")?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Stored {
        seq: seq(row.get(0)?),
        epoch: seq(row.get(1)?),
        state: state(row.get(2)?)?,
        owner: row.get(3)?,
        snapshot: row.get(4)?,
    }))
}

pub(super) fn insert(group: &mut Group<'_>, task: &TaskRow) -> Result<(), Error> {
    let owner = group.owner(&task.scope, &task.agent)?;
    let snapshot =
        task.snapshot.as_ref().map(|snapshot| write_snapshot(group.db, None, snapshot)).transpose()?;
    group
        .db
        .prepare_cached(
            "INSERT INTO tasks (id, owner, context, requester, state, status_at, updated_at, opened_at, seq, epoch,
                                born, not_before, snapshot)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute((
            task.id.as_str(),
            owner,
            task.context.as_str(),
            task.requester.as_str(),
            task.state.number(),
            task.status_at.millis(),
            task.updated_at.millis(),
            task.opened_at.millis(),
            number(task.seq),
            number(task.epoch),
            task.born,
            task.not_before.map(Timestamp::millis),
            snapshot,
        ))?;
    group.count(owner, task.state, 1);
    let stored = Stored { seq: task.seq, epoch: task.epoch, state: task.state, owner, snapshot };
    group.note(&task.id, Some(stored));
    Ok(())
}

pub(super) fn update(group: &mut Group<'_>, head: &Head, stored: &Stored) -> Result<(), Error> {
    let snapshot = match &head.snapshot {
        Some(snapshot) => Some(write_snapshot(group.db, stored.snapshot, snapshot)?),
        None => stored.snapshot,
    };
    let changed = group
        .db
        .prepare_cached(
            "UPDATE tasks SET state = ?4, status_at = ?5, updated_at = ?6, seq = ?7, born = ?8, not_before = ?9,
                              snapshot = ?10
             WHERE id = ?1 AND seq = ?2 AND epoch = ?3",
        )?
        .execute((
            head.id.as_str(),
            number(head.expected),
            number(head.epoch),
            head.state.number(),
            head.status_at.millis(),
            head.updated_at.millis(),
            number(head.seq),
            head.born,
            head.not_before.map(Timestamp::millis),
            snapshot,
        ))?;
    if changed != 1 {
        return Err(Error::Malformed(format!("{}: two heads in one batch", head.id)));
    }
    if stored.state != head.state {
        group.count(stored.owner, stored.state, -1);
        group.count(stored.owner, head.state, 1);
    }
    group.note(&head.id, Some(Stored { seq: head.seq, state: head.state, snapshot, ..*stored }));
    Ok(())
}

/// Writes a snapshot over the one that stands there, if one does; answers with its number.
fn write_snapshot(db: &Connection, over: Option<i64>, snapshot: &Snapshot) -> Result<i64, Error> {
    let history = i64::try_from(snapshot.history).unwrap_or(i64::MAX);
    let values = (over, number(snapshot.seq), history, &*snapshot.json);
    Ok(match over {
        None => db
            .prepare_cached("INSERT INTO snapshots (id, seq, history, json) VALUES (?1, ?2, ?3, ?4)")?
            .insert(values)?,
        Some(id) => {
            db.prepare_cached("UPDATE snapshots SET seq = ?2, history = ?3, json = ?4 WHERE id = ?1")?
                .execute(values)?;
            id
        }
    })
}

/// Gives the task to a new holder: an earlier one can't write any more.
pub(super) fn claim(group: &mut Group<'_>, id: &TaskId) -> Result<Option<TaskRow>, Error> {
    group.db.prepare_cached("UPDATE tasks SET epoch = epoch + 1 WHERE id = ?1")?.execute([id.as_str()])?;
    group.note(id, None);
    load(group.db, id)
}

/// A task whole.
pub(super) fn load(db: &Connection, id: &TaskId) -> Result<Option<TaskRow>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT t.id, o.agent, t.context, o.scope, t.requester, t.state, t.status_at, t.updated_at, t.opened_at,
                t.seq, t.epoch, t.born, t.not_before, s.json, s.seq, s.history
         FROM tasks t JOIN owners o ON o.id = t.owner LEFT JOIN snapshots s ON s.id = t.snapshot
         WHERE t.id = ?1",
    )?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(task).transpose()
}

fn task(row: &SqlRow<'_>) -> Result<TaskRow, Error> {
    let text = |column| -> rusqlite::Result<&str> { Ok(row.get_ref(column)?.as_str()?) };
    let time = |column| -> rusqlite::Result<Timestamp> { row.get(column).map(Timestamp::from_millis) };
    let snapshot = match row.get_ref(13)?.as_blob_or_null().map_err(rusqlite::Error::from)? {
        None => None,
        Some(json) => Some(Snapshot {
            json: Bytes::copy_from_slice(json),
            seq: seq(row.get(14)?),
            history: usize::try_from(row.get::<_, i64>(15)?).unwrap_or(0),
        }),
    };
    Ok(TaskRow {
        id: TaskId::from(text(0)?),
        agent: agent(text(1)?)?,
        context: ContextId::from(text(2)?),
        scope: PrincipalId::from(text(3)?),
        requester: PrincipalId::from(text(4)?),
        state: state(row.get(5)?)?,
        status_at: time(6)?,
        updated_at: time(7)?,
        opened_at: time(8)?,
        seq: seq(row.get(9)?),
        epoch: seq(row.get(10)?),
        born: row.get(11)?,
        not_before: row.get::<_, Option<i64>>(12)?.map(Timestamp::from_millis),
        snapshot,
    })
}

/// The tasks in these states, the oldest first.
pub(super) fn in_states(db: &Connection, states: &[TaskState]) -> Result<Vec<TaskRow>, Error> {
    let mut found = Vec::new();
    let mut cells = db.prepare_cached("SELECT owner FROM totals WHERE state = ?1 AND tasks > 0")?;
    let mut members = db.prepare_cached("SELECT id FROM tasks WHERE owner = ?1 AND state = ?2")?;
    for state in states {
        let owners: Vec<i64> =
            cells.query_map([state.number()], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for owner in owners {
            let mut rows = members.query((owner, state.number()))?;
            while let Some(row) = rows.next()? {
                let id = TaskId::from(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
                found.extend(load(db, &id)?);
            }
        }
    }
    found.sort_by(|a, b| (a.opened_at, &a.id).cmp(&(b.opened_at, &b.id)));
    Ok(found)
}

/// The state of a stored number.
pub(super) fn state(number: u8) -> Result<TaskState, Error> {
    TaskState::of_number(number).ok_or_else(|| Error::Corrupt(format!("{number} is no state of a task")))
}

/// A stored name.
pub(super) fn agent(name: &str) -> Result<AgentName, Error> {
    name.parse().map_err(|_| Error::Corrupt(format!("`{name}` is no name of an agent")))
}
