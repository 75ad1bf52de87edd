//! The processes of this machine that bear the mark of a test.
#![expect(clippy::disallowed_methods, reason = "reads /proc")]

use std::{collections::BTreeSet, fs};

use crate::agents::MARK;

/// A process, told apart from a later one of the same number by its start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    id: u32,
    start: String,
    name: String,
}

/// Every process whose environment holds the mark. One that is dying has no environment any more.
pub(crate) fn marked(mark: &str) -> BTreeSet<Process> {
    let mark = format!("{MARK}={mark}\0").into_bytes();
    let ids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| has(*id, &mark)).filter_map(look).collect()
}

fn has(id: u32, mark: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    environment.windows(mark.len()).any(|window| window == mark)
}

fn look(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // Field 22 of stat; these begin with field 3.
    Some(Process { id, start: (*fields.get(19)?).to_owned(), name: name.to_owned() })
}
