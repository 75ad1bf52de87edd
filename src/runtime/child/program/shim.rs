//! What Windows starts for a name: `PATHEXT`, and the `.cmd` files that npm puts before a program (UR-27).
//!
//! Called by `program` only. It never runs anything.

use std::path::{Path, PathBuf};

/// The files that `path` may mean, best first. An extension that is written is believed.
#[cfg(windows)]
pub(super) fn candidates(path: &Path) -> Vec<PathBuf> {
    if path.extension().is_some() {
        return vec![path.to_owned()];
    }
    let listed = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
    // An .exe is preferred to the shim beside it, whatever the order says: no cmd.exe, no quoting.
    let mut known: Vec<&str> = listed.split(';').filter(|part| is_startable(part)).collect();
    known.sort_by_key(|part| !part.eq_ignore_ascii_case(".exe"));
    known
        .into_iter()
        .map(|part| PathBuf::from(format!("{}{}", path.display(), part.to_lowercase())))
        .collect()
}

#[cfg(not(windows))]
pub(super) fn candidates(path: &Path) -> [PathBuf; 1] {
    [path.to_owned()]
}

/// What the file at `path` starts: the `.exe` behind an npm shim, else itself. A shim that starts a script by an
/// interpreter stays as it is: the standard library quotes for it, and no prompt is ever an argument.
pub(super) fn target(path: PathBuf) -> PathBuf {
    let shim = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("cmd") || end.eq_ignore_ascii_case("bat"));
    if !cfg!(windows) || !shim {
        return path;
    }
    let text = super::read(&path);
    let target = text.as_deref().and_then(exe_of).and_then(|end| Some(path.parent()?.join(end)));
    target.filter(|target| target.is_file()).unwrap_or(path)
}

#[cfg(windows)]
fn is_startable(extension: &str) -> bool {
    [".exe", ".com", ".cmd", ".bat"].iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// The program that a shim starts, seen from the shim's directory: its last line of the form
/// `"%dp0%\node_modules\x\x.exe" %*`.
fn exe_of(text: &str) -> Option<PathBuf> {
    let line = text.lines().rev().find(|line| line.trim_end().ends_with("%*"))?;
    let quoted: Vec<&str> = line.split('"').skip(1).step_by(2).filter(|word| word.contains("dp0%")).collect();
    let [only] = quoted[..] else { return None };
    let end = only.split_once("dp0%")?.1.trim_start_matches('\\');
    (end.len() > 4 && end[end.len() - 4..].eq_ignore_ascii_case(".exe")).then(|| end.split('\\').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ur_27_a_shim_of_an_exe_names_it_and_one_of_a_script_does_not() {
        let exe = "@ECHO off\r\nSETLOCAL\r\nCALL :find_dp0\r\n\"%dp0%\\node_modules\\@x\\cli\\bin\\cli.exe\"   %*\r\n";
        assert_eq!(exe_of(exe), Some(["node_modules", "@x", "cli", "bin", "cli.exe"].iter().collect()));
        let script = "@ECHO off\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \"%dp0%\\node_modules\\cli\\cli.js\" %*\r\n";
        assert_eq!(exe_of(script), None);
        let both = "\"%dp0%\\node.exe\" \"%dp0%\\cli.js\" %*\r\n";
        assert_eq!(exe_of(both), None, "node alone would lose the script");
        assert_eq!(exe_of(""), None);
    }
}
