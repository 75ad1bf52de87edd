//! `a2ad serve`: the node in the foreground.

use std::path::PathBuf;

use super::{Context, exit::Code};
use crate::config::Flags;
use crate::daemon;

/// Run the node in the foreground
///
/// Without an agent in the configuration it serves `echo` and, where it finds it on PATH, `claude` over the current
/// directory; other agent programs that it finds are named and come with later versions. Ctrl-C lets running turns end, twice ends now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cd project && a2ad serve\n  \
    a2ad serve --listen 127.0.0.1:9000 --agent echo=echo\n\n\
    Exit codes: 0 stopped, 73 a port or the state can't be had, 78 the configuration is faulty.")]
pub(super) struct Arguments {
    /// Listen here instead of where the configuration says; may be given more than once
    #[arg(long, value_name = "ADDR")]
    listen: Vec<String>,
    /// Where agents work that have no workspace of their own; without it the current directory
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Add an agent, or change its runtime; may be given more than once
    #[arg(long, value_name = "NAME=RUNTIME")]
    agent: Vec<String>,
    /// Allow plain HTTP beyond loopback and unix sockets: only behind a proxy or inside a VPN
    #[arg(long)]
    allow_plaintext: bool,
}

pub(super) async fn run(ctx: Context, arguments: Arguments) -> anyhow::Result<Code> {
    let Arguments { listen, workspace, agent, allow_plaintext } = arguments;
    daemon::run(Flags { listen, workspace, agents: agent, allow_plaintext, ..ctx.flags }).await?;
    Ok(Code::Ok)
}
