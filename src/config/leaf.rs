//! How one value is read: each type a key can have says what it accepts, and what to write instead.
//!
//! Serde stops at the first fault of a document, so values are read one by one; only tables of the card
//! (skills, extensions) go through it, each as one value.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Value;

use super::near;
use super::unit::{self, Bad};
use crate::doors::config::Cidr;
use crate::node::config::Protocol;
use crate::runtime::config as run;
use crate::store::config::Durability;

/// How the text of an environment variable becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Bool,
    Int,
    /// By comma, or a JSON array.
    List,
    /// Whole numbers by comma, or a JSON array.
    Ints,
    /// A text, or a list when there is a comma or a bracket.
    Either,
    /// JSON.
    Table,
}

/// A type that a key can have.
pub(super) trait Leaf: Sized {
    const SHAPE: Shape;
    fn read(value: &Value) -> Result<Self, Bad>;
}

fn text(value: &Value) -> Result<&str, Bad> {
    value.as_str().ok_or_else(|| {
        Bad::hint(format!("{} is not a text", a(value)), format!("write \"{}\"", plain(value)))
    })
}

/// The kind of a value, with its article.
fn a(value: &Value) -> String {
    let kind = value.type_str();
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// A value as a hint may quote it; a table is too long for that.
fn plain(value: &Value) -> String {
    match value {
        Value::Table(_) | Value::Array(_) => "…".to_owned(),
        other => other.to_string(),
    }
}

impl Leaf for String {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        let text = text(value)?;
        if text.is_empty() {
            return Err(Bad::hint("is empty", "leave the key out instead"));
        }
        if text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
            return Err(Bad::new("holds a control character"));
        }
        Ok(text.to_owned())
    }
}

/// A text that may be empty.
pub(super) struct Text(pub(super) String);

impl Leaf for Text {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        text(value).map(|text| Self(text.to_owned()))
    }
}

impl Leaf for bool {
    const SHAPE: Shape = Shape::Bool;
    fn read(value: &Value) -> Result<Self, Bad> {
        value
            .as_bool()
            .ok_or_else(|| Bad::hint(format!("{} is not true or false", a(value)), "write true or false"))
    }
}

/// A whole number in a range.
fn whole(value: &Value, from: i64, to: i64) -> Result<i64, Bad> {
    match value {
        Value::Integer(number) if (from..=to).contains(number) => Ok(*number),
        Value::Integer(number) => Err(Bad::new(format!("{number} is not between {from} and {to}"))),
        other => Err(Bad::new(format!("{} is not a whole number", a(other)))),
    }
}

/// How many, at most; `None` for 0, which is off.
pub(super) struct Count(pub(super) Option<u32>);

impl Count {
    /// As a number of things in memory.
    pub(super) fn things(&self) -> Option<usize> {
        self.0.and_then(|count| usize::try_from(count).ok())
    }
}

impl Leaf for Count {
    const SHAPE: Shape = Shape::Int;
    fn read(value: &Value) -> Result<Self, Bad> {
        let count = whole(value, 0, 1_000_000_000)?;
        Ok(Self(u32::try_from(count).ok().filter(|count| *count > 0)))
    }
}

/// A step of scheduling priority.
pub(super) struct Nice(pub(super) i32);

impl Leaf for Nice {
    const SHAPE: Shape = Shape::Int;
    fn read(value: &Value) -> Result<Self, Bad> {
        Ok(Self(i32::try_from(whole(value, -20, 19)?).unwrap_or_default()))
    }
}

/// Exit codes that mean success.
pub(super) struct Codes(pub(super) Vec<i32>);

impl Leaf for Codes {
    const SHAPE: Shape = Shape::Ints;
    fn read(value: &Value) -> Result<Self, Bad> {
        let items = list(value)?;
        if items.is_empty() {
            return Err(Bad::hint("is empty: nothing would ever succeed", "write [0]"));
        }
        let code = |item| Ok(i32::try_from(whole(item, 0, 255)?).unwrap_or_default());
        items.iter().map(code).collect::<Result<_, Bad>>().map(Self)
    }
}

/// A time; `None` for `0`, which is off.
pub(super) struct Time(pub(super) Option<Duration>);

