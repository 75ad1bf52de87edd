//! Which commit a program says that it was built from.
#![expect(clippy::disallowed_methods, reason = "lays out checkouts of its own")]

use std::path::Path;

use crate::support::home::Home;

#[path = "../../build.rs"]
#[expect(dead_code, reason = "what cargo runs; here its parts are tried")]
mod build;

const COMMIT: &str = "94a9ac6f0c0ffee0c0ffee0c0ffee0c0ffee0c0f";

fn lay(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn commit(files: &[(&str, &str)], below: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path(), files);
    build::head(&dir.path().join(below)).commit
}

#[test]
fn the_commit_is_read_from_a_checkout_without_git() {
    let line = format!("{COMMIT}\n");
    let packed = format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n^{COMMIT}\n");
    let branch = ("sources/.git/HEAD", "ref: refs/heads/main\n");
    let found = Some(COMMIT.to_owned());
    assert_eq!(commit(&[branch, ("sources/.git/refs/heads/main", &line)], "sources"), found);
    assert_eq!(commit(&[branch, ("sources/.git/packed-refs", &packed)], "sources"), found);
    assert_eq!(commit(&[("sources/.git/HEAD", &line)], "sources"), found, "a detached one");
    let worktree = [
        ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
        ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n"),
        ("main/.git/worktrees/tree/commondir", "../..\n"),
        ("main/.git/refs/heads/side", &line),
    ];
    assert_eq!(commit(&worktree, "tree"), found);
}

#[test]
fn sources_without_history_have_no_commit() {
    assert_eq!(commit(&[("sources/x", "")], "sources"), None);
    assert_eq!(commit(&[("sources/.git/HEAD", "ref: refs/heads/new\n")], "sources"), None);
    assert_eq!(commit(&[("sources/.git/HEAD", "nonsense\n")], "sources"), None);
    assert_eq!(commit(&[("sources/.git", "gitdir: gone\n")], "sources"), None);
}

#[test]
fn the_version_says_all_that_a_report_needs() {
    let home = Home::new();
    assert_eq!(home.run(&["--version"]).ok(), concat!("a2ad ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(home.run(&["version"]).ok(), concat!("a2ad ", env!("CARGO_PKG_VERSION"), "\n"));
    for args in [&["--version", "--json"][..], &["version", "--json"]] {
        let about: serde_json::Value = serde_json::from_str(&home.run(args).ok()).unwrap();
        assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
        let commit = about["commit"].as_str().unwrap();
        let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(
            is_commit || commit == "unknown" || option_env!("A2AD_BUILD_COMMIT") == Some(commit),
            "{commit}"
        );
        assert_eq!(about["schema"], 1, "the number of scripts in src/store/schema");
        assert_eq!(about["features"], serde_json::json!(["claude", "exec", "jsonl", "echo"]));
        assert!(about["protocols"].is_array() && about["os"].is_string() && about["arch"].is_string());
    }
}
