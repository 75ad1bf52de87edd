//! `SendMessage` and `SendStreamingMessage`: a new task, or a further message to one.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::{
    Answer, Inner, Reply, Request,
    access::Act,
    agents::Served,
    book::{Book, entries, log_content},
    dispatch::Admission,
    envelope::{Envelope, First, Said},
    fault_of, replay,
};
use crate::{
    lifecycle::{self, Command, Event, Fact, apply},
    model::{ContextId, Fault, Message, Role, Send, Seq, Task, TaskId, TaskState, Timestamp},
    store::{Append, Batch, Entry, Error, Row, Sent, Tail, TaskRow},
};

/// A repeated `messageId` joins a task that ended less than this long ago (P-21).
const JOINS_AFTER_END: std::time::Duration = std::time::Duration::from_secs(600);

/// A header key holds this long (P-21).
const KEY_HOLDS: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// A send that is stored.
struct Accepted {
    id: TaskId,
    /// The place after which its answer lies.
    after: Seq,
    /// The task as of then, where a stream begins with it.
    task: Option<Task>,
    /// A reader that has watched from the beginning, where the end is waited for.
    tail: Option<Tail>,
    replayed: bool,
}

/// What a caller waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// To know that it is stored.
    Task,
    /// The end of the turn.
    End,
    /// Everything, as it comes.
    Stream,
}

impl Inner {
    /// Stores the message, then answers as asked: at once, at the turn's end, or by a stream. A caller may go away at
    /// any moment: a stored task has its actor all the same.
    pub(super) async fn send(
        self: &Arc<Self>,
        call: &Request,
        send: Send,
        stream: bool,
    ) -> Result<Answer, Fault> {
        let served = self.served(call)?;
        check(&served, &send)?;
        let most = send.configuration.history_length;
        let wants = match (stream, send.configuration.return_immediately) {
            (true, _) => Wants::Stream,
            (false, true) => Wants::Task,
            (false, false) => Wants::End,
        };
        let Accepted { id, after, task, tail, replayed } = self.accept(call, &served, send, wants).await?;
        let reply = match wants {
            Wants::Stream => {
                let seen = call.after.filter(|_| replayed);
                Reply::Updates(self.follow(&id, after, task, most, seen)?)
            }
            Wants::Task => self.now(&id, most)?,
            Wants::End => {
                let tail = tail.unwrap_or_else(|| self.store.tail(&id, after));
                self.settled(&id, tail, most).await?
            }
        };
        let reply = if replayed { replay::marked(reply)? } else { reply };
        Ok(Answer { reply, replayed })
    }

    async fn accept(
        self: &Arc<Self>,
        call: &Request,
        served: &Served,
        send: Send,
        wants: Wants,
    ) -> Result<Accepted, Fault> {
        let Some(sent) = self.once(call, &send) else {
            return self.take(call, served, send, Vec::new(), wants).await.map_err(Refused::fault);
        };
        // Most new tasks are no repetition, and the commit finds out by itself: only where something is refused, and
        // before a task's actor is asked, is looked up what was sent before.
        if send.message.task_id.is_none() {
            let again = send.clone();
            match self.open(call, served, again, vec![Row::Sent(sent.clone())], wants).await {
                Ok(accepted) => return Ok(accepted),
                Err(Refused::Replayed) => {}
                Err(Refused::Fault(fault)) => {
                    return match self.earlier(&sent)? {
                        Earlier::Joins(accepted) => Ok(*accepted),
                        Earlier::Stale(_) => Err(fault),
                    };
                }
            }
        }
        let rows = match self.earlier(&sent)? {
            Earlier::Joins(accepted) => return Ok(*accepted),
            Earlier::Stale(mut rows) => {
                rows.push(Row::Sent(sent.clone()));
                rows
            }
        };
        match self.take(call, served, send, rows, wants).await {
            // Another send was quicker by a hair: an equal one is the same task.
            Err(Refused::Replayed) => match self.earlier(&sent)? {
                Earlier::Joins(accepted) => Ok(*accepted),
                Earlier::Stale(_) => Err(super::incident(&"a send is refused by one that does not count")),
            },
            result => result.map_err(Refused::fault),
        }
    }

