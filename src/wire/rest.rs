//! HTTP+JSON (A2A 1.0 section 11; P-11, P-12): verb, path, query and body become a call, and a call becomes them.
//!
//! The paths are those of the table in `method.rs`. A request is one JSON object whose members stand in three places;
//! they are put together here and read as any other call.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, de};
use serde_json::{error::Category, value::RawValue};

use super::{Dialect, Kind, METHODS, Method, Place, Rest, Single, Version, percent, scan, v03};
use crate::model::{Fault, Operation};

/// A segment of a path, as it came and without its percent signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// As it came: a `:` in it is one of ours.
    pub raw: &'a str,
    /// Decoded: a `:` in it may be data.
    pub text: Cow<'a, str>,
}

/// What a verb and a path ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The version whose path it is.
    pub version: Version,
    /// The operation.
    pub method: Method,
    /// The members of the request that the path holds.
    pub members: Vec<(&'static str, String)>,
}

impl Target {
    /// The same for an agent that the path names.
    #[must_use]
    pub fn for_tenant(mut self, tenant: &str) -> Self {
        self.members.push(("tenant", tenant.to_owned()));
        self
    }
}

/// Why a path is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It is none whatever the verb.
    Path,
    /// It is one for other verbs: these, as `Allow` has them.
    Verb(&'static str),
}

/// Finds the operation of a verb and a path of a version below an interface. A word behind the last `:` is part of the path only for
/// the verbs that have it: `GET /tasks/a:cancel` is the task `a:cancel` (P-12).
///
/// # Errors
/// There is none.
pub fn find(version: Version, verb: &str, segments: &[Segment<'_>]) -> Result<Target, Lost> {
    let fitting = || {
        METHODS.iter().filter_map(|row| {
            let place = row.method.place(version)?;
            fit(place.path, segments).map(|members| (row.method, place, members))
        })
    };
    // Of `/tasks/{id}` and `/tasks/{id}:subscribe` the one that says more.
    let best = fitting().filter(|(_, place, _)| place.verbs.contains(&verb));
    if let Some((method, _, members)) = best.max_by_key(|(_, place, _)| place.path.len()) {
        return Ok(Target { version, method, members });
    }
    let verbs: Vec<&str> = fitting().flat_map(|(_, place, _)| place.verbs).copied().collect();
    Err(if verbs.is_empty() { Lost::Path } else { Lost::Verb(allow(&verbs)) })
}

/// What `Allow` says of some verbs.
fn allow(verbs: &[&str]) -> &'static str {
    let has = |verb| verbs.contains(&verb);
    match (has("GET"), has("POST"), has("DELETE")) {
        (true, true, _) => "GET, POST",
        (true, false, true) => "GET, DELETE",
        (true, false, false) => "GET",
        (false, _, true) => "DELETE",
        (false, _, false) => "POST",
    }
}

/// The members that a path holds, if it has the form of a template.
fn fit(template: &'static str, segments: &[Segment<'_>]) -> Option<Vec<(&'static str, String)>> {
    let mut parts = template.split('/').skip(1);
    let mut members = Vec::new();
    for segment in segments {
        let part = parts.next()?;
        let Some((name, word)) = part.strip_prefix('{').and_then(|part| part.split_once('}')) else {
            // An escaped `:` is data, and no path has one.
            let same = if part.contains(':') { segment.raw == part } else { segment.text == part };
            if same { continue } else { return None }
        };
        // A word that ends the raw text ends the decoded one too: it has no percent signs.
        let value = segment.raw.ends_with(word).then(|| segment.text.strip_suffix(word)).flatten()?;
        if value.is_empty() {
            return None;
        }
        members.push((name, value.to_owned()));
    }
    parts.next().is_none().then_some(members)
}

