//! The file: TOML text into a [`Draft`], with every fault it has and where.

use std::path::Path;

use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use toml::Spanned;
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::draft::Draft;
use super::fault::{Fault, Origin};
use super::keys::{self, RESERVED_AGENT_KEYS, RESERVED_TABLES, SECTIONS, Section};
use super::near;

/// Reads `text`, the content of the file `path`, into `draft`.
pub(super) fn read(text: &str, path: &Path, draft: &mut Draft) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let source = Source { text, path };
    let mut broken = Vec::new();
    for error in errors {
        let origin = source.origin(error.span().map_or(0, |span| span.start));
        broken.push(origin_line(&origin));
        draft.faults.push(Fault { origin, key: None, why: error.message().to_owned(), hint: None });
    }
    let before = draft.faults.len();
    source.table(root.get_ref(), &mut Vec::new(), draft);
    // What is said of a line that is no TOML is guesswork: its one fault is enough.
    let mut at = 0;
    draft.faults.retain(|fault| {
        at += 1;
        at <= before || !broken.contains(&origin_line(&fault.origin))
    });
}

const fn origin_line(origin: &Origin) -> usize {
    match origin {
        Origin::File { line, .. } => *line,
        _ => 0,
    }
}

struct Source<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Source<'_> {
    /// Line and column of a byte, from 1.
    fn origin(&self, at: usize) -> Origin {
        let before = self.text.get(..at).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Origin::File {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }

    fn table(&self, table: &DeTable<'_>, at: &mut Vec<String>, draft: &mut Draft) {
        for (name, value) in table.iter() {
            at.push(name.get_ref().to_string());
            self.entry(name, value, at, draft);
            at.pop();
        }
    }

    fn entry(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        at: &mut Vec<String>,
        draft: &mut Draft,
    ) {
        let origin = self.origin(name.span().start);
        let path = at.join(".");
        let words: Vec<&str> = at.iter().map(String::as_str).collect();
        let (word, above) = words.split_last().map_or(("", &[] as &[&str]), |(word, above)| (*word, above));
        // A list of tables numbers its elements; their keys are those of the list.
        let above_key =
            above.split_last().filter(|(last, _)| last.parse::<usize>().is_ok()).map(|(_, list)| list);
        let section =
            above_key.and_then(Section::at).filter(|section| section.list).or_else(|| Section::at(above));

        if word.contains('.') || word.is_empty() {
            draft.faults.push(fault(origin, &path, format!("`{word}` is no name"), None));
        } else if let Some(key) = section.and_then(|section| section.key(word)) {
            if let Ok(value) = Value::deserialize(value.clone().into_deserializer()) {
                draft.put(&path, key, value, origin);
            }
        } else if Section::at(&words).is_some_and(|section| section.list) {
            self.list(value, at, &origin, draft);
        } else if Section::at(&words).is_some() || Section::below(&words) {
            match value.get_ref() {
                DeValue::Table(table) => {
                    draft.open(&path, origin);
                    self.table(table, at, draft);
                }
                _ => draft.faults.push(fault(
                    origin,
                    &path,
                    "is not a table",
                    Some(format!("write [{path}] above its keys")),
                )),
            }
        } else {
            draft.faults.push(unknown(origin, &words));
        }
    }

    fn list(&self, value: &Spanned<DeValue<'_>>, at: &mut Vec<String>, origin: &Origin, draft: &mut Draft) {
        let path = at.join(".");
        let whole = match value.get_ref() {
            DeValue::Array(elements) => {
                elements.iter().all(|element| element.get_ref().is_table()).then_some(elements)
            }
            _ => None,
        };
        let Some(elements) = whole else {
            let hint = Some(format!("write [[{path}]] above the keys of each"));
            return draft.faults.push(fault(origin.clone(), &path, "is not a list of tables", hint));
        };
        for (number, element) in elements.iter().enumerate() {
            if let DeValue::Table(table) = element.get_ref() {
                at.push(number.to_string());
                draft.open(&at.join("."), self.origin(element.span().start));
                self.table(table, at, draft);
                at.pop();
            }
        }
    }
}

fn fault(origin: Origin, key: &str, why: impl Into<String>, hint: Option<String>) -> Fault {
    Fault { origin, key: Some(key.to_owned()), why: why.into(), hint }
}

/// The fault of a key that is none, with the nearest one that is.
pub(super) fn unknown(origin: Origin, words: &[&str]) -> Fault {
    let path = words.join(".");
    let (word, above) = words.split_last().map_or(("", &[] as &[&str]), |(word, above)| (*word, above));
    let reserved = above.is_empty() && RESERVED_TABLES.contains(&word)
        || matches!(above, ["agents", _] | ["defaults"]) && RESERVED_AGENT_KEYS.contains(&word);
    if reserved {
        return fault(origin, &path, "is reserved for a later version", Some("remove it".to_owned()));
    }
    let near = near::nearest(word, Section::words(&section_of(above)).into_iter())
        .map(|near| above.iter().copied().chain([near]).collect::<Vec<_>>().join("."));
    let hint = near.or_else(|| elsewhere(word)).map(|path| format!("did you mean `{path}`?"));
    let why = if above.is_empty() { "there is no such table" } else { "there is no such key" };
    fault(origin, &path, why, hint)
}

/// A table's path without the number of an element of a list.
fn section_of<'a>(path: &[&'a str]) -> Vec<&'a str> {
    let mut path = path.to_vec();
    if path.last().is_some_and(|last| last.parse::<usize>().is_ok()) {
        path.pop();
    }
    path
}

/// The key of that very name in another table.
fn elsewhere(word: &str) -> Option<String> {
    let section = SECTIONS.iter().find(|section| section.key(word).is_some())?;
    let table: Vec<&str> =
        section.path.iter().map(|part| if *part == "*" { "NAME" } else { *part }).collect();
    Some(format!("{}.{word}", table.join(".")))
}

/// The key that a dotted path names, or the fault of it; for `config show KEY`.
pub(super) fn known(path: &str) -> Result<(), Fault> {
    let words: Vec<&str> = path.split('.').collect();
    let section = section_of(&words);
    if keys::find(path).is_some() || Section::at(&section).is_some() || Section::below(&section) {
        return Ok(());
    }
    Err(unknown(Origin::Default, &words))
}
