//! JSON-RPC 2.0 around a call and its answers (A2A 1.0 section 9; P-4).

use std::borrow::Cow;

use bytes::Bytes;
use jsonrpsee_types::TwoPointZero;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{error::Category, value::RawValue};

use super::{
    Dialect, Method,
    fault::{Context, error_object, short},
    scan,
};
use crate::model::Fault;

/// What a caller calls its request, to be echoed as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// A text, `null` or a number from 0 to 2^64 - 1.
    Common(jsonrpsee_types::Id<'a>),
    /// The text of any other number: JSON-RPC allows them all.
    Number(Cow<'a, str>),
}

impl Id<'_> {
    /// The id of answers to what had none that can be read.
    pub const NULL: Id<'static> = Id::Common(jsonrpsee_types::Id::Null);

    /// The same, independent of the body.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        match self {
            Self::Common(id) => Id::Common(id.into_owned()),
            Self::Number(text) => Id::Number(Cow::Owned(text.into_owned())),
        }
    }

    /// Its JSON.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Common(jsonrpsee_types::Id::Null) => out.extend_from_slice(b"null"),
            Self::Common(jsonrpsee_types::Id::Number(number)) => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            Self::Common(jsonrpsee_types::Id::Str(text)) => {
                out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_else(|_| b"null".to_vec()));
            }
            Self::Number(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

/// A request, borrowed from its body.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// `None`: a notification, answered by silence (P-4).
    pub id: Option<Id<'a>>,
    /// As sent; [`Dialect::of`](super::Dialect::of) knows what it means.
    pub method: Cow<'a, str>,
    /// As sent, absent or `null`: `None`. Any JSON: [`decode_call`](super::Dialect::decode_call) wants an object.
    pub params: Option<&'a RawValue>,
}

/// A body that is no request, with the id to answer to.
#[derive(Debug)]
pub struct Refused {
    /// The request's, where it can be read.
    pub id: Id<'static>,
    /// Why.
    pub fault: Fault,
}

impl Refused {
    fn nameless(fault: Fault) -> Self {
        Self { id: Id::NULL, fault }
    }
}

/// What nearly every request looks like. Not `jsonrpsee_types::Request`, which copies the parameters.
#[derive(Deserialize)]
struct Common<'a> {
    #[serde(rename = "jsonrpc")]
    _version: TwoPointZero,
    #[serde(borrow, deserialize_with = "common_id")]
    id: jsonrpsee_types::Id<'a>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// An id by its first letter; jsonrpsee's own reading tries one kind after the other, and words an error for each.
fn common_id<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<jsonrpsee_types::Id<'a>, D::Error> {
    let text = <&'a RawValue>::deserialize(deserializer)?.get();
    if let Ok(number) = text.parse() {
        return Ok(jsonrpsee_types::Id::Number(number));
    }
    if let Ok(plain) = serde_json::from_str(text) {
        return Ok(jsonrpsee_types::Id::Str(Cow::Borrowed(plain)));
    }
    serde_json::from_str(text).map_err(serde::de::Error::custom)
}

/// Reads a body.
///
/// # Errors
/// `Malformed` for what is not JSON, `InvalidRequest` for what is no request or many, `InvalidParams` for one that is
/// too deep.
pub fn read(body: &[u8]) -> Result<Call<'_>, Box<Refused>> {
    let scanned = scan::scan(body).map_err(|fault| Box::new(Refused::nameless(fault)))?;
    let text = scanned.text;
    let call = match first(text) {
        // A list would pass for a structure, member by member.
        Some('{') => match serde_json::from_str::<Common<'_>>(text) {
            Ok(request) => {
                Call { id: Some(Id::Common(request.id)), method: request.method, params: request.params }
            }
            Err(_) => read_uncommon(text).map_err(Box::new)?,
        },
        other => return Err(Box::new(Refused::nameless(no_object(text, other)))),
    };
    // The envelope is a level of its own.
    if scanned.levels > scan::MOST_LEVELS + 1 {
        let id = call.id.map_or(Id::NULL, Id::into_owned);
        return Err(Box::new(Refused { id, fault: scan::too_deep() }));
    }
    Ok(call)
}

/// The first letter that is not white.
fn first(text: &str) -> Option<char> {
    text.trim_start_matches([' ', '\t', '\n', '\r']).chars().next()
}

/// Why a body that is no object is no request.
fn no_object(text: &str, first: Option<char>) -> Fault {
    match (serde_json::from_str::<IgnoredAny>(text), first) {
        (Err(error), _) => Fault::Malformed(error.to_string()),
        (Ok(_), Some('[')) => {
            Fault::InvalidRequest("batches are not served: send one request at a time".into())
        }
        (Ok(_), _) => Fault::InvalidRequest("a request is a JSON object".into()),
    }
}

