//! `a2ad init`: writes a commented configuration.

use std::io;

use super::{
    Context,
    exit::{Code, Failure},
};
use crate::config::{Paths, init};

/// Write a commented a2ad.toml; never overwrites one
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The system's (/etc/a2ad) instead of the user's
    #[arg(long)]
    system: bool,
    /// Make a new identity for a cloned machine; this version has none, and says so
    #[arg(long)]
    new_identity: bool,
}

pub(super) fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    if arguments.new_identity {
        return Err(Failure::usage(
            "nodes have no key of their own in this version: leave --new-identity out",
        ));
    }
    let paths = if arguments.system && ctx.flags.config.is_none() {
        Paths::system(ctx.flags.name.as_deref(), &ctx.around)
    } else {
        Paths::of(&ctx.flags, &ctx.around)?
    };
    let file = paths.config.display();
    init::write(&paths).map_err(|error| {
        let text = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{file} exists and stays as it is; edit it, or move it away")
            }
            io::ErrorKind::PermissionDenied => {
                format!("{file} can't be written by this user; run as root, or give --config FILE")
            }
            _ => format!("{file} can't be written: {error}"),
        };
        Failure::of(Code::CannotCreate, text)
    })?;
    if ctx.screen.json {
        ctx.screen.json(&serde_json::json!({"path": paths.config}))?;
    } else {
        ctx.screen.answer(&format!("{file}\n"))?;
        ctx.screen.note("edit it, then `a2ad check` and `a2ad serve`");
    }
    Ok(Code::Ok)
}
