//! JSON-RPC over HTTP (A2A 1.0 section 9): one body in, one JSON value, silence, or a stream out.

use std::borrow::Cow;

use http::StatusCode;

use super::{
    body::{Body, Response},
    call::Entry,
    envelope::{Binding, Envelope},
    inbound::Inbound,
    refusal::{self, Refusal},
    state::State,
};
use crate::{
    model::{Fault, Timestamp},
    wire::{
        Dialect, Method, Version,
        envelope::{self, Id},
        fault::{self, Context},
    },
};

/// Answers a POST: to the agent of the path, else to `params.tenant`, else to the default one.
///
/// # Errors
/// What is answered outside the envelope (P-7).
pub(super) async fn serve(
    state: &State,
    inbound: &mut Inbound,
    agent: Option<&str>,
) -> Result<Response, Refusal> {
    let entry = Entry::of(state, inbound, agent)?;
    if !inbound.is_json() {
        let media_type = inbound.media_type().unwrap_or_else(|| "body without a Content-Type".into());
        let fault = Fault::ContentType {
            media_type,
            takes: "JSON: send the header Content-Type: application/json".into(),
        };
        inbound.discard().await;
        return Ok(refused(inbound, &Id::NULL, &fault));
    }
    let body = inbound.read().await?;
    let call = match envelope::read(&body) {
        Ok(call) => call,
        Err(bad) => return Ok(refused(inbound, &bad.id, &bad.fault)),
    };
    let silent = call.id.is_none();
    match carry_out(&entry, state, inbound, &call).await {
        Err(fault) if fault::row(&fault).outside => Err(fault.into()),
        // What has no id gets no answer, but is carried out; a stream without one is no request (P-4).
        Ok(_) if silent => Ok(nothing()),
        Err(fault) if silent && !matches!(fault, Fault::InvalidRequest(_)) => Ok(nothing()),
        Ok(response) => Ok(response),
        Err(fault) => Ok(refused(inbound, &call.id.unwrap_or(Id::NULL), &fault)),
    }
}

/// From the envelope to the answer.
async fn carry_out(
    entry: &Entry,
    state: &State,
    inbound: &Inbound,
    call: &envelope::Call<'_>,
) -> Result<Response, Fault> {
    let (dialect, method) = dialect(entry.versions(state), inbound, &call.method)?;
    if call.id.is_none() && method.streams() {
        return Err(Fault::InvalidRequest("a stream needs an id to answer to".into()));
    }
    let operation = dialect.decode_call(method, call.params)?;
    let id = call.id.clone().unwrap_or(Id::NULL).into_owned();
    let envelope = Envelope { dialect, binding: Binding::Rpc(id), request: inbound.id.clone() };
    entry.answer(state, inbound, operation, envelope).await
}

/// Which operation of which dialect (P-1).
fn dialect(served: &[Version], inbound: &Inbound, method: &str) -> Result<(Dialect, Method), Fault> {
    let query: Vec<Cow<'_, str>> = inbound.query("A2A-Version").collect();
    Dialect::of(served, inbound.header("a2a-version"), query.iter().map(AsRef::as_ref), method)
}

/// A fault inside the envelope, always with status 200 (A2A-174).
fn refused(inbound: &Inbound, id: &Id<'_>, fault: &Fault) -> Response {
    let context = Context { request: &inbound.id, at: Timestamp::now() };
    refusal::json(StatusCode::OK, envelope::refusal(id, fault, &context))
}

/// The answer to what has no id.
fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