    /// A further message, or a new task.
    async fn take(
        self: &Arc<Self>,
        call: &Request,
        served: &Served,
        send: Send,
        rows: Vec<Row>,
        wants: Wants,
    ) -> Result<Accepted, Refused> {
        match send.message.task_id.clone() {
            Some(id) => self.say(call, id, send, rows).await,
            None => self.open(call, served, send, rows, wants).await,
        }
    }

    /// A new task.
    async fn open(
        self: &Arc<Self>,
        call: &Request,
        served: &Served,
        send: Send,
        sent: Vec<Row>,
        wants: Wants,
    ) -> Result<Accepted, Refused> {
        self.store.room().writable.map_err(Fault::NoSpace)?;
        let mut row = self.fresh(call, &send);
        let id = row.id.clone();
        let permit = match self.dispatch.admit(self.needs(&row)) {
            Admission::Run(permit) => Some(permit),
            Admission::Queued => None,
            Admission::Full(limit) => return Err(super::full(limit).into()),
        };
        let (task, first, entries) = opening(&mut row, send, permit.is_some(), super::author(&call.caller));
        // Unborn until it shows what it is (J-15); what waits, or is to be asked for later, needs an id now.
        row.born = !served.runtime.about().replies || wants == Wants::Task || permit.is_none();
        let after = row.seq;
        let append = Append { stream: id.clone(), expected: 0, entries };
        let mut rows = vec![Row::NewTask(row.clone())];
        rows.extend(placed(sent, &id, after));
        let batch = Batch { appends: vec![append], rows };
        let tail = (wants == Wants::End).then(|| self.store.tail_of_new(&id, after));
        let shown = (wants == Wants::Stream).then(|| task.clone());
        let (tell, told) = oneshot::channel();
        let node = self.clone();
        // Its own task, which becomes the actor's: nothing of it may end with a caller that goes away.
        self.watch_over(id.clone(), async move {
            if let Err(error) = node.store.commit(batch).await {
                if permit.is_none() {
                    node.dispatch.withdraw(&row.id);
                }
                drop(permit);
                let _ = tell.send(Err(error));
                return;
            }
            let Some(permit) = permit else {
                node.dispatch.confirm(&row.id);
                let _ = tell.send(Ok(()));
                return;
            };
            let mut actor = node.employ(Book::begun(node.store.clone(), task, row));
            let _ = tell.send(Ok(()));
            actor.begins(first, permit);
            actor.work().await;
        });
        told.await.map_err(|_| Refused::Fault(super::incident(&"a new task was not stored")))??;
        Ok(Accepted { id, after, task: shown, tail, replayed: false })
    }

    /// The row of a task that begins.
    fn fresh(&self, call: &Request, send: &Send) -> TaskRow {
        let now = self.store.now();
        TaskRow {
            id: TaskId::fresh(),
            agent: call.agent.clone(),
            context: send.message.context_id.clone().unwrap_or_else(ContextId::fresh),
            scope: call.caller.principal.clone(),
            requester: call.caller.principal.clone(),
            state: TaskState::Submitted,
            status_at: now,
            updated_at: now,
            opened_at: now,
            seq: 0,
            epoch: 0,
            born: true,
            not_before: None,
            snapshot: None,
        }
    }

