//! The load program: what the promises of speed and memory are measured with.
//!
//! `cargo bench --profile dist --bench load [-- SECTION... --runs N --seconds N --binary FILE --dir DIR]` starts the
//! node beside its peers, each in a process of its own, one at a time and in turns, and prints Markdown. It fails when
//! an answer is wrong, never because one is slow.

mod agent;
mod client;
mod figures;
mod fill;
mod idle;
mod lists;
mod node;
mod peers;
mod process;
mod rates;
mod starts;
mod streams;

use std::path::PathBuf;

use anyhow::{Result, bail};

/// What is to be measured, and how.
pub(crate) struct Plan {
    /// Measurements of each kind.
    pub(crate) runs: usize,
    /// Seconds of a measured load.
    pub(crate) seconds: u64,
    /// The node.
    pub(crate) binary: PathBuf,
    /// Where states lie; should be a disk.
    pub(crate) dir: PathBuf,
}

const SECTIONS: [&str; 5] = ["rates", "lists", "streams", "idle", "starts"];

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut sections = Vec::new();
    let mut plan = Plan {
        runs: 5,
        seconds: 5,
        binary: env!("CARGO_BIN_EXE_a2ad").into(),
        dir: concat!(env!("CARGO_TARGET_TMPDIR"), "/load").into(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        match &*word {
            // This program is also what it measures against, and the agent that the node runs.
            "peer-sdk" => return peers::sdk(),
            "peer-bare" => return peers::bare(value()?.parse()?),
            "agent" => return agent::run(),
            "--runs" => plan.runs = value()?.parse()?,
            "--seconds" => plan.seconds = value()?.parse()?,
            "--binary" => plan.binary = value()?.into(),
            "--dir" => plan.dir = value()?.into(),
            section if SECTIONS.contains(&section) => sections.push(word),
            _ => bail!("no such word: {word}; the sections are {}", SECTIONS.join(", ")),
        }
    }
    if sections.is_empty() {
        sections = SECTIONS.map(str::to_owned).into();
    }
    run(&plan, &sections)
}

fn run(plan: &Plan, sections: &[String]) -> Result<()> {
    println!("The node's configuration:\n\n```toml\n{}```\n", node::config(7878, "strict", "load".as_ref()));
    figures::machine(plan)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for section in sections {
        runtime.block_on(async {
            match &**section {
                "rates" => rates::measure(plan).await,
                "lists" => lists::measure(plan).await,
                "streams" => streams::measure(plan).await,
                "idle" => idle::measure(plan).await,
                _ => starts::measure(plan).await,
            }
        })?;
    }
    Ok(())
}
