//! The file that `a2ad init` writes: every key with its default and a word on what it does.
#![expect(clippy::disallowed_methods, reason = "writes the configuration file")]

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use super::paths::{Paths, Scope};

/// The text of the file.
pub const TEXT: &str = include_str!("init.toml");

/// Writes the file, and the directories above it. Nothing that exists is changed.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] where there is a file, or the system's reason.
pub fn write(paths: &Paths) -> io::Result<()> {
    if let Some(dir) = paths.config.parent() {
        std::fs::create_dir_all(dir)?;
    }
    create(&paths.config, paths.scope)?.write_all(TEXT.as_bytes())
}

fn create(path: &Path, scope: Scope) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // A user's file may come to hold secrets. The system's is read by a service that is not its owner.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if scope == Scope::User { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = scope;
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths {
            config: dir.path().join("a/a2ad.toml"),
            scope: Scope::User,
            ..Paths::system(None, &crate::config::Surroundings::default())
        };
        write(&paths).unwrap();
        assert_eq!(std::fs::read_to_string(&paths.config).unwrap(), TEXT);
        std::fs::write(&paths.config, "mine").unwrap();
        assert_eq!(write(&paths).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&paths.config).unwrap(), "mine");
    }
}
