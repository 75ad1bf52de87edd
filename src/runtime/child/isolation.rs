//! What no child can reach, and whether that holds on this machine (O-1).
//!
//! Asked once by [`super::Custody::open`], which really sends a process through it, and at each birth for what exists
//! then. It never decides whether a node without isolation may serve: the daemon does.

#![expect(clippy::disallowed_methods, reason = "resolves the node's own paths, to hide them")]

use std::path::{Path, PathBuf};

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

/// What exists now of `hide`, outermost only. A link is followed: what it leads to is covered.
pub(super) fn hidden(hide: &[PathBuf]) -> Vec<Hidden> {
    let mut found: Vec<Hidden> = hide
        .iter()
        .filter_map(|path| {
            let path = std::fs::canonicalize(path).ok()?;
            let directory = std::fs::metadata(&path).ok()?.is_dir();
            Some(Hidden { path, directory })
        })
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
pub(super) fn probe(hide: &[PathBuf], temp: &Path) -> Result<Isolation, Error> {
    let trial = Temp::new(temp)?;
    let secret = trial.path().join("secret");
    std::fs::write(&secret, "secret").map_err(|source| Error::File {
        what: "write",
        path: secret.clone(),
        source,
    })?;
    let mut paths = hidden(hide);
    paths.extend(hidden(&[trial.path().to_owned()]));
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
        assert_eq!(
            hidden(&hide),
            [
                Hidden { path: root.join("state"), directory: true },
                Hidden { path: root.join("stately"), directory: false }
            ]
        );
        assert!(matches!(outside(&root.join("state/x"), &hidden(&hide)), Err(Error::Hidden { .. })));
        assert!(outside(&root.join("statel"), &hidden(&hide)).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_hides_what_it_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("real"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        assert_eq!(hidden(&[root.join("link")]), [Hidden { path: root.join("real"), directory: false }]);
    }
}
