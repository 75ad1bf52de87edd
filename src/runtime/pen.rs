//! A program's stdin, written without waiting for the program.
//!
//! Used by `talk`. What is written is queued and goes out when the pipe takes it; how much waits is known, so that
//! a program that does not read can be given up (J-29). A broken pipe is no error: the exit decides (J-19).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

/// Whether a piece has gone out whole, so that the program could have read it.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Arc<AtomicBool>);

impl Written {
    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn done(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The writing end.
#[derive(Debug, Default)]
pub(super) struct Pen {
    pipe: Option<ChildStdin>,
    queue: VecDeque<(Vec<u8>, Written)>,
    /// How much of the first piece is out.
    at: usize,
    waiting: usize,
    closing: bool,
}

impl Pen {
    pub(super) fn new(pipe: Option<ChildStdin>) -> Self {
        Self { pipe, ..Self::default() }
    }

    /// Queues bytes. On a closed or broken pipe they are dropped and never count as written.
    pub(super) fn write(&mut self, bytes: Vec<u8>, written: Written) {
        if self.is_open() {
            self.waiting += bytes.len();
            self.queue.push_back((bytes, written));
        }
    }

    /// Closes the pipe once all that waits is out.
    pub(super) fn close(&mut self) {
        self.closing = true;
        if self.queue.is_empty() {
            self.pipe = None;
        }
    }

    /// Whether more can be written.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some() && !self.closing
    }

    /// Whether what was written can still arrive.
    pub(super) fn is_whole(&self) -> bool {
        self.pipe.is_some()
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether [`Self::pump`] has something to do.
    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Moves bytes into the pipe when it takes some. Cancel-safe: a write takes bytes or does not happen.
    pub(super) async fn pump(&mut self) {
        let (Some(pipe), Some((bytes, written))) = (&mut self.pipe, self.queue.front()) else {
            return std::future::pending().await;
        };
        match pipe.write(&bytes[self.at..]).await {
            Ok(count) => {
                self.at += count;
                self.waiting -= count;
                if self.at < bytes.len() {
                    return;
                }
                written.done();
                self.queue.pop_front();
                self.at = 0;
                if self.closing && self.queue.is_empty() {
                    self.pipe = None;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a program's stdin is closed");
                *self = Self::default();
            }
        }
    }
}
