//! Which directories may be a workspace (O-4): the rules, a function of [`Facts`], and the look at the
//! file system that finds them.
#![expect(clippy::disallowed_methods, reason = "looks at the directory itself, before any workspace exists")]

use std::path::{Path, PathBuf};

use super::around::Surroundings;
use super::paths::Paths;

/// What is known of a directory that is to be a workspace. Paths are resolved, links followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The directory.
    pub path: PathBuf,
    /// Who owns it; `None` where there are no numbers.
    pub owner: Option<u32>,
    /// Who the agents run as.
    pub user: Option<u32>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory for temporary files.
    pub temp: PathBuf,
    /// The node's state directory.
    pub state: PathBuf,
    /// The node's configuration file.
    pub config: PathBuf,
    /// The directory that holds a2ad's configurations, where the file lies in it.
    pub config_dir: Option<PathBuf>,
}

/// Why a directory is no workspace, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such directory.
    #[error("`{}` is not a directory that can be used as a workspace: {why}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The node's state would be in reach of its agents. Nothing lifts this.
    #[error("`{}` {why} the node's state directory", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// Which way round they lie.
        why: &'static str,
    },
    /// Too wide, or not the user's.
    #[error("`{}` {why}", path.display())]
    Wide {
        /// The directory.
        path: PathBuf,
        /// What it is.
        why: &'static str,
    },
}

impl Refusal {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "make it, or set `workspace` to another directory",
            Self::State { .. } => "set `workspace` to another directory, or give --state-dir",
            Self::Wide { .. } => {
                "start in a project, give --workspace DIR, or set `workspace`; `allow_wide_workspace = true` lifts this rule"
            }
        }
    }
}

/// Directories that hold a system, not a project.
const SYSTEM: &[&str] = &[
    "/etc",
    "/usr",
    "/var",
    "/tmp",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/home",
    "/root",
    "/private/etc",
    "/private/var",
    "/private/tmp",
    "/System",
    "/Library",
    "/Applications",
    "/Users",
    "/Volumes",
];

/// The same on Windows, without the drive.
const WINDOWS: &[&str] =
    &["windows", "windows\\system32", "program files", "program files (x86)", "programdata", "users"];

/// Whether the directory may be a workspace. `wide`: `allow_wide_workspace`.
///
/// # Errors
/// The rule that it breaks.
pub fn judge(facts: &Facts, wide: bool) -> Result<(), Refusal> {
    let path = &facts.path;
    if facts.state.starts_with(path) {
        return Err(Refusal::State { path: path.clone(), why: "holds" });
    }
    if path.starts_with(&facts.state) {
        return Err(Refusal::State { path: path.clone(), why: "lies in" });
    }
    if wide {
        return Ok(());
    }
    let refuse = |why| Err(Refusal::Wide { path: path.clone(), why });
    if path.parent().is_none() {
        return refuse("is a root directory");
    }
    if facts.home.as_ref() == Some(path) || is_some_home(path) {
        return refuse("is a home directory");
    }
    if is_system(path) || *path == facts.temp {
        return refuse("is a directory of the system");
    }
    if facts.config.starts_with(path) {
        return refuse("holds the node's configuration");
    }
    if facts.config_dir.as_ref().is_some_and(|dir| path.starts_with(dir)) {
        return refuse("lies in the directory of the node's configuration");
    }
    if facts.owner != facts.user {
        return refuse("is not owned by the user that the agents run as");
    }
    Ok(())
}

fn is_some_home(path: &Path) -> bool {
    let above = path.parent().map(|parent| parent.to_string_lossy().to_lowercase());
    above.is_some_and(|above| above == "/home" || above == "/users" || above.ends_with(":\\users"))
}

