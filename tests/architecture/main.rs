//! The shape of the code: which part may use which, where state of a task is read, how large files grow, and that
//! every page which is named is there.
//!
//! `ARCHITECTURE.md` explains the rules; a failure here names the line and the rule that it breaks.
#![expect(clippy::disallowed_methods, reason = "reads the tree that it judges")]

mod imports;
mod tree;

use imports::{code, paths};
use tree::{File, lines_of, sources, texts};

/// A part of the crate, what it may import from the crate, and what that keeps true.
struct Row {
    part: &'static str,
    may: &'static [&'static str],
    why: &'static str,
}

const fn row(part: &'static str, may: &'static [&'static str], why: &'static str) -> Row {
    Row { part, may, why }
}

/// The import table. A word with a `::` lets in that much of a part and no more: a part's `config` is plain data.
const TABLE: &[Row] = &[
    row("model", &[], "everybody calls it, it calls nobody"),
    row("lifecycle", &["model"], "decides without I/O and without a clock"),
    row("wire", &["model"], "pure codecs: no socket, no task"),
    row("store", &["model", "lifecycle"], "keeps facts, and knows no rule of a task and no caller"),
    row("peer", &["model", "wire"], "calls another node, and knows nothing of this one"),
    row("runtime", &["model"], "does the work, and never sees the store or a caller"),
    row(
        "node",
        &["model", "lifecycle", "store", "runtime"],
        "never sees a socket, a dialect or a caller's JSON",
    ),
    row(
        "doors",
        &["model", "wire", "node", "runtime::config"],
        "never see the store or a child: all goes through `node`, and cards are made of an agent's configuration",
    ),
    row(
        "config",
        &["model", "doors::config", "node::config", "runtime::config", "store::config"],
        "makes each part's own configuration and starts none of them",
    ),
    row(
        "daemon",
        &["model", "lifecycle", "wire", "store", "peer", "runtime", "node", "doors", "config"],
        "builds everything, and is used by the command line alone",
    ),
    row(
        "cli",
        &["model", "wire", "peer", "config", "doors::config", "daemon"],
        "asks a node as any client does",
    ),
];

/// Crates that one part answers for, and the files or folders where they may be named.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("rusqlite", &["store/"]),
    ("hyper", &["doors/"]),
    ("hyper_util", &["doors/"]),
    ("jsonrpsee_types", &["doors/", "wire/"]),
    ("reqwest", &["peer/", "cli/"]),
    ("clap", &["cli/"]),
    ("anyhow", &["cli/"]),
    ("directories", &["config/"]),
    ("process_wrap", &["runtime/child/"]),
    ("libc", &["runtime/child/"]),
];

/// Words that stand nowhere in a part that is pure, its tests apart.
const IMPURE: &[&str] = &[
    "tokio::",
    "async ",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
];

/// Where a task's owner is read besides `store/` and `node/access.rs`, and why that decides nothing.
const OWNER_READ: &[(&str, &str)] = &[
    ("node/actor/mod.rs", "sessions are found by principal; a program is told who asked"),
    ("node/actor/report.rs", "sessions are kept for a principal"),
    ("node/book.rs", "the log says whose turn ended"),
    ("node/mod.rs", "turns are shared out between principals"),
    ("node/principals.rs", "a revoked principal's own tasks end with it"),
    ("node/tasks.rs", "a context is deleted principal by principal, after `may` has said so"),
];

#[test]
fn every_part_imports_only_what_its_row_allows() {
    let mut broken = Vec::new();
    for file in sources() {
        let Some(row) = TABLE.iter().find(|row| row.part == file.part()) else {
            let known = ["lib.rs", "main.rs"].contains(&file.name.as_str());
            assert!(known, "src/{} belongs to no row of the import table", file.name);
            continue;
        };
        broken.extend(faults(row, &file));
    }
    assert!(broken.is_empty(), "the import table is broken:\n{}", broken.join("\n"));
}

fn faults(row: &Row, file: &File) -> Vec<String> {
    let allowed = |path: &str| {
        let within = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        within(row.part) || row.may.iter().copied().any(within)
    };
    paths(&code(&file.text))
        .into_iter()
        .filter(|(_, path)| !allowed(path))
        .map(|(line, path)| {
            let may = if row.may.is_empty() { "nothing".to_owned() } else { row.may.join(", ") };
            format!("src/{}:{line}: crate::{path}\n    {} may import {may}: {}", file.name, row.part, row.why)
        })
        .collect()
}

#[test]
fn every_part_of_the_table_is_there() {
    let files = sources();
    for row in TABLE {
        let page = format!("{}/mod.rs", row.part);
        assert!(
            files.iter().any(|file| file.name == page),
            "the table has a row for `{}`, and there is no src/{page}",
            row.part
        );
    }
}

