//! What lies in the database at the end, read without the node.

use std::collections::BTreeMap;

use a2ad::{
    lifecycle::{Author, Event, Fact, FactKind, apply},
    model::{PrincipalId, Task, TaskState, Timestamp},
};
use rusqlite::{Connection, OpenFlags};

use crate::{ledger::Ledger, node::Place};

pub(crate) fn check(place: &Place, ledger: &Ledger) {
    let path = place.state().join("node.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sound: String = db.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let journals = journals(&db);
    heads(&db, &journals);
    once(&journals, ledger);
    told(&journals, ledger);
    let lost = "SELECT count(*) FROM sends WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = stream)";
    assert_eq!(count(&db, lost), 0, "keys that lead nowhere");
    let off = "SELECT count(*) FROM totals WHERE tasks != (SELECT count(*) FROM tasks
               WHERE tasks.owner = totals.owner AND tasks.state = totals.state)";
    assert_eq!(count(&db, off), 0, "totals that are not the sum");
}

fn count(db: &Connection, query: &str) -> i64 {
    db.query_row(query, (), |row| row.get(0)).unwrap()
}

/// Every journal, dense.
fn journals(db: &Connection) -> BTreeMap<String, Vec<Event>> {
    let mut query =
        db.prepare("SELECT stream, seq, at, v, kind, fact FROM events ORDER BY stream, seq").unwrap();
    let mut rows = query.query(()).unwrap();
    let mut journals: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    while let Some(row) = rows.next().unwrap() {
        let stream: String = row.get(0).unwrap();
        let (seq, at): (i64, i64) = (row.get(1).unwrap(), row.get(2).unwrap());
        let fact: Vec<u8> = row.get(5).unwrap();
        let fact = Fact::decode(row.get(3).unwrap(), &fact).unwrap();
        assert_eq!(FactKind::of_number(row.get(4).unwrap()), Some(fact.kind()), "{stream} {seq}");
        let journal = journals.entry(stream.clone()).or_default();
        assert_eq!(seq, journal.len() as i64 + 1, "the journal of {stream} has a hole");
        let by = Author { principal: PrincipalId::node(), run: None };
        journal.push(Event { seq: seq.try_into().unwrap(), at: Timestamp::from_millis(at), by, fact });
    }
    journals
}

/// A task's row and its snapshot are what its journal says.
fn heads(db: &Connection, journals: &BTreeMap<String, Vec<Event>>) {
    let mut query = db
        .prepare(
            "SELECT tasks.id, tasks.state, tasks.seq, snapshots.seq, snapshots.json
             FROM tasks LEFT JOIN snapshots ON snapshots.id = tasks.snapshot",
        )
        .unwrap();
    let mut rows = query.query(()).unwrap();
    let mut tasks = 0;
    while let Some(row) = rows.next().unwrap() {
        tasks += 1;
        let id: String = row.get(0).unwrap();
        let journal = journals.get(&id).unwrap_or_else(|| panic!("{id} has no journal"));
        let seq: i64 = row.get(2).unwrap();
        assert_eq!(seq, journal.len() as i64, "the head of {id}");
        let state = TaskState::of_number(row.get(1).unwrap()).unwrap();
        let ends = journal.iter().filter(|event| event.fact.kind().is_terminal()).count();
        assert_eq!(
            ends,
            usize::from(state.is_terminal()),
            "{id} ended {ends} times and is {}",
            state.as_str()
        );
        assert_eq!(fold(journal, journal.len()).status.state, state, "the state of {id}");
        if let Some(snapshot) = row.get::<_, Option<i64>>(3).unwrap() {
            let json: Vec<u8> = row.get(4).unwrap();
            let stored: Task = serde_json::from_slice(&json).unwrap();
            assert_eq!(stored, fold(journal, snapshot.try_into().unwrap()), "the snapshot of {id}");
        }
    }
    assert_eq!(tasks, journals.len(), "journals without a task");
}

fn fold(journal: &[Event], to: usize) -> Task {
    journal[..to].iter().fold(None, |task, event| Some(apply(task, event))).unwrap()
}

/// No message that can be repeated was taken twice.
fn once(journals: &BTreeMap<String, Vec<Event>>, ledger: &Ledger) {
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for event in journals.values().flatten() {
        if let Fact::Opened { message, .. } | Fact::Said(message) = &event.fact {
            *taken.entry(message.message_id.as_str()).or_default() += 1;
        }
    }
    for id in &ledger.book().ids {
        let times = taken.get(id.as_str()).copied().unwrap_or(0);
        assert!(times <= 1, "message {id} was taken {times} times");
    }
}

/// Every task and event that was told is there.
fn told(journals: &BTreeMap<String, Vec<Event>>, ledger: &Ledger) {
    for (id, known) in &ledger.book().tasks {
        let journal = journals.get(id).unwrap_or_else(|| panic!("task {id} was acknowledged and is lost"));
        let last = known.events.keys().last().copied().unwrap_or(0);
        assert!(last <= journal.len() as u64, "event {last} of task {id} was told and is lost");
    }
}
