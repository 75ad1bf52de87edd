//! `a2ad health`: a probe for containers and supervisors (O-40).

use std::time::Duration;

use super::{
    Context,
    exit::{Code, Failure},
    target,
};

/// Whether the node is alive, for container probes: exit code 0, or 69
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Whether it also takes new work: not while it starts or drains, or when its store can't write
    #[arg(long)]
    ready: bool,
}

/// A probe is repeated soon, so it does not wait long.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let path = if arguments.ready { "/readyz" } else { "/healthz" };
    let status = target.http.probe(path, PATIENCE).await?;
    if ctx.screen.json {
        ctx.screen.json(&serde_json::json!({"ok": status == 200, "status": status}))?;
    }
    if status == 200 {
        return Ok(Code::Ok);
    }
    Err(Failure::of(Code::Unreachable, format!("{}{path} says {status}", target.http.address())))
}
