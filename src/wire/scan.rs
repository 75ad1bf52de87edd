//! One pass over a body before anything reads it: what a JSON reader that borrows would let through.
//!
//! Values that are kept as they came (`data`, metadata) are never decoded here, so their depth and their escapes are
//! checked in this pass, for all strings at once.

use crate::model::Fault;

/// Most levels of objects and arrays in the parameters of a request (P-3).
pub const MOST_LEVELS: usize = 100;

/// A body that is UTF-8 without half characters.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a> {
    /// The body.
    pub text: &'a str,
    /// How many objects and arrays stand in each other at the deepest place.
    pub levels: usize,
}

/// Looks at all bytes of a body. Whether it is JSON is for its reader to say.
///
/// # Errors
/// `Malformed`: bytes that are not UTF-8, or an escape that is half of a surrogate pair.
pub fn scan(body: &[u8]) -> Result<Scanned<'_>, Fault> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Fault::Malformed(format!("it is not UTF-8 from byte {} on", error.valid_up_to())))?;
    let (mut at, mut level, mut levels) = (0, 0_usize, 0);
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'"' => at = string(body, at)?,
            b'{' | b'[' => {
                level += 1;
                levels = levels.max(level);
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    Ok(Scanned { text, levels })
}

/// The fault of parameters that are too deep.
#[must_use]
pub fn too_deep() -> Fault {
    Fault::invalid("params", format!("more than {MOST_LEVELS} objects and arrays stand in each other"))
}

/// Where a string that begins at `at` is over: behind its quote, or at the end of a broken body.
fn string(body: &[u8], mut at: usize) -> Result<usize, Fault> {
    loop {
        let rest = body.get(at..).unwrap_or_default();
        let Some(found) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return Ok(body.len());
        };
        at += found;
        if body[at] == b'"' {
            return Ok(at + 1);
        }
        at += match (unit(body, at), unit(body, at + 6)) {
            (None, _) => 2,
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                return Err(Fault::Malformed(format!("half of a surrogate pair at byte {at}")));
            }
            (Some(_), _) => 6,
        };
    }
}

/// The UTF-16 unit of an escape `\uXXXX`.
fn unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let value = char::from(*digit).to_digit(16)?;
        u16::try_from(value).ok().map(|value| unit << 4 | value)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn levels(text: &str) -> usize {
        scan(text.as_bytes()).unwrap().levels
    }

    #[test]
    fn brackets_count_outside_strings_only() {
        assert_eq!(levels("[[{}]]"), 3);
        assert_eq!(levels(r#"{"a":"[[[[","b":[]}"#), 2);
        assert_eq!(levels(r#"{"a\"[":"\\","b":[]}"#), 2);
        assert_eq!(levels("]]]["), 1);
        assert_eq!(levels(&"[".repeat(100_000)), 100_000);
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_wherever_it_stands() {
        for half in
            [r"\ud800", r"\uDFFF", r"\ud800x", r"\ud800\ud800", r"\udc00\ud800", r"\ud800\n", r"\\\ud83d"]
        {
            for text in [format!(r#"{{"a":"{half}"}}"#), format!(r#"{{"{half}":1}}"#)] {
                assert!(matches!(scan(text.as_bytes()), Err(Fault::Malformed(_))), "{text}");
            }
        }
        for whole in [r"\ud83d\ude00", r"\\ud800", r"\u0000", r"\uFFFF", r"\\\\ud800"] {
            assert!(scan(format!(r#""{whole}""#).as_bytes()).is_ok(), "{whole}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_refused() {
        assert!(matches!(scan(b"\"\xff\""), Err(Fault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in prop::collection::vec(prop::sample::select(&b"\"\\u{}[]d8cDF0 "[..]), 0..60)) {
            let _ = scan(&body);
        }

        #[test]
        fn what_serde_json_writes_passes(text: String) {
            prop_assert!(scan(serde_json::to_string(&text).unwrap().as_bytes()).is_ok());
        }
    }
}