fn is_system(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let bare = text.trim_start_matches(r"\\?\");
    let dos = bare.split_once(":\\").map(|(_, rest)| rest.to_lowercase());
    SYSTEM.iter().any(|system| Path::new(system) == path)
        || dos.is_some_and(|rest| WINDOWS.contains(&rest.as_str()))
}

/// Looks at a directory that is to be a workspace; the facts hold its resolved path.
///
/// # Errors
/// [`Refusal::Missing`].
pub fn look(path: &Path, paths: &Paths, around: &Surroundings) -> Result<Facts, Refusal> {
    let missing = |why: String| Refusal::Missing { path: path.to_owned(), why };
    let real = std::fs::canonicalize(path).map_err(|e| missing(e.to_string()))?;
    let meta = real.metadata().map_err(|e| missing(e.to_string()))?;
    if !meta.is_dir() {
        return Err(missing("it is a file".to_owned()));
    }
    Ok(Facts {
        owner: owner(&meta),
        user: around.uid,
        home: around.home.as_deref().map(settle),
        temp: settle(&around.temp),
        state: settle(&paths.state),
        config: settle(&paths.config),
        config_dir: paths.config_dir().map(settle),
        path: real,
    })
}

/// The resolved path of what may not exist yet: the part that does, resolved, and the rest as it stands.
fn settle(path: &Path) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settle(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(unix)]
fn owner(meta: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    Some(meta.uid())
}

#[cfg(not(unix))]
const fn owner(_: &std::fs::Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(path: &str) -> Facts {
        Facts {
            path: path.into(),
            owner: Some(1000),
            user: Some(1000),
            home: Some("/home/ann".into()),
            temp: "/tmp".into(),
            state: "/home/ann/.local/state/a2ad".into(),
            config: "/home/ann/.config/a2ad/a2ad.toml".into(),
            config_dir: Some("/home/ann/.config/a2ad".into()),
        }
    }

    #[test]
    fn a_project_is_a_workspace() {
        for path in ["/home/ann/project", "/srv/project", "/tmp/x", "/var/www", "/etc/a2ad", "/data"] {
            assert_eq!(judge(&facts(path), false), Ok(()), "{path}");
        }
    }

    #[test]
    fn wide_places_are_refused_unless_allowed() {
        for path in ["/", "/home/ann", "/home/bob", "/etc", "/usr", "/var", "/tmp", "/root", "/home"] {
            let refused = judge(&facts(path), false).unwrap_err();
            assert!(refused.hint().contains("workspace"), "{path}");
        }
        for path in ["/home/bob", "/etc", "/usr", "/var", "/tmp"] {
            assert_eq!(judge(&facts(path), true), Ok(()), "{path}");
        }
    }

    #[test]
    fn nothing_lifts_the_rule_of_the_state_directory() {
        for path in [
            "/",
            "/home/ann",
            "/home/ann/.local",
            "/home/ann/.local/state/a2ad",
            "/home/ann/.local/state/a2ad/x",
        ] {
            assert!(matches!(judge(&facts(path), true), Err(Refusal::State { .. })), "{path}");
        }
    }

    #[test]
    fn the_configuration_is_no_workspace() {
        for path in ["/home/ann/.config", "/home/ann/.config/a2ad", "/home/ann/.config/a2ad/x"] {
            assert!(judge(&facts(path), false).is_err(), "{path}");
        }
        let mut named = facts("/srv/project");
        named.config = "/srv/a2ad.toml".into();
        named.config_dir = None;
        assert_eq!(judge(&named, false), Ok(()));
        named.config = "/srv/project/a2ad.toml".into();
        assert!(judge(&named, false).unwrap_err().to_string().contains("holds the node's configuration"));
    }

    #[test]
    fn anothers_directory_is_no_workspace() {
        let mut foreign = facts("/srv/project");
        foreign.owner = Some(0);
        assert!(judge(&foreign, false).unwrap_err().to_string().contains("not owned by"));
        assert_eq!(judge(&foreign, true), Ok(()));
    }

    #[test]
    fn windows_has_such_places_too() {
        assert!(is_system(Path::new(r"\\?\C:\Windows")) && is_system(Path::new(r"D:\Program Files")));
        assert!(!is_system(Path::new(r"C:\work")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_home_directory_is_that_home_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("ann");
        std::fs::create_dir_all(&home).unwrap();
        let link = dir.path().join("project");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        let around = Surroundings { home: Some(home), ..Surroundings::default() };
        let paths = Paths { state: dir.path().join("state/a2ad"), ..Paths::system(None, &around) };
        let facts = Facts { owner: None, ..look(&link, &paths, &around).unwrap() };
        assert!(judge(&facts, false).unwrap_err().to_string().contains("home directory"));
        let gone = look(&dir.path().join("gone"), &paths, &around).unwrap_err();
        assert!(gone.hint().starts_with("make it"));
    }
}
