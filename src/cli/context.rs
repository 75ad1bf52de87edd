//! `a2ad context`: conversations.

use super::{
    Context, clock,
    exit::{Code, Failure},
    target,
};

/// Delete a conversation
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Delete a conversation with all of its tasks, and where its agent was in it
    ///
    /// Transcripts that the agent's program keeps in a home directory of its own stay there.
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
    let asked = target.http.ops(reqwest::Method::DELETE, &path, super::NOTHING, super::PATIENCE).await;
    // As a task that is unknown; another 404 would be a node without the call.
    let deleted: Deleted = asked.map_err(|error| match error.refusal() {
        Some(refusal) if refusal.status == 404 => Failure::of(Code::Failed, refusal.message.clone()),
        _ => anyhow::Error::new(error),
    })?;
    if ctx.screen.json {
        ctx.screen.json(&deleted)?;
    } else {
        ctx.screen.note(&format!("context {id} is deleted, with {}", clock::count(deleted.tasks, "task")));
    }
    Ok(Code::Ok)
}
