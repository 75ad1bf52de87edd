//! `a2ad context`: conversations.

use super::{Context, clock, exit::Code, target};

/// Delete a conversation
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Delete a conversation with all of its tasks; the agent's program is asked to forget its session
    #[command(visible_alias = "rm")]
    Delete {
        /// The conversation
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Deleted {
    tasks: u64,
}

pub(super) async fn run(ctx: &Context, command: Command) -> anyhow::Result<Code> {
    let Command::Delete { id } = command;
    let target = target::find(ctx)?;
    let path = format!("contexts/{}", super::segment(&id));
    let deleted: Deleted =
        target.http.ops(reqwest::Method::DELETE, &path, super::NOTHING, super::PATIENCE).await?;
    if ctx.screen.json {
        ctx.screen.json(&deleted)?;
    } else {
        ctx.screen.note(&format!("context {id} is deleted, with {}", clock::count(deleted.tasks, "task")));
    }
    Ok(Code::Ok)
}
