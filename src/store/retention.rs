//! What is deleted, because somebody said so or because its time is over (UR-58).

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::Error;
use super::tasks::{self, Stored};
use super::writer::Group;
use super::{Store, sends, sessions};
use crate::model::{AgentName, ContextId, PrincipalId, Session, TaskId, TaskState, Timestamp};

/// What the end of its time came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Tasks that were deleted: they had ended long ago.
    pub tasks: u64,
    /// Acceptances that were forgotten.
    pub sends: u64,
    /// Tasks that nobody answered: to be CANCELED by the node. They are as they were.
    pub waiting: Vec<TaskId>,
    /// Nothing was done: the clock jumped ahead lately (O-45).
    pub paused: bool,
}

/// What a deleted context leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextGone {
    /// Tasks that were deleted.
    pub tasks: u64,
    /// Sessions that the runtimes may forget.
    pub sessions: Vec<(AgentName, Session)>,
}

/// Tasks that are deleted in one transaction when their time is over.
const CHUNK: usize = 64;

impl Store {
    /// Deletes a task in whatever state, with its journal; says whether it was there.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn delete_task(&self, id: &TaskId) -> Result<bool, Error> {
        let id = id.clone();
        self.act(move |group| delete(group, &id)).await
    }

    /// Deletes what a principal has in a context: its tasks in whatever state, and the sessions.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn delete_context(
        &self,
        scope: &PrincipalId,
        context: &ContextId,
    ) -> Result<ContextGone, Error> {
        let (scope, context) = (scope.clone(), context.clone());
        self.act(move |group| delete_context(group, &scope, &context)).await
    }

    /// Deletes what has been kept long enough, and names the waiting tasks that nobody answered in time. It reads
    /// the whole table of acceptances: call it every few minutes, not every second.
    ///
    /// # Errors
    /// The store can't be read or written.
    pub async fn expire(&self, now: Timestamp) -> Result<Expired, Error> {
        if self.0.clock.has_jumped(Timestamp::now(), Instant::now()) {
            return Ok(Expired { paused: true, ..Expired::default() });
        }
        let mut expired = Expired::default();
        if let Some(kept) = self.0.config.keep_terminal {
            expired.tasks = self.expire_tasks(earlier(now, kept)).await?;
        }
        if let Some(kept) = self.0.config.keep_waiting {
            let limit = earlier(now, kept);
            expired.waiting = self.look(move |db| waiting(db, limit)).await?;
        }
        expired.sends = self.expire_sends(earlier(now, sends::KEPT)).await?;
        Ok(expired)
    }

    async fn expire_tasks(&self, limit: Timestamp) -> Result<u64, Error> {
        let mut deleted = 0;
        loop {
            let ids = self.look(move |db| ended(db, limit, CHUNK)).await?;
            if ids.is_empty() {
                return Ok(deleted);
            }
            deleted += self.act(move |group| delete_ended(group, &ids, limit)).await?;
        }
    }

    async fn expire_sends(&self, limit: Timestamp) -> Result<u64, Error> {
        let most = CHUNK * 64;
        let mut deleted = 0;
        loop {
            let keys = self.look(move |db| sends::before(db, limit, most)).await?;
            let last = keys.len() < most;
            if !keys.is_empty() {
                deleted += self.act(move |group| sends::delete(group.db, &keys, limit)).await?;
            }
            if last {
                return Ok(deleted);
            }
        }
    }
}

fn earlier(now: Timestamp, span: Duration) -> Timestamp {
    let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.millis().saturating_sub(span))
}

/// Terminal tasks whose status is from before `limit`, at most so many.
pub(super) fn ended(db: &Connection, limit: Timestamp, most: usize) -> Result<Vec<TaskId>, Error> {
    let states: Vec<TaskState> = TaskState::ALL.into_iter().filter(|state| state.is_terminal()).collect();
    before(db, &states, limit, most)
}

/// Suspended tasks whose status is from before `limit`.
pub(super) fn waiting(db: &Connection, limit: Timestamp) -> Result<Vec<TaskId>, Error> {
    before(db, &[TaskState::InputRequired, TaskState::AuthRequired], limit, usize::MAX)
}

