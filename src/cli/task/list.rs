//! `a2ad task list`.

use super::super::{
    Context, clock,
    exit::Code,
    target::{self, Target},
};
use crate::model::{
    ListTasks, Task, TaskState, Timestamp,
    ops::{OwnedTask, TaskList},
};
use crate::peer::Peer;

/// List tasks, the newest first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Only tasks in this state: submitted, working, input-required, auth-required, completed, failed, canceled,
    /// rejected
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<TaskState>,
    /// Only tasks of this conversation
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Only tasks of this agent
    #[arg(short, long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only tasks whose state is of this time or later: 2h, 2026-11-30 (UTC)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Tasks of all principals, not only one's own (admins)
    #[arg(long)]
    all: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// The protocol's largest page.
const PAGE: i32 = 100;

/// A task with the agent that has it and with whose it is, as far as that is known.
#[derive(serde::Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    #[serde(flatten)]
    task: Task,
}

pub(super) async fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let now = Timestamp::now();
    let since = arguments.since.as_deref().map(|since| clock::since(since, now)).transpose()?;
    let limit = arguments.limit as usize;
    let target = target::find(ctx)?;
    let query = ListTasks {
        context_id: arguments.context.as_deref().map(Into::into),
        status: arguments.state,
        status_timestamp_after: since,
        ..ListTasks::default()
    };
    let mut rows = if arguments.all {
        everybodys(&target, &query, arguments.agent.as_deref(), limit).await?
    } else {
        own(&target, &query, arguments.agent.as_deref(), limit).await?
    };
    rows.sort_by(|Row { task: a, .. }, Row { task: b, .. }| {
        b.status.timestamp.cmp(&a.status.timestamp).then_with(|| b.id.cmp(&a.id))
    });
    rows.truncate(limit);
    show(ctx, &rows, arguments.all, now)?;
    Ok(Code::Ok)
}

/// One's own tasks, of one agent or of all that one may use.
async fn own(
    target: &Target,
    query: &ListTasks,
    agent: Option<&str>,
    limit: usize,
) -> anyhow::Result<Vec<Row>> {
    let agents = match agent {
        Some(agent) => vec![Some(agent.to_owned())],
        None => match target.agents().await {
            Some(agents) if !agents.is_empty() => agents.into_iter().map(Some).collect(),
            _ => vec![None],
        },
    };
    let mut rows = Vec::new();
    for agent in agents {
        let peer = target.peer(agent.as_deref()).await?;
        let tasks = pages(&peer, query, limit).await?;
        rows.extend(tasks.into_iter().map(|task| Row { agent: agent.clone(), principal: None, task }));
    }
    Ok(rows)
}

async fn pages(peer: &Peer, query: &ListTasks, limit: usize) -> anyhow::Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let mut query = ListTasks { page_size: Some(page_size(limit)), history_length: Some(0), ..query.clone() };
    loop {
        let page = peer.list(query.clone()).await?;
        tasks.extend(page.tasks.into_owned());
        if page.next_page_token.is_empty() || tasks.len() >= limit {
            return Ok(tasks);
        }
        query.page_token = Some(page.next_page_token.into_owned());
    }
}

fn page_size(limit: usize) -> i32 {
    i32::try_from(limit).map_or(PAGE, |limit| limit.clamp(1, PAGE))
}

/// Every principal's tasks, by the operator's call.
async fn everybodys(
    target: &Target,
    query: &ListTasks,
    agent: Option<&str>,
    limit: usize,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut token = String::new();
    loop {
        let mut parts = vec![format!("limit={}", page_size(limit))];
        let mut add = |name: &str, value: Option<&str>| {
            parts.extend(
                value
                    .filter(|value| !value.is_empty())
                    .map(|value| format!("{name}={}", super::super::segment(value))),
            );
        };
        add("agent", agent);
        add("context", query.context_id.as_ref().map(crate::model::ContextId::as_str));
        add("state", query.status.map(TaskState::as_str));
        add("since", query.status_timestamp_after.map(|since| since.to_string()).as_deref());
        add("page", Some(&token));
        let page: TaskList = super::super::get(target, &format!("tasks?{}", parts.join("&"))).await?;
        rows.extend(page.tasks.into_iter().map(|OwnedTask { agent, principal, task }| Row {
            agent: Some(agent.to_string()),
            principal: Some(principal.to_string()),
            task,
        }));
        if page.next_page_token.is_empty() || rows.len() >= limit {
            return Ok(rows);
        }
        token = page.next_page_token;
    }
}

fn show(ctx: &Context, rows: &[Row], all: bool, now: Timestamp) -> anyhow::Result<()> {
    if ctx.screen.json {
        for row in rows {
            ctx.screen.json(row)?;
        }
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, all, now)).collect();
    if cells.is_empty() {
        ctx.screen.note("no tasks");
        return Ok(());
    }
    let heading = ["TASK", "STATE", "AGENT", "SINCE", "CONTEXT", "PRINCIPAL"];
    ctx.screen.table(&heading[..if all { 6 } else { 5 }], &cells)?;
    if rows.iter().any(|row| row.task.status.state == TaskState::InputRequired) {
        ctx.screen.hint("answer a task that waits with `a2ad send -t TASK TEXT`");
    }
    Ok(())
}

/// The columns of a task; whose it is stands last, and only where that is not oneself.
fn cells(Row { agent, principal, task }: &Row, all: bool, now: Timestamp) -> Vec<String> {
    let age = task.status.timestamp.map_or_else(|| "-".to_owned(), |then| clock::ago(then, now));
    let context = task.context_id.as_ref().map_or("-", |context| context.as_str());
    let agent = agent.as_deref().unwrap_or("-");
    let mut cells = vec![task.id.as_str(), task.status.state.word(), agent, &age, context];
    if all {
        cells.push(principal.as_deref().unwrap_or("-"));
    }
    cells.into_iter().map(str::to_owned).collect()
}

/// A state as a person or the protocol writes it.
fn state(text: &str) -> Result<TaskState, String> {
    let word = text.to_ascii_lowercase().replace('_', "-");
    let word = word.strip_prefix("task-state-").unwrap_or(&word);
    TaskState::ALL.into_iter().find(|state| state.word() == word).ok_or_else(|| {
        let words: Vec<&str> = TaskState::ALL.into_iter().map(TaskState::word).collect();
        format!("is one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_people_and_the_protocol_write_them() {
        for text in ["input-required", "INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"] {
            assert_eq!(state(text), Ok(TaskState::InputRequired), "{text}");
        }
        assert!(state("busy").unwrap_err().contains("input-required"));
    }

    #[test]
    fn a_page_is_never_larger_than_the_protocol_allows() {
        assert_eq!([1, 50, 100, 1000].map(page_size), [1, 50, 100, 100]);
    }
}
