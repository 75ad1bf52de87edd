//! The journal of one live task in the hands of its actor: decide, apply, commit. The one caller of
//! [`lifecycle::decide`].

use std::time::Duration;

use bytes::Bytes;

use super::fault_of;
use crate::{
    lifecycle::{self, Author, Command, Event, Fact, apply},
    model::{Content, Fault, Seq, Task, TaskId, TaskState, log::CONTENT},
    store::{Append, Batch, Entry, Error, Head, Row, Snapshot, Store, TaskRow},
};

/// Entries read at once while folding.
const PAGE: usize = 512;

/// Bytes of entries after which a live task's snapshot is written anew, if they outgrow the last one.
const SNAPSHOT_AFTER: usize = 64 * 1024;

/// A task as its actor holds it.
pub(super) struct Book {
    store: Store,
    /// The task as of the last commit; `None` only while facts are being applied.
    task: Option<Task>,
    /// Its row, as of the last commit.
    pub(super) row: TaskRow,
    /// Bytes of the last snapshot, and of the entries since.
    weight: (usize, usize),
}

/// How long a commit may be tried again while the disk is full (O-36).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// A caller waits: refused at once.
    None,
    /// A turn's own progress: the program is held back, not ended, for so long.
    Minute,
}

/// The entries of facts, in their stored form.
pub(super) fn entries(events: &[Event]) -> Vec<Entry> {
    events
        .iter()
        .map(|event| {
            let (v, fact) = event.fact.encode();
            let kind = event.fact.kind().number();
            Entry { seq: event.seq, at: event.at, by: event.by.clone(), kind, v, fact: Bytes::from(fact) }
        })
        .collect()
}

/// What was said and written, word by word, for an operator who has asked for it; shut unless `log.content` opens it.
pub(super) fn log_content(row: &TaskRow, events: &[Event]) {
    if !tracing::enabled!(target: CONTENT, tracing::Level::DEBUG) {
        return;
    }
    for event in events {
        let parts = match &event.fact {
            Fact::Opened { message, .. }
            | Fact::Said(message)
            | Fact::Asked { message, .. }
            | Fact::NeedsAuth(message)
            | Fact::Replied(message)
            | Fact::Failed { message, .. }
            | Fact::Rejected(message)
            | Fact::Working(Some(message))
            | Fact::Completed { message: Some(message), .. }
            | Fact::Canceled { message: Some(message) } => &message.parts,
            Fact::Wrote { artifact, .. } => &artifact.parts,
            Fact::Working(None)
            | Fact::Requeued { .. }
            | Fact::Completed { message: None, .. }
            | Fact::Canceled { message: None } => continue,
        };
        for part in parts {
            let text = match &part.content {
                Content::Text(text) => text,
                Content::Data(json) => json.get(),
                Content::Raw(_) | Content::Url(_) => continue,
            };
            tracing::debug!(
                target: CONTENT,
                task = %row.id, context = %row.context, principal = %row.requester, agent = %row.agent,
                kind = ?event.fact.kind(), text, "content"
            );
        }
    }
}

/// A stored entry, read.
pub(super) fn event_of(entry: &Entry) -> Result<Event, Fault> {
    let fact = Fact::decode(entry.v, &entry.fact).map_err(|error| super::incident(&error))?;
    Ok(Event { seq: entry.seq, at: entry.at, by: entry.by.clone(), fact })
}

/// The task of a row: its snapshot and what came after, up to `to` if given. `None`: an empty journal.
pub(super) fn fold(store: &Store, row: &TaskRow, to: Option<Seq>) -> Result<Option<(Task, Seq)>, Fault> {
    let start = row.snapshot.as_ref().filter(|snapshot| to.is_none_or(|to| snapshot.seq <= to));
    let (mut task, mut seq) = match start {
        Some(snapshot) => (Some(read(&snapshot.json)?), snapshot.seq),
        None => (None, 0),
    };
    loop {
        let page = store.entries(&row.id, seq, PAGE).map_err(fault_of)?;
        let full = page.len() == PAGE;
        for entry in page.iter().filter(|entry| to.is_none_or(|to| entry.seq <= to)) {
            task = Some(apply(task, &event_of(entry)?));
            seq = entry.seq;
        }
        if !full || to.is_some_and(|to| seq >= to) {
            return Ok(task.map(|task| (task, seq)));
        }
    }
}

/// A stored snapshot, read.
pub(super) fn read(json: &[u8]) -> Result<Task, Fault> {
    serde_json::from_slice(json).map_err(|error| super::incident(&error))
}

/// A snapshot of a task as of `seq`.
fn snapshot(task: &Task, seq: Seq) -> Option<Snapshot> {
    let json = serde_json::to_vec(task).ok()?;
    Some(Snapshot { json: json.into(), seq, history: task.history.len() })
}

impl Book {
    /// A task that was just committed with these facts.
    pub(super) fn begun(store: Store, task: Task, row: TaskRow) -> Self {
        Self { store, task: Some(task), row, weight: (0, 0) }
    }

