//! The two files by which the command line finds the node: `node.json` and `token`.
#![expect(clippy::disallowed_methods, reason = "owns files of the state directory")]

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::Error;
use crate::model::Timestamp;

const NODE: &str = "node.json";
const TOKEN: &str = "token";

/// Removed when the node stops.
pub(super) struct Files {
    paths: Vec<PathBuf>,
}

/// `node.json`. Pid and time are those of `node.lock`: by them a reader knows that it is of the node that holds the lock.
#[derive(Serialize)]
pub(super) struct Addresses<'a> {
    pub(super) pid: u32,
    pub(super) since: Timestamp,
    pub(super) version: &'a str,
    pub(super) urls: &'a [String],
    pub(super) unix: &'a [PathBuf],
}

/// Makes the state directory if it is missing, for its owner only.
pub(super) fn prepare(state: &Path) -> Result<(), Error> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(state).map_err(|error| Error::file("make the directory", state, &error))
}

/// The directory in which the configuration lies, by what the system knows it by. A child may run as the node's user and
/// so move the directory away and put another one in its place; what lies there then is not the operator's (O-1).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place(Option<(u64, u64)>);

impl Place {
    /// As it is now.
    pub(super) fn of(config: &Path) -> Self {
        #[cfg(unix)]
        let known = {
            use std::os::unix::fs::MetadataExt;
            let about = config.parent().and_then(|dir| std::fs::metadata(dir).ok());
            about.map(|about| (about.dev(), about.ino()))
        };
        #[cfg(not(unix))]
        let known = config.parent().and(None);
        Self(known)
    }
}

impl Files {
    /// Nothing written yet. What a node that was killed has left in its state directory goes, so that nobody takes it
    /// for ours. Called by who holds the directory's lock.
    pub(super) fn new(state: &Path) -> Result<Self, Error> {
        for path in [state.join(NODE), state.join(TOKEN)] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::file("remove", &path, &error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(Self { paths: Vec::new() })
    }

    /// Writes the local admin token, made anew at every start (O-1).
    pub(super) fn token(&mut self, state: &Path, token: &str) -> Result<(), Error> {
        self.write(state.join(TOKEN), format!("{token}\n").as_bytes())
    }

    /// Writes where the node listens.
    pub(super) fn addresses(&mut self, state: &Path, addresses: &Addresses<'_>) -> Result<(), Error> {
        // Texts and numbers only: writing them as JSON cannot fail.
        self.write(state.join(NODE), &serde_json::to_vec(addresses).unwrap_or_default())
    }

    /// Writes a file whole, readable by the owner only; a reader sees the old one or the new one.
    fn write(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), Error> {
        let fresh = path.with_extension("new");
        let written = || -> std::io::Result<()> {
            let _ = std::fs::remove_file(&fresh);
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&fresh)?.write_all(bytes)?;
            std::fs::rename(&fresh, &path)
        };
        written().map_err(|error| Error::file("write", &path, &error))?;
        self.paths.push(path);
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}