#[test]
fn crates_are_named_only_by_the_part_that_answers_for_them() {
    let mut broken = Vec::new();
    for file in sources().iter().filter(|file| file.name != "main.rs") {
        let code = code(&file.text);
        for (name, places) in OUTSIDE {
            if places.iter().any(|place| file.name.starts_with(place)) {
                continue;
            }
            for line in lines_of(&code, |line| names(line, name)) {
                broken.push(format!("src/{}:{line}: {name} is for {} only", file.name, places.join(", ")));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Whether a line names a crate, and not a word that ends like it.
fn names(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        line[at + name.len()..].starts_with("::")
            && !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

/// A file without its tests, which stand last.
fn untested(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[test]
fn model_lifecycle_and_wire_are_pure() {
    let mut broken = Vec::new();
    for file in sources()
        .iter()
        .filter(|file| ["model", "lifecycle", "wire"].contains(&file.part()) && !file.is_test())
    {
        let code = code(untested(&file.text));
        for word in IMPURE {
            let reads_the_clock = file.name == "model/timestamp.rs" && *word == "SystemTime";
            for line in lines_of(&code, |line| line.contains(word)).into_iter().filter(|_| !reads_the_clock) {
                broken.push(format!("src/{}:{line}: `{}` in a part that is pure", file.name, word.trim()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn who_owns_a_task_is_read_in_the_store_and_in_access() {
    let reads = |file: &File| {
        let code = code(&file.text);
        lines_of(&code, |line| [".scope", ".requester"].iter().any(|field| reads_field(line, field)))
    };
    let rows = |file: &File| {
        ["node", "daemon"].contains(&file.part()) && !file.is_test() && file.name != "node/access.rs"
    };
    let mut broken = Vec::new();
    let mut unused: Vec<&str> = OWNER_READ.iter().map(|(name, _)| *name).collect();
    for file in sources().iter().filter(|file| rows(file)) {
        let lines = reads(file);
        if let Some((name, _)) = OWNER_READ.iter().find(|(name, _)| *name == file.name) {
            unused.retain(|other| other != name || lines.is_empty());
            continue;
        }
        broken.extend(
            lines.iter().map(|line| format!("src/{}:{line}: ask `may` of node/access.rs", file.name)),
        );
    }
    assert!(broken.is_empty(), "who may do what is decided in one place:\n{}", broken.join("\n"));
    assert!(unused.is_empty(), "these read no owner any more, take them out of the list: {unused:?}");
}

/// Whether a line reads a field: the word ends there, and it is no call.
fn reads_field(line: &str, field: &str) -> bool {
    line.match_indices(field).any(|(at, _)| {
        !line[at + field.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '(')
    })
}

#[test]
fn files_are_short() {
    const MOST: usize = 600;
    let files = sources();
    let mut sizes: Vec<(usize, &str)> =
        files.iter().map(|file| (file.text.lines().count(), file.name.as_str())).collect();
    sizes.sort_unstable();
    let at = |percent: usize| sizes[(sizes.len() - 1) * percent / 100].0;
    println!(
        "{} files of Rust: median {} lines, p90 {}, longest {:?}",
        sizes.len(),
        at(50),
        at(90),
        sizes.last()
    );
    let long: Vec<_> = sizes.iter().filter(|(lines, _)| *lines > MOST).collect();
    assert!(long.is_empty(), "over {MOST} lines, to be split by what they do: {long:?}");
}

#[test]
fn every_file_opens_with_a_page() {
    let without: Vec<String> = sources()
        .into_iter()
        .filter(|file| !file.is_test() && !file.text.starts_with("//! "))
        .map(|file| file.name)
        .collect();
    assert!(without.is_empty(), "say in `//!` what it is, who calls it, what it never does: {without:?}");
}

#[test]
fn no_module_is_named_for_nothing() {
    const EMPTY: &[&str] = &["common", "helper", "helpers", "manager", "misc", "util", "utils"];
    let named: Vec<String> = sources()
        .into_iter()
        .map(|file| file.name)
        .filter(|name| name.split(['/', '.']).any(|word| EMPTY.contains(&word)))
        .collect();
    assert!(named.is_empty(), "name them for what they do: {named:?}");
}

#[test]
fn every_page_that_is_named_is_there() {
    let mut broken = Vec::new();
    for file in texts() {
        for (line, page) in tree::pages_named(&file) {
            if !tree::exists(&file.name, &page) {
                broken.push(format!("{}:{line}: {page}", file.name));
            }
        }
    }
    assert!(broken.is_empty(), "named, and not there:\n{}", broken.join("\n"));
}

#[test]
fn sample_agents_stand_in_the_guide_as_they_are() {
    let page = |file: &File| file.name == "docs/jsonl.md";
    let files = texts();
    let page = files.iter().find(|file| page(file)).unwrap();
    let samples: Vec<&File> = files.iter().filter(|file| file.name.starts_with("docs/examples/")).collect();
    assert!(samples.len() >= 3, "where are the sample agents of the guide?");
    for sample in samples {
        let shown = format!("\n{}```\n", sample.text);
        assert!(page.text.contains(&shown), "docs/jsonl.md shows another {}", sample.name);
    }
}

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    let doors = TABLE.iter().find(|row| row.part == "doors").unwrap();
    let text = "use crate::{\n    model::{Task, Fault},\n    store::{self as s, Store},\n};\n\
        fn f() { crate::lifecycle::turn() }\n// crate::peer\nconst S: &str = \"crate::cli\";\npub(in crate::doors) fn g() {}\n";
    let file = File { name: "doors/x.rs".into(), text: text.into() };
    let found = faults(doors, &file).join("\n");
    assert_eq!(found.matches("crate::").count(), 3, "{found}");
    for place in
        ["x.rs:3: crate::store::self", "x.rs:3: crate::store::Store", "x.rs:5: crate::lifecycle::turn"]
    {
        assert!(found.contains(place), "{place} is not in\n{found}");
    }
    assert!(found.contains("doors may import model, wire, node"));
}
