//! Readers of a task's journal: streams, and callers who wait for a turn to end. All are the same cursor.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::{
    Inner, Reply, Request, Updates,
    access::Act,
    book::{event_of, fold, read},
    fault_of,
};
use crate::{
    lifecycle::{DEFAULT_HISTORY, Event, Fact, FactKind, cut},
    model::{ContextId, Fault, Seq, Subscribe, Task, TaskId, TaskState, Update},
    store::{Tail, TaskRow},
};

/// Where a stream ends (P-25).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// With the task, or at a question: the stream of a send.
    Question,
    /// With the task: a subscription.
    End,
}

/// The messages that a caller's `historyLength` leaves.
pub(super) fn history(most: Option<i32>) -> usize {
    most.map_or(DEFAULT_HISTORY, |most| usize::try_from(most).unwrap_or(0))
}

/// The event that a stream begins with.
fn first((task, seq): (Task, Seq), most: Option<i32>) -> (Seq, Update) {
    (seq, Update::Task(cut(task, history(most), true)))
}

impl Inner {
    /// `SubscribeToTask`.
    pub(super) fn subscribe(self: &Arc<Self>, call: &Request, subscribe: &Subscribe) -> Result<Reply, Fault> {
        let row = self.row(call, &subscribe.id, Act::See)?;
        let after = call.after.filter(|after| (1..=row.seq).contains(after));
        let over = row.state.is_terminal() && after.is_none_or(|after| after >= row.seq);
        if over && !call.to_question {
            let why = format!("task {} has ended ({}); get it instead", row.id, row.state.as_str());
            return Err(Fault::Unsupported(why));
        }
        if !call.to_question {
            return self.stream(&row, after, None, Until::End).map(Reply::Updates);
        }
        // Nothing more comes to this reader: neither of a task that has ended, nor of a question that it did not miss.
        if over || (after.is_none() && row.state == TaskState::InputRequired) {
            let task = self.folded(&row, None)?;
            return Ok(Reply::Updates(stream::once(async { Ok(first(task, None)) }).boxed()));
        }
        self.stream(&row, after, None, Until::Question).map(Reply::Updates)
    }

    /// The stream of a send: from its own entry on, or, joining, from where the caller says it was.
    pub(super) fn follow(
        self: &Arc<Self>,
        id: &TaskId,
        place: Seq,
        task: Option<Task>,
        most: Option<i32>,
        after: Option<Seq>,
    ) -> Result<Updates, Fault> {
        let row = self.stored(id)?;
        if !row.born {
            return Ok(self.unborn(row, place));
        }
        match (task, after) {
            (Some(task), None) => {
                let first = cut(task, history(most), true);
                Ok(self.tail(&row, place, Until::Question, Some((place, Update::Task(first)))))
            }
            (_, after) => {
                self.stream(&row, after.filter(|after| (1..=row.seq).contains(after)), most, Until::Question)
            }
        }
    }

    /// The task as it stood after `from` (now, if not given), then every event after it (P-26).
    fn stream(
        &self,
        row: &TaskRow,
        from: Option<Seq>,
        most: Option<i32>,
        until: Until,
    ) -> Result<Updates, Fault> {
        let (task, seq) = self.folded(row, from)?;
        let over = task.status.state.is_terminal();
        let first = first((task, seq), most);
        if over {
            return Ok(stream::once(async { Ok(first) }).boxed());
        }
        Ok(self.tail(row, seq, until, Some(first)))
    }

    /// A task as it stood after an entry, and the number of that entry.
    fn folded(&self, row: &TaskRow, from: Option<Seq>) -> Result<(Task, Seq), Fault> {
        fold(&self.store, row, from)?.ok_or_else(|| Fault::TaskNotFound(row.id.clone()))
    }

    /// `first`, then what the world may see of every entry after `after`.
    fn tail(&self, row: &TaskRow, after: Seq, until: Until, first: Option<(Seq, Update)>) -> Updates {
        let reader = Reader {
            tail: self.store.tail(&row.id, after),
            task: row.id.clone(),
            context: row.context.clone(),
            until,
            over: false,
        };
        let updates = stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next().await?.map(|update| (update, reader)))
        });
        stream::iter(first.map(Ok)).chain(updates).boxed()
    }

    /// A task that may turn out to be a bare message holds its first event until that is known (J-15).
    fn unborn(self: &Arc<Self>, row: TaskRow, place: Seq) -> Updates {
        let node = self.clone();
        let opened = async move {
            let mut tail = node.store.tail(&row.id, place);
            let entry = tail.next().await.map_err(fault_of)?;
            let event = event_of(&entry)?;
            match event.fact {
                Fact::Replied(message) => {
                    Ok(stream::once(async move { Ok((event.seq, Update::Message(message))) }).boxed())
                }
                _ => node.stream(&row, Some(event.seq), None, Until::Question),
            }
        };
        stream::once(opened)
            .flat_map(|opened: Result<Updates, Fault>| match opened {
                Ok(updates) => updates,
                Err(fault) => stream::once(async { Err(fault) }).boxed(),
            })
            .boxed()
    }

    /// Waits until the turn of which `tail` reads has ended or is suspended (P-22); then the task as it is.
    pub(super) async fn settled(
        &self,
        id: &TaskId,
        mut tail: Tail,
        most: Option<i32>,
    ) -> Result<Reply, Fault> {
        loop {
            let entry = tail.next().await.map_err(fault_of)?;
            match FactKind::of_number(entry.kind) {
                Some(FactKind::Replied) => {
                    if let Event { fact: Fact::Replied(message), .. } = event_of(&entry)? {
                        return Ok(Reply::Message(message));
                    }
                }
                Some(kind) if kind.is_terminal() || kind.is_interrupting() => {
                    return match tail.snapshot().filter(|snapshot| snapshot.history <= history(most)) {
                        Some(snapshot) => Ok(Reply::Stored(snapshot.json)),
                        None => self.now(id, most),
                    };
                }
                Some(_) | None => {}
            }
        }
    }

    /// The task as it is now.
    pub(super) fn now(&self, id: &TaskId, most: Option<i32>) -> Result<Reply, Fault> {
        let row = self.stored(id)?;
        self.shown(&row, history(most), true)
    }

    /// The task of a row, cut as asked; the stored bytes themselves where nothing is to be cut.
    pub(super) fn shown(&self, row: &TaskRow, history: usize, artifacts: bool) -> Result<Reply, Fault> {
        if let Some(snapshot) = &row.snapshot
            && snapshot.seq == row.seq
        {
            if artifacts && snapshot.history <= history {
                return Ok(Reply::Stored(snapshot.json.clone()));
            }
            return Ok(Reply::Task(cut(read(&snapshot.json)?, history, artifacts)));
        }
        match fold(&self.store, row, None)? {
            Some((task, _)) => Ok(Reply::Task(cut(task, history, artifacts))),
            None => Err(Fault::TaskNotFound(row.id.clone())),
        }
    }
}

/// One reader of one journal: a cursor, no buffer.
struct Reader {
    tail: Tail,
    task: TaskId,
    context: ContextId,
    until: Until,
    over: bool,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<(Seq, Update)>, Fault> {
        while !self.over {
            let entry = self.tail.next().await.map_err(fault_of)?;
            let kind = FactKind::of_number(entry.kind);
            self.over = kind.is_some_and(|kind| {
                kind.is_terminal() || (self.until == Until::Question && kind == FactKind::Asked)
            });
            let event = event_of(&entry)?;
            if let Some(update) = event.fact.update(&self.task, &self.context, event.at) {
                return Ok(Some((event.seq, update)));
            }
        }
        Ok(None)
    }
}
