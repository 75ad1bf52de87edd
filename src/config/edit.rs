//! Changes to the file by command: an agent is added or removed, every comment of others stays.
#![expect(clippy::disallowed_methods, reason = "rewrites the configuration file")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use super::draft::Draft;
use super::fault::{Error as Faults, Fault};
use super::file;

/// Why a file was not changed. It is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no TOML, or would not be a configuration any more.
    #[error(transparent)]
    Faulty(#[from] Faults),
    /// There is one of that name already.
    #[error("there is an agent `{0}` already; remove it first, or choose another name")]
    Exists(String),
    /// There is none of that name in the file.
    #[error("there is no agent `{name}` in {}; `a2ad agent list` says where agents come from", file.display())]
    Absent {
        /// The agent.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("`{}` cannot be changed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Writes `[agents.NAME]` with these keys at the end of the file, which is made where it is missing. `judge` says of the
/// whole new text whether a node could run on it.
///
/// # Errors
/// The file stays as it is: see [`Error`].
pub fn add_agent(
    path: &Path,
    name: &str,
    keys: &[(&str, Value)],
    judge: impl Fn(&str) -> Result<(), Faults>,
) -> Result<(), Error> {
    change(path, judge, |doc| {
        let agents = doc.entry("agents").or_insert_with(|| {
            let mut agents = Table::new();
            agents.set_implicit(true);
            Item::Table(agents)
        });
        // What is no table here is a fault of the file, which the check after the change would name.
        let Some(agents) = agents.as_table_like_mut() else { return Ok(()) };
        if agents.contains_key(name) {
            return Err(Error::Exists(name.to_owned()));
        }
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        for (key, value) in keys {
            table.insert(key, Item::Value(value.clone()));
        }
        agents.insert(name, Item::Table(table));
        Ok(())
    })
}

/// Removes `[agents.NAME]` and the comment right above it.
///
/// # Errors
/// The file stays as it is: see [`Error`].
pub fn remove_agent(path: &Path, name: &str) -> Result<(), Error> {
    // Also out of a configuration that no node could run on.
    change(
        path,
        |_| Ok(()),
        |doc| {
            let removed = doc
                .get_mut("agents")
                .and_then(Item::as_table_like_mut)
                .and_then(|agents| agents.remove(name));
            let Some(removed) = removed else {
                return Err(Error::Absent { name: name.to_owned(), file: path.to_owned() });
            };
            if let Some(table) = removed.as_table() {
                let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
                keep(doc, table.position(), foreign(prefix));
            }
            Ok(())
        },
    )
}

/// The part of what stands above a table that does not speak of it: all but the comment that touches it.
fn foreign(prefix: &str) -> &str {
    let own = prefix
        .lines()
        .rev()
        .take_while(|line| line.trim_start().starts_with('#'))
        .map(|line| line.len() + 1)
        .sum::<usize>();
    &prefix[..prefix.len().saturating_sub(own)]
}

/// Puts text before the first table behind `position`, or at the end.
fn keep(doc: &mut DocumentMut, position: Option<isize>, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    let mut next: Option<isize> = None;
    each(doc.as_table_mut(), &mut |table| {
        if let Some(at) = table.position().filter(|at| !table.is_implicit() && Some(*at) > position) {
            next = Some(next.map_or(at, |next| next.min(at)));
        }
    });
    let Some(next) = next else {
        let trailing = format!("{text}{}", doc.trailing().as_str().unwrap_or_default());
        return doc.set_trailing(trailing);
    };
    each(doc.as_table_mut(), &mut |table| {
        if table.position() == Some(next) && !table.is_implicit() {
            let own = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let both = format!("{text}{own}");
            table.decor_mut().set_prefix(both);
        }
    });
}

fn each(table: &mut Table, visit: &mut impl FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => {
                visit(table);
                each(table, visit);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    visit(table);
                    each(table, visit);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

fn change(
    path: &Path,
    judge: impl Fn(&str) -> Result<(), Faults>,
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), Error>,
) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let before = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(io(e)),
    };
    let faults = faults(&before, path);
    if !faults.is_empty() {
        return Err(Faults::of(faults).into());
    }
    let mut doc: DocumentMut = before.parse().map_err(|e: toml_edit::TomlError| {
        let origin = super::fault::Origin::File { path: path.to_owned(), line: 0, column: 0 };
        Faults::of(vec![Fault { origin, key: None, why: e.message().to_owned(), hint: None }])
    })?;
    edit(&mut doc)?;
    let after = doc.to_string();
    let faults = self::faults(&after, path);
    if !faults.is_empty() {
        return Err(Faults::of(faults).into());
    }
    judge(&after)?;
    replace(path, &after).map_err(io)
}

fn faults(text: &str, path: &Path) -> Vec<Fault> {
    let mut draft = Draft::default();
    file::read(text, path, &mut draft);
    draft.faults
}

/// Puts the text in place of the file in one step; a link keeps pointing to it, its mode stays.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let dir = real.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(dir)?;
    let name = real.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
    let new = dir.join(format!(".{name}.{}", std::process::id()));
    let written = write(&new, text, real.metadata().ok()).and_then(|()| std::fs::rename(&new, &real));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

fn write(path: &Path, text: &str, like: Option<std::fs::Metadata>) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(like) = like {
        file.set_permissions(like.permissions())?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# my node
[limits]
body = \"1MiB\"   # small

# about nobody

# the echo
[agents.echo]
runtime = \"echo\"

# inside echo

[log]
level = \"warn\"
# the end
";

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a2ad.toml");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn an_agent_is_added_and_every_comment_stays() {
        let (_dir, path) = file(FILE);
        add_agent(
            &path,
            "tests",
            &[("runtime", "exec".into()), ("command", Value::from_iter(["./run-tests"]))],
            |_| Ok(()),
        )
        .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let added = "\n[agents.tests]\nruntime = \"exec\"\ncommand = [\"./run-tests\"]\n";
        assert_eq!(text.replace(added, ""), FILE);
        assert!(text.contains(added));
        assert!(matches!(add_agent(&path, "tests", &[], |_| Ok(())), Err(Error::Exists(_))));
    }

    #[test]
    fn an_agent_is_removed_with_its_own_comment_and_no_other() {
        let (_dir, path) = file(FILE);
        remove_agent(&path, "echo").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for kept in ["# my node", "# small", "# about nobody", "# inside echo", "# the end"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        assert!(!text.contains("the echo") && !text.contains("agents.echo"), "{text}");
        assert!(matches!(remove_agent(&path, "echo"), Err(Error::Absent { .. })));
    }

    #[test]
    fn comments_above_the_last_table_stay_when_it_goes() {
        let (_dir, path) = file("# first\n\n[agents.a]\nruntime = \"echo\"\n");
        remove_agent(&path, "a").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# first\n\n");
    }

    #[test]
    fn a_change_that_makes_a_fault_is_not_written() {
        let (_dir, path) = file(FILE);
        let refused = add_agent(&path, "tests", &[("runtim", "exec".into())], |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("did you mean `agents.tests.runtime`?"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), FILE);
    }

    #[test]
    fn a_missing_file_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/a2ad.toml");
        add_agent(&path, "echo", &[("runtime", "echo".into())], |_| Ok(())).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "\n[agents.echo]\nruntime = \"echo\"\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_to_the_file_and_its_mode_stays() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, path) = file("");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = dir.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        add_agent(&link, "echo", &[("runtime", "echo".into())], |_| Ok(())).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::read_to_string(&path).unwrap().contains("[agents.echo]"));
    }
}
