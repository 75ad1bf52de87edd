//! Room on the disk: how much there is, and 16 MiB that are given up when there is none, so that running turns can
//! still reach a truthful state (O-36).

#![expect(clippy::disallowed_methods, reason = "the state directory is the store's own")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::config::Config;

/// Bytes that are kept in reserve.
const BALLAST: u64 = 16 * 1024 * 1024;

/// How long a look at the disk counts.
const SAMPLED: Duration = Duration::from_secs(1);

/// What there is room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Free bytes on the file system, where they can be told.
    pub free: Option<u64>,
    /// Whether new tasks have room, else why not: one sentence for the caller.
    pub writable: Result<(), String>,
    /// Bytes that the database takes, its log included.
    pub bytes: u64,
}

/// Watches the disk below a state directory.
pub(super) struct Space {
    dir: PathBuf,
    min_free: u64,
    max: Option<u64>,
    broken: OnceLock<String>,
    /// Whether the reserve was given up and not yet taken again.
    full: AtomicBool,
    sampled: Mutex<Option<(Instant, Room)>>,
}

impl Space {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            dir: config.dir.clone(),
            min_free: config.min_free,
            max: config.max,
            broken: OnceLock::new(),
            full: AtomicBool::new(false),
            sampled: Mutex::default(),
        }
    }

    /// What there is room for, as of a second ago at most.
    pub(super) fn room(&self, at: Instant) -> Room {
        let mut sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, room)) = &*sampled
            && at.saturating_duration_since(*when) < SAMPLED
        {
            return room.clone();
        }
        let room = self.look();
        *sampled = Some((at, room.clone()));
        room
    }

    fn look(&self) -> Room {
        if self.full.load(Ordering::Relaxed) {
            self.lay_ballast();
        }
        let free = free(&self.dir);
        let bytes = self.size("node.db") + self.size("node.db-wal");
        let writable = self.writable(free, bytes);
        Room { free, writable, bytes }
    }

    fn size(&self, name: &str) -> u64 {
        fs::metadata(self.dir.join(name)).map_or(0, |file| file.len())
    }

    fn writable(&self, free: Option<u64>, bytes: u64) -> Result<(), String> {
        if let Some(why) = self.broken.get() {
            return Err(format!("the node's store is damaged and takes nothing more: {why}"));
        }
        if let Some(free) = free.filter(|free| *free < self.min_free) {
            let min = self.min_free;
            return Err(format!(
                "the node's disk has {free} bytes free, less than the {min} of store.min_free"
            ));
        }
        if let Some(max) = self.max.filter(|max| bytes >= max - reserve(*max)) {
            return Err(format!("the node's store takes {bytes} bytes, and store.max is {max}"));
        }
        if self.full.load(Ordering::Relaxed) {
            return Err("the node's disk is full".to_owned());
        }
        Ok(())
    }

    /// Notes that nothing may be written any more.
    pub(super) fn broken(&self, why: String) {
        let _ = self.broken.set(why);
        self.forget();
    }

    /// A write found no space: frees the reserve, unless it was `store.max` that was reached.
    pub(super) fn give_up_ballast(&self) {
        self.forget();
        if free(&self.dir).is_none_or(|free| free < BALLAST) {
            self.free_ballast();
        }
    }

    fn free_ballast(&self) {
        tracing::error!(dir = %self.dir.display(), "the disk is full: new tasks are refused until there is room");
        self.full.store(true, Ordering::Relaxed);
        match fs::remove_file(self.ballast()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::error!(%error, "the reserve on the disk could not be freed");
            }
            _ => {}
        }
    }

    /// Takes the reserve if there is room for more than it.
    pub(super) fn lay_ballast(&self) {
        let path = self.ballast();
        if free(&self.dir).is_some_and(|free| free < self.min_free.saturating_add(2 * BALLAST)) {
            return;
        }
        let laid = if path.exists() { Ok(()) } else { reserve_file(&path) };
        match laid {
            Ok(()) => self.full.store(false, Ordering::Relaxed),
            Err(error) => {
                tracing::warn!(%error, "no reserve could be laid on the disk");
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn ballast(&self) -> PathBuf {
        self.dir.join("node.ballast")
    }

    fn forget(&self) {
        *self.sampled.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// How much of the most that the store may take is left for tasks that exist.
fn reserve(max: u64) -> u64 {
    BALLAST.min(max / 4)
}

fn reserve_file(path: &Path) -> io::Result<()> {
    let file = super::dir::create(path, OpenOptions::new().write(true).create_new(true))?;
    #[cfg(target_os = "linux")]
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, BALLAST).is_ok() {
        return Ok(());
    }
    fill(file)
}

/// Where space can't be asked for, it is written. Not with zeros, which some file systems don't store.
fn fill(mut file: File) -> io::Result<()> {
    let mut block = vec![0; 64 * 1024];
    getrandom::fill(&mut block).map_err(|error| io::Error::other(error.to_string()))?;
    for _ in 0..BALLAST / (64 * 1024) {
        file.write_all(&block)?;
    }
    file.sync_all()
}

/// Free bytes for this process where a path lies, where they can be told.
#[cfg(unix)]
pub(super) fn free(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Free bytes for this process where a path lies, where they can be told.
#[cfg(not(unix))]
pub(super) fn free(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::config::Durability;

    fn space(dir: &Path, min_free: u64, max: Option<u64>) -> Space {
        let durability = Durability::Relaxed;
        Space::new(&Config {
            dir: dir.to_owned(),
            durability,
            keep_terminal: None,
            keep_waiting: None,
            min_free,
            max,
        })
    }

    #[test]
    fn the_reserve_is_freed_when_the_disk_is_full_and_laid_again_when_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let space = space(dir.path(), 0, None);
        space.lay_ballast();
        assert_eq!(fs::metadata(space.ballast()).unwrap().len(), BALLAST);
        space.free_ballast();
        assert!(!space.ballast().exists());
        assert!(space.writable(Some(0), 0).unwrap_err().contains("full"));
        let room = space.room(Instant::now());
        assert_eq!((room.writable, space.ballast().exists()), (Ok(()), true));
    }

    #[test]
    fn below_min_free_new_tasks_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let space = space(dir.path(), 1000, None);
        assert_eq!(space.writable(Some(1000), 0), Ok(()));
        assert!(space.writable(Some(999), 0).unwrap_err().contains("999"));
        assert_eq!(space.writable(None, 0), Ok(()));
    }

    #[test]
    fn near_the_most_that_the_store_may_take_new_tasks_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let space = space(dir.path(), 0, Some(1000));
        assert_eq!(space.writable(None, 749), Ok(()));
        assert!(space.writable(None, 750).unwrap_err().contains("store.max"));
    }

    #[test]
    fn a_look_at_the_disk_counts_for_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let space = space(dir.path(), 0, None);
        let at = Instant::now();
        assert_eq!(space.room(at).bytes, 0);
        fs::write(dir.path().join("node.db"), "12345").unwrap();
        assert_eq!(space.room(at + SAMPLED / 2).bytes, 0);
        assert_eq!(space.room(at + SAMPLED).bytes, 5);
    }

    #[test]
    fn where_space_cannot_be_reserved_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ballast");
        fill(File::create(&path).unwrap()).unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), BALLAST);
    }
}
