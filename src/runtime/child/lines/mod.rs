//! Lines of bytes out of a pipe: bounded, decoded by nobody before they are whole.
//!
//! Called by the runtimes that speak in lines. It never decodes text (UR-32: a chunk may end inside a character),
//! never holds more than one line and a chunk, and never gives up because a line is too long (UR-34).

use std::borrow::Cow;
use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is asked of the pipe at once.
const CHUNK: usize = 16 * 1024;

/// Splits what `R` gives at each LF.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    max: usize,
    buffer: BytesMut,
    /// How far `buffer` is known to hold no LF.
    searched: usize,
    /// Bytes dropped of the line that is too long; `None` while a line still fits.
    dropped: Option<u64>,
}

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its LF or CRLF; the last one may have had none.
    Whole(Vec<u8>),
    /// A line of that many bytes was over the limit and is gone; the next one follows.
    TooLong(u64),
    /// The pipe is closed and everything was given.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `max` bytes, counted without the LF.
    pub fn new(reader: R, max: usize) -> Self {
        Self { reader, max, buffer: BytesMut::new(), searched: 0, dropped: None }
    }

    /// The next line. Cancel-safe: what was read stays for the next call.
    ///
    /// # Errors
    /// What the pipe says; what was read before it stays.
    pub async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.take() {
                return Ok(line);
            }
            self.buffer.reserve(CHUNK);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.last());
            }
        }
    }

    /// A line that is whole in the buffer.
    fn take(&mut self) -> Option<Line> {
        let Some(at) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.dropped.is_some() || self.buffer.len() > self.max.saturating_add(1) {
                self.drop_buffer();
            }
            return None;
        };
        let line = self.buffer.split_to(self.searched + at + 1);
        self.searched = 0;
        let line = &line[..line.len() - 1];
        if let Some(dropped) = self.dropped.take() {
            return Some(Line::TooLong(dropped + line.len() as u64));
        }
        Some(self.judge(line))
    }

    /// What is left when the pipe is closed.
    fn last(&mut self) -> Line {
        let rest = self.buffer.split();
        self.searched = 0;
        match self.dropped.take() {
            Some(dropped) => Line::TooLong(dropped + rest.len() as u64),
            None if rest.is_empty() => Line::End,
            None => self.judge(&rest),
        }
    }

    fn judge(&self, line: &[u8]) -> Line {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.max { Line::TooLong(line.len() as u64) } else { Line::Whole(line.to_vec()) }
    }

    fn drop_buffer(&mut self) {
        *self.dropped.get_or_insert(0) += self.buffer.len() as u64;
        // Gives the memory of the long line back: the rest of it needs a chunk only.
        self.buffer = BytesMut::new();
        self.searched = 0;
    }
}

const ESC: u8 = 0x1b;

/// `bytes` without terminal control: CSI, OSC and the other escape sequences (UR-30). Shells and plugins decorate
/// a program's stdout with them although it is no terminal.
#[must_use]
pub fn plain(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&ESC) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == ESC) {
        out.extend_from_slice(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// What follows an escape sequence, given what follows its ESC (ECMA-48 sections 5.4 and 5.6).
fn after_escape(rest: &[u8]) -> &[u8] {
    let Some((&kind, body)) = rest.split_first() else { return rest };
    match kind {
        b'[' => {
            let end = body.iter().position(|byte| !(0x20..=0x3f).contains(byte));
            end.map_or(
                &[],
                |end| if (0x40..=0x7e).contains(&body[end]) { &body[end + 1..] } else { &body[end..] },
            )
        }
        // OSC, DCS, SOS, PM, APC: a string up to BEL or ST. One that never ends is no decoration: it is kept.
        b']' | b'P' | b'X' | b'^' | b'_' => after_string(body).unwrap_or(body),
        // Others: intermediates, then one final byte.
        _ => {
            let end = rest.iter().position(|byte| !(0x20..=0x2f).contains(byte));
            end.map_or(
                &[],
                |end| if (0x30..=0x7e).contains(&rest[end]) { &rest[end + 1..] } else { &rest[end..] },
            )
        }
    }
}

fn after_string(body: &[u8]) -> Option<&[u8]> {
    let end = body.iter().position(|&byte| byte == 0x07 || byte == ESC)?;
    match &body[end..] {
        [0x07, rest @ ..] | [ESC, b'\\', rest @ ..] => Some(rest),
        // Another sequence begins: the string was broken off.
        broken => Some(broken),
    }
}

#[cfg(test)]
mod tests;