/// Any envelope, its members as they came.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// `null` is a value, not absence.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads what the common reader refuses: notifications, uncommon numbers as ids, and what is no request.
#[cold]
fn read_uncommon(text: &str) -> Result<Call<'_>, Refused> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        Refused::nameless(match error.classify() {
            Category::Data => Fault::InvalidRequest(format!("the request is not valid: {error}")),
            Category::Syntax | Category::Eof | Category::Io => Fault::Malformed(error.to_string()),
        })
    })?;
    let id = match envelope.id {
        None => None,
        Some(raw) => Some(read_id(raw).ok_or_else(|| {
            Refused::nameless(Fault::InvalidRequest("id must be a text, a number or null".into()))
        })?),
    };
    let refused = |why: &str| Refused {
        id: id.clone().map_or(Id::NULL, Id::into_owned),
        fault: Fault::InvalidRequest(why.into()),
    };
    let word = |raw: Option<&'_ RawValue>| {
        raw.and_then(|raw| serde_json::from_str::<Cow<'_, str>>(raw.get()).ok()).map(Cow::into_owned)
    };
    if word(envelope.jsonrpc).as_deref() != Some("2.0") {
        return Err(refused(r#"jsonrpc must be "2.0""#));
    }
    let method = word(envelope.method).ok_or_else(|| refused("method must be a text"))?;
    Ok(Call { id, method: Cow::Owned(method), params: envelope.params })
}

/// An id; booleans, objects and lists are none (A2A-181).
fn read_id(raw: &RawValue) -> Option<Id<'_>> {
    match raw.get().as_bytes().first()? {
        b'-' | b'0'..=b'9' => Some(Id::Number(Cow::Borrowed(raw.get()))),
        b'"' | b'n' => serde_json::from_str(raw.get()).ok().map(Id::Common),
        _ => None,
    }
}

/// What stands around a result, beside the id.
const AROUND: usize = r#"{"jsonrpc":"2.0","id":,"result":}"#.len();

/// An answer; `result` is JSON.
#[must_use]
pub fn answer(id: &Id<'_>, result: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(AROUND + 40 + result.len());
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(&mut out);
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result);
    out.push(b'}');
    out.into()
}

/// An answer that tells a fault.
#[must_use]
pub fn refusal(id: &Id<'_>, fault: &Fault, context: &Context<'_>) -> Bytes {
    let mut out = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    id.write(&mut out);
    out.extend_from_slice(br#","error":"#);
    // Code, text and details of ours: writing them cannot fail.
    out.extend_from_slice(&serde_json::to_vec(&error_object(fault, context)).unwrap_or_default());
    out.push(b'}');
    out.into()
}

/// A request of ours; `params` is a JSON object. `None` where the dialect has no such operation.
#[must_use]
pub fn request(id: u64, dialect: Dialect, method: Method, params: &[u8]) -> Option<Bytes> {
    let name = method.name(dialect)?;
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{name}","params":"#);
    Some([head.as_bytes(), params, b"}"].concat().into())
}

/// What a peer answers instead of a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct PeerError {
    /// JSON-RPC's code, or the HTTP status in HTTP+JSON.
    pub code: i64,
    /// For people.
    pub message: String,
    /// `reason` of its `ErrorInfo`: what programs go by (A2A 1.0 section 5.4).
    pub reason: Option<String>,
    /// `requestId` there: what to look for in the peer's log.
    pub request: Option<String>,
}

/// Reads the answer of a peer: the result, or its error, in either binding's form. Lenient, for peers add members,
/// leave some out and write `null` for what is absent.
///
/// # Errors
/// `InvalidAgentResponse` for what is neither.
pub fn read_answer(text: &str) -> Result<Result<&RawValue, PeerError>, Fault> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        result: Option<&'a RawValue>,
        #[serde(default)]
        error: Option<Error<'a>>,
    }
    #[derive(Deserialize)]
    struct Error<'a> {
        #[serde(default)]
        code: i64,
        #[serde(default)]
        message: Option<String>,
        #[serde(borrow, default, alias = "details")]
        data: Option<&'a RawValue>,
    }
    let answer: Answer<'_> = serde_json::from_str(text)
        .map_err(|error| Fault::InvalidAgentResponse(format!("{error}: {}", short(text))))?;
    match (answer.error, answer.result) {
        (Some(error), _) => {
            let info = error.data.and_then(|data| info(data.get())).unwrap_or_default();
            Ok(Err(PeerError {
                code: error.code,
                message: error.message.unwrap_or_default(),
                reason: info.reason,
                request: info.metadata.and_then(|metadata| metadata.request_id),
            }))
        }
        (None, Some(result)) => Ok(Ok(result)),
        (None, None) => Err(Fault::InvalidAgentResponse("neither result nor error".into())),
    }
}

/// `google.rpc.ErrorInfo`, as far as it is looked at.
#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    metadata: Option<InfoMetadata>,
}

#[derive(Deserialize)]
struct InfoMetadata {
    #[serde(default, rename = "requestId")]
    request_id: Option<String>,
}

/// The first detail that has a reason.
fn info(details: &str) -> Option<Info> {
    let details: Vec<&RawValue> = serde_json::from_str(details).ok()?;
    details
        .into_iter()
        .filter_map(|detail| serde_json::from_str::<Info>(detail.get()).ok())
        .find(|info| info.reason.is_some())
}
