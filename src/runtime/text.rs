//! Text out of a stream of bytes, as it comes: UTF-8 decoded across chunks, terminal control removed across chunks.
//!
//! Used by `exec`. It never gives half a character (UR-32) and never waits for the end of a control string that
//! does not end.

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// Longest control string: a title or a link. What is longer is no decoration, and what follows is text again.
const LONGEST: usize = 4096;

/// Takes bytes, gives text.
#[derive(Debug, Default)]
pub(super) struct Plain {
    control: Control,
    /// The beginning of a character whose end has not come.
    held: Vec<u8>,
}

/// Where in an escape sequence the stream is (ECMA-48).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Control {
    #[default]
    Outside,
    /// After ESC, or after ESC and intermediate bytes.
    Escape,
    /// In a control sequence, up to its final byte.
    Sequence,
    /// In a string up to BEL or ESC `\`; so many bytes of it have come.
    String(usize),
    /// In a string, after an ESC.
    StringEscape,
}

impl Plain {
    /// The text of a chunk and of what was held back before it.
    pub(super) fn push(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.held);
        for &byte in chunk {
            if self.is_text(byte) {
                bytes.push(byte);
            }
        }
        let (text, rest) = decode(&bytes);
        self.held = bytes[rest..].to_vec();
        text
    }

    /// What is left when the stream has ended.
    pub(super) fn finish(&mut self) -> String {
        self.control = Control::Outside;
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }

    fn is_text(&mut self, byte: u8) -> bool {
        let (next, text) = match (self.control, byte) {
            (Control::Outside | Control::Escape | Control::Sequence, ESC) => (Control::Escape, false),
            (Control::Outside, _) => (Control::Outside, true),
            (Control::Escape, b'[') => (Control::Sequence, false),
            (Control::Escape, b']' | b'P' | b'X' | b'^' | b'_') => (Control::String(0), false),
            (Control::Escape, 0x20..=0x2f) => (Control::Escape, false),
            (Control::Escape, 0x30..=0x7e) => (Control::Outside, false),
            (Control::Sequence, 0x20..=0x3f) => (Control::Sequence, false),
            (Control::Sequence, 0x40..=0x7e) => (Control::Outside, false),
            (Control::Escape | Control::Sequence, _) => (Control::Outside, true),
            (Control::String(_), ESC) => (Control::StringEscape, false),
            (Control::String(_), BEL) => (Control::Outside, false),
            (Control::String(LONGEST..), _) | (Control::String(_), b'\n') => (Control::Outside, true),
            (Control::String(length), _) => (Control::String(length + 1), false),
            (Control::StringEscape, b'\\') => (Control::Outside, false),
            // Another sequence begins: the string was broken off.
            (Control::StringEscape, _) => {
                self.control = Control::Escape;
                return self.is_text(byte);
            }
        };
        self.control = next;
        text
    }
}

/// The text of `bytes` as far as its characters are whole, and where the rest begins. What can never become a
/// character is U+FFFD.
fn decode(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(rest) => {
                text.push_str(rest);
                return (text, bytes.len());
            }
            Err(error) => {
                let good = at + error.valid_up_to();
                text.push_str(&String::from_utf8_lossy(&bytes[at..good]));
                let Some(bad) = error.error_len() else { return (text, good) };
                text.push(char::REPLACEMENT_CHARACTER);
                at = good + bad;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(chunks: &[&[u8]]) -> String {
        let mut plain = Plain::default();
        let mut text: String = chunks.iter().map(|chunk| plain.push(chunk)).collect();
        text.push_str(&plain.finish());
        text
    }

    #[test]
    fn ur_32_every_split_of_long_characters_gives_the_same_text() {
        let bytes = "한국어 日本語 中文 🦀 ü".as_bytes();
        for at in 0..=bytes.len() {
            assert_eq!(whole(&[&bytes[..at], &bytes[at..]]).as_bytes(), bytes, "split at {at}");
        }
    }

    #[test]
    fn ur_30_terminal_control_is_removed_at_every_split() {
        let bytes = b"\x1b[?2004ha\x1b]0;title\x07b\x1b[1;31mc\x1b[0m\x1b]8;;http://x\x1b\\d\x1b(Be";
        for at in 0..=bytes.len() {
            assert_eq!(whole(&[&bytes[..at], &bytes[at..]]), "abcde", "split at {at}");
        }
    }

    #[test]
    fn a_control_string_without_an_end_swallows_no_more_than_its_line() {
        assert_eq!(whole(&[b"a\x1b]0;never ended\nb"]), "a\nb");
        let mut long = b"\x1b]".to_vec();
        long.extend(vec![b'x'; LONGEST + 10]);
        assert_eq!(whole(&[&long]), "xxxxxxxxxx");
    }

    #[test]
    fn what_is_no_utf_8_becomes_replacement_characters() {
        assert_eq!(whole(&[b"a\xff\xfeb\xe4"]), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_bytes_split_anywhere_give_the_same_text(bytes: Vec<u8>, at: prop::sample::Index) {
            let at = at.index(bytes.len() + 1);
            prop_assert_eq!(whole(&[&bytes[..at], &bytes[at..]]), whole(&[&bytes]));
        }
    }
}
