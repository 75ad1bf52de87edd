//! The end of what a child said on stderr: kept in a ring, given with secrets masked.
//!
//! Filled by a task of `process`, so that a flood neither grows memory nor blocks the child (UR-36); read by the
//! runtimes for the text of a failure. It never hands out a value the node knows to be secret (O-35).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::lines::plain;

/// How much of stderr is kept.
const KEPT: usize = 64 * 1024;

/// Values shorter than this are no secrets: masking them would blank out ordinary words.
const SHORTEST: usize = 8;

/// Values that are shown as `***`.
#[derive(Clone, Default)]
pub(super) struct Mask(Arc<Vec<String>>);

impl Mask {
    /// The longest first, so that one value inside another leaves no rest.
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect();
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self(Arc::new(secrets))
    }

    /// This and more.
    pub(super) fn with(&self, more: Vec<String>) -> Self {
        Self::new(self.0.iter().cloned().chain(more))
    }

    /// The length of the longest secret, in bytes.
    fn longest(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }

    /// `text` without the secrets.
    pub(super) fn apply(&self, text: String) -> String {
        self.0.iter().fold(
            text,
            |text, secret| {
                if text.contains(secret) { text.replace(secret, "***") } else { text }
            },
        )
    }
}

/// The newest bytes of a stream.
#[derive(Default)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    overflowed: bool,
}

impl Ring {
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend(chunk);
        if let Some(over) = self.bytes.len().checked_sub(KEPT).filter(|over| *over > 0) {
            self.bytes.drain(..over);
            self.overflowed = true;
        }
    }

    /// What is kept. Where the beginning is gone, half a secret would not be recognised: as many bytes as the
    /// `longest` one has are left out, and the rest of that line unless it is most of what there is.
    fn text(&self, longest: usize) -> Vec<u8> {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        if !self.overflowed {
            return bytes;
        }
        let rest = bytes.get(longest..).unwrap_or_default();
        let line = rest.iter().take(KEPT / 2).position(|&byte| byte == b'\n');
        rest[line.map_or(0, |end| end + 1)..].to_vec()
    }
}

/// Shared by the task that drains and the child that tells.
#[derive(Clone)]
pub(super) struct Tail {
    ring: Arc<Mutex<Ring>>,
    mask: Mask,
}

impl Tail {
    pub(super) fn new(mask: Mask) -> Self {
        Self { ring: Arc::default(), mask }
    }

    pub(super) fn push(&self, chunk: &[u8]) {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }

    /// At most the last `max` bytes, as text a person can read.
    pub(super) fn text(&self, max: usize) -> String {
        let bytes = self.ring.lock().unwrap_or_else(PoisonError::into_inner).text(self.mask.longest());
        let text = self.mask.apply(String::from_utf8_lossy(&plain(&bytes)).into_owned());
        let text = text.trim_end();
        let mut from = text.len().saturating_sub(max);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }

    /// Reads `stderr` to its end; `seen` is called for each chunk.
    pub(super) async fn fill(self, mut stderr: impl AsyncRead + Unpin, seen: impl Fn()) {
        let mut chunk = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            seen();
            self.push(&chunk[..read]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(secrets: &[&str]) -> Tail {
        Tail::new(Mask::new(secrets.iter().map(|secret| (*secret).to_owned())))
    }

    #[test]
    fn ur_36_a_flood_leaves_its_end_only() {
        let tail = tail(&[]);
        for line in 0..100_000 {
            tail.push(format!("line {line}\n").as_bytes());
        }
        assert!(tail.ring.lock().unwrap().bytes.len() <= KEPT);
        assert_eq!(tail.text(21), "line 99998\nline 99999"[..].to_owned());
        assert!(tail.text(usize::MAX).starts_with("line "), "no half line at the beginning");
    }

    #[test]
    fn secrets_are_masked_before_the_text_is_cut() {
        let tail = tail(&["sk-12345678", "sk-12345678-longer", "short"]);
        tail.push(b"key sk-12345678 and sk-12345678-longer, short\n");
        assert_eq!(tail.text(100), "key *** and ***, short");
        assert_eq!(tail.text(9), "**, short", "no part of a secret, however short the end");
    }

    #[test]
    fn a_secret_that_the_ring_cut_is_not_given_half() {
        let tail = tail(&["supersecretvalue"]);
        tail.push(b"supersecretvalue\n");
        tail.push(&vec![b'x'; KEPT - 9]);
        assert!(!tail.text(usize::MAX).contains("value"));
    }

    #[test]
    fn a_flood_without_a_newline_leaves_its_end_too() {
        let tail = tail(&["supersecretvalue"]);
        tail.push(&vec![b'x'; 2 * KEPT]);
        tail.push(b" out of memory\n");
        assert_eq!(tail.text(13), "out of memory");
    }

    #[test]
    fn text_is_readable_whatever_was_written() {
        let tail = tail(&[]);
        tail.push("\u{1b}[31mfehlgeschlagen: 한\u{1b}[0m \u{fffd}".as_bytes());
        tail.push(&[0xff, 0xfe, b'\n']);
        let text = tail.text(1000);
        assert!(text.starts_with("fehlgeschlagen: 한"), "{text}");
        for max in 0..30 {
            assert!(tail.text(max).len() <= max);
        }
    }
}
