//! One stream of updates, from the bytes of a response (A2A 1.0 section 9.4).

use std::{collections::VecDeque, time::Duration};

use reqwest::Response;
use serde_json::value::RawValue;

use super::{
    Error, Refusal,
    http::{Envelope, innermost, refusal},
    sse::Parser,
};
use crate::model::{Seq, Update};
use crate::wire::Dialect;

/// Bytes of one event: the largest artifact in base64, with room for a snapshot.
const MOST_EVENT: usize = 384 << 20;

/// A stream that is kept alive by comments (every 15 s, or so) and then falls silent is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its place in the journal, where the other side says it (P-26).
    pub seq: Option<Seq>,
    /// What happened.
    pub update: Update,
}

/// An open stream.
#[derive(Debug)]
pub struct Events {
    response: Option<Response>,
    parser: Parser,
    ready: VecDeque<super::sse::Event>,
    just: Option<Update>,
    url: String,
}

impl Events {
    pub(super) fn of(response: Response, url: String) -> Self {
        Self {
            response: Some(response),
            parser: Parser::new(MOST_EVENT),
            ready: VecDeque::new(),
            just: None,
            url,
        }
    }

    /// A stream of one event.
    pub(super) fn just(update: Update) -> Self {
        Self {
            response: None,
            parser: Parser::new(MOST_EVENT),
            ready: VecDeque::new(),
            just: Some(update),
            url: String::new(),
        }
    }

    /// The next event; `None` when the other side ended the stream cleanly. Nothing is lost when this is dropped
    /// while it waits.
    ///
    /// # Errors
    /// [`Error::Cut`], [`Error::Refused`] for an `error` event, [`Error::Answer`], [`Error::TooLarge`].
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        if let Some(update) = self.just.take() {
            return Ok(Some(Event { seq: None, update }));
        }
        loop {
            while let Some(event) = self.ready.pop_front() {
                if let Some(event) = read(&event, &self.url)? {
                    return Ok(Some(event));
                }
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            let chunk = if self.parser.is_kept_alive() {
                tokio::time::timeout(SILENCE, response.chunk()).await.map_err(|_| Error::Cut {
                    url: self.url.clone(),
                    why: format!("nothing came for {} s", SILENCE.as_secs()),
                })?
            } else {
                response.chunk().await
            };
            match chunk {
                Ok(Some(bytes)) => self
                    .parser
                    .feed(&bytes, &mut self.ready)
                    .map_err(|_| Error::TooLarge { url: self.url.clone(), most: MOST_EVENT })?,
                Ok(None) => self.response = None,
                Err(error) => {
                    self.response = None;
                    return Err(Error::Cut { url: self.url.clone(), why: innermost(&error) });
                }
            }
        }
    }
}

/// One event as an update; `None` for those that carry none.
fn read(event: &super::sse::Event, url: &str) -> Result<Option<Event>, Error> {
    if event.data.trim().is_empty() {
        return Ok(None);
    }
    let update = answer(event.data.as_bytes(), url)?;
    if event.kind == "error" {
        return Err(Error::Answer { url: url.to_owned(), why: "an error event without an error".into() });
    }
    Ok(Some(Event { seq: event.id.as_deref().and_then(|id| id.parse().ok()), update }))
}

/// The update in a JSON-RPC answer.
pub(super) fn answer(body: &[u8], url: &str) -> Result<Update, Error> {
    let nonsense = |why: &dyn std::fmt::Display| Error::Answer { url: url.to_owned(), why: why.to_string() };
    let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(|error| nonsense(&error))?;
    if let Some(error) = envelope.error {
        return Err(Error::Refused(Box::new(Refusal { status: 200, ..refusal(error) })));
    }
    Dialect::V1.decode_update(envelope.result.unwrap_or(RawValue::NULL)).map_err(|fault| nonsense(&fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str, id: Option<&str>) -> Result<Option<Event>, Error> {
        let event = super::super::sse::Event { kind: kind.into(), data: data.into(), id: id.map(Into::into) };
        read(&event, "http://x")
    }

    const STATUS: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c",
        "status":{"state":"TASK_STATE_WORKING"}}}}"#;

    #[test]
    fn an_event_carries_its_place_where_it_is_a_number() {
        assert_eq!(event("", STATUS, Some("7")).unwrap().unwrap().seq, Some(7));
        assert_eq!(event("", STATUS, Some("abc")).unwrap().unwrap().seq, None);
        assert!(event("ping", " ", None).unwrap().is_none());
    }

    #[test]
    fn an_error_event_is_a_refusal_in_either_envelope() {
        for data in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broke"}}"#,
            r#"{"error":{"code":500,"status":"INTERNAL","message":"broke"}}"#,
        ] {
            let error = event("error", data, None).unwrap_err();
            assert_eq!(error.refusal().unwrap().message, "broke");
        }
    }

    #[test]
    fn what_is_no_update_is_said_to_be_none() {
        for data in ["{}", "7", r#"{"result":{"news":{}}}"#, "not json"] {
            assert!(matches!(event("", data, None), Err(Error::Answer { .. })), "{data}");
        }
    }
}
