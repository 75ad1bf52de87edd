//! Answers outside the envelope: the statuses and bodies of what is refused before, or beside, the protocol (P-7).

use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

use super::{
    body::{Body, Response},
    router::Lost,
};
use crate::{model::Fault, wire};

/// A request that is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The status.
    pub(super) status: StatusCode,
    /// `reason` of the `ErrorInfo`.
    pub(super) reason: &'static str,
    /// Its `domain`.
    domain: &'static str,
    /// What, why, and what to do.
    pub(super) message: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Which body an answer outside the envelope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// That of HTTP+JSON (A2A-172).
    Rest,
    /// That of JSON-RPC, without an id.
    Rpc,
}

/// The domain of errors that are ours and not the protocol's.
const OURS: &str = "a2ad";

impl Refusal {
    fn new(status: StatusCode, reason: &'static str, message: String) -> Self {
        Self { status, reason, domain: OURS, message, headers: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A request that can't be read.
    pub(super) fn bad(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// A request that does not come to its end.
    pub(super) fn slow(time: Duration) -> Self {
        let message = format!("the request did not arrive within {} s", time.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message)
            .with(header::CONNECTION, HeaderValue::from_static("close"))
    }

    /// A request for somebody else (O-16).
    pub(super) fn misdirected(host: &str, what: &str) -> Self {
        let message = format!(
            "the {what} `{host}` is not one of this node's; if it should be, add it to [auth] allowed_hosts, \
             or set [node] public_url"
        );
        Self::new(StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED", message)
    }

    /// A request that may not be made this way.
    pub(super) fn forbidden(message: String) -> Self {
        Fault::Forbidden(message).into()
    }

    /// A body in a coding other than none.
    pub(super) fn coded() -> Self {
        let message = "a body with Content-Encoding is not taken; send it as it is".into();
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "CONTENT_ENCODING_NOT_SUPPORTED", message)
            .with(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))
    }

    /// A body of another media type than JSON.
    pub(super) fn not_json() -> Self {
        let message = "the body is to be application/json".into();
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "CONTENT_TYPE_NOT_SUPPORTED", message)
    }

    /// A path that leads nowhere.
    pub(super) fn nothing_at(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", format!("there is nothing at {path}"))
    }

    /// A verb that a path does not have.
    pub(super) fn verb(allow: &'static str, hint: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", hint.to_owned())
            .with(header::ALLOW, HeaderValue::from_static(allow))
    }

    /// What the router says of a path. A gRPC call has its own answer, see [`grpc`].
    pub(super) fn lost(lost: &Lost, path: &str) -> Self {
        match lost {
            Lost::Bad(why) => Self::bad((*why).to_owned()),
            Lost::Nothing | Lost::Grpc => Self::nothing_at(path),
            Lost::Verb { allow, hint } => Self::verb(allow, hint),
            Lost::NotGrpc => Self::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "CONTENT_TYPE_NOT_SUPPORTED",
                "the path is that of a gRPC method, the body is not gRPC".into(),
            ),
        }
    }

    /// The answer. `request` is its `X-Request-Id`.
    pub(super) fn response(self, form: Form, request: &str) -> Response {
        let details = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason,
            "domain": self.domain,
            "metadata": { "requestId": request },
        }]);
        let body = match form {
            Form::Rest => json!({ "error": {
                "code": self.status.as_u16(),
                "status": status_name(self.status),
                "message": self.message,
                "details": details,
            } }),
            Form::Rpc => json!({ "jsonrpc": "2.0", "id": null, "error": {
                "code": -32000,
                "message": self.message,
                "data": details,
            } }),
        };
        let mut response = json_response(self.status, body.to_string());
        response.headers_mut().extend(self.headers);
        response
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let row = wire::fault::row(&fault);
        let status = StatusCode::from_u16(row.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut refusal = Self::new(status, row.reason, fault.to_string());
        if row.a2a {
            refusal.domain = wire::fault::DOMAIN;
        }
        match fault {
            Fault::Unauthenticated { sent } => {
                let challenge = if sent {
                    "Bearer realm=\"a2ad\", error=\"invalid_token\""
                } else {
                    "Bearer realm=\"a2ad\""
                };
                refusal.with(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
            }
            Fault::Busy { retry_after, .. } | Fault::Draining { retry_after } => {
                refusal.with(header::RETRY_AFTER, HeaderValue::from(retry_after.as_secs().max(1)))
            }
            _ => refusal,
        }
    }
}

