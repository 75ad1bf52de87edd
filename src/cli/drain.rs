//! `a2ad drain`: running turns end by themselves, new ones wait (O-38).

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::{
    Context, clock,
    exit::{Code, Failure},
    target,
};
use crate::model::ops::Drain;

/// Let running turns end and keep new ones queued, as before a restart
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Wait until nothing runs, at most this long (0: for ever); exit code 75 at the limit
    #[arg(long, value_name = "DURATION", value_parser = clock::duration, conflicts_with = "off")]
    wait: Option<Duration>,
    /// End the drain: queued turns start again
    #[arg(long)]
    off: bool,
}

#[derive(Serialize)]
struct Order {
    on: bool,
}

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let order = Order { on: !arguments.off };
    let mut drain: Drain =
        target.http.ops(reqwest::Method::POST, "drain", Some(&order), super::PATIENCE).await?;
    if let Some(wait) = arguments.wait {
        let deadline = (!wait.is_zero()).then(|| Instant::now() + wait);
        while drain.running > 0 {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Failure::of(
                    Code::Busy,
                    format!(
                        "not over: {}; the drain goes on",
                        clock::count(drain.running as u64, "running turn")
                    ),
                ));
            }
            tokio::time::sleep(LOOK).await;
            drain = super::get(&target, "drain").await?;
        }
    }
    if ctx.screen.json {
        ctx.screen.json(&drain)?;
    } else {
        let state = if drain.draining { "draining" } else { "not draining" };
        ctx.screen.answer(&format!("{state}: {} running, {} queued\n", drain.running, drain.queued))?;
    }
    Ok(Code::Ok)
}
