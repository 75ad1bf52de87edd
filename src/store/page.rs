//! Lists and totals. A list is merged from the runs of the one index, a run for each owner and state that has
//! tasks, so its first page costs the same however many tasks there are.

use rusqlite::Connection;

use super::error::Error;
use super::rows::TaskRow;
use super::tasks;
use crate::model::{AgentName, ContextId, PrincipalId, TaskId, TaskState, Timestamp};

/// How far a filtered list is counted (P-32).
const COUNTED: u64 = 10_000;

/// A context with more tasks is read in the order of the list, one with fewer whole.
const SMALL: usize = 1_000;

/// The places of a run between two times and after an id.
const MERGE: &str = "SELECT status_at, id FROM tasks INDEXED BY tasks_order
     WHERE owner = ?1 AND state = ?2 AND status_at <= ?3 AND (status_at < ?3 OR id > ?4) AND status_at >= ?5
       AND (?6 IS NULL OR context = ?6)
     ORDER BY status_at DESC, id LIMIT ?7";

/// What to list. `None` is no filter.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    /// Whose tasks; `None`: everybody's.
    pub scope: Option<PrincipalId>,
    /// Whose work.
    pub agent: Option<AgentName>,
    /// Of which conversation.
    pub context: Option<ContextId>,
    /// In which state.
    pub state: Option<TaskState>,
    /// In their state since then or later.
    pub since: Option<Timestamp>,
    /// After this one: time of its status, and its id.
    pub before: Option<(Timestamp, TaskId)>,
    /// How many at most.
    pub limit: usize,
}

/// A part of a list: the newest status first, then by id.
#[derive(Clone, Debug)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// Whether there are more.
    pub more: bool,
    /// How many there are on all pages: exact without `context` and `since`, else to 10,000.
    pub total: u64,
}

/// How many tasks there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(pub Vec<Total>);

/// How many tasks of an owner are in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// Who may see them.
    pub scope: PrincipalId,
    /// Who does them.
    pub agent: AgentName,
    /// Their state.
    pub state: TaskState,
    /// How many, never 0.
    pub tasks: u64,
}

impl Totals {
    /// How many are in a state.
    #[must_use]
    pub fn of(&self, state: TaskState) -> u64 {
        self.0.iter().filter(|total| total.state == state).map(|total| total.tasks).sum()
    }

    /// How many there are.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().map(|total| total.tasks).sum()
    }
}

pub(super) fn totals(db: &Connection) -> Result<Totals, Error> {
    let mut statement = db.prepare_cached(
        "SELECT scope, agent, state, tasks FROM totals JOIN owners ON id = owner WHERE tasks > 0",
    )?;
    let mut rows = statement.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |column| -> rusqlite::Result<&str> { Ok(row.get_ref(column)?.as_str()?) };
        found.push(Total {
            scope: PrincipalId::from(text(0)?),
            agent: tasks::agent(text(1)?)?,
            state: tasks::state(row.get(2)?)?,
            tasks: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        });
    }
    Ok(Totals(found))
}

/// How many tasks a scope owns.
pub(super) fn owned(db: &Connection, scope: &PrincipalId) -> Result<u64, Error> {
    let tasks: i64 = db
        .prepare_cached(
            "SELECT ifnull(sum(tasks), 0) FROM totals JOIN owners ON id = owner WHERE scope = ?1",
        )?
        .query_row([scope.as_str()], |row| row.get(0))?;
    Ok(u64::try_from(tasks).unwrap_or(0))
}

/// Whether an agent has a task of anybody's.
pub(super) fn knows(db: &Connection, agent: &AgentName) -> Result<bool, Error> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM totals JOIN owners ON id = owner WHERE agent = ?1 AND tasks > 0)",
    )?;
    Ok(statement.query_row([agent.as_str()], |row| row.get(0))?)
}

/// A run of the index: the tasks of an owner in a state.
struct Run {
    owner: i64,
    state: u8,
    tasks: u64,
}

/// A task's place in a list.
struct Place {
    status_at: i64,
    id: TaskId,
}

pub(super) fn page(db: &Connection, query: &PageQuery) -> Result<Page, Error> {
    let runs = runs(db, query)?;
    let few = match &query.context {
        Some(context) => small_context(db, context, &runs)?,
        None => None,
    };
    let total = match &few {
        Some(places) => places.iter().filter(|place| since(query, place.status_at)).count() as u64,
        None => count(db, query, &runs)?,
    };
    let most = query.limit.saturating_add(1);
    let mut places = match few {
        Some(places) => cut(places, query),
        None => merge(db, query, &runs, most)?,
    };
    sort(&mut places);
    let more = places.len() > query.limit;
    places.truncate(query.limit);
    let mut tasks = Vec::with_capacity(places.len());
    for place in &places {
        tasks.extend(tasks::load(db, &place.id)?);
    }
    Ok(Page { tasks, more, total })
}

