//! Where configuration and state lie: of a user, of the system, of a named instance (O-41).
//!
//! The current directory is never searched: a cloned repository must not configure the node (O-23).

use std::path::{Path, PathBuf};

use super::around::Surroundings;
use super::fault::{Fault, Origin};
use super::flags::Flags;
use super::name;

/// Whose node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A user's.
    User,
    /// The system's.
    System,
}

/// The places of one node. All absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Whose node it is.
    pub scope: Scope,
    /// Its instance, where it is not the one without a name.
    pub instance: Option<String>,
    /// Its configuration; the file need not exist.
    pub config: PathBuf,
    /// The file was asked for by name, so it must exist.
    pub named: bool,
    /// Its state directory; need not exist.
    pub state: PathBuf,
}

/// Names of instances that are files of the one without a name.
const TAKEN: &[&str] = &["a2ad", "homes", "runs", "tmp", "temp", "inbox"];

impl Paths {
    /// The configuration's file, for people: that there is none is no fault, but they should know.
    #[must_use]
    pub fn file(&self) -> String {
        let path = self.config.display();
        if self.config.exists() {
            path.to_string()
        } else {
            format!("{path} is not there, so all is as built in; `a2ad init` writes one")
        }
    }

    /// The places that flags and surroundings give.
    ///
    /// Below a systemd unit whose directories are a2ad's own (`$STATE_DIRECTORY`,
    /// `$CONFIGURATION_DIRECTORY`) it is the system's node.
    ///
    /// # Errors
    /// The user has no home directory and the flags do not make up for it; the name is no name.
    pub fn of(flags: &Flags, around: &Surroundings) -> Result<Self, Fault> {
        let instance = instance(flags)?;
        let name = instance.as_deref();
        let unit = |variable| around.var(variable).map(PathBuf::from).filter(|dir| is_ours(dir));
        let mut paths = match unit("STATE_DIRECTORY") {
            Some(state) => {
                let config = unit("CONFIGURATION_DIRECTORY").map(|dir| config_in(&dir, name));
                let system = Self::system(name, around);
                Self { config: config.unwrap_or(system.config), state, ..system }
            }
            None => match (Self::user(name, around), &flags.config, &flags.state_dir) {
                (Some(paths), ..) => paths,
                // Without a home directory a node has no file unless it is named.
                (None, config, Some(state)) => Self {
                    scope: Scope::User,
                    instance,
                    config: config.clone().unwrap_or_else(|| around.cwd.join(state).join("a2ad.toml")),
                    named: false,
                    state: state.clone(),
                },
                (None, ..) => {
                    return Err(fault(
                        "--state-dir",
                        "this user has no home directory for the state",
                        "give --state-dir DIR",
                    ));
                }
            },
        };
        if let Some(config) = &flags.config {
            paths.config = around.cwd.join(config);
            paths.named = true;
        }
        if let Some(state) = &flags.state_dir {
            paths.state = around.cwd.join(state);
        }
        Ok(paths)
    }

    /// The places of the user's node; `None` when the user has no home directory.
    pub fn user(instance: Option<&str>, around: &Surroundings) -> Option<Self> {
        let config = around.config_home.as_ref()?.join("a2ad");
        let state = around.state_home.as_ref()?.join("a2ad");
        Some(Self {
            scope: Scope::User,
            instance: instance.map(str::to_owned),
            config: config_in(&config, instance),
            named: false,
            state: state_in(state, instance),
        })
    }

    /// The places of the system's node.
    pub fn system(instance: Option<&str>, around: &Surroundings) -> Self {
        let (config, state) = if cfg!(windows) {
            {
                let data = Path::new(around.var("ProgramData").unwrap_or(r"C:\ProgramData")).join("a2ad");
                (data.clone(), data.join("state"))
            }
        } else {
            (PathBuf::from("/etc/a2ad"), PathBuf::from("/var/lib/a2ad"))
        };
        Self {
            scope: Scope::System,
            instance: instance.map(str::to_owned),
            config: config_in(&config, instance),
            named: false,
            state: state_in(state, instance),
        }
    }

    /// The directory of the file, where it is a2ad's own place for configurations.
    pub fn config_dir(&self) -> Option<&Path> {
        self.config.parent().filter(|_| !self.named)
    }
}

