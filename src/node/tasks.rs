//! `GetTask`, `ListTasks`, `CancelTask`, and deleting what has ended.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{
    Inner, Reply, Request, TaskPage,
    access::{Act, may},
    envelope::Envelope,
    fault_of,
    stream::history,
};
use crate::{
    lifecycle::cut,
    model::{
        Caller, CancelTask, ContextId, Fault, GetTask, ListTasks, PrincipalId, Task, TaskId, Timestamp,
        ops::{OwnedTask, TaskList},
    },
    store::{PageQuery, TaskRow},
};

/// Tasks of a page where the caller sets no size (A2A-82).
const PAGE: i32 = 50;

impl Inner {
    /// `GetTask`.
    pub(super) fn get_task(&self, call: &Request, get: &GetTask) -> Result<Reply, Fault> {
        let row = self.row(call, &get.id, Act::See)?;
        self.shown(&row, history(get.history_length), true)
    }

    /// `ListTasks`: the caller's own of this agent (P-14).
    pub(super) async fn list_tasks(&self, call: &Request, list: &ListTasks) -> Result<Reply, Fault> {
        let query = query(Some(call.caller.principal.clone()), Some(&call.agent), list)?;
        self.page(query, list).await.map(|(_, page)| Reply::Page(page))
    }

    /// Everybody's tasks, with whose they are and who does them.
    pub(super) async fn all_tasks(&self, list: &ListTasks) -> Result<TaskList, Fault> {
        let agent = match &list.tenant {
            None => None,
            Some(name) => Some(name.parse().map_err(|_| Fault::NoAgent(name.clone()))?),
        };
        let (rows, page) = self.page(query(None, agent.as_ref(), list)?, list).await?;
        let owned = |(row, task): (TaskRow, Task)| OwnedTask { agent: row.agent, principal: row.scope, task };
        let tasks = rows.into_iter().zip(page.tasks).map(owned).collect();
        Ok(TaskList { tasks, next_page_token: page.next_page_token })
    }

    /// One page, its token and its totals (P-32), and the rows that it shows.
    async fn page(&self, query: PageQuery, list: &ListTasks) -> Result<(Vec<TaskRow>, TaskPage), Fault> {
        let filters = filters(&query);
        let page = self.store.page(query).await.map_err(fault_of)?;
        let next = page.tasks.last().filter(|_| page.more).map(|row| token(row, filters));
        let tasks = page.tasks.iter().map(|row| self.listed(row, list)).collect::<Result<_, _>>()?;
        let shown = TaskPage {
            tasks,
            next_page_token: next.unwrap_or_default(),
            page_size: list.page_size.unwrap_or(PAGE),
            total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
        };
        Ok((page.tasks, shown))
    }

    /// A task of a list: no history unless asked for (P-31).
    fn listed(&self, row: &TaskRow, list: &ListTasks) -> Result<Task, Fault> {
        let most = list.history_length.map_or(0, |most| usize::try_from(most).unwrap_or(0));
        match self.shown(row, most, list.include_artifacts)? {
            Reply::Task(task) => Ok(task),
            Reply::Stored(json) => Ok(cut(super::book::read(&json)?, most, list.include_artifacts)),
            Reply::Message(_) | Reply::Page(_) | Reply::Updates(_) => {
                Err(super::incident(&"a task is no task"))
            }
        }
    }

    /// `CancelTask`: answers when the task has ended (P-29).
    pub(super) async fn cancel_task(
        self: &Arc<Self>,
        call: &Request,
        cancel: &CancelTask,
    ) -> Result<Reply, Fault> {
        let row = self.row(call, &cancel.id, Act::Cancel)?;
        if row.state.is_terminal() {
            return Err(Fault::TaskNotCancelable(row.id));
        }
        self.end(&row.id, &call.caller).await?;
        self.now(&row.id, None)
    }

    /// Ends a task in a caller's name.
    pub(super) async fn end(self: &Arc<Self>, id: &TaskId, caller: &Caller) -> Result<(), Fault> {
        let by = super::author(caller);
        self.ask(id, |answer| Envelope::Cancel { by: by.clone(), answer }).await
    }