/// The runs in which something is to be found.
fn runs(db: &Connection, query: &PageQuery) -> Result<Vec<Run>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT owner, state, tasks FROM totals JOIN owners ON id = owner
         WHERE tasks > 0 AND (?1 IS NULL OR scope = ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR state = ?3)",
    )?;
    let filters = (
        query.scope.as_ref().map(PrincipalId::as_str),
        query.agent.as_ref().map(AgentName::as_str),
        query.state.map(TaskState::number),
    );
    let rows = statement.query_map(filters, |row| {
        let tasks = u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
        Ok(Run { owner: row.get(0)?, state: row.get(1)?, tasks })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The tasks of a context that lie in the runs, if the context is small.
fn small_context(db: &Connection, context: &ContextId, runs: &[Run]) -> Result<Option<Vec<Place>>, Error> {
    let mut size = db.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_context WHERE context = ?1 LIMIT ?2)",
    )?;
    let most = i64::try_from(SMALL).unwrap_or(i64::MAX);
    if size.query_row((context.as_str(), most), |row| row.get::<_, i64>(0))? == most {
        return Ok(None);
    }
    let mut statement = db.prepare_cached(
        "SELECT status_at, id, owner, state FROM tasks INDEXED BY tasks_context WHERE context = ?1",
    )?;
    let mut rows = statement.query([context.as_str()])?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let (owner, state): (i64, u8) = (row.get(2)?, row.get(3)?);
        if runs.iter().any(|run| run.owner == owner && run.state == state) {
            places.push(place(row)?);
        }
    }
    Ok(Some(places))
}

/// Of all places those that a page may show.
fn cut(mut places: Vec<Place>, query: &PageQuery) -> Vec<Place> {
    places.retain(|place| {
        let after = query.before.as_ref().is_none_or(|(at, id)| {
            place.status_at < at.millis() || (place.status_at == at.millis() && place.id > *id)
        });
        after && since(query, place.status_at)
    });
    places
}

fn since(query: &PageQuery, status_at: i64) -> bool {
    query.since.is_none_or(|since| status_at >= since.millis())
}

/// The first places of all runs together. Once enough are found, a run is read only as far as it is newer.
fn merge(db: &Connection, query: &PageQuery, runs: &[Run], most: usize) -> Result<Vec<Place>, Error> {
    let mut statement = db.prepare_cached(MERGE)?;
    // Every id is greater than the empty one.
    let (newest, id) = query.before.as_ref().map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
    let mut oldest = query.since.map_or(i64::MIN, Timestamp::millis);
    let context = query.context.as_ref().map(ContextId::as_str);
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut places = Vec::new();
    for run in runs {
        let mut rows = statement.query((run.owner, run.state, newest, id, oldest, context, limit))?;
        while let Some(row) = rows.next()? {
            places.push(place(row)?);
        }
        if places.len() >= most {
            sort(&mut places);
            places.truncate(most);
            oldest = places.last().map_or(oldest, |last| oldest.max(last.status_at));
        }
    }
    Ok(places)
}

/// How many tasks the filters leave.
fn count(db: &Connection, query: &PageQuery, runs: &[Run]) -> Result<u64, Error> {
    if query.context.is_none() && query.since.is_none() {
        return Ok(runs.iter().map(|run| run.tasks).sum());
    }
    let mut statement = db.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_order
         WHERE owner = ?1 AND state = ?2 AND status_at >= ?3 AND (?4 IS NULL OR context = ?4) LIMIT ?5)",
    )?;
    let oldest = query.since.map_or(i64::MIN, Timestamp::millis);
    let context = query.context.as_ref().map(ContextId::as_str);
    let mut total = 0;
    for run in runs {
        let left = i64::try_from(COUNTED.saturating_sub(total)).unwrap_or(i64::MAX);
        let filters = (run.owner, run.state, oldest, context, left);
        let found: i64 = statement.query_row(filters, |row| row.get(0))?;
        total += u64::try_from(found).unwrap_or(0);
    }
    Ok(total)
}

fn sort(places: &mut [Place]) {
    places.sort_unstable_by(|a, b| b.status_at.cmp(&a.status_at).then_with(|| a.id.cmp(&b.id)));
}

fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<Place> {
    Ok(Place { status_at: row.get(0)?, id: TaskId::from(row.get_ref(1)?.as_str()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What keeps the first page of a million tasks as cheap as that of a thousand.
    #[test]
    fn a_run_is_read_in_the_order_of_its_index() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(super::super::schema::SCRIPTS[0]).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {MERGE}")).unwrap();
        let steps =
            plan.query_map((1, 1, 1, "", 0, None::<String>, 51), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let expected =
            "SEARCH tasks USING INDEX tasks_order (owner=? AND state=? AND status_at>? AND status_at<?)";
        // Those of the same millisecond are put in order, no more.
        assert_eq!(steps, [expected, "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"]);
    }
}
