//! What no child can reach, and whether that holds on this machine (O-1).
//!
//! Asked once by [`super::Custody::open`], which really sends a process through it, and at each birth for what exists
//! then. It never decides whether a node without isolation may serve: the daemon does.

#![expect(clippy::disallowed_methods, reason = "resolves the node's own paths, to hide them")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{Error, Temp, host};

/// How children are kept from the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Which means holds.
    pub level: Level,
    /// Why none holds, or what the means is.
    pub why: String,
    /// What the operator can do; empty where nothing is missing.
    pub mend: String,
}

/// The means, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A user and a mount namespace, in which the paths are covered and the covers locked.
    Namespace,
    /// None: a child can act as the node.
    None,
}

impl Level {
    /// The word of the card and the banner.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::None => "none",
        }
    }
}

/// A path that is covered in a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Absolute, without links.
    pub(super) path: PathBuf,
    pub(super) directory: bool,
}

/// The paths that are to be hidden, followed when somebody moves them: a child may rename a directory above the
/// node's own, and the next child would find it under the new name.
pub(super) struct Hides(Mutex<Vec<Hide>>);

struct Hide {
    path: PathBuf,
    pin: Option<host::Pin>,
}

impl Hides {
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        let hides = paths.iter().map(|path| Hide { path: path.clone(), pin: None });
        let hides = Self(Mutex::new(hides.collect()));
        // What is there is pinned before the first child can move it.
        drop(hides.now());
        hides
    }

    /// What exists now, outermost only. A link is followed: what it leads to is covered.
    pub(super) fn now(&self) -> Vec<Hidden> {
        let mut hides = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outermost(hides.iter_mut().flat_map(Hide::places).collect())
    }
}

impl Hide {
    /// Where it is said to be, and where that is now which was there first.
    fn places(&mut self) -> Vec<PathBuf> {
        let said = std::fs::canonicalize(&self.path).ok();
        let found = self.pin.as_ref().and_then(host::Pin::path);
        match (said, found) {
            (Some(said), Some(found)) if said != found => {
                tracing::warn!(from = %said.display(), to = %found.display(), "something that no agent may reach was moved");
                vec![said, found]
            }
            (None, Some(found)) => vec![found],
            (Some(said), found) => {
                if found.is_none() {
                    self.pin = host::Pin::new(&said);
                }
                vec![said]
            }
            (None, None) => Vec::new(),
        }
    }
}

fn outermost(paths: Vec<PathBuf>) -> Vec<Hidden> {
    let mut found: Vec<Hidden> = paths
        .into_iter()
        .filter_map(|path| Some(Hidden { directory: std::fs::metadata(&path).ok()?.is_dir(), path }))
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|later, earlier| later.path.starts_with(&earlier.path));
    found
}

/// Refuses `path` if it lies in something hidden: the child would not find it.
pub(super) fn outside(path: &Path, hidden: &[Hidden]) -> Result<(), Error> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match hidden.iter().find(|hidden| real.starts_with(&hidden.path)) {
        Some(hidden) => Err(Error::Hidden { path: path.to_owned(), hidden: hidden.path.clone() }),
        None => Ok(()),
    }
}

/// Tries the means out, with a secret of its own beside the paths that are there.
pub(super) fn probe(hides: &Hides, temp: &Path) -> Result<Isolation, Error> {
    let trial = Temp::new(temp)?;
    let secret = trial.path().join("secret");
    std::fs::write(&secret, "secret").map_err(|source| Error::File {
        what: "write",
        path: secret.clone(),
        source,
    })?;
    let mut paths = hides.now();
    paths.extend(Hides::new(&[trial.path().to_owned()]).now());
    Ok(host::probe(&paths, &std::fs::canonicalize(&secret).unwrap_or(secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_exists_is_hidden_and_only_the_outermost() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("state/runs")).unwrap();
        std::fs::write(root.join("state/token"), "").unwrap();
        std::fs::write(root.join("stately"), "").unwrap();
        let hide =
            ["state/token", "state", "state/runs", "stately", "absent", "state"].map(|name| root.join(name));
        let hidden = Hides::new(&hide).now();
        assert_eq!(
            hidden,
            [
                Hidden { path: root.join("state"), directory: true },
                Hidden { path: root.join("stately"), directory: false }
            ]
        );
        assert!(matches!(outside(&root.join("state/x"), &hidden), Err(Error::Hidden { .. })));
        assert!(outside(&root.join("statel"), &hidden).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_hides_what_it_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("real"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        assert_eq!(
            Hides::new(&[root.join("link")]).now(),
            [Hidden { path: root.join("real"), directory: false }]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_moved_is_hidden_where_it_is_and_what_was_replaced_where_it_was() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("above/state")).unwrap();
        std::fs::write(root.join("file"), "old").unwrap();
        let hides = Hides::new(&[root.join("above/state"), root.join("file")]);
        let names = |hides: &Hides| hides.now().into_iter().map(|hidden| hidden.path).collect::<Vec<_>>();
        std::fs::rename(root.join("above"), root.join("moved")).unwrap();
        assert_eq!(names(&hides), [root.join("file"), root.join("moved/state")]);
        std::fs::create_dir_all(root.join("above/state")).unwrap();
        std::fs::write(root.join("new"), "new").unwrap();
        std::fs::rename(root.join("new"), root.join("file")).unwrap();
        assert_eq!(names(&hides), [root.join("above/state"), root.join("file"), root.join("moved/state")]);
        std::fs::rename(root.join("file"), root.join("away")).unwrap();
        assert_eq!(names(&hides)[1], root.join("away"), "the new one was pinned");
    }
}
