//! Tells the program which commit it was built from, for `a2ad --version --json`.
//!
//! `A2AD_BUILD_COMMIT` says it where sources come without their history. Else it is read from `.git` of the sources, by
//! reading: no build needs git installed. Only builds for use ask: one for work on the sources is of no commit, and would
//! be built anew with every one.
#![allow(clippy::disallowed_methods, reason = "reads the history that the sources lie in")]

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-env-changed=A2AD_BUILD_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let set = std::env::var("A2AD_BUILD_COMMIT").ok().filter(|commit| !commit.trim().is_empty());
    let for_use = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = match set {
        Some(commit) => commit.trim().to_owned(),
        None if for_use => {
            let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
            let head = head(&root);
            for file in &head.read {
                println!("cargo:rerun-if-changed={}", file.display());
            }
            head.commit.unwrap_or_else(|| "unknown".to_owned())
        }
        None => "unknown".to_owned(),
    };
    // Not under A2AD_: `cargo run` hands it on, and the node takes what is under that for a key.
    println!("cargo:rustc-env=NODE_COMMIT={commit}");
}

/// What a checkout stands at.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The commit, in hexadecimal; `None` outside of a checkout.
    pub(crate) commit: Option<String>,
    /// The files that say so.
    pub(crate) read: Vec<PathBuf>,
}

/// The commit of the checkout whose top is `root` (gitrepository-layout(5)).
pub(crate) fn head(root: &Path) -> Head {
    let mut head = Head::default();
    let Some(dir) = git_dir(root) else { return head };
    // A further worktree has its own HEAD, and its branches in the first one's directory.
    let shared = std::fs::read_to_string(dir.join("commondir")).map(|path| dir.join(path.trim_end()));
    let shared = shared.unwrap_or_else(|_| dir.clone());
    let Some(text) = read(&mut head, dir.join("HEAD")) else { return head };
    head.commit = match text.trim().strip_prefix("ref: ") {
        None => Some(text.trim().to_owned()),
        Some(name) => match read(&mut head, shared.join(name)) {
            Some(commit) => Some(commit.trim().to_owned()),
            None => read(&mut head, shared.join("packed-refs")).and_then(|refs| packed(&refs, name)),
        },
    };
    let is_commit =
        |commit: &String| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    head.commit = head.commit.filter(is_commit);
    head
}

/// Reads a file and keeps in mind that it was read.
fn read(head: &mut Head, path: PathBuf) -> Option<String> {
    let text = std::fs::read_to_string(&path).ok()?;
    head.read.push(path);
    Some(text)
}

/// `.git`: a directory, or in a further worktree a file that names one.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let path = root.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = std::fs::read_to_string(&path).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The commit of a name among packed ones, a line each.
fn packed(refs: &str, name: &str) -> Option<String> {
    refs.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' ').map(str::to_owned))
}
