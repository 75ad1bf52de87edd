//! A conversation with a program: what it prints comes out piece by piece, what is written goes in meanwhile, and
//! its end is told once, after all it had printed.
//!
//! Used by `exec`, `jsonl` and `claude`; the one place where the end of a pipe, the end of a process and the end of
//! its tree are brought together. It never takes one for another (UR-6, UR-7), and knows no protocol.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::child::lines::{Line, Lines};
use super::child::{Child, Ended, Exit, Stdout};
use super::pen::{Pen, Written};
use super::turn::Timer;

/// How long more is read after the process has ended: a grandchild may hold the pipe for ever (UR-6).
const DRAIN: Duration = Duration::from_secs(2);

/// Bytes of a piece that is no line.
const CHUNK: usize = 16 * 1024;

/// How stdout is cut.
pub(super) enum Cut {
    /// At line ends; at most so many bytes a line.
    Lines(Option<usize>),
    /// As it comes.
    Chunks,
}

/// A running program with its pipes.
pub(super) struct Talk {
    child: Child,
    source: Option<Source>,
    pen: Pen,
    exit: Option<Exit>,
    /// Nothing is read before this is written (J-13).
    gate: Option<Written>,
    /// How long a program may live on after closing its stdout.
    mute: Option<Duration>,
    over: Timer,
}

enum Source {
    Lines(Lines<Stdout>),
    Chunks(Stdout),
}

/// What comes of it.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line without its end, or a chunk.
    Piece(Vec<u8>),
    /// A line of so many bytes, which is gone.
    TooLong(u64),
    /// The process has ended; nothing more comes.
    Exit(Exit),
    /// It has closed its stdout and lives on.
    Mute,
}

impl Talk {
    /// `mute`: how long the program may live on after closing its stdout; `None`: as long as it wants.
    pub(super) fn new(mut child: Child, cut: &Cut, mute: Option<Duration>) -> Self {
        let source = child.stdout.take().map(|stdout| match cut {
            Cut::Lines(max) => Source::Lines(Lines::new(stdout, max.unwrap_or(usize::MAX))),
            Cut::Chunks => Source::Chunks(stdout),
        });
        let pen = Pen::new(child.stdin.take());
        Self { child, source, pen, exit: None, gate: None, mute, over: Timer::never() }
    }

    /// Queues bytes for stdin.
    pub(super) fn write(&mut self, bytes: Vec<u8>) -> Written {
        let written = Written::default();
        self.write_as(bytes, written.clone());
        written
    }

    /// Queues bytes whose writing somebody else watches.
    pub(super) fn write_as(&mut self, bytes: Vec<u8>, written: Written) {
        self.pen.write(bytes, written);
    }

    /// Queues bytes before which nothing of the program is heard.
    pub(super) fn write_first(&mut self, bytes: Vec<u8>) {
        self.gate = Some(self.write(bytes));
    }

    /// Closes stdin once all that waits is out.
    pub(super) fn close(&mut self) {
        self.pen.close();
    }

    /// Whether the program can still be told something.
    pub(super) fn is_open(&self) -> bool {
        self.pen.is_open() && self.exit.is_none()
    }

    /// Bytes that the program has not read.
    pub(super) fn waiting(&self) -> usize {
        self.pen.waiting()
    }

    /// The program, for its stderr and its number.
    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// What comes next. Cancel-safe. After [`Heard::Exit`] and [`Heard::Mute`] there is nothing more to ask.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            let gated = self.gate.as_ref().is_some_and(|gate| !gate.is_done()) && self.pen.is_whole();
            // Output before the timer: what was printed in time counts, however slowly it is taken.
            tokio::select! {
                biased;
                () = self.pen.pump(), if self.pen.has_work() => {}
                piece = next(&mut self.source), if self.source.is_some() && !gated => {
                    if let Some(heard) = piece {
                        return heard;
                    }
                    self.source = None;
                    match self.exit {
                        Some(exit) => return Heard::Exit(exit),
                        None => self.over = Timer::after(self.mute),
                    }
                }
                exit = self.child.wait(), if self.exit.is_none() => {
                    self.exit = Some(exit);
                    if self.source.is_none() {
                        return Heard::Exit(exit);
                    }
                    self.gate = None;
                    self.over = Timer::after(DRAIN);
                }
                () = self.over.passed() => return self.exit.map_or(Heard::Mute, Heard::Exit),
            }
        }
    }

    /// Closes stdin, waits `patience` for the program to leave by itself, then ends its tree: TERM, `term`, KILL, proof.
    /// What it prints meanwhile is read and dropped, lest it waits for its reader.
    pub(super) async fn leave(self, patience: Duration, term: Duration) -> Ended {
        let Self { mut child, mut source, pen, .. } = self;
        drop(pen);
        let drop_output = async {
            while next(&mut source).await.is_some() {}
            std::future::pending::<Infallible>().await
        };
        let leave = async {
            if !patience.is_zero() {
                let _ = tokio::time::timeout(patience, child.wait()).await;
            }
            child.end(term).await
        };
        tokio::select! {
            ended = leave => ended,
            never = drop_output => match never {},
        }
    }
}

/// The next piece; `None` when the pipe has ended, and for ever after.
async fn next(source: &mut Option<Source>) -> Option<Heard> {
    match source.as_mut()? {
        Source::Lines(lines) => match lines.next().await {
            Ok(Line::Whole(line)) => Some(Heard::Piece(line)),
            Ok(Line::TooLong(bytes)) => Some(Heard::TooLong(bytes)),
            Ok(Line::End) => None,
            Err(error) => lost(&error),
        },
        Source::Chunks(stdout) => {
            let mut chunk = Vec::with_capacity(CHUNK);
            match stdout.read_buf(&mut chunk).await {
                Ok(0) => None,
                Ok(_) => Some(Heard::Piece(chunk)),
                Err(error) => lost(&error),
            }
        }
    }
}

fn lost(error: &io::Error) -> Option<Heard> {
    tracing::warn!(%error, "a program's stdout cannot be read; taken as its end");
    None
}
