//! One stream of updates, from the bytes of a response (A2A 1.0 sections 9.4 and 11.7).

use std::{collections::VecDeque, time::Duration};

use reqwest::Response;

use super::{Binding, Error, http::innermost, sse::Parser};
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
    binding: Binding,
    dialect: Dialect,
    url: String,
}

impl Events {
    pub(super) fn of(response: Response, binding: Binding, dialect: Dialect, url: String) -> Self {
        Self {
            response: Some(response),
            parser: Parser::new(MOST_EVENT),
            ready: VecDeque::new(),
            just: None,
            binding,
            dialect,
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
            binding: Binding::Rpc,
            dialect: Dialect::V1,
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
                if let Some(event) = read(&event, self.binding, self.dialect, &self.url)? {
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
fn read(
    event: &super::sse::Event,
    binding: Binding,
    dialect: Dialect,
    url: &str,
) -> Result<Option<Event>, Error> {
    if event.data.trim().is_empty() {
        return Ok(None);
    }
    let update = answer(event.data.as_bytes(), binding, dialect, url)?;
    if event.kind == "error" {
        return Err(Error::Answer { url: url.to_owned(), why: "an error event without an error".into() });
    }
    Ok(Some(Event { seq: event.id.as_deref().and_then(|id| id.parse().ok()), update }))
}

/// The update in an answer.
pub(super) fn answer(body: &[u8], binding: Binding, dialect: Dialect, url: &str) -> Result<Update, Error> {
    dialect
        .decode_update(binding.result(body, url)?)
        .map_err(|fault| Error::Answer { url: url.to_owned(), why: fault.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str, id: Option<&str>) -> Result<Option<Event>, Error> {
        let event = super::super::sse::Event { kind: kind.into(), data: data.into(), id: id.map(Into::into) };
        read(&event, Binding::Rpc, Dialect::V1, "http://x")
    }

    fn bare(kind: &str, data: &str) -> Result<Option<Event>, Error> {
        let event = super::super::sse::Event { kind: kind.into(), data: data.into(), id: Some("3".into()) };
        read(&event, Binding::Rest, Dialect::V1, "http://x")
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
    fn in_http_json_an_event_stands_alone() {
        let data =
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
        assert_eq!(bare("", data).unwrap().unwrap().seq, Some(3));
        let error = bare("error", r#"{"error":{"code":503,"message":"later","details":[{"reason":"X"}]}}"#);
        assert_eq!(error.unwrap_err().refusal().unwrap().reason.as_deref(), Some("X"));
        assert!(matches!(bare("", STATUS), Err(Error::Answer { .. })), "there is no envelope here");
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