fn before(
    db: &Connection,
    states: &[TaskState],
    limit: Timestamp,
    most: usize,
) -> Result<Vec<TaskId>, Error> {
    let mut cells = db.prepare_cached("SELECT owner FROM totals WHERE state = ?1 AND tasks > 0")?;
    let mut old = db.prepare_cached(
        "SELECT id FROM tasks INDEXED BY tasks_order WHERE owner = ?1 AND state = ?2 AND status_at < ?3 LIMIT ?4",
    )?;
    let mut found = Vec::new();
    for state in states {
        let owners: Vec<i64> =
            cells.query_map([state.number()], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for owner in owners {
            let left = i64::try_from(most - found.len()).unwrap_or(i64::MAX);
            let mut rows = old.query((owner, state.number(), limit.millis(), left))?;
            while let Some(row) = rows.next()? {
                found.push(TaskId::from(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?));
            }
        }
    }
    Ok(found)
}

/// Deletes those of the tasks that are still terminal and from before `limit`; says how many.
pub(super) fn delete_ended(group: &mut Group<'_>, ids: &[TaskId], limit: Timestamp) -> Result<u64, Error> {
    let mut deleted = 0;
    for id in ids {
        let Some(row) = tasks::load(group.db, id)? else { continue };
        if row.state.is_terminal() && row.status_at < limit && delete(group, id)? {
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Deletes a task, its journal, its snapshot, and its context's session if it was the last there; says whether it
/// was there.
pub(super) fn delete(group: &mut Group<'_>, id: &TaskId) -> Result<bool, Error> {
    let Some(stored) = tasks::stored(group.db, id)? else { return Ok(false) };
    let (scope, agent, context) = place(group.db, id)?;
    erase(group, id, &stored)?;
    let last = !group
        .db
        .prepare_cached("SELECT 1 FROM tasks INDEXED BY tasks_context WHERE context = ?1 AND owner = ?2")?
        .exists((context.as_str(), stored.owner))?;
    if last {
        sessions::forget(group.db, &agent, &scope, &context)?;
    }
    Ok(true)
}

fn place(db: &Connection, id: &TaskId) -> Result<(PrincipalId, AgentName, ContextId), Error> {
    let mut statement = db.prepare_cached(
        "SELECT scope, agent, context FROM tasks JOIN owners ON owners.id = owner WHERE tasks.id = ?1",
    )?;
    let text: (String, String, String) =
        statement.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok((PrincipalId::from(&*text.0), tasks::agent(&text.1)?, ContextId::from(text.2)))
}

fn erase(group: &mut Group<'_>, id: &TaskId, stored: &Stored) -> Result<(), Error> {
    group.db.prepare_cached("DELETE FROM events WHERE stream = ?1")?.execute([id.as_str()])?;
    if let Some(snapshot) = stored.snapshot {
        group.db.prepare_cached("DELETE FROM snapshots WHERE id = ?1")?.execute([snapshot])?;
    }
    group.db.prepare_cached("DELETE FROM tasks WHERE id = ?1")?.execute([id.as_str()])?;
    group.count(stored.owner, stored.state, -1);
    group.note(id, None);
    group.deleted(id.clone());
    Ok(())
}

/// Deletes what one principal has in a context.
pub(super) fn delete_context(
    group: &mut Group<'_>,
    scope: &PrincipalId,
    context: &ContextId,
) -> Result<ContextGone, Error> {
    let sessions = sessions_of(group.db, scope, context)?;
    let mut statement = group.db.prepare_cached(
        "SELECT tasks.id FROM tasks JOIN owners ON owners.id = owner WHERE context = ?1 AND scope = ?2",
    )?;
    let ids: Vec<String> = statement
        .query_map((context.as_str(), scope.as_str()), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    drop(statement);
    let mut gone = ContextGone { tasks: 0, sessions };
    for id in ids {
        gone.tasks += u64::from(delete(group, &TaskId::from(id))?);
    }
    for (agent, _) in &gone.sessions {
        sessions::forget(group.db, agent, scope, context)?;
    }
    Ok(gone)
}

fn sessions_of(
    db: &Connection,
    scope: &PrincipalId,
    context: &ContextId,
) -> Result<Vec<(AgentName, Session)>, Error> {
    let mut statement =
        db.prepare_cached("SELECT agent, session FROM sessions WHERE context = ?1 AND principal = ?2")?;
    let mut rows = statement.query((context.as_str(), scope.as_str()))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let agent: String = row.get(0)?;
        found.push((tasks::agent(&agent)?, row.get(1)?));
    }
    Ok(found)
}
