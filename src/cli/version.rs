//! `a2ad version`, and `--version`: which program this is (O-85).

use super::{exit::Code, terminal::Screen};
use crate::{daemon::offline, wire::Version};

/// Print the version; with --json also commit, features, schema and protocols
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

#[derive(serde::Serialize)]
struct About {
    version: &'static str,
    /// `unknown` where the sources had no history, or were built for work on them.
    commit: &'static str,
    /// The runtimes that it has.
    features: Vec<&'static str>,
    /// Of the store that it writes.
    schema: usize,
    protocols: [&'static str; 2],
    os: &'static str,
    arch: &'static str,
}

pub(super) fn run(screen: Screen) -> anyhow::Result<Code> {
    let version = env!("CARGO_PKG_VERSION");
    if !screen.json {
        screen.line(&format!("a2ad {version}"))?;
        return Ok(Code::Ok);
    }
    let (schema, features) = offline::made_of();
    screen.json(&About {
        version,
        commit: env!("NODE_COMMIT"),
        features,
        schema,
        protocols: Version::ALL.map(Version::as_str),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
    })?;
    Ok(Code::Ok)
}
