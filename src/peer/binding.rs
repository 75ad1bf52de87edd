//! The two bindings of the client: how an operation is put on its way, and where in an answer its result stands.

use bytes::Bytes;
use reqwest::{Method, Response, Url, header};
use serde_json::value::RawValue;

use super::{
    Endpoint, Error, Http, Refusal,
    http::{Envelope, refusal},
};
use crate::{
    model::{Fault, Operation, Seq},
    wire::{
        Dialect, envelope,
        fault::row,
        rest::{self, Request},
    },
};

/// What stands around calls and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// One path, and the envelope of JSON-RPC (A2A 1.0 section 9).
    Rpc,
    /// HTTP+JSON: paths and verbs, and no envelope (A2A 1.0 section 11).
    Rest,
}

impl Binding {
    /// The binding of a name in a card, if we speak it.
    pub(super) fn named(name: &str) -> Option<Self> {
        [("JSONRPC", Self::Rpc), ("HTTP+JSON", Self::Rest)]
            .into_iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map(|(_, binding)| binding)
    }

    /// Asks for one answer, or for a stream; `after` is the last event that was seen (P-26).
    pub(super) async fn ask(
        self,
        http: &Http,
        endpoint: &Endpoint,
        dialect: Dialect,
        id: u64,
        operation: &Operation,
        way: Way,
    ) -> Result<Response, Error> {
        let mut calls = match self {
            Self::Rpc => rpc(endpoint, dialect, id, operation).into_iter().collect(),
            Self::Rest => rest(endpoint, dialect, operation)?,
        };
        calls.reverse();
        loop {
            let Some(Call { method, url, body }) = calls.pop() else {
                return Err(http.nonsense("no way leads to this operation"));
            };
            let request = http.request_in(dialect.version(), method, url);
            let mut request = request.header(header::ACCEPT, self.accept(way.stream));
            if let Some(body) = body {
                // What every server takes, older ones too.
                request = request.header(header::CONTENT_TYPE, "application/json").body(body);
            }
            if let Some(after) = way.after {
                request = request.header("Last-Event-ID", after);
            }
            let response = http.send(request, way.patience).await?;
            // A server may have the operation under one of its verbs only. A 404 with an answer in it is an answer.
            let elsewhere = matches!(response.status().as_u16(), 404 | 405) && !calls.is_empty();
            if !elsewhere {
                return Ok(response);
            }
            match http.refusal(response).await {
                Error::Refused(refusal) if refusal.reason.as_deref() == Some("METHOD_NOT_ALLOWED") => {}
                Error::Refused(refusal) if refusal.reason.is_some() => return Err(Error::Refused(refusal)),
                Error::Refused(_) => {}
                other => return Err(other),
            }
        }
    }

    const fn accept(self, stream: bool) -> &'static str {
        match (self, stream) {
            (Self::Rpc, false) => "application/json",
            (Self::Rpc, true) => "text/event-stream, application/json",
            (Self::Rest, false) => "application/a2a+json, application/json",
            (Self::Rest, true) => "text/event-stream, application/a2a+json, application/json",
        }
    }

    /// The result in a body, or in the data of an event. `url` is whose it is.
    pub(super) fn result<'a>(self, body: &'a [u8], url: &str) -> Result<&'a RawValue, Error> {
        let nonsense =
            |error: serde_json::Error| Error::Answer { url: url.to_owned(), why: error.to_string() };
        // Something was done of which there is nothing to tell.
        if body.is_empty() && self == Self::Rest {
            return Ok(RawValue::NULL);
        }
        let envelope: Envelope<'_> = match serde_json::from_slice(body) {
            Ok(envelope) => envelope,
            // What is no object has no error in it.
            Err(_) if self == Self::Rest => Envelope { result: None, error: None },
            Err(error) => return Err(nonsense(error)),
        };
        match (envelope.error, self) {
            (Some(error), _) => Err(Error::Refused(Box::new(Refusal { status: 200, ..refusal(error) }))),
            (None, Self::Rpc) => Ok(envelope.result.unwrap_or(RawValue::NULL)),
            (None, Self::Rest) => serde_json::from_slice(body).map_err(nonsense),
        }
    }
}

