//! Reading JSON into a type: fast where it fits, and with the path of the flaw where it doesn't.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_path_to_error::{Path, Segment};

use super::fault::short;

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// As `message.parts[0].text`, in camelCase; empty for the whole.
    pub(super) path: String,
    /// What is wrong.
    pub(super) why: String,
}

/// Reads a text.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Flaw> {
    // The path costs; only the second reading, of a text that is refused anyhow, pays for it.
    serde_json::from_str(text).map_err(|error| flaw::<T>(text, &error))
}

/// Reads once more and says where it fails.
#[cold]
fn flaw<'a, T: Deserialize<'a>>(text: &'a str, first: &serde_json::Error) -> Flaw {
    let mut json = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut json) else {
        return Flaw { path: String::new(), why: plain(first) };
    };
    let mut path = camel(error.path());
    let mut why = plain(error.inner());
    let named = [("missing field `", "is missing"), ("duplicate field `", "stands twice")];
    for (phrase, short) in named {
        if let Some(field) = why.strip_prefix(phrase).and_then(|rest| rest.strip_suffix('`')) {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(field);
            why = short.to_owned();
            break;
        }
    }
    Flaw { path, why }
}

/// The words of an error without the place, which means nothing for a part of a body.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    short(&text[..end]).into_owned()
}

/// A path with the names of A2A-2. What stands below `metadata` are the caller's own keys.
fn camel(path: &Path) -> String {
    let mut text = String::new();
    let mut ours = true;
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                if !text.is_empty() {
                    text.push('.');
                }
                let mut upper = false;
                for letter in key.chars() {
                    if ours && letter == '_' {
                        upper = true;
                    } else if std::mem::take(&mut upper) {
                        text.push(letter.to_ascii_uppercase());
                    } else {
                        text.push(letter);
                    }
                }
                ours = ours && key != "metadata";
            }
            Segment::Unknown => {}
        }
    }
    text
}

/// The JSON of a value of ours: text keys and JSON of its own throughout, so writing it cannot fail.
pub(super) fn bytes<T: Serialize>(value: &T) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