fn instance(flags: &Flags) -> Result<Option<String>, Fault> {
    let Some(name) = &flags.name else { return Ok(None) };
    if let Err(why) = name::check(name) {
        return Err(fault("--name", &why, ""));
    }
    if TAKEN.contains(&name.as_str()) {
        return Err(fault(
            "--name",
            &format!("`{name}` is a name of the node's own files"),
            "choose another",
        ));
    }
    Ok(Some(name.clone()))
}

fn state_in(dir: PathBuf, instance: Option<&str>) -> PathBuf {
    match instance {
        Some(name) => dir.join(name),
        None => dir,
    }
}

fn config_in(dir: &Path, instance: Option<&str>) -> PathBuf {
    dir.join(format!("{}.toml", instance.unwrap_or("a2ad")))
}

/// A directory that systemd made for a unit of ours, and not for the unit in which we happen to run.
fn is_ours(dir: &Path) -> bool {
    let ours = |part: &str| part == "a2ad" || part.starts_with("a2ad-");
    dir.is_absolute()
        && dir.components().rev().take(2).any(|part| part.as_os_str().to_str().is_some_and(ours))
}

fn fault(flag: &'static str, why: &str, hint: &str) -> Fault {
    let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
    Fault { origin: Origin::Flag(flag), key: None, why: why.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> Surroundings {
        Surroundings {
            cwd: "/srv/project".into(),
            home: Some("/home/ann".into()),
            config_home: Some("/home/ann/.config".into()),
            state_home: Some("/home/ann/.local/state".into()),
            ..Surroundings::default()
        }
    }

    fn places(flags: &Flags, around: &Surroundings) -> (String, String) {
        let paths = Paths::of(flags, around).unwrap();
        (paths.config.display().to_string(), paths.state.display().to_string())
    }

    #[test]
    fn a_user_has_a_node_and_named_ones_beside_it() {
        let both = |config: &str, state: &str| (config.to_owned(), state.to_owned());
        assert_eq!(
            places(&Flags::default(), &ann()),
            both("/home/ann/.config/a2ad/a2ad.toml", "/home/ann/.local/state/a2ad")
        );
        let named = Flags { name: Some("lab".into()), ..Flags::default() };
        assert_eq!(
            places(&named, &ann()),
            both("/home/ann/.config/a2ad/lab.toml", "/home/ann/.local/state/a2ad/lab")
        );
        let flags =
            Flags { config: Some("x.toml".into()), state_dir: Some("/state".into()), ..Flags::default() };
        assert_eq!(places(&flags, &ann()), both("/srv/project/x.toml", "/state"));
    }

    #[test]
    fn the_current_directory_is_never_searched() {
        let paths = Paths::of(&Flags::default(), &ann()).unwrap();
        assert!(!paths.config.starts_with("/srv/project") && !paths.state.starts_with("/srv/project"));
    }

    #[test]
    fn a_unit_of_ours_is_the_systems_node_and_another_unit_is_not() {
        let mut around = ann();
        around.env = vec![("STATE_DIRECTORY".into(), "/var/lib/jenkins".into())];
        assert_eq!(Paths::of(&Flags::default(), &around).unwrap().scope, Scope::User);
        around.env = vec![
            ("CONFIGURATION_DIRECTORY".into(), "/etc/a2ad".into()),
            ("STATE_DIRECTORY".into(), "/var/lib/a2ad".into()),
        ];
        let paths = Paths::of(&Flags::default(), &around).unwrap();
        assert_eq!((paths.scope, paths.config.to_str()), (Scope::System, Some("/etc/a2ad/a2ad.toml")));
    }

    #[test]
    fn without_a_home_directory_the_state_must_be_named() {
        let bare = Surroundings { cwd: "/".into(), ..Surroundings::default() };
        assert!(Paths::of(&Flags::default(), &bare).unwrap_err().to_string().contains("--state-dir"));
        let flags = Flags { state_dir: Some("/state".into()), ..Flags::default() };
        assert_eq!(places(&flags, &bare), ("/state/a2ad.toml".into(), "/state".into()));
    }

    #[test]
    fn an_instance_is_not_called_like_a_file_of_the_node() {
        for name in ["a2ad", "runs", "Lab", "../x", ""] {
            let flags = Flags { name: Some(name.into()), ..Flags::default() };
            assert!(Paths::of(&flags, &ann()).is_err(), "{name}");
        }
    }
}
