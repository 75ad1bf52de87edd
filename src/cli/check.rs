//! `a2ad check`: whether the configuration is one.

use super::{Context, exit::Code};
use crate::config::{Config, Look};
use crate::doors::config::Listen;

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
        warnings.extend(config.doors.listen.iter().filter_map(taken));
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

/// Whether a port can't be had. A node that runs has it, so it is no fault.
pub(super) fn taken(listen: &Listen) -> Option<String> {
    match listen {
        Listen::Tcp { addr, optional: false } => std::net::TcpListener::bind(addr)
            .err()
            .map(|error| format!("{addr} can't be listened on now: {error}; is a node running there?")),
        Listen::Tcp { optional: true, .. } | Listen::Unix { .. } => None,
    }
}