    /// Takes a stored task over: whoever held it before can no longer write. Also gives its journal, for the prompt.
    pub(super) async fn claim(store: &Store, id: &TaskId) -> Result<Option<(Self, Vec<Event>)>, Fault> {
        let Some(row) = store.claim(id).await.map_err(fault_of)? else { return Ok(None) };
        let mut events = Vec::new();
        let mut seq = 0;
        loop {
            let page = store.entries(id, seq, PAGE).map_err(fault_of)?;
            for entry in &page {
                events.push(event_of(entry)?);
                seq = entry.seq;
            }
            if page.len() < PAGE {
                break;
            }
        }
        let Some((task, _)) = fold(store, &row, None)? else { return Ok(None) };
        let weight = row.snapshot.as_ref().map_or(0, |snapshot| snapshot.json.len());
        Ok(Some((Self { store: store.clone(), task: Some(task), row, weight: (weight, 0) }, events)))
    }

    /// The task.
    #[expect(clippy::expect_used, reason = "the invariant below")]
    pub(super) fn task(&self) -> &Task {
        // invariant: `step` puts the task back before it returns.
        self.task.as_ref().expect("a task between two steps")
    }

    /// Carries commands out in one commit. The first command's fault is the answer; a later one that has no place any
    /// more (a report after the end) is left out. On an error nothing has happened.
    pub(super) async fn step(
        &mut self,
        by: &Author,
        commands: Vec<Command>,
        rows: Vec<Row>,
        patience: Patience,
    ) -> Result<Vec<Event>, Fault> {
        let before = self.row.clone();
        let events = self.decide(by, commands)?;
        if events.is_empty() && rows.is_empty() {
            return Ok(events);
        }
        match self.commit(&events, rows, patience).await {
            Ok(()) => {
                log_content(&self.row, &events);
                self.log_end(before.state);
                Ok(events)
            }
            Err(error) => {
                // Applied but not stored: the truth is what the store has. Rare, so it costs a read, not a copy a step.
                self.row = before;
                let stored = fold(&self.store, &self.row, Some(self.row.seq));
                self.task = stored.ok().flatten().map(|(task, _)| task).or_else(|| self.task.take());
                Err(fault_of(error))
            }
        }
    }

    /// One line a turn, where it ends: who, what, with which outcome; never a text of it.
    fn log_end(&self, before: TaskState) {
        let row = &self.row;
        if row.state == before || !(row.state.is_terminal() || row.state.is_interrupted()) {
            return;
        }
        tracing::info!(
            task = %row.id, context = %row.context, principal = %row.requester, agent = %row.agent,
            state = row.state.as_str(), "a turn ended"
        );
    }

    /// Decides and applies; a refusal of the first command leaves everything as it was.
    fn decide(&mut self, by: &Author, commands: Vec<Command>) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        for (place, command) in commands.into_iter().enumerate() {
            let facts = match lifecycle::decide(self.task.as_ref(), command) {
                Ok(facts) => facts,
                Err(fault) if place == 0 => return Err(fault),
                Err(fault) => {
                    tracing::debug!(task = %self.row.id, %fault, "a step after the end is dropped");
                    continue;
                }
            };
            for fact in facts {
                let at = self.store.now().max(self.row.updated_at);
                self.row.seq += 1;
                self.row.updated_at = at;
                if let Some(status) = fact.status(at) {
                    self.row.state = status.state;
                    self.row.status_at = at;
                }
                let event = Event { seq: self.row.seq, at, by: by.clone(), fact };
                self.task = Some(apply(self.task.take(), &event));
                events.push(event);
            }
        }
        Ok(events)
    }

    async fn commit(&mut self, events: &[Event], rows: Vec<Row>, patience: Patience) -> Result<(), Error> {
        let entries = entries(events);
        self.weight.1 += entries.iter().map(|entry| entry.fact.len()).sum::<usize>();
        let settled = self.row.state.is_terminal() || self.row.state.is_interrupted();
        let outgrown = self.weight.1 > SNAPSHOT_AFTER.max(self.weight.0);
        let snapshot = if settled || outgrown { snapshot(self.task(), self.row.seq) } else { None };
        if let Some(snapshot) = &snapshot {
            self.weight = (snapshot.json.len(), 0);
        }
        let expected = self.row.seq - entries.len() as Seq;
        let mut batch = Batch { appends: Vec::new(), rows };
        if !entries.is_empty() {
            batch.appends.push(Append { stream: self.row.id.clone(), expected, entries });
            batch.rows.insert(0, Row::Head(self.head(expected, snapshot)));
        }
        self.persist(batch, patience).await
    }

    fn head(&self, expected: Seq, snapshot: Option<Snapshot>) -> Head {
        let row = &self.row;
        Head {
            id: row.id.clone(),
            expected,
            epoch: row.epoch,
            state: row.state,
            status_at: row.status_at,
            updated_at: row.updated_at,
            seq: row.seq,
            born: row.born,
            not_before: row.not_before,
            snapshot,
        }
    }

    /// Commits, again and again while the disk is full and there is patience.
    async fn persist(&self, batch: Batch, patience: Patience) -> Result<(), Error> {
        let tries = if patience == Patience::Minute { 60 } else { 0 };
        for _ in 0..tries {
            match self.store.commit(batch.clone()).await {
                Err(Error::Full(_)) => {
                    tracing::warn!(task = %self.row.id, "the disk is full; the turn is held back");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                result => return result,
            }
        }
        self.store.commit(batch).await
    }
}
