//! Signals to a waiting command, and how to end by one as the shell expects (O-42).

use std::io;

/// What may end a command from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The terminal is gone.
    Hangup,
    /// Somebody asked politely.
    Terminate,
    /// Nobody reads our output any more.
    Pipe,
}

impl Signal {
    /// Ends the process by this signal, so that a loop in a shell stops too.
    pub(super) fn end(self) -> ! {
        #[cfg(unix)]
        {
            let number = match self {
                Self::Interrupt => signal_hook::consts::SIGINT,
                Self::Hangup => signal_hook::consts::SIGHUP,
                Self::Terminate => signal_hook::consts::SIGTERM,
                Self::Pipe => signal_hook::consts::SIGPIPE,
            };
            let _ = signal_hook::low_level::emulate_default_handler(number);
        }
        std::process::exit(match self {
            Self::Interrupt if cfg!(windows) => i32::from_ne_bytes(0xC000_013A_u32.to_ne_bytes()),
            Self::Interrupt => 130,
            Self::Hangup => 129,
            Self::Terminate => 143,
            Self::Pipe => 141,
        })
    }
}

/// Waits for signals. What was ignored when the process began (`nohup`, a background job) stays ignored.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    streams: [Option<tokio::signal::unix::Signal>; 3],
}

#[cfg(unix)]
impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system has no handlers left.
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let ignored = ignored();
        let open = |kind: SignalKind| match ignored >> (kind.as_raw_value() - 1) & 1 {
            1 => Ok(None),
            _ => signal(kind).map(Some),
        };
        Ok(Self {
            streams: [
                open(SignalKind::interrupt())?,
                open(SignalKind::hangup())?,
                open(SignalKind::terminate())?,
            ],
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Signal {
        async fn one(stream: &mut Option<tokio::signal::unix::Signal>) {
            if let Some(stream) = stream
                && stream.recv().await.is_some()
            {
                return;
            }
            std::future::pending().await
        }
        let [interrupt, hangup, terminate] = &mut self.streams;
        tokio::select! {
            () = one(interrupt) => Signal::Interrupt,
            () = one(hangup) => Signal::Hangup,
            () = one(terminate) => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// None here.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// The signals that were ignored when the process began, a bit each, as Linux tells it; elsewhere none.
#[cfg(unix)]
fn ignored() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    mask(&status)
}

#[cfg(unix)]
fn mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        assert_eq!(mask("Name:\ta2ad\nSigBlk:\t00\nSigIgn:\t0000000000001003\nSigCgt:\t0"), 0x1003);
        assert_eq!(mask("nothing"), 0);
    }
}
