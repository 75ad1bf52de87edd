//! `a2ad check`: whether the configuration is one.

use super::{
    Context,
    exit::{Code, Failure},
};
use crate::config::{Config, Look};
use crate::daemon::offline;
use crate::model::ops::Level;

/// Check the configuration: every fault with file, line and a hint
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Also look at this machine: workspaces, programs, ports
    #[arg(long)]
    live: bool,
}

pub(super) fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let look = if arguments.live { Look::Machine } else { Look::File };
    let config = Config::load(&ctx.flags, &ctx.around, look)?;
    let mut warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    if arguments.live {
        // A node that runs has its port, so that is no fault.
        let taken = offline::ports(&config).into_iter().filter(|finding| finding.level != Level::Ok);
        warnings.extend(taken.map(|finding| finding.text));
        let missing = offline::programs(&config).into_iter().filter(|finding| finding.level == Level::Fail);
        let missing: Vec<String> =
            missing.map(|finding| format!("{}: {}", finding.what, finding.text)).collect();
        if !missing.is_empty() {
            return Err(Failure::of(Code::Config, missing.join("\n")));
        }
    }
    if ctx.screen.json {
        ctx.screen.json(&serde_json::json!({"config": config.paths.config, "warnings": warnings}))?;
        return Ok(Code::Ok);
    }
    for warning in &warnings {
        ctx.screen.error(&format!("warning: {warning}"));
    }
    ctx.screen.note(&format!("{}: no fault", config.paths.file()));
    Ok(Code::Ok)
}
