//! `a2ad task`: look at tasks, follow them, end them, take what they made.

mod artifacts;
mod list;
mod show;

use super::{Context, exit::Code, target, watch};
use crate::model::{Seq, TaskId};

/// List, show, watch, cancel and delete tasks, and save what they made
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    /// Follow a task until it ends; reconnects by itself
    Watch(Watch),
    /// Cancel a task and wait until nothing of it is left
    Cancel(One),
    Artifacts(artifacts::Arguments),
    /// Delete a task that has ended, with all it made
    #[command(visible_alias = "rm")]
    Delete(Id),
}

/// A task, and the agent that has it.
#[derive(Debug, clap::Args)]
pub(super) struct One {
    /// The task
    #[arg(value_name = "ID")]
    id: String,
    /// The agent that has it; without it they are asked one after another
    #[arg(short, long, value_name = "AGENT")]
    agent: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Id {
    /// The task
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct Watch {
    #[command(flatten)]
    one: One,
    /// Begin after this event: a number that `--json` or the `id:` of a stream has told
    #[arg(long, value_name = "SEQ")]
    from: Option<Seq>,
}

pub(super) async fn run(ctx: &Context, command: Command) -> anyhow::Result<Code> {
    match command {
        Command::List(arguments) => list::run(ctx, &arguments).await,
        Command::Show(arguments) => show::run(ctx, &arguments).await,
        Command::Watch(Watch { one, from }) => {
            let (peer, id) = one.find(&target::find(ctx)?).await?;
            watch::task(ctx.screen, &peer, id, from).await
        }
        Command::Cancel(one) => cancel(ctx, &one).await,
        Command::Artifacts(arguments) => artifacts::run(ctx, &arguments).await,
        Command::Delete(Id { id }) => delete(ctx, &id).await,
    }
}

impl One {
    /// The agent that has the task.
    async fn find(&self, target: &target::Target) -> anyhow::Result<(crate::peer::Peer, TaskId)> {
        let id = TaskId::from(self.id.as_str());
        Ok((target.peer_of_task(&id, self.agent.as_deref()).await?, id))
    }
}

async fn cancel(ctx: &Context, one: &One) -> anyhow::Result<Code> {
    let (peer, id) = one.find(&target::find(ctx)?).await?;
    let task = peer.cancel(&id).await?;
    if ctx.screen.json {
        ctx.screen.json(&task)?;
    } else {
        ctx.screen.note(&format!("task {id}: {}", task.status.state.word()));
    }
    Ok(Code::Ok)
}

async fn delete(ctx: &Context, id: &str) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let path = format!("tasks/{}", super::segment(id));
    target
        .http
        .ops::<serde_json::Value>(reqwest::Method::DELETE, &path, super::NOTHING, super::PATIENCE)
        .await?;
    ctx.screen.note(&format!("task {id} is deleted"));
    Ok(Code::Ok)
}
