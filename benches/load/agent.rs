//! The agent `chunks`: works until it is told to go, then prints ten thousand pieces of one artifact and is done.

use std::io::{BufRead, Write};

use anyhow::Result;

/// Pieces of its artifact.
pub(crate) const CHUNKS: usize = 10_000;

pub(crate) fn run() -> Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let working = r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}"#;
    for line in std::io::stdin().lock().lines() {
        if !line?.contains(r#""text":"go""#) {
            writeln!(out, "{working}")?;
            out.flush()?;
            continue;
        }
        for n in 0..CHUNKS {
            writeln!(
                out,
                r#"{{"artifactUpdate":{{"append":{},"artifact":{{"artifactId":"a","parts":[{{"text":"{n};"}}]}}}}}}"#,
                n > 0
            )?;
        }
        writeln!(out, r#"{{"statusUpdate":{{"status":{{"state":"TASK_STATE_COMPLETED"}}}}}}"#)?;
        out.flush()?;
    }
    Ok(())
}
