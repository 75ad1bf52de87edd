//! Where log records go: stderr, pretty on a terminal and JSON elsewhere; or a file of bounded size where there is no
//! journal. Message text is never in a record (O-43): nobody writes it there.
#![expect(clippy::disallowed_methods, reason = "owns the log file")]

use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use super::Error;
use crate::config::{Format, Log};

/// What a reload may change.
pub(super) type Handle = tracing_subscriber::reload::Handle<Targets, tracing_subscriber::Registry>;

/// Starts logging.
///
/// # Errors
/// The log file can't be opened.
pub(super) fn start(log: &Log) -> Result<Handle, Error> {
    let (filter, handle) = tracing_subscriber::reload::Layer::new(targets(&log.filter));
    let terminal = io::stderr().is_terminal();
    let json = match log.format {
        Format::Auto => log.file.is_some() || !terminal,
        Format::Pretty => false,
        Format::Json => true,
    };
    let writer = match &log.file {
        Some(path) => Sink::File(Rotating::open(path, log.max_size, log.keep)?),
        None => Sink::Stderr,
    };
    let base = fmt::layer().with_writer(Mutex::new(writer)).with_target(true);
    let layer: Box<dyn Layer<tracing_subscriber::layer::Layered<_, _>> + Send + Sync> = if json {
        base.json().flatten_event(true).with_current_span(false).boxed()
    } else {
        base.with_ansi(terminal && log.file.is_none()).boxed()
    };
    // A second node in one process (tests) keeps the first one's log.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
    Ok(handle)
}

/// The filter of a text that the configuration has found well formed.
pub(super) fn targets(filter: &str) -> Targets {
    filter.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO))
}

enum Sink {
    Stderr,
    File(Rotating),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stderr => io::stderr().write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stderr => io::stderr().flush(),
            Self::File(file) => file.file.flush(),
        }
    }
}

/// A file that makes way for a new one once it is full: `a2ad.log`, `a2ad.log.1`, …
struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    most: Option<u64>,
    keep: usize,
}

impl Rotating {
    fn open(path: &Path, most: Option<u64>, keep: Option<usize>) -> Result<Self, Error> {
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
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
