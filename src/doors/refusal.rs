//! Answers outside the envelope: what is refused before, or beside, the protocol (P-7, P-11).

use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode, header};

use super::{
    body::{Body, Response},
    router::Lost,
};
use crate::{
    model::{Fault, Timestamp},
    wire::{
        envelope::{self, Id},
        fault::{self, Context},
    },
};

/// A request that is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// In the protocol's words.
    Fault(Fault),
    /// By HTTP alone, before it reaches an operation.
    Plain {
        /// The status.
        status: StatusCode,
        /// What, why, and what to do.
        message: String,
        /// What goes with the status.
        header: Option<(HeaderName, &'static str)>,
    },
}

/// Which body a fault outside the envelope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// That of HTTP+JSON (A2A-172).
    Rest,
    /// That of JSON-RPC, without an id.
    Rpc,
}

impl Refusal {
    const fn plain(status: StatusCode, message: String) -> Self {
        Self::Plain { status, message, header: None }
    }

    /// A request that can't be read.
    pub(super) const fn bad(message: String) -> Self {
        Self::plain(StatusCode::BAD_REQUEST, message)
    }

    /// A request that does not come to its end.
    pub(super) fn slow(time: Duration) -> Self {
        Self::Plain {
            status: StatusCode::REQUEST_TIMEOUT,
            message: format!("the request did not arrive within {} s", time.as_secs()),
            header: Some((header::CONNECTION, "close")),
        }
    }

    /// A request for somebody else (O-16).
    pub(super) fn misdirected(host: &str, what: &str) -> Self {
        let message = format!(
            "the {what} `{host}` is not one of this node's; if it should be, add it to [auth] allowed_hosts \
             or set [node] public_url"
        );
        Self::plain(StatusCode::MISDIRECTED_REQUEST, message)
    }

    /// A request that may not be made this way.
    pub(super) const fn forbidden(message: String) -> Self {
        Self::Fault(Fault::Forbidden(message))
    }

    /// A body in a coding other than none (O-51).
    pub(super) fn coded() -> Self {
        Self::Plain {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            message: "a body with a Content-Encoding is not taken; send it as it is".into(),
            header: Some((header::ACCEPT_ENCODING, "identity")),
        }
    }

    /// A body of another media type than JSON.
    pub(super) fn not_json() -> Self {
        Self::plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON: send the header Content-Type: application/json".into(),
        )
    }

    /// Something that is not there.
    pub(super) const fn absent(message: String) -> Self {
        Self::plain(StatusCode::NOT_FOUND, message)
    }

    /// A path that leads nowhere.
    pub(super) fn nothing_at(path: &str) -> Self {
        Self::plain(StatusCode::NOT_FOUND, format!("there is nothing at {path}"))
    }

    /// A verb that a path does not have.
    pub(super) fn verb(allow: &'static str, hint: &str) -> Self {
        Self::Plain {
            status: StatusCode::METHOD_NOT_ALLOWED,
            message: hint.to_owned(),
            header: Some((header::ALLOW, allow)),
        }
    }

    /// What the router says of a path. A gRPC call has its own answer, see [`grpc`].
    pub(super) fn lost(lost: &Lost, path: &str) -> Self {
        match lost {
            Lost::Bad(why) => Self::bad((*why).to_owned()),
            Lost::Nothing | Lost::Grpc => Self::nothing_at(path),
            Lost::Verb { allow, hint, .. } => Self::verb(allow, hint),
            Lost::NotGrpc => Self::plain(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the path is that of a gRPC method, the body is not gRPC".into(),
            ),
        }
    }

    /// The status it is answered with.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Plain { status, .. } => *status,
            Self::Fault(fault) => {
                StatusCode::from_u16(fault::row(fault).http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    /// The answer. `request` is its `X-Request-Id`.
    pub(super) fn response(self, form: Form, request: &str) -> Response {
        let status = self.status();
        let context = Context { request, at: Timestamp::now() };
        match self {
            Self::Fault(fault) => {
                let body = match form {
                    Form::Rest => fault::rest_body(&fault, &context),
                    Form::Rpc => envelope::refusal(&Id::NULL, &fault, &context),
                };
                let mut response = json(status, body);
                headers_of(&fault, &mut response);
                response
            }
            Self::Plain { message, header, .. } => {
                let mut response = json(status, fault::plain_body(status.as_u16(), &message, &context));
                if let Some((name, value)) = header {
                    response.headers_mut().insert(name, HeaderValue::from_static(value));
                }
                response
            }
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The headers that go with a fault.
fn headers_of(fault: &Fault, response: &mut Response) {
    let headers = response.headers_mut();
    if let Some(challenge) = fault::challenge(fault) {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if let Some(seconds) = fault::retry_after(fault) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// The answer to a gRPC call, which is not served: status 12 where its caller looks for it (P-11).
pub(super) fn grpc() -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from_static("12"));
    headers.insert(
        "grpc-message",
        HeaderValue::from_static("this node serves no gRPC; use JSON-RPC or HTTP+JSON"),
    );
    response
}

/// A JSON answer.
pub(super) fn json(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response {
    whole(status, MediaType::Json, body)
}

/// What JSON is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    /// By everybody.
    Json,
    /// By HTTP+JSON of A2A (A2A-183).
    A2a,
}

/// An answer in one piece.
pub(super) fn whole(status: StatusCode, media_type: MediaType, body: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    let name = match media_type {
        MediaType::Json => "application/json",
        MediaType::A2a => "application/a2a+json",
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(name));
    response
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
        assert_eq!(refusal.status(), StatusCode::UNAUTHORIZED);
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

    #[tokio::test]
    async fn who_is_to_come_back_is_told_when() {
        let fault = Fault::Busy { why: "full".into(), retry_after: Duration::from_millis(10) };
        let response = Refusal::from(fault).response(Form::Rpc, "r");
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1", "never 0");
    }

    #[tokio::test]
    async fn what_reaches_no_operation_has_the_rest_body_in_either_form() {
        for form in [Form::Rest, Form::Rpc] {
            let lost = Lost::Verb { allow: "POST", hint: "POST here", agent: None };
            let response = Refusal::lost(&lost, "/").response(form, "r");
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
            let (headers, body) = read(response).await;
            assert_eq!(headers[header::ALLOW], "POST");
            assert_eq!(body["error"]["code"], 405);
            assert_eq!(body["error"]["message"], "POST here");
        }
    }
}
