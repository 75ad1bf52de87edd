//! HTTP+JSON (A2A 1.0 section 11, and of 0.3 below `/v1`): a path and a verb are the operation, a body or a query its members; the answer is one
//! JSON value or a stream, with nothing around it.

use std::borrow::Cow;

use bytes::Bytes;
use http::header;

use super::{
    body::Response,
    call::Entry,
    envelope::{Binding, Envelope},
    inbound::Inbound,
    refusal::{MediaType, Refusal},
    state::State,
};
use crate::{
    model::Fault,
    wire::{
        Dialect, Version,
        rest::{self, Target},
    },
};

/// Answers an operation: to the agent of the path, else to the request's `tenant`, else to the default one.
///
/// # Errors
/// Every fault: there is no envelope to tell it in.
pub(super) async fn serve(
    state: &State,
    inbound: &mut Inbound,
    agent: Option<&str>,
    target: &Target,
) -> Result<Response, Refusal> {
    let entry = Entry::of(state, inbound, agent)?;
    let dialect = dialect(entry.versions(state), inbound, target.version)?;
    let body = body(inbound).await?;
    let operation = rest::operation(dialect, target, inbound.parts.uri.query(), &body)?;
    let media_type = match dialect.version() {
        Version::V1 => answered_in(inbound),
        // 0.3 has no name of its own for it (P-2).
        Version::V03 => MediaType::Json,
    };
    let binding = Binding::Rest(media_type);
    let envelope = Envelope { dialect, binding, request: inbound.id.clone() };
    Ok(entry.answer(state, inbound, operation, envelope).await?)
}

/// Which dialect the caller speaks (P-1).
fn dialect(served: &[Version], inbound: &Inbound, path: Version) -> Result<Dialect, Fault> {
    let query: Vec<Cow<'_, str>> = inbound.query("A2A-Version").collect();
    Dialect::of_rest(served, path, inbound.header("a2a-version"), query.iter().map(AsRef::as_ref))
}

/// The body of what is sent; what is fetched or deleted has none that counts.
async fn body(inbound: &mut Inbound) -> Result<Bytes, Refusal> {
    let fetched = matches!(inbound.parts.method, http::Method::GET | http::Method::DELETE);
    if fetched {
        inbound.discard().await;
        return Ok(Bytes::new());
    }
    let unknown = |media_type: String| Fault::ContentType {
        media_type,
        takes: "application/json and application/a2a+json".into(),
    };
    match inbound.media_type() {
        Some(_) if inbound.is_json() => inbound.read().await,
        Some(media_type) => Err(unknown(media_type).into()),
        // Only an empty body need not say what it is, and in HTTP/1 its end may come as a chunk of its own (P-2).
        None => match inbound.read().await? {
            body if body.is_empty() => Ok(body),
            _ => Err(unknown("body without a Content-Type".into()).into()),
        },
    }
}

/// What an answer is called (P-2).
fn answered_in(inbound: &Inbound) -> MediaType {
    let accepted = inbound.header(header::ACCEPT.as_str()).flat_map(|list| list.split(','));
    media_type(accepted, inbound.media_type().as_deref())
}

/// What an answer is called, from the ranges of `Accept` and the type of the request's body: A2A's own name, unless the
/// caller wants the common one, or wants nothing in particular and uses that itself.
fn media_type<'a>(accepted: impl Iterator<Item = &'a str>, sent: Option<&str>) -> MediaType {
    let name = |range: &str| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (refused, wanted): (Vec<&str>, Vec<&str>) =
        accepted.filter(|range| !name(range).is_empty()).partition(|range| is_refused(range));
    let names = |ranges: &[&str], wanted: &str| ranges.iter().any(|range| name(range) == wanted);
    let anything = wanted.iter().all(|range| name(range) == "*/*");
    let common = names(&wanted, "application/json")
        || anything && (sent == Some("application/json") || names(&refused, "application/a2a+json"));
    let own = names(&wanted, "application/a2a+json") || names(&refused, "application/json");
    if common && !own { MediaType::Json } else { MediaType::A2a }
}

/// Whether a range says that its type is not wanted: `q=0` (RFC 9110 section 12.4.2).
fn is_refused(range: &str) -> bool {
    let quality = range.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("q="));
    quality.is_some_and(|quality| quality.trim().parse() == Ok(0.0_f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_called_as_the_caller_wants_it() {
        let of = |accept: &str, sent| media_type(accept.split(','), sent);
        let (json, a2a) = (Some("application/json"), Some("application/a2a+json"));
        for (accept, sent, wanted) in [
            ("application/a2a+json;q=0, application/json", None, MediaType::Json),
            ("application/json; q=0.0", json, MediaType::A2a),
            ("", None, MediaType::A2a),
            ("", a2a, MediaType::A2a),
            ("", json, MediaType::Json),
            ("*/*", json, MediaType::Json),
            ("*/*;q=0.8", json, MediaType::Json),
            ("*/*", a2a, MediaType::A2a),
            ("application/json", None, MediaType::Json),
            ("application/json; q=0.5", a2a, MediaType::Json),
            ("text/html, Application/JSON, */*", a2a, MediaType::Json),
            ("application/json, application/a2a+json", json, MediaType::A2a),
            ("application/a2a+json", json, MediaType::A2a),
            ("text/event-stream", json, MediaType::A2a),
        ] {
            assert_eq!(of(accept, sent), wanted, "{accept:?} {sent:?}");
        }
    }
}
