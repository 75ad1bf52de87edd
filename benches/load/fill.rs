//! Tasks by the million, put into a store without a node: each with the journal and the snapshot that an echo leaves.

use std::path::Path;

use a2ad::{
    lifecycle::{Author, Event, Fact, apply},
    model::{AgentName, Artifact, ContextId, Message, PrincipalId, Task, TaskId, TaskState, Timestamp},
    store::{Append, Batch, Config, Durability, Entry, Row, Snapshot, Store, TaskRow},
};
use anyhow::{Context, Result};

/// Tasks of one transaction.
const AT_ONCE: usize = 2000;

/// Fills the state directory with tasks of the local operator at the agent `echo`.
pub(crate) async fn fill(state: &Path, tasks: usize) -> Result<()> {
    let config = Config {
        dir: state.to_owned(),
        durability: Durability::Relaxed,
        keep_terminal: None,
        keep_waiting: None,
        min_free: 0,
        max: None,
    };
    let store = Store::open(&config, Timestamp::now()).await?;
    let mut left = tasks;
    while left > 0 {
        let now = store.now();
        let mut batch = Batch::default();
        for _ in 0..left.min(AT_ONCE) {
            let (append, row) = ended(now)?;
            batch.appends.push(append);
            batch.rows.push(Row::NewTask(row));
        }
        left -= batch.rows.len();
        store.commit(batch).await?;
    }
    store.close().await;
    Ok(())
}

/// A task that was asked for and done.
fn ended(at: Timestamp) -> Result<(Append, TaskRow)> {
    let (id, context) = (TaskId::fresh(), ContextId::fresh());
    let agent: AgentName = "echo".parse().map_err(|_| anyhow::anyhow!("echo is a name"))?;
    let owner = PrincipalId::local();
    let mut message = Message::user("hello");
    message.task_id = Some(id.clone());
    message.context_id = Some(context.clone());
    let opened = Fact::Opened {
        task: id.clone(),
        context: context.clone(),
        agent: agent.clone(),
        message,
        modes: Vec::new(),
        metadata: None,
    };
    let artifact = Artifact::text("answer".into(), "hello");
    let wrote = Fact::Wrote { artifact, append: false, last: true, joined: false };
    let completed = Fact::Completed { message: None, metadata: None };
    let mut task: Option<Task> = None;
    let mut entries = Vec::new();
    for (seq, fact) in (1..).zip([opened, Fact::Working(None), wrote, completed]) {
        let (kind, (v, bytes)) = (fact.kind().number(), fact.encode());
        let by = Author { principal: owner.clone(), run: None };
        task = Some(apply(task, &Event { seq, at, by: by.clone(), fact }));
        entries.push(Entry { seq, at, by, kind, v, fact: bytes.into() });
    }
    let task = task.context("four facts make a task")?;
    let snapshot = Snapshot { json: serde_json::to_vec(&task)?.into(), seq: 4, history: task.history.len() };
    let append = Append { stream: id.clone(), expected: 0, entries };
    let row = TaskRow {
        id,
        agent,
        context,
        scope: owner.clone(),
        requester: owner,
        state: TaskState::Completed,
        status_at: at,
        updated_at: at,
        opened_at: at,
        seq: 4,
        epoch: 1,
        born: true,
        not_before: None,
        snapshot: Some(snapshot),
    };
    Ok((append, row))
}