impl Leaf for Time {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        let time = match value {
            Value::String(text) => unit::duration(text)?,
            other => unit::duration(&plain(other))?,
        };
        Ok(Self(Some(time).filter(|time| !time.is_zero())))
    }
}

/// Bytes; `None` for `0`, which is off.
pub(super) struct Size(pub(super) Option<u64>);

impl Leaf for Size {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        let size = match value {
            Value::String(text) => unit::size(text)?,
            other => unit::size(&plain(other))?,
        };
        Ok(Self(Some(size).filter(|size| *size > 0)))
    }
}

/// Mode bits, written in octal.
pub(super) struct Mode(pub(super) u32);

impl Leaf for Mode {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        let text = text(value)?;
        match u32::from_str_radix(text, 8) {
            Ok(mode) if mode <= 0o777 => Ok(Self(mode)),
            _ => Err(Bad::new(format!("`{text}` is not an octal mode such as \"022\" or \"0660\""))),
        }
    }
}

pub(super) fn list(value: &Value) -> Result<&Vec<Value>, Bad> {
    value.as_array().ok_or_else(|| {
        let hint =
            if matches!(value, Value::Table(_)) { "[{ … }]".to_owned() } else { format!("[{value}]") };
        Bad::hint(format!("{} is not a list", a(value)), format!("write {hint}"))
    })
}

impl Leaf for Vec<String> {
    const SHAPE: Shape = Shape::List;
    fn read(value: &Value) -> Result<Self, Bad> {
        list(value)?.iter().map(String::read).collect()
    }
}

/// A text or a list of texts.
pub(super) struct OneOrMore(pub(super) Vec<String>);

impl Leaf for OneOrMore {
    const SHAPE: Shape = Shape::Either;
    fn read(value: &Value) -> Result<Self, Bad> {
        match value {
            Value::String(_) => String::read(value).map(|one| Self(vec![one])),
            other => Vec::read(other).map(Self),
        }
    }
}

impl Leaf for run::Guard {
    const SHAPE: Shape = Shape::Either;
    fn read(value: &Value) -> Result<Self, Bad> {
        if value.as_str() == Some("off") {
            Ok(Self::Off)
        } else {
            OneOrMore::read(value).map(|paths| Self::Also(paths.0))
        }
    }
}

/// Ranges of addresses.
pub(super) struct Cidrs(pub(super) Vec<Cidr>);

impl Leaf for Cidrs {
    const SHAPE: Shape = Shape::List;
    fn read(value: &Value) -> Result<Self, Bad> {
        let range = |text: &String| text.parse().map_err(|why| Bad::new(format!("`{text}` is {why}")));
        Vec::<String>::read(value)?.iter().map(range).collect::<Result<_, _>>().map(Self)
    }
}

/// Names and texts.
pub(super) struct Pairs(pub(super) BTreeMap<String, String>);

impl Leaf for Pairs {
    const SHAPE: Shape = Shape::Table;
    fn read(value: &Value) -> Result<Self, Bad> {
        let table = value.as_table().ok_or_else(|| Bad::new(format!("{} is not a table", a(value))))?;
        let pair = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            // The value may be a secret: it is not quoted.
            other => Err(Bad::hint(format!("`{name}` is {}, not a text", a(other)), "put it in quotes")),
        };
        table.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }
}

/// A table, or a list of tables, read by serde as one value.
pub(super) struct Whole<T>(pub(super) T);

impl<T: DeserializeOwned> Leaf for Whole<T> {
    const SHAPE: Shape = Shape::Table;
    fn read(value: &Value) -> Result<Self, Bad> {
        value.clone().try_into().map(Self).map_err(|e: toml::de::Error| Bad::new(e.message().to_owned()))
    }
}

/// `skills = [{ … }]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skill {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) examples: Vec<String>,
    #[serde(default)]
    pub(super) input_modes: Vec<String>,
    #[serde(default)]
    pub(super) output_modes: Vec<String>,
}

/// `capabilities = { … }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capabilities {
    #[serde(default = "yes")]
    pub(super) streaming: bool,
    #[serde(default = "yes")]
    pub(super) push: bool,
    #[serde(default = "yes")]
    pub(super) extended_card: bool,
}

const fn yes() -> bool {
    true
}

