//! Private directories: one a task, gone with its tree.
//!
//! Made by `spawn` and removed by `process`. It never follows a link out of the directory that it removes.

#![expect(clippy::disallowed_methods, reason = "makes and removes the temporary directories of children")]

use std::io;
use std::path::{Path, PathBuf};

use super::Error;

/// An empty directory that only the node's user may enter; removed when it is dropped.
#[derive(Debug)]
pub struct Temp {
    path: PathBuf,
}

impl Temp {
    pub(super) fn new(below: &Path) -> Result<Self, Error> {
        let path = below.join(uuid::Uuid::now_v7().simple().to_string());
        private_dir(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only the node's user may read, as a prompt for a program that wants a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        private_file(&path, bytes).map_err(|source| Error::File {
            what: "write",
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Leaves the directory to a process that could not be ended.
    pub(super) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a temporary directory, whatever the modes of what lies in it.
pub(super) fn remove(path: &Path) {
    let removed = std::fs::remove_dir_all(path).or_else(|_| {
        loosen(path);
        std::fs::remove_dir_all(path)
    });
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "a temporary directory was not removed");
        }
        _ => {}
    }
}

/// Makes every directory below writable: module caches are read-only, and a child may have meant it ill.
fn loosen(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        // A link is not followed: its own type is asked.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            loosen(&entry.path());
        }
    }
}

/// Makes `path` with all above it; `path` itself for the node's user only.
pub(super) fn private_dir(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::File { what: "make the directory", path: path.to_owned(), source };
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    match private_builder().create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(failed),
    }
}

#[cfg(unix)]
fn private_builder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// A directory of a profile is its user's alone by inheritance.
#[cfg(not(unix))]
fn private_builder() -> std::fs::DirBuilder {
    std::fs::DirBuilder::new()
}

/// Writes a new file for the node's user only.
pub(super) fn private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn it_is_private_and_goes_with_read_only_directories_but_not_through_links() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("outside/dir")).unwrap();
        let temp = Temp::new(&root.path().join("temp")).unwrap();
        let path = temp.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let file = temp.write("prompt", b"text").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/file"), "").unwrap();
        symlink(root.path().join("outside/dir"), path.join("a/link")).unwrap();
        for name in ["a/b", "a"] {
            std::fs::set_permissions(path.join(name), std::fs::Permissions::from_mode(0o555)).unwrap();
        }
        drop(temp);
        assert!(!path.exists());
        assert!(root.path().join("outside/dir").exists());
    }
}
