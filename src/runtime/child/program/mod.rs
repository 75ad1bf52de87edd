//! Which file a command names (O-27).
//!
//! Called once a turn through [`super::Custody::find`]. It never looks into the workspace or the current directory
//! on its own, so that a cloned repository cannot put its own `claude` before the real one.

#![expect(clippy::disallowed_methods, reason = "looks at program files, which lie outside every workspace")]

use std::path::{Path, PathBuf};

use super::Error;

mod shim;

/// The absolute path of the program that `command` names.
///
/// An absolute path is taken as it is; `./x` and `../x` are seen from `workspace`; a bare name is looked for in the
/// directories of `path` (the form of the variable `PATH`), where empty and relative entries and those in
/// `workspace` or equal to `here` are passed over.
pub(super) fn find(
    command: &str,
    path: &std::ffi::OsStr,
    workspace: &Path,
    here: Option<&Path>,
) -> Result<PathBuf, Error> {
    let written = Path::new(command);
    if command.is_empty() {
        return Err(Error::NotFound {
            command: String::new(),
            searched: "nothing: the command is empty".to_owned(),
        });
    }
    if written.is_absolute() {
        return runnable(written);
    }
    if ["./", "../", ".\\", "..\\"].iter().any(|start| command.starts_with(start) && is_path(start)) {
        return runnable(&workspace.join(written.strip_prefix(".").unwrap_or(written)));
    }
    if is_path(command) {
        return Err(Error::Relative { command: command.to_owned() });
    }
    search(command, path, workspace, here)
}

fn search(
    command: &str,
    path: &std::ffi::OsStr,
    workspace: &Path,
    here: Option<&Path>,
) -> Result<PathBuf, Error> {
    let mut searched = Vec::new();
    let mut refused = None;
    for directory in std::env::split_paths(path) {
        if !directory.is_absolute() {
            continue;
        }
        let theirs = inside(&directory, workspace) || here.is_some_and(|here| same(&directory, here));
        match runnable(&directory.join(command)) {
            Ok(path) if theirs => {
                refused.get_or_insert_with(|| Error::InWorkspace { command: command.to_owned(), path });
            }
            Ok(program) => return Ok(program),
            Err(error @ Error::NotExecutable { .. }) if !theirs => {
                refused.get_or_insert(error);
            }
            Err(_) => {}
        }
        searched.push(directory.display().to_string());
    }
    Err(refused
        .unwrap_or_else(|| Error::NotFound { command: command.to_owned(), searched: searched.join(", ") }))
}

/// Whether a command is more than a name.
fn is_path(command: &str) -> bool {
    command.contains('/') || (cfg!(windows) && command.contains('\\'))
}

/// Whether `directory` lies in the workspace. With the root of the disk as workspace everything would.
fn inside(directory: &Path, workspace: &Path) -> bool {
    workspace.parent().is_some()
        && (directory.starts_with(workspace)
            || matches!((directory.canonicalize(), workspace.canonicalize()), (Ok(a), Ok(b)) if a.starts_with(&b)))
}

fn same(directory: &Path, here: &Path) -> bool {
    directory == here || matches!((directory.canonicalize(), here.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// `path`, or what Windows would start for it, if it can be started.
fn runnable(path: &Path) -> Result<PathBuf, Error> {
    let mut found = None;
    for candidate in shim::candidates(path) {
        match std::fs::metadata(&candidate) {
            Ok(about) if about.is_file() => {
                executable(&candidate)?;
                return Ok(shim::target(candidate));
            }
            Ok(_) => {
                found.get_or_insert_with(|| (candidate, "not a file".to_owned()));
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => {
                found.get_or_insert_with(|| (candidate, why.to_string()));
            }
        }
    }
    Err(match found {
        Some((path, why)) => Error::NotExecutable { path, why },
        None => Error::NotFound {
            command: path.display().to_string(),
            searched: path.parent().unwrap_or(path).display().to_string(),
        },
    })
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<(), Error> {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|why| Error::NotExecutable {
        path: path.to_owned(),
        why: std::io::Error::from(why).to_string(),
    })
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), Error> {
    Ok(())
}

/// The text of a shim, if it is one of a shim's size.
fn read(path: &Path) -> Option<String> {
    let small = std::fs::metadata(path).is_ok_and(|about| about.len() < 64 * 1024);
    if small { std::fs::read_to_string(path).ok() } else { None }
}

#[cfg(test)]
mod tests;
