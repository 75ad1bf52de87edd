//! Percent signs in paths and queries (RFC 3986 section 2.1): taken off once, and put on.

use std::borrow::Cow;

/// A segment of a path.
///
/// # Errors
/// What is wrong with it: a `%` without two digits, or bytes that are not UTF-8.
pub fn segment(raw: &str) -> Result<Cow<'_, str>, &'static str> {
    if !raw.contains('%') {
        return Ok(Cow::Borrowed(raw));
    }
    let bytes = unescaped(raw, |byte| (byte != b'%').then_some(byte));
    let bytes = bytes.ok_or("a `%` of the path is not followed by two hexadecimal digits")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "the path is not UTF-8")
}

/// A word of a query: `+` is a space too, and a `%` without two digits stands for itself, as browsers have it.
/// `None`: it is not UTF-8.
#[must_use]
pub fn word(raw: &str) -> Option<Cow<'_, str>> {
    if !raw.contains(['%', '+']) {
        return Some(Cow::Borrowed(raw));
    }
    let bytes = unescaped(raw, |byte| Some(if byte == b'+' { b' ' } else { byte }))?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The bytes of a text; `other` says what a byte that begins no escape stands for, or that it is none.
fn unescaped(raw: &str, other: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| tail.first_chunk::<2>()).flatten().and_then(|digits| {
            let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
            u8::try_from(high? * 16 + low?).ok()
        });
        match escaped {
            Some(value) => {
                bytes.push(value);
                rest = &tail[2..];
            }
            None => {
                bytes.push(other(byte)?);
                rest = tail;
            }
        }
    }
    Some(bytes)
}

/// Appends a text so that it is data wherever it stands: all but unreserved letters are escaped.
pub fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_is_decoded_once_and_must_be_text() {
        assert_eq!(segment("a%2Fb%253a+").unwrap(), "a/b%3a+");
        for bad in ["%", "%f", "%zz", "x%ff", "%+1"] {
            assert!(segment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_word_is_what_a_browser_means() {
        assert_eq!(word("c+d%20e%").unwrap(), "c d e%");
        assert_eq!(word("%zz%2").unwrap(), "%zz%2");
        assert_eq!(word("a%FF"), None);
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_read_as_it_was(text: String) {
            let mut escaped = String::new();
            escape(&text, &mut escaped);
            prop_assert_eq!(segment(&escaped).unwrap(), text.as_str());
            prop_assert_eq!(word(&escaped).unwrap(), text.as_str());
            prop_assert!(!escaped.contains(['/', ':', '&', '=', '?', '#', '+']));
        }
    }
}
