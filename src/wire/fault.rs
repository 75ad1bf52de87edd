//! The one table of faults: their codes in every binding, and the bodies that tell them (A2A 1.0 sections 5.4, 9.5 and
//! 11.6; P-7).

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use jsonrpsee_types::{ErrorObject, ErrorObjectOwned};
use serde::Serialize;

use super::read::bytes;
use crate::model::{Fault, Timestamp};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// `error.code` in JSON-RPC.
    pub code: i32,
    /// The status in HTTP+JSON.
    pub http: u16,
    /// The name of the status in gRPC, also `error.status` in HTTP+JSON.
    pub grpc: &'static str,
    /// `reason` in `google.rpc.ErrorInfo`.
    pub reason: &'static str,
    /// `domain` there.
    pub domain: &'static str,
    /// Whether JSON-RPC too answers with the HTTP status; else it is 200.
    pub outside: bool,
}

/// One of A2A's own errors.
const fn a2a(code: i32, http: u16, grpc: &'static str, reason: &'static str) -> Row {
    Row { code, http, grpc, reason, domain: "a2a-protocol.org", outside: false }
}

/// One of JSON-RPC's own errors.
const fn rpc(code: i32, http: u16, grpc: &'static str, reason: &'static str) -> Row {
    Row { code, http, grpc, reason, domain: "a2ad", outside: false }
}

/// One that is answered outside the envelope.
const fn outside(http: u16, grpc: &'static str, reason: &'static str) -> Row {
    Row { code: -32000, http, grpc, reason, domain: "a2ad", outside: true }
}

