//! One request from its headers to its answer: request id, gate, route, door.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use tracing::{Instrument, field};

use super::{
    agents,
    body::{Body, Response},
    card,
    connection::Peer,
    gate::{self, Source, Target},
    health,
    inbound::{Inbound, request_id},
    jsonrpc, ops,
    refusal::{self, Form, Refusal},
    rest,
    router::{self, Lost, Route},
    state::State,
};
use crate::model::{Fault, log::ADDRESSES};

/// Answers a request, whatever happens.
pub(super) async fn handle(state: Arc<State>, peer: Peer, request: Request<Incoming>) -> Response {
    let id = request_id(request.headers());
    let span = tracing::info_span!(
        "request",
        id = %id,
        principal = field::Empty,
        agent = field::Empty,
        task = field::Empty,
        context = field::Empty,
    );
    let form = form_of(&request);
    // Boxed: it is large, and a connection keeps the room of its last request's work for as long as it lives.
    let answer = Box::pin(answer(&state, peer, id.clone(), request));
    let answer = AssertUnwindSafe(answer).catch_unwind();
    let mut response = answer.instrument(span.clone()).await.unwrap_or_else(|_| {
        // The hook for panics has written where and why; the caller gets a number to ask for.
        let incident = uuid::Uuid::now_v7().simple().to_string();
        span.in_scope(|| tracing::error!(incident, "a request broke its handler"));
        Refusal::from(Fault::Internal(incident)).response(form, &id)
    });
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert("x-request-id", id);
    }
    response
}

/// The body of refusals on a path.
fn form_of(request: &Request<Incoming>) -> Form {
    match router::route(request.method(), request.uri().path(), None) {
        Ok(Route::Rpc(_)) => Form::Rpc,
        _ => Form::Rest,
    }
}

async fn answer(state: &Arc<State>, peer: Peer, id: String, request: Request<Incoming>) -> Response {
    let settings = state.live.get();
    let (parts, body) = request.into_parts();
    let found = router::route(&parts.method, parts.uri.path(), parts.headers.get(header::CONTENT_TYPE));
    if found == Err(Lost::Grpc) {
        return refusal::grpc();
    }
    let form = if matches!(found, Ok(Route::Rpc(_))) { Form::Rpc } else { Form::Rest };
    let source = Source::of(peer, &parts.headers, &settings.config);
    tracing::debug!(method = %parts.method, path = parts.uri.path(), client = ?source.client, "request");
    let target = Target { scheme: "http", host: None, outside: false };
    let mut inbound = Inbound { id, parts, body, peer, source, target, settings };
    let mut response = match enter(state, &mut inbound, found).await {
        Ok(response) => response,
        Err(refusal) => {
            if matches!(
                refusal.status(),
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST
            ) {
                // Who was not let in is said with the address (O-43): it is all there is to find them by.
                let client = inbound.source.client.map(|address| address.to_string());
                tracing::info!(status = refusal.status().as_u16(), client, "not let in");
            }
            inbound.discard().await;
            // An address of the node's that names no agent is a path that leads nowhere (P-11).
            let nowhere = matches!(refusal, Refusal::Fault(Fault::NoAgent(_) | Fault::AgentRemoved(_)));
            let form = if nowhere { Form::Rest } else { form };
            refusal.response(form, &inbound.id)
        }
    };
    let status = response.status();
    match inbound.source.client {
        // Shut unless `log.addresses` opens it.
        Some(client) if status.is_success() => {
            tracing::info!(target: ADDRESSES, status = status.as_u16(), %client, "answered");
        }
        Some(_) | None => {}
    }
    tracing::debug!(status = status.as_u16(), "answered");
    share(&inbound, &mut response);
    response
}

/// Through the gate to the door.
async fn enter(
    state: &Arc<State>,
    inbound: &mut Inbound,
    found: Result<Route, Lost>,
) -> Result<Response, Refusal> {
    // A probe knows no name of the node, and learns nothing but that it lives.
    if !matches!(found, Ok(Route::Alive | Route::Ready)) {
        let (parts, config) = (&inbound.parts, &inbound.settings.config);
        gate::open_node(&parts.headers, config)?;
        inbound.target = gate::host(parts, inbound.peer, inbound.source, config)?;
        gate::origin(&parts.headers, config)?;
        if is_preflight(inbound) {
            return Ok(preflight());
        }
    }
    let route = match found {
        Ok(route) => route,
        Err(lost) => {
            inbound.counted_address()?;
            // A wrong verb for nobody: what is wrong is the name (P-11).
            if let Lost::Verb { agent: Some(name), .. } = &lost
                && state.node.agents().get(name).is_none()
            {
                return Err(Fault::NoAgent(name.clone()).into());
            }
            return Err(Refusal::lost(&lost, inbound.parts.uri.path()));
        }
    };
    match route {
        Route::Alive => Ok(health::alive()),
        Route::Ready => Ok(health::ready(state)),
        Route::Card(agent) => card::serve(state, inbound, agent.as_deref(), card::Place::Card),
        Route::OldCard(agent) => card::serve(state, inbound, agent.as_deref(), card::Place::Old),
        Route::Agents => agents::serve(state, inbound),
        Route::Rpc(agent) => jsonrpc::serve(state, inbound, agent.as_deref()).await,
        Route::Rest(agent, target) => rest::serve(state, inbound, agent.as_deref(), &target).await,
        Route::Ops(path) => ops::serve(state, inbound, &path).await,
    }
}

/// Whether a browser asks, on behalf of a page that may call, what that page may send.
fn is_preflight(inbound: &Inbound) -> bool {
    inbound.parts.method == Method::OPTIONS
        && inbound.parts.headers.contains_key(header::ORIGIN)
        && inbound.parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, Idempotency-Key, Last-Event-ID, X-Request-Id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets a page that may call read the answer: its Origin has passed the gate, or the answer is not shared.
fn share(inbound: &Inbound, response: &mut Response) {
    let Some(origin) = inbound.parts.headers.get(header::ORIGIN) else { return };
    if gate::origin(&inbound.parts.headers, inbound.config()).is_err() {
        return;
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "X-Request-Id, A2A-Extensions, X-A2A-Extensions, A2AD-Replayed, ETag, Retry-After",
        ),
    );
}