/// Reads a request. Members of the path win over all others (A2A-187), those of the body over the query.
///
/// # Errors
/// `Malformed` and `InvalidRequest` for what can't be read, `InvalidParams` for a member that is said in two ways, and
/// what [`Dialect::decode_call`] says.
pub fn operation(
    dialect: Dialect,
    target: &Target,
    query: Option<&str>,
    body: &[u8],
) -> Result<Operation, Fault> {
    let scanned = scan::scan(body)?;
    if scanned.levels > scan::MOST_LEVELS {
        return Err(scan::too_deep());
    }
    let text = scanned.text.trim_matches([' ', '\t', '\n', '\r']);
    let asked = asked(target.version, target.method, query.unwrap_or_default())?;
    if text.starts_with('{') && target.members.is_empty() && asked.is_empty() {
        // Nearly every send: the body is all there is.
        let body: &RawValue =
            serde_json::from_str(text).map_err(|error| Fault::Malformed(error.to_string()))?;
        return dialect.decode_call(target.method, Some(body));
    }
    let whole = merged(&target.members, members(text)?, asked)?;
    let whole = RawValue::from_string(whole).map_err(|error| Fault::Malformed(error.to_string()))?;
    dialect.decode_call(target.method, Some(&whole))
}

/// The members of an object, as they came.
#[derive(Default)]
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of a body. None, `{}` and `null` have none (P-12).
fn members(text: &str) -> Result<Members<'_>, Fault> {
    if text.is_empty() || text == "null" {
        return Ok(Members::default());
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => Fault::invalid("body", "must be an object"),
        Category::Syntax | Category::Eof | Category::Io => Fault::Malformed(error.to_string()),
    })
}

/// One object of all members; of two that mean the same the first of path, body and query stays.
fn merged(
    path: &[(&'static str, String)],
    body: Members<'_>,
    query: Vec<(&'static str, String)>,
) -> Result<String, Fault> {
    let tenant = |name: &str| name == "tenant";
    let by_path = |name: &str| path.iter().any(|(known, _)| is_named(name, known));
    let mut body = body.0;
    body.retain(|(name, _)| !by_path(name));
    if let Some((_, asked)) = query.iter().find(|(name, _)| tenant(name) && !by_path(name)) {
        let unset = |value: &RawValue| matches!(value.get(), "null" | "\"\"");
        body.retain(|(name, value)| !(tenant(name) && unset(value)));
        let said = body.iter().find(|(name, _)| tenant(name));
        let other = said.and_then(|(_, value)| serde_json::from_str::<String>(value.get()).ok());
        if other.is_some_and(|other| text(&other) != *asked) {
            return Err(Fault::invalid("tenant", "query and body name two agents; name one"));
        }
    }
    let mut out = String::from("{");
    let mut put = |name: &str, value: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&text(name));
        out.push(':');
        out.push_str(value);
    };
    for (name, value) in path {
        put(name, &text(value));
    }
    for (name, value) in &body {
        put(name, value.get());
    }
    for (name, value) in &query {
        if !by_path(name) && !body.iter().any(|(said, _)| is_named(said, name)) {
            put(name, value);
        }
    }
    out.push('}');
    Ok(out)
}

/// A text as JSON.
fn text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Whether a key is a member's name, as JSON or as the proto has it (A2A-3).
fn is_named(key: &str, name: &str) -> bool {
    key == name || key.contains('_') && key == snake(name)
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The members that a query holds, as JSON; an empty one is unset (A2A-10), any other parameter is not ours (A2A-14).
fn asked(version: Version, method: Method, query: &str) -> Result<Vec<(&'static str, String)>, Fault> {
    let fields = match method.place(version) {
        Some(Place { rest: Rest::Query(fields), .. }) => *fields,
        _ => &[],
    };
    let mut members: Vec<(&'static str, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let word =
            |word| percent::word(word).ok_or_else(|| Fault::InvalidRequest("the query is not UTF-8".into()));
        let (name, value) = (word(name)?, word(value)?);
        let known = fields.iter().copied().chain([("tenant", Kind::Text)]);
        let Some((field, kind)) = known.into_iter().find(|(field, _)| is_named(&name, field)) else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        let value = json(field, kind, &value)?;
        match members.iter().find(|(known, _)| *known == field) {
            None => members.push((field, value)),
            Some((_, same)) if *same == value => {}
            Some(_) => return Err(Fault::invalid(field, "stands in the query twice, with two values")),
        }
    }
    Ok(members)
}

/// A value of a query as JSON.
fn json(field: &str, kind: Kind, value: &str) -> Result<String, Fault> {
    match kind {
        Kind::Text => Ok(text(value)),
        Kind::Flag if matches!(value, "true" | "false") => Ok(value.to_owned()),
        Kind::Flag => Err(Fault::invalid(field, "must be true or false")),
        Kind::Choice if value.parse::<u8>().is_ok_and(|number| number.to_string() == value) => {
            Ok(value.to_owned())
        }
        Kind::Choice => Ok(text(value)),
        Kind::Time => Ok(text(&with_offset(value))),
    }
}

/// A time whose `+` of the offset was not escaped, and so came as a space.
fn with_offset(value: &str) -> Cow<'_, str> {
    let offset = value.len().checked_sub("+00:00".len()).and_then(|at| value.split_at_checked(at));
    match offset.map(|(time, offset)| (time, offset.strip_prefix(' '))) {
        Some((time, Some(offset))) if offset.as_bytes().get(2) == Some(&b':') && time.contains(':') => {
            Cow::Owned(format!("{time}+{offset}"))
        }
        _ => Cow::Borrowed(value),
    }
}

/// The body of an answer. What was to be deleted is gone: an empty object, which every client can read (P-34).
#[must_use]
pub fn reply(dialect: Dialect, method: Method, single: &Single<'_>) -> Bytes {
    if matches!(single, Single::Null) {
        return Bytes::from_static(b"{}");
    }
    dialect.encode_reply(method, single)
}

/// A request of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The HTTP methods to try, in this order.
    pub verbs: &'static [&'static str],
    /// The path below the interface, escaped.
    pub path: String,
    /// The query, escaped; empty if there is none.
    pub query: String,
    /// The body; `None`: there is none.
    pub body: Option<Bytes>,
}