/// The row of a fault.
#[must_use]
pub const fn row(fault: &Fault) -> Row {
    match fault {
        Fault::TaskNotFound(_) => a2a(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        Fault::TaskNotCancelable(_) => a2a(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
        Fault::PushNotSupported => a2a(-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        Fault::Unsupported(_) => a2a(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
        Fault::ContentType { .. } => a2a(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        Fault::InvalidAgentResponse(_) => a2a(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
        Fault::NoExtendedCard => {
            a2a(-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
        }
        Fault::ExtensionRequired(_) => a2a(-32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
        Fault::VersionNotSupported { .. } => a2a(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        Fault::Malformed(_) => rpc(-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"),
        Fault::InvalidRequest(_) => rpc(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        Fault::MethodNotFound(_) => rpc(-32601, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
        Fault::InvalidParams { .. } => rpc(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        Fault::Internal(_) => rpc(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
        Fault::Unauthenticated { .. } => outside(401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
        Fault::Forbidden(_) => outside(403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
        Fault::NoAgent(_) | Fault::AgentRemoved(_) => outside(404, "NOT_FOUND", "AGENT_NOT_FOUND"),
        Fault::TooLarge(_) => outside(413, "RESOURCE_EXHAUSTED", "TOO_LARGE"),
        Fault::Busy { .. } => outside(429, "RESOURCE_EXHAUSTED", "BUSY"),
        Fault::Draining { .. } => outside(503, "UNAVAILABLE", "SERVER_DRAINING"),
        Fault::NoSpace(_) => outside(507, "RESOURCE_EXHAUSTED", "NO_SPACE"),
    }
}

/// What the router refuses before there is an operation (P-11, O-16): HTTP status, name of the gRPC status, reason.
const ROUTING: [(u16, &str, &str); 7] = [
    (400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    (404, "NOT_FOUND", "NOT_FOUND"),
    (405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED"),
    (408, "DEADLINE_EXCEEDED", "REQUEST_TIMEOUT"),
    (415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    (421, "FAILED_PRECONDITION", "MISDIRECTED_REQUEST"),
    (503, "UNAVAILABLE", "UNAVAILABLE"),
];

/// What an error tells beside itself.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The request's id (P-9).
    pub request: &'a str,
    /// When it was refused.
    pub at: Timestamp,
}

/// The HTTP status of a JSON-RPC answer that tells this fault: 200 unless it is one of P-7.
#[must_use]
pub const fn rpc_status(fault: &Fault) -> u16 {
    let row = row(fault);
    if row.outside { row.http } else { 200 }
}

/// `Retry-After`, in seconds, at least 1.
#[must_use]
pub fn retry_after(fault: &Fault) -> Option<u64> {
    let (Fault::Busy { retry_after, .. } | Fault::Draining { retry_after }) = fault else { return None };
    Some(retry_after.as_secs().saturating_add(u64::from(retry_after.subsec_nanos() > 0)).max(1))
}

/// The challenge that goes with 401 (P-7).
#[must_use]
pub const fn challenge(fault: &Fault) -> Option<&'static str> {
    let Fault::Unauthenticated { sent } = fault else { return None };
    Some(if *sent { r#"Bearer realm="a2ad", error="invalid_token""# } else { r#"Bearer realm="a2ad""# })
}

/// The `error` of a JSON-RPC answer: code, message, and as `data` a list of `google.rpc` details (A2A-170, A2A-171).
#[must_use]
pub fn error_object(fault: &Fault, context: &Context<'_>) -> ErrorObjectOwned {
    let row = row(fault);
    let text = fault.to_string();
    ErrorObject::owned(row.code, short(&text), Some(details(fault, context, row.reason, row.domain)))
}

/// The body of an HTTP+JSON answer that tells a fault (A2A-172).
#[must_use]
pub fn rest_body(fault: &Fault, context: &Context<'_>) -> Bytes {
    let row = row(fault);
    let text = fault.to_string();
    let details = details(fault, context, row.reason, row.domain);
    body(row.http, row.grpc, &short(&text), details)
}

/// The body of an answer to what reaches no operation: an unknown path, a wrong verb, a foreign host (P-11.8).
#[must_use]
pub fn plain_body(http: u16, message: &str, context: &Context<'_>) -> Bytes {
    let known = ROUTING.iter().find(|(status, ..)| *status == http);
    let (grpc, reason) = known.map_or(("INTERNAL", "INTERNAL_ERROR"), |(_, grpc, reason)| (*grpc, *reason));
    let info = Detail::ErrorInfo { reason, domain: "a2ad", metadata: told(context) };
    body(http, grpc, &short(message), vec![info])
}

/// A `google.rpc.Status` under `error`.
fn body(code: u16, status: &str, message: &str, details: Vec<Detail<'_>>) -> Bytes {
    #[derive(Serialize)]
    struct Body<'a> {
        error: Status<'a>,
    }
    #[derive(Serialize)]
    struct Status<'a> {
        code: u16,
        status: &'a str,
        message: &'a str,
        details: Vec<Detail<'a>>,
    }
    bytes(&Body { error: Status { code, status, message, details } })
}

/// `metadata` of an `ErrorInfo`: a map of texts.
type Told<'a> = BTreeMap<&'static str, Cow<'a, str>>;

/// A `google.protobuf.Any`.
#[derive(Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo { reason: &'a str, domain: &'a str, metadata: Told<'a> },
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest", rename_all = "camelCase")]
    BadRequest { field_violations: [Violation<'a>; 1] },
}

/// What is wrong with one field.
#[derive(Serialize)]
struct Violation<'a> {
    field: Cow<'a, str>,
    description: Cow<'a, str>,
}

/// What every error tells of itself.
fn told<'a>(context: &Context<'a>) -> Told<'a> {
    BTreeMap::from([("requestId", context.request.into()), ("timestamp", context.at.to_string().into())])
}

/// All that a fault tells.
fn details<'a>(fault: &'a Fault, context: &Context<'a>, reason: &'a str, domain: &'a str) -> Vec<Detail<'a>> {
    let mut metadata = told(context);
    if let Fault::TaskNotFound(task) | Fault::TaskNotCancelable(task) = fault {
        metadata.insert("taskId", short(task.as_str()));
    }
    if let Fault::VersionNotSupported { served, .. } = fault {
        // A map of texts, so the list is one text (A2A-171).
        metadata.insert("supportedVersions", served.as_str().into());
    }
    let mut details = vec![Detail::ErrorInfo { reason, domain, metadata }];
    if let Fault::InvalidParams { path, why } = fault {
        let violation = Violation { field: short(path), description: short(why) };
        details.push(Detail::BadRequest { field_violations: [violation] });
    }
    details
}

/// Most letters of what a caller sent that come back in an error.
const SHORT: usize = 500;

/// A text, cut where it is long: errors repeat what was sent, and that may be megabytes.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHORT) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
