//! Agent programs on PATH, for a node without `[agents]`.
//!
//! Only whole paths of PATH are looked at, and none inside the workspace: a repository must not bring the
//! program that is started in it (O-27).

use std::path::{Path, PathBuf};

use crate::runtime::config::RuntimeKind;

/// The programs that are looked for, in the order of the default agent (O-68).
pub(super) const PROGRAMS: &[&str] = &["claude", "codex", "gemini", "opencode"];

/// An agent program of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name, as `claude`.
    pub name: &'static str,
    /// Where it lies.
    pub program: PathBuf,
    /// This version can run it; else the banner says that it was found and is not supported yet.
    pub served: bool,
}

/// Looks for them on `path`, the value of PATH.
pub(super) fn discover(path: &str, workspace: &Path) -> Vec<Found> {
    let found = |name: &&'static str| {
        let program = find(name, path, workspace)?;
        Some(Found { name, program, served: RuntimeKind::ALL.iter().any(|kind| kind.as_str() == *name) })
    };
    PROGRAMS.iter().filter_map(found).collect()
}

fn find(name: &str, path: &str, workspace: &Path) -> Option<PathBuf> {
    let workspace = real(workspace);
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute() && !real(dir).starts_with(&workspace))
        .flat_map(|dir| endings().iter().map(move |ending| dir.join(format!("{name}{ending}"))))
        .find(|file| is_program(file))
}

/// The place itself, links followed: a link to the workspace is the workspace.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

const fn endings() -> &'static [&'static str] {
    if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "makes the programs to be found")]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(dir: &Path, name: &str, mode: u32) {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join(name), "").unwrap();
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_are_found_in_whole_paths_outside_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        program(&at("work/bin"), "claude", 0o755);
        program(&at("plain"), "claude", 0o644);
        program(&at("bin"), "claude", 0o755);
        program(&at("bin"), "codex", 0o755);
        let path = std::env::join_paths([
            PathBuf::new(),
            PathBuf::from("."),
            PathBuf::from("node_modules/.bin"),
            at("work/bin"),
            at("plain"),
            at("bin"),
        ]);
        let found = discover(path.unwrap().to_str().unwrap(), &at("work"));
        let names: Vec<_> = found.iter().map(|found| (found.name, found.served)).collect();
        assert_eq!(names, [("claude", true), ("codex", false)]);
        assert_eq!(found[0].program, at("bin/claude"));
    }
}
