//! The process as a run sees it: one of its own, or a place at one that many runs share.

use std::time::Duration;

use tokio::sync::mpsc;

use super::super::child::Exit;
use super::super::pen::Written;
use super::super::talk::{self, Talk};
use super::super::turn::{self, TERM};
use super::host::Command;
use super::output::{self, Said};

/// Where a run's lines go and come from.
pub(super) enum Link {
    /// A process for this task alone (J-17 to J-20).
    Own(Box<Own>),
    /// A place at a process for many (J-26).
    Seat(Seat),
}

/// What a run hears.
#[derive(Debug)]
pub(super) enum Heard {
    /// Line `number` of the process: what it says, or what is wrong with it.
    Line { number: u64, said: Result<Said, String> },
    /// The process does not read what is written to it (J-29).
    Clogged,
    /// The process is gone.
    Gone(Gone),
}

/// How a process went.
#[derive(Clone, Debug)]
pub(super) enum Gone {
    /// It ended; with the end of its stderr.
    Exit(Exit, String),
    /// It closed its stdout and lives on; with the end of its stderr.
    Mute(String),
    /// Nobody knows more.
    Unknown,
}

/// A process for one task.
pub(super) struct Own {
    talk: Talk,
    lines: u64,
    /// Most bytes that may wait for the program.
    most: usize,
    clogged: bool,
}

/// A place at a process for many tasks. Dropping it gives the place up.
pub(super) struct Seat {
    pub(super) task: String,
    pub(super) heard: mpsc::Receiver<Heard>,
    pub(super) commands: mpsc::UnboundedSender<Command>,
}

/// How much may wait for a program that does not read (J-29).
pub(super) fn most_waiting(line: Option<usize>) -> usize {
    line.map_or(usize::MAX, |line| line.saturating_add(1024 * 1024))
}

/// Too long a line, as the reason of a failure (J-3).
pub(super) fn too_long(bytes: u64, limit: Option<usize>) -> String {
    format!("$: {bytes} bytes are over the limit of {} a line", limit.unwrap_or(usize::MAX))
}

impl Own {
    pub(super) fn new(talk: Talk, limit: Option<usize>) -> Self {
        Self { talk, lines: 0, most: most_waiting(limit), clogged: false }
    }

    async fn hear(&mut self, limit: Option<usize>) -> Heard {
        if self.clogged {
            return Heard::Clogged;
        }
        loop {
            match self.talk.hear().await {
                talk::Heard::Piece(bytes) => {
                    self.lines += 1;
                    if let Some(line) = output::read(&bytes) {
                        return Heard::Line { number: self.lines, said: line.said };
                    }
                    skipped(self.lines, &bytes);
                }
                talk::Heard::TooLong(bytes) => {
                    self.lines += 1;
                    return Heard::Line { number: self.lines, said: Err(too_long(bytes, limit)) };
                }
                talk::Heard::Exit(exit) => {
                    return Heard::Gone(Gone::Exit(exit, turn::tail(self.talk.child())));
                }
                talk::Heard::Mute => return Heard::Gone(Gone::Mute(turn::tail(self.talk.child()))),
            }
        }
    }
}

impl Link {
    /// What comes next. Cancel-safe. After [`Heard::Gone`] there is nothing more to ask.
    pub(super) async fn hear(&mut self, limit: Option<usize>) -> Heard {
        match self {
            Self::Own(own) => own.hear(limit).await,
            Self::Seat(seat) => seat.heard.recv().await.unwrap_or(Heard::Gone(Gone::Unknown)),
        }
    }

    /// Writes a line. `None`: nobody reads any more.
    pub(super) fn write(&mut self, line: Vec<u8>) -> Option<Written> {
        match self {
            Self::Own(own) if !own.talk.is_open() => None,
            Self::Own(own) => {
                // One line may wait however long it is; more than one only up to the limit.
                let one = line.len();
                let written = own.talk.write(line);
                own.clogged |= own.talk.waiting() > own.most.max(one);
                Some(written)
            }
            Self::Seat(seat) => {
                let written = Written::default();
                let write = Command::Write { task: seat.task.clone(), line, written: written.clone() };
                seat.commands.send(write).ok().map(|()| written)
            }
        }
    }

    /// The turn waits for its caller, or goes on.
    pub(super) fn suspended(&self, suspended: bool) {
        if let Self::Seat(seat) = self {
            let _ = seat.commands.send(Command::Suspended { task: seat.task.clone(), suspended });
        }
    }

    /// Whether the process is this run's to end.
    pub(super) const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Lets go: an own process is asked to leave and then ended (J-19); a shared one is condemned if it did not obey
    /// (J-28).
    pub(super) async fn leave(self, patience: Duration, term: Duration, obeyed: bool) {
        match self {
            Self::Own(own) => drop(own.talk.leave(patience, term).await),
            Self::Seat(seat) if !obeyed => drop(seat.commands.send(Command::Condemn)),
            Self::Seat(_) => {}
        }
    }

    /// Ends an own process now.
    pub(super) async fn end(self) {
        self.leave(Duration::ZERO, TERM, true).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Leave { task: std::mem::take(&mut self.task) });
    }
}

/// A line with nothing in it for the node (J-2). Its text is the program's business, so only its size is told.
pub(super) fn skipped(number: u64, bytes: &[u8]) {
    tracing::debug!(line = number, bytes = bytes.len(), "a line without a known member is skipped");
}