/// How an answer is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// As a stream.
    pub(super) stream: bool,
    /// After this event.
    pub(super) after: Option<Seq>,
    /// Within this time.
    pub(super) patience: Option<std::time::Duration>,
}

/// One HTTP request.
struct Call {
    method: Method,
    url: Url,
    body: Option<Bytes>,
}

/// The request as JSON-RPC has it, with the tenant that the interface wants.
fn rpc(endpoint: &Endpoint, dialect: Dialect, id: u64, operation: &Operation) -> Option<Call> {
    let params = dialect.encode_call(&routed(endpoint, operation));
    let body = envelope::request(id, dialect, crate::wire::Method::of(operation), &params)?;
    Some(Call { method: Method::POST, url: endpoint.url.clone(), body: Some(body) })
}

/// The requests that HTTP+JSON has for it, to be tried in this order.
fn rest(endpoint: &Endpoint, dialect: Dialect, operation: &Operation) -> Result<Vec<Call>, Error> {
    let Request { verbs, path, query, body } =
        rest::request(dialect, &routed(endpoint, operation)).map_err(|fault| unsaid(&fault))?;
    let mut url = endpoint.url.clone();
    url.set_path(&format!("{}{path}", endpoint.url.path().trim_end_matches('/')));
    url.set_query((!query.is_empty()).then_some(&query));
    Ok(verbs
        .iter()
        .filter_map(|verb| verb.parse().ok())
        .map(|method| Call { method, url: url.clone(), body: body.clone() })
        .collect())
}

fn routed(endpoint: &Endpoint, operation: &Operation) -> Operation {
    operation.clone().for_tenant(endpoint.tenant.as_deref())
}

/// A request that no path can hold is refused as the other side would.
fn unsaid(fault: &Fault) -> Error {
    let row = row(fault);
    Error::Refused(Box::new(Refusal {
        status: row.http,
        code: row.code.into(),
        reason: Some(row.reason.to_owned()),
        message: fault.to_string(),
        ..Refusal::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_in_either_binding_and_an_error_too() {
        let of = |binding: Binding, body: &str| {
            binding
                .result(body.as_bytes(), "http://x")
                .map(|raw| raw.get().to_owned())
                .map_err(|e| e.to_string())
        };
        assert_eq!(
            of(Binding::Rpc, r#"{"id":1,"result":{"id":"t"},"error":null}"#).unwrap(),
            r#"{"id":"t"}"#
        );
        assert_eq!(of(Binding::Rest, r#"{"id":"t"}"#).unwrap(), r#"{"id":"t"}"#);
        assert_eq!(
            of(Binding::Rest, r#"{"result":1}"#).unwrap(),
            r#"{"result":1}"#,
            "a member like any other"
        );
        assert_eq!(of(Binding::Rest, "").unwrap(), "null");
        for binding in [Binding::Rpc, Binding::Rest] {
            assert_eq!(of(binding, r#"{"error":{"code":1,"message":"no"}}"#).unwrap_err(), "no");
            assert!(of(binding, "<html>").unwrap_err().contains("not A2A"));
        }
    }

    #[test]
    fn a_path_is_put_below_that_of_the_interface() {
        let endpoint = |url: &str, tenant: Option<&str>| Endpoint {
            url: url.parse().unwrap(),
            binding: Binding::Rest,
            tenant: tenant.map(str::to_owned),
            dialect: Dialect::V1,
            streams: true,
            ours: false,
        };
        let get = |id: &str| {
            Operation::GetTask(crate::model::GetTask { tenant: None, id: id.into(), history_length: Some(1) })
        };
        for (url, tenant, wanted) in [
            ("https://a", None, "https://a/tasks/x%2F%3F?historyLength=1"),
            ("https://a/b/", Some("t u"), "https://a/b/t%20u/tasks/x%2F%3F?historyLength=1"),
        ] {
            assert_eq!(
                rest(&endpoint(url, tenant), Dialect::V1, &get("x/?")).unwrap()[0].url.as_str(),
                wanted
            );
        }
        let error = rest(&endpoint("https://a", None), Dialect::V1, &get("..")).err().unwrap();
        assert!(error.refusal().unwrap().is("INVALID_PARAMS", -32602), "{error}");
    }
}
