//! Reading JSON into a type: fast where it fits, and with the path of the flaw where it doesn't.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};

use super::fault::short;
use crate::model::Fault;

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

/// The parameters of a request as one object. Absent ones and `null` are the empty one (A2A-180).
pub(super) fn object(params: Option<&RawValue>) -> Result<&str, Fault> {
    match params.map(RawValue::get) {
        None | Some("null") => Ok("{}"),
        // A list would pass for a structure, member by member.
        Some(text) if text.starts_with('{') => Ok(text),
        Some(_) => Err(Fault::invalid("params", "must be an object")),
    }
}

/// Reads parameters.
pub(super) fn param<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    read(text).map_err(|flaw| Fault::InvalidParams {
        path: if flaw.path.is_empty() { "params".into() } else { flaw.path },
        why: flaw.why,
    })
}

/// A number that counts something.
pub(super) fn not_negative(path: &str, number: Option<i32>) -> Result<(), Fault> {
    match number {
        Some(..0) => Err(Fault::invalid(path, "must not be negative")),
        Some(_) | None => Ok(()),
    }
}

/// A REQUIRED text is not empty (A2A-12).
pub(super) fn filled(path: &str, text: &str) -> Result<(), Fault> {
    if text.is_empty() { Err(Fault::invalid(path, "must not be empty")) } else { Ok(()) }
}

/// Reads an answer.
pub(super) fn answer<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    read(text).map_err(|flaw| {
        Fault::InvalidAgentResponse(if flaw.path.is_empty() {
            flaw.why
        } else {
            format!("{}: {}", flaw.path, flaw.why)
        })
    })
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
