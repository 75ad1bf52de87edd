//! The store as `node` sees it. What the modules share: a store in a directory of its own, and tasks for it.

mod commit;
mod files;
mod list;
mod retention;
mod sent;
mod tail;
mod tokens;

use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::lifecycle::Author;

/// A store that is deleted when the test is over.
struct Place {
    dir: TempDir,
    config: Config,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            dir: dir.path().join("state"),
            durability: Durability::Relaxed,
            keep_terminal: Some(Duration::from_secs(30 * 24 * 60 * 60)),
            keep_waiting: Some(Duration::from_secs(30 * 24 * 60 * 60)),
            min_free: 0,
            max: None,
        };
        Self { dir, config }
    }

    async fn open(&self) -> Store {
        Store::open(&self.config, Timestamp::now()).await.unwrap()
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.config.dir.join(name)
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn agent(name: &str) -> AgentName {
    name.parse().unwrap()
}

fn desk() -> PrincipalId {
    PrincipalId::token("desk")
}

fn entry(seq: Seq) -> Entry {
    Entry {
        seq,
        at: at(1_000),
        by: Author { principal: desk(), run: None },
        kind: 4,
        v: 1,
        fact: Bytes::from(format!("{{\"seq\":{seq}}}")),
    }
}

/// Entries from one number up to another, both included.
fn append(id: &TaskId, from: Seq, to: Seq) -> Append {
    Append { stream: id.clone(), expected: from - 1, entries: (from..=to).map(entry).collect() }
}

fn task(id: &str) -> TaskRow {
    TaskRow {
        id: TaskId::from(id),
        agent: agent("echo"),
        context: ContextId::from("c1"),
        scope: desk(),
        requester: desk(),
        state: TaskState::Working,
        status_at: at(1_000),
        updated_at: at(1_000),
        opened_at: at(1_000),
        seq: 0,
        epoch: 1,
        born: true,
        not_before: None,
        snapshot: None,
    }
}

fn head(task: &TaskRow, seq: Seq) -> Head {
    Head {
        id: task.id.clone(),
        expected: task.seq,
        epoch: task.epoch,
        state: task.state,
        status_at: task.status_at,
        updated_at: task.updated_at,
        seq,
        born: task.born,
        not_before: task.not_before,
        snapshot: None,
    }
}

fn rows(rows: Vec<Row>) -> Batch {
    Batch { appends: Vec::new(), rows }
}

/// A batch that opens a task with a journal of so many entries.
fn opening(task: &TaskRow, entries: Seq) -> Batch {
    let row = TaskRow { seq: entries, ..task.clone() };
    let appends = if entries == 0 { Vec::new() } else { vec![append(&task.id, 1, entries)] };
    Batch { appends, rows: vec![Row::NewTask(row)] }
}

/// A batch that takes the journal of a task on to an entry.
fn going_on(task: &TaskRow, to: Seq) -> Batch {
    Batch { appends: vec![append(&task.id, task.seq + 1, to)], rows: vec![Row::Head(head(task, to))] }
}

/// Holds the writer until the answer is dropped.
async fn held(store: &Store) -> mpsc::Sender<()> {
    let (release, wait) = mpsc::channel::<()>();
    let (begun, holds) = mpsc::channel();
    let (work, _) = Job::new(move |_: &mut Group<'_>| {
        // Both ends may be gone: the test is over.
        let _ = begun.send(());
        let _ = wait.recv();
        Ok(())
    });
    store.send(Call::Work(work)).unwrap();
    blocking(move || holds.recv().map_err(|_| Error::Closed)).await.unwrap();
    release
}
