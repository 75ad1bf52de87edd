//! `a2ad reload`: the configuration is read again.

use super::{
    Context,
    exit::{Code, Failure},
    target,
};
use crate::model::ops::Reloaded;

/// Read the configuration again; says what changed and what waits for a restart
///
/// A faulty file changes nothing and ends with exit code 78. A running turn keeps the agent it began with.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) async fn run(ctx: &Context) -> anyhow::Result<Code> {
    let reloaded = reload(&target::find(ctx)?).await?;
    if ctx.screen.json {
        ctx.screen.json(&reloaded)?;
        return Ok(Code::Ok);
    }
    say(ctx, &reloaded)?;
    Ok(Code::Ok)
}

/// Asks for it. A faulty configuration is a matter of the configuration, not of the call.
pub(super) async fn reload(target: &target::Target) -> anyhow::Result<Reloaded> {
    let asked = target.http.ops(reqwest::Method::POST, "reload", super::NOTHING, super::PATIENCE).await;
    asked.map_err(|error| match error.refusal() {
        Some(refusal) if refusal.status == 400 => Failure::of(Code::Config, refusal.message.clone()),
        _ => error.into(),
    })
}

/// What changed, a line each.
pub(super) fn say(ctx: &Context, reloaded: &Reloaded) -> std::io::Result<()> {
    for key in &reloaded.changed {
        ctx.screen.answer(&format!("changed          {key}\n"))?;
    }
    for key in &reloaded.restart {
        ctx.screen.answer(&format!("needs a restart  {key}\n"))?;
    }
    if reloaded.changed.is_empty() && reloaded.restart.is_empty() {
        ctx.screen.note("nothing has changed");
    }
    for warning in &reloaded.warnings {
        ctx.screen.note(&format!("warning: {warning}"));
    }
    Ok(())
}
