//! What the configuration must know of the world: environment, directories, the user. Read once, at the edge,
//! so that everything else is a function of it.

use std::path::{Component, Path, PathBuf};

use super::unit::Bad;

/// The world as a start of the node sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The environment, sorted by name; names and values that are no text are left out.
    pub env: Vec<(String, String)>,
    /// The current directory.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where the user's configurations live, `~/.config`.
    pub config_home: Option<PathBuf>,
    /// Where the user's state lives, `~/.local/state`.
    pub state_home: Option<PathBuf>,
    /// The directory for temporary files.
    pub temp: PathBuf,
    /// The host's name.
    pub host: String,
    /// The user's number; `None` where there are none.
    pub uid: Option<u32>,
}

impl Surroundings {
    /// Looks.
    ///
    /// # Errors
    /// The current directory is gone or may not be read.
    pub fn here() -> std::io::Result<Self> {
        let dirs = directories::BaseDirs::new();
        let mut env: Vec<_> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        env.sort();
        let host = host(&env);
        Ok(Self {
            env,
            cwd: std::env::current_dir()?,
            home: dirs.as_ref().map(|dirs| dirs.home_dir().to_owned()),
            config_home: dirs.as_ref().map(|dirs| dirs.config_dir().to_owned()),
            state_home: dirs
                .as_ref()
                .map(|dirs| dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned()),
            temp: std::env::temp_dir(),
            host,
            uid: uid(),
        })
    }

    /// A variable; an empty one counts as absent.
    pub fn var(&self, name: &str) -> Option<&str> {
        let found = self.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A path that may be written as `credential:NAME` (below `$CREDENTIALS_DIRECTORY`), `~/…` or relative to
    /// `base`; always absolute.
    pub(super) fn resolve(&self, text: &str, base: &Path) -> Result<PathBuf, Bad> {
        if let Some(name) = text.strip_prefix("credential:") {
            return self.credential(name);
        }
        let path = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => {
                let home = self
                    .home
                    .as_ref()
                    .ok_or_else(|| Bad::hint("this user has no home directory", "write the whole path"))?;
                home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR]))
            }
            _ => self.cwd.join(base).join(text),
        };
        // `a/./b` and a trailing slash are the same place; `..` is left to the file system, which knows the links.
        Ok(path.components().filter(|part| *part != Component::CurDir).collect())
    }

    fn credential(&self, name: &str) -> Result<PathBuf, Bad> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\']) {
            return Err(Bad::hint(format!("`{name}` is no name of a credential"), "write `credential:NAME`"));
        }
        let dir = self.var("CREDENTIALS_DIRECTORY").ok_or_else(|| {
            Bad::hint(
                "there is no $CREDENTIALS_DIRECTORY to read a credential from",
                format!("give the unit `LoadCredential={name}:/path`, or write the path of a file"),
            )
        })?;
        Ok(Path::new(dir).join(name))
    }
}

#[cfg(unix)]
fn host(_: &[(String, String)]) -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(not(unix))]
fn host(env: &[(String, String)]) -> String {
    let name = env.iter().find(|(name, _)| name == "COMPUTERNAME");
    name.map_or_else(|| "localhost".to_owned(), |(_, name)| name.to_lowercase())
}

#[cfg(unix)]
fn uid() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
const fn uid() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Surroundings {
        Surroundings {
            env: vec![
                ("CREDENTIALS_DIRECTORY".into(), "/run/credentials/a2ad".into()),
                ("EMPTY".into(), String::new()),
            ],
            cwd: "/srv/site".into(),
            home: Some("/home/ann".into()),
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_path_is_relative_to_where_it_is_written() {
        let at = |text| around().resolve(text, Path::new("/etc/a2ad")).unwrap();
        assert_eq!(at("push.secret"), Path::new("/etc/a2ad/push.secret"));
        assert_eq!(at("./x/"), Path::new("/etc/a2ad/x"));
        assert_eq!(at("/srv/x"), Path::new("/srv/x"));
        assert_eq!(at("~/x"), Path::new("/home/ann/x"));
        assert_eq!(at("~"), Path::new("/home/ann"));
        assert_eq!(at("~bob"), Path::new("/etc/a2ad/~bob"));
    }

    #[test]
    fn a_credential_is_a_file_of_the_units_directory_and_of_no_other() {
        let at = |text| around().resolve(text, Path::new("/etc/a2ad"));
        assert_eq!(at("credential:push").unwrap(), Path::new("/run/credentials/a2ad/push"));
        for text in ["credential:", "credential:..", "credential:../x", "credential:a/b"] {
            assert!(at(text).is_err(), "{text}");
        }
        let bare = Surroundings::default();
        let refused = bare.resolve("credential:push", Path::new("/")).unwrap_err();
        assert!(refused.hint.unwrap().contains("LoadCredential=push:"));
    }
}
