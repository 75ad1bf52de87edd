//! Server-sent events, read as WHATWG says: pure, from bytes to events.
//!
//! Any line ending, a byte order mark, comments, fields we don't know, `data` over several lines. An event that grows
//! beyond the cap is an error: nobody fills our memory.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// `event:`, empty if there was none.
    pub(super) kind: String,
    /// `data:`, lines joined.
    pub(super) data: String,
    /// `id:` of this event, if it had one.
    pub(super) id: Option<String>,
}

/// The event was larger than is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Keeps what is not yet a whole event.
#[derive(Debug)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
    started: bool,
    after_cr: bool,
    comments: bool,
    most: usize,
}

impl Parser {
    /// A parser for one stream; `most` bytes may one event have.
    pub(super) fn new(most: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            started: false,
            after_cr: false,
            comments: false,
            most,
        }
    }

    /// Whether the other side sends comments to keep the stream alive.
    pub(super) const fn is_kept_alive(&self) -> bool {
        self.comments
    }

    /// Takes some bytes; whole events go to `into`.
    pub(super) fn feed(&mut self, bytes: &[u8], into: &mut impl Extend<Event>) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + piece.len() + self.event.data.len() > self.most {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            into.extend(self.end_line());
        }
        Ok(())
    }

    /// A line is whole; an empty one ends the event.
    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.started, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            // Every data line leaves its line break; the last one is not part of the data.
            return event.data.pop().map(|_| event);
        }
        let text = String::from_utf8_lossy(&line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.comments = true,
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "event" => value.clone_into(&mut self.event.kind),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::new(1 << 20);
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece, &mut events).unwrap();
        }
        events
    }

    fn event(kind: &str, data: &str, id: Option<&str>) -> Event {
        Event { kind: kind.into(), data: data.into(), id: id.map(Into::into) }
    }

    #[test]
    fn events_are_read_whatever_ends_their_lines() {
        for end in ["\n", "\r", "\r\n"] {
            let text =
                "\u{feff}: hi\nid: 7\nevent: error\ndata: a\ndata:b\n\ndata\n\nretry: 5\nx: y\n\ndata: c\n\n";
            let events = read(&[text.replace('\n', end).as_bytes()]);
            assert_eq!(
                events,
                [event("error", "a\nb", Some("7")), event("", "", None), event("", "c", None)]
            );
        }
    }

    #[test]
    fn an_event_without_its_empty_line_is_no_event() {
        assert_eq!(read(&[b"data: a\n"]), []);
    }

    #[test]
    fn an_event_beyond_the_cap_is_refused() {
        let mut parser = Parser::new(10);
        let mut events = Vec::new();
        assert_eq!(parser.feed(b"data: 1\n\ndata: 2\n\n", &mut events), Ok(()));
        assert_eq!(parser.feed(b"data: 12345\n", &mut events), Err(TooLarge));
        let mut parser = Parser::new(10);
        assert_eq!(parser.feed(b"data:1\ndata:2\ndata:3\ndata:4\n", &mut events), Err(TooLarge));
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(cuts in prop::collection::vec(0usize..64, 0..8)) {
            let text = "id: 1\r\ndata: {\"ü\":1}\r\n\r\n: ping\r\r\n\ndata: x\ndata: y\n\n".as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&text[from..cut]);
                from = cut;
            }
            pieces.push(&text[from..]);
            prop_assert_eq!(read(&pieces), read(&[text]));
        }
    }
}