/// Whether a fault is answered with its HTTP status instead of inside the envelope of JSON-RPC (P-7).
pub(super) const fn is_outside(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Unauthenticated { .. }
            | Fault::Forbidden(_)
            | Fault::TooLarge(_)
            | Fault::Busy { .. }
            | Fault::Draining { .. }
            | Fault::NoSpace(_)
    )
}

/// The answer to a gRPC call, which is not served: status 12 where its caller looks for it (P-11).
pub(super) fn grpc() -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from_static("12"));
    headers.insert("grpc-message", HeaderValue::from_static("this node serves no gRPC; use JSON-RPC"));
    response
}

/// A JSON answer.
pub(super) fn json_response(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The name of a `google.rpc.Code` that goes with an HTTP status.
const fn status_name(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 415 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        405 => "UNIMPLEMENTED",
        408 => "DEADLINE_EXCEEDED",
        421 => "FAILED_PRECONDITION",
        413 | 429 | 507 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn read(response: Response) -> (http::HeaderMap, serde_json::Value) {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.headers, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_missing_credential_is_challenged_in_both_forms() {
        let refusal = Refusal::from(Fault::Unauthenticated { sent: false });
        assert_eq!(refusal.status, StatusCode::UNAUTHORIZED);
        let (headers, body) = read(refusal.response(Form::Rpc, "r1")).await;
        assert_eq!(headers[header::WWW_AUTHENTICATE], "Bearer realm=\"a2ad\"");
        assert_eq!(body["id"], serde_json::Value::Null);
        assert_eq!(body["error"]["code"], -32000);
        assert_eq!(body["error"]["data"][0]["reason"], "UNAUTHENTICATED");
        assert_eq!(body["error"]["data"][0]["domain"], "a2ad");
        assert_eq!(body["error"]["data"][0]["metadata"]["requestId"], "r1");

        let refusal = Refusal::from(Fault::Unauthenticated { sent: true });
        let (headers, body) = read(refusal.response(Form::Rest, "r2")).await;
        assert_eq!(headers[header::WWW_AUTHENTICATE], "Bearer realm=\"a2ad\", error=\"invalid_token\"");
        assert_eq!(body["error"]["code"], 401);
        assert_eq!(body["error"]["status"], "UNAUTHENTICATED");
    }

    #[test]
    fn the_statuses_outside_the_envelope_are_these() {
        let second = Duration::from_secs(1);
        for (fault, status) in [
            (Fault::Unauthenticated { sent: true }, 401),
            (Fault::Forbidden("no".into()), 403),
            (Fault::TooLarge("big".into()), 413),
            (Fault::Busy { why: "full".into(), retry_after: second }, 429),
            (Fault::Draining { retry_after: second }, 503),
            (Fault::NoSpace("full".into()), 507),
        ] {
            assert!(is_outside(&fault));
            assert_eq!(Refusal::from(fault.clone()).status.as_u16(), status, "{fault:?}");
        }
        assert!(!is_outside(&Fault::TaskNotFound("x".into())));
    }

    #[test]
    fn who_is_to_come_back_is_told_when() {
        let refusal = Refusal::from(Fault::Busy { why: "full".into(), retry_after: Duration::from_millis(10) });
        assert!(refusal.headers.contains(&(header::RETRY_AFTER, HeaderValue::from(1))), "never 0");
    }
}
