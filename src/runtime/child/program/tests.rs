//! Where a command may be found and where not.

use std::ffi::OsString;
use std::fs;

use super::*;

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        #[cfg(not(unix))]
        let _ = mode;
        path
    }

    fn joined(&self, names: &[&str]) -> OsString {
        std::env::join_paths(names.iter().map(|name| self.path(name))).unwrap()
    }
}

const PROGRAM: &str = if cfg!(windows) { "agent.exe" } else { "agent" };

#[test]
fn a_bare_name_is_found_in_the_first_directory_that_has_it() {
    let place = Place::new();
    place.file(&format!("two/{PROGRAM}"), 0o755);
    let first = place.file(&format!("one/{PROGRAM}"), 0o755);
    let path = place.joined(&["none", "one", "two"]);
    assert_eq!(find(PROGRAM, &path, &place.path("work"), None).unwrap(), first);
}

#[test]
fn empty_and_relative_entries_are_passed_over() {
    let place = Place::new();
    let real = place.file(&format!("bin/{PROGRAM}"), 0o755);
    let mut path = OsString::from(if cfg!(windows) { ";.;src;" } else { ":.:src:" });
    path.push(place.joined(&["bin"]));
    assert_eq!(find(PROGRAM, &path, &place.path("work"), None).unwrap(), real);
    let error = find(PROGRAM, "".as_ref(), &place.path("work"), None).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
}

#[test]
fn a_program_of_the_workspace_or_the_current_directory_never_stands_in() {
    let place = Place::new();
    place.file(&format!("work/node_modules/.bin/{PROGRAM}"), 0o755);
    place.file(&format!("here/{PROGRAM}"), 0o755);
    let real = place.file(&format!("bin/{PROGRAM}"), 0o755);
    let (work, here) = (place.path("work"), place.path("here"));
    let path = place.joined(&["work/node_modules/.bin", "here", "bin"]);
    assert_eq!(find(PROGRAM, &path, &work, Some(&here)).unwrap(), real);
    let error = find(PROGRAM, &place.joined(&["work/node_modules/.bin"]), &work, None).unwrap_err();
    assert!(matches!(&error, Error::InWorkspace { .. }), "{error}");
    assert!(error.to_string().contains("absolute path"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_into_the_workspace_does_not_hide_where_the_directory_is() {
    let place = Place::new();
    place.file("work/bin/agent", 0o755);
    std::os::unix::fs::symlink(place.path("work/bin"), place.path("link")).unwrap();
    let error = find("agent", &place.joined(&["link"]), &place.path("work"), None).unwrap_err();
    assert!(matches!(error, Error::InWorkspace { .. }), "{error}");
}

#[test]
fn a_path_is_taken_when_it_is_written_plainly() {
    let place = Place::new();
    let own = place.file(&format!("work/{PROGRAM}"), 0o755);
    let work = place.path("work");
    assert_eq!(find(&format!("./{PROGRAM}"), "".as_ref(), &work, None).unwrap(), own);
    assert_eq!(find(own.to_str().unwrap(), "".as_ref(), &work, None).unwrap(), own);
    place.file(&format!("work/bin/{PROGRAM}"), 0o755);
    let error = find(&format!("bin/{PROGRAM}"), "".as_ref(), &work, None).unwrap_err();
    assert!(error.to_string().contains("./bin/"), "{error}");
}

#[test]
fn what_is_not_there_is_named_with_where_it_was_looked_for() {
    let place = Place::new();
    let error = find("agent", &place.joined(&["one", "two"]), &place.path("work"), None).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("agent") && text.contains("one") && text.contains("two"), "{text}");
    let error = find("./agent", "".as_ref(), &place.path("work"), None).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_not_executable_says_so() {
    let place = Place::new();
    place.file("bin/agent", 0o644);
    let error = find("agent", &place.joined(&["bin"]), &place.path("work"), None).unwrap_err();
    assert!(matches!(&error, Error::NotExecutable { path, .. } if path.ends_with("bin/agent")), "{error}");
    let error =
        find(place.path("bin").to_str().unwrap(), "".as_ref(), &place.path("work"), None).unwrap_err();
    assert!(error.to_string().contains("not a file"), "{error}");
}