    /// A further message to a task.
    async fn say(
        self: &Arc<Self>,
        call: &Request,
        id: TaskId,
        send: Send,
        sent: Vec<Row>,
    ) -> Result<Accepted, Refused> {
        let row = self.row(call, &id, Act::Say)?;
        if send.message.context_id.as_ref().is_some_and(|context| *context != row.context) {
            let why = format!("is not the context of task {id}; leave contextId out, or taskId");
            return Err(Fault::invalid("message.contextId", why).into());
        }
        if !row.state.is_terminal() {
            self.store.room().writable.map_err(Fault::NoSpace)?;
        }
        let said = Said {
            by: super::author(&call.caller),
            message: inbound(send.message),
            metadata: send.metadata.and_then(crate::model::Metadata::stripped),
            modes: send.configuration.accepted_output_modes,
            rows: sent,
        };
        let after = self.ask(&id, |answer| Envelope::Say { said: said.clone(), answer }).await?;
        Ok(Accepted { id, after, task: None, tail: None, replayed: false })
    }

    /// The row by which a repetition of this send is known, if it can be (P-21).
    fn once(&self, call: &Request, send: &Send) -> Option<Sent> {
        let key = match &call.key {
            Some(key) => format!("h:{key}"),
            None => {
                let id = send.message.message_id.as_str();
                if !is_unique(id) {
                    return None;
                }
                format!("m:{id}")
            }
        };
        Some(Sent {
            principal: call.caller.principal.clone(),
            agent: call.agent.clone(),
            key,
            digest: digest(send),
            stream: TaskId::from(""),
            seq: 0,
            at: self.store.now(),
        })
    }

    /// What became of earlier sends under the same key.
    fn earlier(&self, sent: &Sent) -> Result<Earlier, Fault> {
        let now = self.store.now();
        let by_header = sent.key.starts_with("h:");
        let mut stale = Vec::new();
        for earlier in self.store.sent(&sent.principal, &sent.agent, &sent.key).map_err(fault_of)? {
            let holds =
                if by_header { now.since(earlier.at) < KEY_HOLDS } else { self.joins(&earlier, now)? };
            let equal = earlier.digest == sent.digest;
            if holds && equal {
                return Ok(Earlier::Joins(Box::new(Accepted::again(earlier))));
            }
            if holds && by_header {
                let why = "was used for a different request within 24 hours; use a new key";
                return Err(Fault::invalid("Idempotency-Key", why));
            }
            if !holds && (equal || by_header) {
                stale.push(Row::Unsent(earlier));
            }
        }
        Ok(Earlier::Stale(stale))
    }

    /// Whether the task of an earlier messageId still takes its repetition.
    fn joins(&self, earlier: &Sent, now: Timestamp) -> Result<bool, Fault> {
        let row = self.store.task(&earlier.stream).map_err(fault_of)?;
        Ok(row.is_some_and(|row| !row.state.is_terminal() || now.since(row.status_at) < JOINS_AFTER_END))
    }
}

/// What became of earlier sends under a key.
enum Earlier {
    /// This send is the same.
    Joins(Box<Accepted>),
    /// None counts; rows that make way for the new one.
    Stale(Vec<Row>),
}

impl Accepted {
    /// An earlier send, met again.
    fn again(earlier: Sent) -> Self {
        Self { id: earlier.stream, after: earlier.seq, task: None, tail: None, replayed: true }
    }
}

/// Idempotency rows, once it is known where the message lies.
pub(super) fn placed(rows: Vec<Row>, stream: &TaskId, seq: Seq) -> Vec<Row> {
    rows.into_iter()
        .map(|row| match row {
            Row::Sent(sent) => Row::Sent(Sent { stream: stream.clone(), seq, ..sent }),
            other => other,
        })
        .collect()
}

/// Why a send was not stored.
enum Refused {
    Fault(Fault),
    /// It repeats one that is stored.
    Replayed,
}

impl Refused {
    fn fault(self) -> Fault {
        match self {
            Self::Fault(fault) => fault,
            Self::Replayed => super::incident(&"what cannot be repeated was found again"),
        }
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Replayed(_) => Self::Replayed,
            error => Self::Fault(fault_of(error)),
        }
    }
}

