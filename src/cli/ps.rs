//! `a2ad ps`: every child and what it waits for.

use super::{Context, clock, exit::Code, target};
use crate::model::{Timestamp, ops::ChildStatus};

/// Show every program that runs for a task, and what it waits for
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) async fn run(ctx: &Context) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let children: Vec<ChildStatus> = super::get(&target, "ps").await?;
    if ctx.screen.json {
        for child in &children {
            ctx.screen.json(child)?;
        }
        return Ok(Code::Ok);
    }
    if children.is_empty() {
        ctx.screen.note("no program runs");
        return Ok(Code::Ok);
    }
    let now = Timestamp::now();
    let rows: Vec<Vec<String>> = children.iter().map(|child| row(child, now)).collect();
    ctx.screen
        .table(&["PID", "TASK", "AGENT", "AGE", "LAST OUTPUT", "CPU", "RSS", "TREE", "WAITS FOR"], &rows)?;
    Ok(Code::Ok)
}

fn row(child: &ChildStatus, now: Timestamp) -> Vec<String> {
    let last =
        child.last_output.map_or_else(|| "-".to_owned(), |then| format!("{} ago", clock::ago(then, now)));
    vec![
        child.pid.to_string(),
        child.task.clone(),
        child.agent.clone(),
        clock::ago(child.since, now),
        last,
        format!("{}.{} s", child.cpu_ms / 1000, child.cpu_ms % 1000 / 100),
        clock::size(child.rss),
        child.processes.to_string(),
        child.waits_for.clone(),
    ]
}
