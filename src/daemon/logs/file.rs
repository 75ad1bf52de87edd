//! A log file of bounded size.
#![expect(clippy::disallowed_methods, reason = "owns the log file")]

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::Error;

/// A file that makes way for a new one once it is full: `a2ad.log`, `a2ad.log.1`, …
pub(super) struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    most: Option<u64>,
    keep: usize,
}

impl Rotating {
    /// Goes on with the file at a path, or begins it.
    pub(super) fn open(path: &Path, most: Option<u64>, keep: Option<usize>) -> Result<Self, Error> {
        let file = append(path).map_err(|error| Error::file("open the log", path, &error))?;
        let size = file.metadata().map_or(0, |data| data.len());
        Ok(Self { path: path.to_owned(), file, size, most, keep: keep.unwrap_or(usize::MAX) })
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Old files move up by one; the oldest goes.
    fn rotate(&mut self) -> io::Result<()> {
        let last = (1..).take_while(|number| self.numbered(*number).exists()).last().unwrap_or(0);
        for number in (1..=last).rev() {
            if number >= self.keep {
                std::fs::remove_file(self.numbered(number))?;
            } else {
                std::fs::rename(self.numbered(number), self.numbered(number + 1))?;
            }
        }
        if self.keep > 0 {
            std::fs::rename(&self.path, self.numbered(1))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        self.file = append(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.most.is_some_and(|most| self.size > 0 && self.size + bytes.len() as u64 > most) {
            self.rotate()?;
        }
        let written = self.file.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    // Opening a pipe would wait for who reads it.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_refused_and_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        // One that nobody reads cannot be opened, one that somebody reads is no file.
        assert!(Rotating::open(&pipe, None, None).is_err());
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert!(Rotating::open(&pipe, None, None).is_err());
    }

    #[test]
    fn a_full_log_makes_way_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a2ad.log");
        let mut log = Rotating::open(&path, Some(8), Some(2)).unwrap();
        for line in ["one....\n", "two....\n", "three..\n", "four...\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).ok();
        assert_eq!(read("a2ad.log").as_deref(), Some("four...\n"));
        assert_eq!(read("a2ad.log.1").as_deref(), Some("three..\n"));
        assert_eq!(read("a2ad.log.2").as_deref(), Some("two....\n"));
        assert_eq!(read("a2ad.log.3"), None);
    }
}
