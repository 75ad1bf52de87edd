//! `a2ad task show`.

use super::super::{
    Context, clock,
    exit::Code,
    target,
    terminal::{Style, escaped, one_line},
};
use crate::model::{Content, Message, Part, Role, Task, Timestamp, ops::Waiting};

/// Show a task: what was said, what it made, and what it waits for
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    one: super::One,
}

pub(super) async fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let (peer, id) = arguments.one.find(&target).await?;
    let task = peer.task(&id, None).await?;
    // An operator's call: others see the task without it.
    let waiting: Option<Waiting> =
        super::super::get(&target, &format!("tasks/{}", super::super::segment(id.as_str()))).await.ok();
    if ctx.screen.json {
        ctx.screen
            .json(&Shown { task: &task, waiting_for: waiting.as_ref().map(|waiting| &waiting.lines[..]) })?;
        return Ok(Code::Ok);
    }
    for line in lines(&task, Timestamp::now()) {
        ctx.screen.answer(&format!("{line}\n"))?;
    }
    if let Some(waiting) = waiting.filter(|waiting| !waiting.lines.is_empty()) {
        ctx.screen.line(&ctx.screen.paint(Style::Bold, "Waiting for"))?;
        for line in waiting.lines {
            ctx.screen.line(&format!("  {}", one_line(&line)))?;
        }
    }
    Ok(Code::Ok)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    task: &'a Task,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<&'a [String]>,
}

fn lines(task: &Task, now: Timestamp) -> Vec<String> {
    let since = task.status.timestamp.map(|then| format!(" for {} ({then})", clock::ago(then, now)));
    let mut lines = vec![
        format!("Task     {}", task.id),
        format!("Context  {}", task.context_id.as_ref().map_or("-", |context| context.as_str())),
        format!("State    {}{}", task.status.state.word(), since.unwrap_or_default()),
    ];
    for message in &task.history {
        lines.push(said(message));
    }
    for artifact in &task.artifacts {
        let name = artifact.name.as_deref().unwrap_or(artifact.artifact_id.as_str());
        let text: String = artifact.parts.iter().map(piece).collect();
        lines.push(format!("Artifact {name}\n{}", indented(&text)));
    }
    if let Some(message) = &task.status.message {
        lines.push(said(message));
    }
    for (key, value) in task.metadata.iter().flat_map(|metadata| metadata.iter()) {
        lines.push(format!("{key}: {}", value.get()));
    }
    lines
}

fn said(message: &Message) -> String {
    let who = match message.role {
        Role::User => "User",
        Role::Agent => "Agent",
    };
    let text: Vec<String> = message.parts.iter().map(piece).collect();
    format!("{who}\n{}", indented(&text.join("\n")))
}

fn piece(part: &Part) -> String {
    let name = part.filename.as_deref().unwrap_or("file");
    match &part.content {
        Content::Text(text) => text.clone(),
        Content::Data(json) => json.get().to_owned(),
        Content::Raw(bytes) => format!("[{name}, {}]", clock::size(bytes.len() as u64)),
        Content::Url(url) => format!("[{name}, {url}]"),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = escaped(text.trim_end()).lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