/// What is refused before anything is looked up.
fn check(served: &Served, send: &Send) -> Result<(), Fault> {
    if send.message.role != Role::User {
        return Err(Fault::invalid("message.role", "must be ROLE_USER"));
    }
    if send.configuration.task_push_notification_config.is_some() {
        return Err(Fault::PushNotSupported);
    }
    let modes = &served.config.input_modes;
    for part in &send.message.parts {
        if let Some(media_type) = &part.media_type
            && !modes.iter().any(|mode| takes(mode, media_type))
        {
            return Err(Fault::ContentType { media_type: media_type.clone(), takes: modes.join(", ") });
        }
    }
    Ok(())
}

/// Whether an input mode, as `text/*`, covers a media type with or without parameters.
fn takes(mode: &str, media_type: &str) -> bool {
    let bare = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match mode.to_ascii_lowercase().strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => bare.split('/').next() == Some(kind),
        None => mode == "*" || mode.eq_ignore_ascii_case(&bare),
    }
}

/// Message ids that are made to be unique: UUIDs and ULIDs (P-21).
fn is_unique(id: &str) -> bool {
    let ulid = id.len() == 26 && id.bytes().all(|b| b.is_ascii_alphanumeric() && !b"ILOUilou".contains(&b));
    ulid || (id.len() == 36 && uuid::Uuid::try_parse(id).is_ok())
}

/// What makes two requests equal.
fn digest(send: &Send) -> [u8; 32] {
    // Requests hold only text keys and JSON of their own, so writing them cannot fail.
    Sha256::digest(serde_json::to_vec(send).unwrap_or_default()).into()
}

/// A caller's message without what only the node may say.
fn inbound(mut message: Message) -> Message {
    message.metadata = message.metadata.and_then(crate::model::Metadata::stripped);
    message
}

/// The first facts of a task, applied; the row follows.
fn opening(row: &mut TaskRow, send: Send, runs: bool, by: lifecycle::Author) -> (Task, First, Vec<Entry>) {
    let first = First {
        new_context: send.message.context_id.is_none(),
        message: Message {
            task_id: Some(row.id.clone()),
            context_id: Some(row.context.clone()),
            ..inbound(send.message)
        },
        modes: send.configuration.accepted_output_modes,
        metadata: send.metadata.and_then(crate::model::Metadata::stripped),
    };
    let opened = Fact::Opened {
        task: row.id.clone(),
        context: row.context.clone(),
        agent: row.agent.clone(),
        message: first.message.clone(),
        modes: first.modes.clone(),
        metadata: first.metadata.clone(),
    };
    let at = row.opened_at;
    let event = Event { seq: 1, at, by: by.clone(), fact: opened };
    let mut task = apply(None, &event);
    let mut events = vec![event];
    if runs {
        row.epoch = 1;
        // A fresh task is SUBMITTED, in which `Start` has its place.
        for fact in lifecycle::decide(Some(&task), Command::Start).unwrap_or_default() {
            let event = Event { seq: 2, at, by: by.clone(), fact };
            task = apply(Some(task), &event);
            events.push(event);
        }
    }
    row.seq = events.len() as Seq;
    row.state = task.status.state;
    log_content(row, &events);
    (task, first, entries(&events))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_made_to_be_unique_make_a_send_repeatable() {
        assert!(is_unique("0190a5d1-7c6e-7c3a-9d0b-3f0e3c1b2a10"));
        assert!(is_unique("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
        for id in ["1", "msg-1", "tck-complete-task-0a1b2c3d", "01ARZ3NDEKTSV4RRFFQ69G5FAI"] {
            assert!(!is_unique(id), "{id}");
        }
    }

    #[test]
    fn input_modes_cover_kinds_and_parameters() {
        assert!(takes("*/*", "image/png"));
        assert!(takes("text/*", "text/plain; charset=utf-8"));
        assert!(takes("application/json", "Application/JSON"));
        assert!(!takes("text/*", "image/png"));
        assert!(!takes("text/plain", "text/html"));
    }
}
