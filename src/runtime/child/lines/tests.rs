//! Every split of the input must give the same lines.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::ReadBuf;

use super::*;

/// Gives its chunks one read at a time, being pending before each, as a slow pipe is.
struct Chunks {
    chunks: VecDeque<Vec<u8>>,
    ready: bool,
}

fn chunks<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Chunks {
    let chunks = parts.into_iter().filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect();
    Chunks { chunks, ready: false }
}

impl AsyncRead for Chunks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.ready, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.ready = false;
        if let Some(mut chunk) = self.chunks.pop_front() {
            let taken = chunk.len().min(buf.remaining());
            buf.put_slice(&chunk[..taken]);
            if taken < chunk.len() {
                self.chunks.push_front(chunk.split_off(taken));
            }
        }
        Poll::Ready(Ok(()))
    }
}

async fn all(reader: Chunks, max: usize) -> Vec<Line> {
    let mut lines = Lines::new(reader, max);
    let mut found = Vec::new();
    loop {
        match lines.next().await.expect("chunks do not fail") {
            Line::End => return found,
            line => found.push(line),
        }
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn whole(text: &str) -> Line {
    Line::Whole(text.as_bytes().to_vec())
}

#[test]
fn ur_32_every_split_of_multibyte_text_gives_the_same_lines() {
    let text = "{\"t\":\"안녕\"}\n日本語\r\n\n中文 without an end".as_bytes();
    let expected = vec![whole("{\"t\":\"안녕\"}"), whole("日本語"), whole(""), whole("中文 without an end")];
    for first in 0..text.len() {
        for second in first..text.len() {
            let reader = chunks([&text[..first], &text[first..second], &text[second..]]);
            assert_eq!(block(all(reader, 100)), expected, "split at {first} and {second}");
        }
    }
}

#[test]
fn ur_34_a_line_over_the_limit_is_dropped_and_the_next_one_is_read() {
    let mut text = vec![b'x'; 3_000_000];
    text.extend_from_slice(b"\nafter\n");
    let mut lines = Lines::new(chunks(text.chunks(4096)), 1000);
    assert_eq!(block(lines.next()).unwrap(), Line::TooLong(3_000_000));
    assert!(lines.buffer.capacity() < 100_000, "the long line is not kept: {}", lines.buffer.capacity());
    assert_eq!(block(lines.next()).unwrap(), whole("after"));
    assert_eq!(block(lines.next()).unwrap(), Line::End);
    assert_eq!(block(lines.next()).unwrap(), Line::End);
}

#[test]
fn a_line_of_exactly_the_limit_fits_with_either_ending() {
    for (text, expected) in [
        ("abcd\n", vec![whole("abcd")]),
        ("abcd\r\n", vec![whole("abcd")]),
        ("abcd", vec![whole("abcd")]),
        ("abcde\nf\n", vec![Line::TooLong(5), whole("f")]),
        ("abcde", vec![Line::TooLong(5)]),
        ("abcdefgh", vec![Line::TooLong(8)]),
    ] {
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(block(all(chunks(bytes), 4)), expected, "{text:?} byte by byte");
        assert_eq!(block(all(chunks([text.as_bytes()]), 4)), expected, "{text:?} at once");
    }
}

#[test]
fn a_read_that_is_cancelled_loses_nothing() {
    block(async {
        let mut lines = Lines::new(chunks([&b"one t"[..], b"wo th", b"ree\nfour\n"]), 100);
        let mut found = Vec::new();
        let mut cancelled = 0;
        while found.len() < 2 {
            tokio::select! {
                biased;
                line = lines.next() => found.push(line.unwrap()),
                () = std::future::ready(()) => { cancelled += 1; tokio::task::yield_now().await; }
            }
        }
        assert!(cancelled >= 3);
        assert_eq!(found, vec![whole("one two three"), whole("four")]);
    });
}

proptest! {
    #[test]
    fn the_chunks_do_not_matter(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
        cuts in proptest::collection::vec(0usize..200, 0..8),
        max in 0usize..20,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.push(0);
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        // A line that is dropped while it is read still holds its CR, so only the kind is compared then.
        let kinds = |lines: Vec<Line>| -> Vec<Option<Vec<u8>>> {
            lines.into_iter().map(|line| if let Line::Whole(line) = line { Some(line) } else { None }).collect()
        };
        prop_assert_eq!(kinds(block(all(chunks(parts), max))), kinds(block(all(chunks([&bytes[..]]), max))));
    }

    #[test]
    fn plain_text_has_no_escape_left_and_text_without_one_is_untouched(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let stripped = plain(&bytes);
        prop_assert!(!stripped.contains(&ESC));
        if !bytes.contains(&ESC) {
            prop_assert_eq!(&stripped[..], &bytes[..]);
        }
    }
}

#[test]
fn ur_30_terminal_decoration_is_taken_off() {
    for (given, expected) in [
        (&b"\x1b[?2004h{\"a\":1}"[..], &b"{\"a\":1}"[..]),
        (b"\x1b]0;title\x07{\"a\":1}", b"{\"a\":1}"),
        (b"\x1b]0;title\x1b\\{\"a\":1}\x1b[0m", b"{\"a\":1}"),
        (b"\x1b[?25l\x1b[2K", b""),
        (b"a\x1b(Bb\x1b7c\x1b=d", b"abcd"),
        (b"\x1bP1$r0m\x1b\\x", b"x"),
        (b"\x1b]never ends {\"a\":1}", b"never ends {\"a\":1}"),
        (b"tail\x1b", b"tail"),
        (b"tail\x1b[12;", b"tail"),
        (b"no escape", b"no escape"),
    ] {
        assert_eq!(&*plain(given), expected, "{:?}", String::from_utf8_lossy(given));
    }
}
