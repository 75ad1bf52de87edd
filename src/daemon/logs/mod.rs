//! Where log records go and how they look: stderr, pretty on a terminal and JSON elsewhere; or a file of bounded size
//! where there is no journal. All of `[log]` holds from a reload on (O-22).
//!
//! Message text and callers' addresses are records of targets of their own, which are shut unless the configuration
//! opens them (O-43); no filter of the operator's does.

mod file;
mod form;

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
};

use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt::{self, format::JsonFields},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

use self::{
    file::Rotating,
    form::{Form, Look},
};
use super::Error;
use crate::{
    config::{Format, Log},
    model::log::{ADDRESSES, CONTENT},
};

/// The log that was started, under which a reload may put another configuration.
pub(super) struct Handle {
    filter: reload::Handle<Targets, Registry>,
    form: Form,
    sink: Arc<Mutex<Sink>>,
}

/// A configuration that can be put in force.
pub(super) struct Prepared {
    filter: Targets,
    look: Look,
    sink: Sink,
}

/// Starts logging.
///
/// # Errors
/// The log file can't be opened.
pub(super) fn start(log: &Log) -> Result<Handle, Error> {
    let Prepared { filter, look, sink } = prepare(log)?;
    let (layer, filter) = reload::Layer::new(filter);
    let handle = Handle { filter, form: Form::new(look), sink: Arc::new(Mutex::new(sink)) };
    let sink = handle.sink.clone();
    let records = fmt::layer()
        .with_ansi(false)
        .fmt_fields(JsonFields::new())
        .event_format(handle.form.clone())
        .with_writer(move || Writer(sink.clone()));
    // A second node in one process (tests) keeps the first one's log.
    let _ = tracing_subscriber::registry().with(layer).with(records).try_init();
    Ok(handle)
}

/// Opens what a configuration names, and changes nothing.
///
/// # Errors
/// The log file can't be opened.
pub(super) fn prepare(log: &Log) -> Result<Prepared, Error> {
    let terminal = io::stderr().is_terminal() && log.file.is_none();
    let json = match log.format {
        Format::Auto => !terminal,
        Format::Pretty => false,
        Format::Json => true,
    };
    let look = match (json, terminal) {
        (true, _) => Look::Json,
        (false, true) => Look::Colored,
        (false, false) => Look::Plain,
    };
    let sink = match &log.file {
        Some(path) => Sink::File(Rotating::open(path, log.max_size, log.keep)?),
        None => Sink::Stderr,
    };
    Ok(Prepared { filter: targets(log), look, sink })
}

impl Handle {
    /// Puts another configuration in force: the next record is of it.
    pub(super) fn replace(&self, Prepared { filter, look, sink }: Prepared) {
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
        self.form.set(look);
        if let Err(error) = self.filter.reload(filter) {
            tracing::debug!(%error, "the log keeps its filter");
        }
    }
}

/// What is let through. The text of the level is known to be well formed.
fn targets(log: &Log) -> Targets {
    let all = || Targets::new().with_default(LevelFilter::INFO);
    let mut targets = log.filter.parse().unwrap_or_else(|_| all());
    for (target, open) in [(CONTENT, log.content), (ADDRESSES, log.addresses)] {
        if !open {
            targets = targets.with_target(target, LevelFilter::OFF);
        }
    }
    targets
}

enum Sink {
    Stderr,
    File(Rotating),
}

/// The sink of the moment, for one record.
struct Writer(Arc<Mutex<Sink>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Sink::Stderr => io::stderr().write(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Sink::Stderr => io::stderr().flush(),
            Sink::File(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(filter: &str, open: bool) -> Log {
        Log {
            filter: filter.into(),
            format: Format::Auto,
            content: open,
            audit: true,
            addresses: open,
            file: None,
            max_size: None,
            keep: None,
        }
    }

    #[test]
    fn text_and_addresses_are_shut_at_every_level_unless_they_are_opened() {
        use tracing::Level;
        for filter in ["trace", "a2ad::content=trace,a2ad::addresses=trace", "a2ad=trace"] {
            let shut = targets(&log(filter, false));
            for level in [Level::ERROR, Level::INFO, Level::DEBUG, Level::TRACE] {
                assert!(
                    !shut.would_enable(CONTENT, &level) && !shut.would_enable(ADDRESSES, &level),
                    "{filter}"
                );
            }
            let open = targets(&log(filter, true));
            assert!(open.would_enable(CONTENT, &Level::DEBUG) && open.would_enable(ADDRESSES, &Level::INFO));
        }
        let usual = targets(&log("info", true));
        assert!(!usual.would_enable(CONTENT, &Level::DEBUG), "text is for debug alone");
        assert!(usual.would_enable(ADDRESSES, &Level::INFO));
    }
}
