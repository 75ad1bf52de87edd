//! What probes ask: does it live, does it take work.

use http::{HeaderValue, StatusCode, header};

use super::{body::Response, refusal, state::State};
use crate::node::Health;

/// `GET /healthz`: 200 while the process answers.
pub(super) fn alive() -> Response {
    said(StatusCode::OK, "alive")
}

/// `GET /readyz`: 503 while the node stops, drains, or can't write. Why it can't is for the operator, not for everybody.
pub(super) fn ready(state: &State) -> Response {
    if state.stop.is_cancelled() {
        return said(StatusCode::SERVICE_UNAVAILABLE, "draining");
    }
    match state.node.health() {
        Health::Ready => said(StatusCode::OK, "ready"),
        Health::Draining => said(StatusCode::SERVICE_UNAVAILABLE, "draining"),
        Health::CannotWrite(_) => said(StatusCode::SERVICE_UNAVAILABLE, "cannot_write"),
    }
}

fn said(status: StatusCode, word: &str) -> Response {
    let mut response = refusal::json(status, format!("{{\"status\":\"{word}\"}}"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
