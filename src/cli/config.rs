//! `a2ad config`: what is in force, and where it comes from.

use super::{
    Context,
    exit::{Code, Failure},
};
use crate::config::{Config, Look, Paths, Shown};

/// Show the values in force and where each comes from
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Show values with their origin: default, FILE:LINE, env NAME or a flag; secrets as ***
    Show {
        /// A key or a table, as limits.body or agents.claude
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },
    /// Print where the configuration file is, or would be
    Path,
}

pub(super) fn run(ctx: &Context, command: &Command) -> anyhow::Result<Code> {
    match command {
        Command::Show { key } => show(ctx, key.as_deref()),
        Command::Path => {
            let paths = Paths::of(&ctx.flags, &ctx.around)?;
            if ctx.screen.json {
                ctx.screen.json(&serde_json::json!({"config": paths.config, "state": paths.state}))?;
            } else {
                ctx.screen.answer(&format!("{}\n", paths.config.display()))?;
            }
            Ok(Code::Ok)
        }
    }
}

fn show(ctx: &Context, key: Option<&str>) -> anyhow::Result<Code> {
    let config = Config::load(&ctx.flags, &ctx.around, Look::File)?;
    for Shown { key, value, origin, restart } in
        config.show(key).map_err(|fault| Failure::usage(fault.to_string()))?
    {
        if ctx.screen.json {
            let origin = origin.to_string();
            ctx.screen.json(
                &serde_json::json!({"key": key, "value": value, "origin": origin, "restart": restart}),
            )?;
        } else {
            let note = if restart { " (restart needed)" } else { "" };
            ctx.screen.answer(&format!("{key} = {value}  # {origin}{note}\n"))?;
        }
    }
    Ok(Code::Ok)
}
