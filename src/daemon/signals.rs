//! What the system tells the node: stop, stop now, reload.

use super::Error;

/// A signal that means something to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// SIGTERM, SIGINT, Ctrl-C: stop politely; a second one: at once.
    Stop,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// SIGUSR1, SIGUSR2 and SIGALRM mean nothing to a node, and end a process that does not catch them. They are caught and
/// not ignored, for programs would inherit that. SIGPIPE is ignored by every Rust program, and not passed on.
#[cfg(unix)]
pub(super) struct Signals {
    term: tokio::signal::unix::Signal,
    int: tokio::signal::unix::Signal,
    hup: tokio::signal::unix::Signal,
    usr1: tokio::signal::unix::Signal,
    usr2: tokio::signal::unix::Signal,
    alarm: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> Result<Self, Error> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|error| Error::Signals(error.to_string()));
        Ok(Self {
            term: listen(SignalKind::terminate())?,
            int: listen(SignalKind::interrupt())?,
            hup: listen(SignalKind::hangup())?,
            usr1: listen(SignalKind::user_defined1())?,
            usr2: listen(SignalKind::user_defined2())?,
            alarm: listen(SignalKind::alarm())?,
        })
    }

    /// The next one that means something.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            let name = tokio::select! {
                _ = self.term.recv() => return Signal::Stop,
                _ = self.int.recv() => return Signal::Stop,
                _ = self.hup.recv() => return Signal::Reload,
                _ = self.usr1.recv() => "SIGUSR1",
                _ = self.usr2.recv() => "SIGUSR2",
                _ = self.alarm.recv() => "SIGALRM",
            };
            tracing::debug!(signal = name, "a signal without a meaning here");
        }
    }
}

#[cfg(windows)]
pub(super) struct Signals {
    c: tokio::signal::windows::CtrlC,
    shutdown: tokio::signal::windows::CtrlShutdown,
    r#break: tokio::signal::windows::CtrlBreak,
}

#[cfg(windows)]
impl Signals {
    pub(super) fn listen() -> Result<Self, Error> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_shutdown};
        let told = |error: std::io::Error| Error::Signals(error.to_string());
        Ok(Self {
            c: ctrl_c().map_err(told)?,
            shutdown: ctrl_shutdown().map_err(told)?,
            r#break: ctrl_break().map_err(told)?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.c.recv() => Signal::Stop,
            _ = self.shutdown.recv() => Signal::Stop,
            _ = self.r#break.recv() => Signal::Stop,
        }
    }
}