/// `extensions = [{ … }]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extension {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) required: bool,
    pub(super) description: Option<String>,
    pub(super) params: Option<serde_json::Map<String, serde_json::Value>>,
}

/// `allow = [{ … }]` of an issuer of identities (O-8).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Allow {
    pub(super) claim: String,
    pub(super) is: String,
    pub(super) role: Option<String>,
    pub(super) agents: Option<Vec<String>>,
}

/// `fields = { … }` of a declared runtime: JSON Pointers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    pub(super) text: Option<String>,
    pub(super) session: Option<String>,
    pub(super) error: Option<String>,
    pub(super) result: Option<String>,
}

/// A type whose values are words.
pub(super) trait Word: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl<W: Word> Leaf for W {
    const SHAPE: Shape = Shape::Text;
    fn read(value: &Value) -> Result<Self, Bad> {
        let text = text(value)?;
        if let Some((_, word)) = W::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*word);
        }
        let words: Vec<&str> = W::WORDS.iter().map(|(word, _)| *word).collect();
        let why = format!("`{text}` is not one of {}", words.join(", "));
        Err(Bad { why, hint: near::did_you_mean(text, words.into_iter()) })
    }
}

/// A list of words.
pub(super) struct Words<W>(pub(super) Vec<W>);

impl<W: Word> Leaf for Words<W> {
    const SHAPE: Shape = Shape::List;
    fn read(value: &Value) -> Result<Self, Bad> {
        list(value)?.iter().map(W::read).collect::<Result<_, _>>().map(Self)
    }
}

impl Word for Protocol {
    const WORDS: &'static [(&'static str, Self)] =
        &[("1.0", Self::V1), ("0.3", Self::V03), ("agentszone", Self::AgentsZone)];
}

impl Word for Durability {
    const WORDS: &'static [(&'static str, Self)] = &[("strict", Self::Strict), ("relaxed", Self::Relaxed)];
}

impl Word for run::Permissions {
    const WORDS: &'static [(&'static str, Self)] =
        &[("ask", Self::Ask), ("deny", Self::Deny), ("edits", Self::Edits), ("all", Self::All)];
}

impl Word for run::Approve {
    const WORDS: &'static [(&'static str, Self)] = &[("owner", Self::Owner), ("admin", Self::Admin)];
}

impl Word for run::Sandbox {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("workspace", Self::Workspace), ("strict", Self::Strict)];
}

impl Word for run::Sharing {
    const WORDS: &'static [(&'static str, Self)] =
        &[("agent", Self::Agent), ("principal", Self::Principal), ("context", Self::Context)];
}

impl Word for run::Files {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("read", Self::Read), ("write", Self::Write)];
}

impl Word for run::ProjectSettings {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("memory", Self::Memory), ("all", Self::All)];
}

impl Word for run::Home {
    const WORDS: &'static [(&'static str, Self)] = &[("shared", Self::Shared), ("private", Self::Private)];
}

impl Word for run::OnRestart {
    const WORDS: &'static [(&'static str, Self)] = &[("fail", Self::Fail), ("resume", Self::Resume)];
}

impl Word for run::Replies {
    const WORDS: &'static [(&'static str, Self)] = &[("task", Self::Task), ("message", Self::Message)];
}

impl Word for run::PromptMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("stdin", Self::Stdin), ("none", Self::None), ("file", Self::File)];
}

/// `[runtimes.X] output`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Text,
    Lines,
}

impl Word for Output {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("lines", Self::Lines)];
}

/// `[runtimes.X] cancel`.
#[derive(Clone, Copy)]
pub(super) struct CancelBy;

impl Word for CancelBy {
    const WORDS: &'static [(&'static str, Self)] = &[("term", Self), ("int", Self), ("close", Self)];
}

/// `store.url`.
#[derive(Clone, Copy)]
pub(super) struct StoreUrl;

impl Word for StoreUrl {
    const WORDS: &'static [(&'static str, Self)] = &[("sqlite", Self)];
}

/// `accept_risk`.
#[derive(Clone, Copy)]
pub(super) struct Unconfined;

impl Word for Unconfined {
    const WORDS: &'static [(&'static str, Self)] = &[("unconfined", Self)];
}