/// Writes a request; a tenant is the first segment of its path (A2A-165).
///
/// # Errors
/// `InvalidParams`: a member of the path is missing, or can't stand in one.
pub fn request(dialect: Dialect, operation: &Operation) -> Result<Request, Fault> {
    let method = Method::of(operation);
    let place =
        method.place(dialect.version()).ok_or_else(|| Fault::MethodNotFound(format!("{method:?}")))?;
    let call = dialect.encode_call(operation);
    let whole = std::str::from_utf8(&call).map_err(|error| Fault::Malformed(error.to_string()))?;
    let Members(mut members) = members(whole)?;
    let mut take = |name: &str| {
        let at = members.iter().position(|(known, _)| known == name)?;
        Some(plain(members.remove(at).1))
    };
    // 0.3 names what a request is about as a resource, of which its paths are made.
    let resource = match dialect.version() {
        Version::V1 => None,
        Version::V03 => take("name").or_else(|| take("parent")),
    };
    let resource = resource.as_deref().map(v03::parts_of_name);
    let mut path = String::from(prefix(dialect.version()));
    if let Some(tenant) = take("tenant") {
        path.push('/');
        put(&mut path, "tenant", &tenant)?;
    }
    for part in place.path.split('/').skip(1) {
        path.push('/');
        match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
            None => path.push_str(part),
            Some((name, word)) => {
                let value = match (resource, name) {
                    (Some((_, config)), "pushNotificationConfigId") => config.map(str::to_owned),
                    (Some((task, _)), _) => Some(task.to_owned()),
                    (None, name) => take(name),
                };
                put(&mut path, name, &value.unwrap_or_default())?;
                path.push_str(word);
            }
        }
    }
    let (mut query, mut body) = (String::new(), None);
    match place.rest {
        Rest::Body => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}:{}", text(name), value.get())).collect();
            body = Some(format!("{{{}}}", members.join(",")).into());
        }
        Rest::Query(_) => {
            for (name, value) in &members {
                query.push_str(if query.is_empty() { "" } else { "&" });
                percent::escape(name, &mut query);
                query.push('=');
                percent::escape(&plain(value), &mut query);
            }
        }
    }
    Ok(Request { verbs: place.verbs, path, query, body })
}

/// What stands before every path of a version.
const fn prefix(version: Version) -> &'static str {
    match version {
        Version::V1 => "",
        Version::V03 => "/v1",
    }
}

/// A value as paths and queries have it: a text without its quotes.
fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// Appends a member as a segment. Whoever reads a URL takes `.` and `..` for steps, escaped or not.
fn put(path: &mut String, name: &str, value: &str) -> Result<(), Fault> {
    match value {
        "" => Err(Fault::invalid(name, "must not be empty")),
        "." | ".." => Err(Fault::invalid(name, format!("`{value}` can't stand in a path"))),
        value => {
            percent::escape(value, path);
            Ok(())
        }
    }
}