    /// Deletes a task that has ended (O-71).
    pub(super) async fn delete_task(&self, caller: &Caller, id: &TaskId) -> Result<(), Fault> {
        let row = self.store.task(id).map_err(fault_of)?;
        let Some(row) = row.filter(|row| may(caller, &row.agent, row, Act::Delete)) else {
            return Err(Fault::TaskNotFound(id.clone()));
        };
        if !row.state.is_terminal() {
            return Err(Fault::Unsupported(format!("task {id} has not ended; cancel it first")));
        }
        self.store.delete_task(id).await.map_err(fault_of)?;
        Ok(())
    }

    /// Deletes a context: its tasks and the session that its agent keeps. Gives how many tasks went.
    pub(super) async fn delete_context(&self, caller: &Caller, context: &ContextId) -> Result<u64, Fault> {
        let scope = (!caller.is_admin()).then(|| caller.principal.clone());
        let mut query =
            PageQuery { scope, context: Some(context.clone()), limit: 100, ..PageQuery::default() };
        let mut rows = Vec::new();
        loop {
            let page = self.store.page(query.clone()).await.map_err(fault_of)?;
            query.before = page.tasks.last().map(|row| (row.status_at, row.id.clone()));
            rows.extend(page.tasks);
            if !page.more {
                break;
            }
        }
        if let Some(live) = rows.iter().find(|row| !row.state.is_terminal()) {
            return Err(Fault::Unsupported(format!(
                "task {} of the context has not ended; cancel it first",
                live.id
            )));
        }
        let mut scopes: Vec<&PrincipalId> = rows.iter().map(|row| &row.scope).collect();
        scopes.sort_unstable();
        scopes.dedup();
        let mut deleted = 0;
        for scope in scopes {
            deleted += self.store.delete_context(scope, context).await.map_err(fault_of)?.tasks;
        }
        Ok(deleted)
    }
}

/// What the store is asked for.
fn query(
    scope: Option<PrincipalId>,
    agent: Option<&crate::model::AgentName>,
    list: &ListTasks,
) -> Result<PageQuery, Fault> {
    let size = list.page_size.unwrap_or(PAGE);
    if !(1..=100).contains(&size) {
        return Err(Fault::invalid("pageSize", "must be between 1 and 100"));
    }
    let mut query = PageQuery {
        scope,
        agent: agent.cloned(),
        context: list.context_id.clone(),
        state: list.status,
        since: list.status_timestamp_after,
        before: None,
        limit: usize::try_from(size).unwrap_or(1),
    };
    if let Some(token) = &list.page_token {
        query.before = Some(place(token, filters(&query))?);
    }
    Ok(query)
}

/// What must stay the same from page to page.
fn filters(query: &PageQuery) -> [u8; 8] {
    let text =
        format!("{:?}{:?}{:?}{:?}{:?}", query.scope, query.agent, query.context, query.state, query.since);
    let mut short = [0; 8];
    short.copy_from_slice(&Sha256::digest(text)[..8]);
    short
}

/// A page token: the filters, and time and id of the last task.
fn token(row: &TaskRow, filters: [u8; 8]) -> String {
    let mut bytes = filters.to_vec();
    bytes.extend(row.status_at.millis().to_be_bytes());
    bytes.extend(row.id.as_str().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What a token says, if it is one of ours for these filters.
fn place(token: &str, filters: [u8; 8]) -> Result<(Timestamp, TaskId), Fault> {
    let bytes = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    let place = bytes.split_first_chunk::<8>().and_then(|(head, rest)| {
        let (at, id) = rest.split_first_chunk::<8>()?;
        Some((
            *head,
            Timestamp::from_millis(i64::from_be_bytes(*at)),
            TaskId::from(std::str::from_utf8(id).ok()?),
        ))
    });
    match place {
        Some((head, at, id)) if head == filters => Ok((at, id)),
        Some(_) => Err(Fault::invalid(
            "pageToken",
            "belongs to a list with other filters; keep them from page to page",
        )),
        None => {
            Err(Fault::invalid("pageToken", "is no token of this node; use nextPageToken of the page before"))
        }
    }
}
