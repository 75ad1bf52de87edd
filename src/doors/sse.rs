//! Streams as Server-Sent Events: numbers as ids, one line of data an event, a comment while nothing happens.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, header};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    body::{Body, Response},
    envelope::Envelope,
    limits::Place,
};
use crate::{
    model::{Fault, Seq, Update},
    node::Updates,
};

/// How long nothing may be sent: what stands between gives up after a minute, some after 30 s (UR-48).
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is sent then.
const COMMENT: &[u8] = b": keep-alive\n\n";

/// How long the first event is waited for before the stream is opened without it. Nearly always it is there at once, and
/// if it is an error, it can still be told as a plain answer.
const FIRST: Duration = Duration::from_millis(250);

/// Resolves when the caller's credential is no longer valid.
pub(super) type Revoked = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What ends a stream besides its task.
pub(super) struct Until {
    /// The node stops.
    pub(super) stop: CancellationToken,
    /// No event for this long.
    pub(super) idle: Option<Duration>,
    /// The credential ends.
    pub(super) revoked: Option<Revoked>,
    /// Held as long as the stream is open.
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(super) place: Option<Place>,
}

/// Opens a stream.
///
/// # Errors
/// The node stops, or the first thing to tell is a fault: then nothing was opened (P-27).
pub(super) async fn open(mut updates: Updates, envelope: Envelope, until: Until) -> Result<Response, Fault> {
    if until.stop.is_cancelled() {
        return Err(Fault::Draining { retry_after: Duration::from_secs(1) });
    }
    let (first, over) = match tokio::time::timeout(FIRST, updates.next()).await {
        Ok(Some(Ok((seq, update)))) => (Some(event(&envelope, seq, &update)), false),
        Ok(Some(Err(fault))) => return Err(fault),
        Ok(None) => (None, true),
        Err(_) => (None, false),
    };
    let events = Events { first, updates, envelope, until, over, last: Instant::now() };
    let frames = stream::unfold(events, |mut events| async { Some((events.next().await?, events)) });
    let mut response = Response::new(Body::events(frames.boxed()));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// An event, whole.
fn event(envelope: &Envelope, seq: Seq, update: &Update) -> Bytes {
    let data = envelope.update(update);
    let mut frame = Vec::with_capacity(data.len() + 40);
    frame.extend_from_slice(b"id: ");
    frame.extend_from_slice(seq.to_string().as_bytes());
    frame.extend_from_slice(b"\ndata: ");
    frame.extend_from_slice(&data);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}

/// A fault after the first event, the last thing of a stream (A2A-67).
fn error(envelope: &Envelope, fault: &Fault) -> Bytes {
    [b"event: error\ndata: ", &envelope.fault(fault)[..], b"\n\n"].concat().into()
}

/// A stream that is open.
struct Events {
    first: Option<Bytes>,
    updates: Updates,
    envelope: Envelope,
    until: Until,
    over: bool,
    /// When the last event was sent.
    last: Instant,
}

impl Events {
    /// The next bytes: always whole events, or a comment. `None`: the end. Dropping it loses only the reader: the task
    /// goes on, and who comes back with the last number misses nothing (UR-49, UR-50).
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.over || self.until.stop.is_cancelled() {
            return None;
        }
        let quiet = self.until.idle.map(|idle| self.last + idle);
        let comment = Instant::now() + KEEP_ALIVE;
        let revoked = &mut self.until.revoked;
        tokio::select! {
            biased;
            () = self.until.stop.cancelled() => None,
            () = async { match revoked { Some(revoked) => revoked.await, None => std::future::pending().await } } => {
                self.until.revoked = None;
                self.over = true;
                Some(error(&self.envelope, &Fault::Unauthenticated { sent: true }))
            }
            update = self.updates.next() => match update? {
                Ok((seq, update)) => {
                    self.last = Instant::now();
                    Some(event(&self.envelope, seq, &update))
                }
                Err(fault) => {
                    self.over = true;
                    Some(error(&self.envelope, &fault))
                }
            },
            () = tokio::time::sleep_until(quiet.map_or(comment, |quiet| quiet.min(comment))) => {
                quiet.is_none_or(|quiet| comment < quiet).then(|| Bytes::from_static(COMMENT))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::sync::mpsc;

    use super::*;
    use crate::{
        doors::{envelope::Binding, refusal::MediaType},
        model::{Message, MessageId, Part, Role},
        wire::{Dialect, envelope::Id},
    };

    fn update(text: &str) -> Update {
        Update::Message(Message {
            message_id: MessageId::from("m"),
            context_id: None,
            task_id: None,
            role: Role::Agent,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        })
    }

    fn envelope() -> Envelope {
        let id = Id::Common(jsonrpsee_types::Id::Str("a\"b".into()));
        Envelope { dialect: Dialect::V1, binding: Binding::Rpc(id), request: "r".into() }
    }

    fn until() -> Until {
        Until { stop: CancellationToken::new(), idle: None, revoked: None, place: None }
    }

    type Told = Result<(Seq, Update), Fault>;

    fn told() -> (mpsc::UnboundedSender<Told>, Updates) {
        let (tell, told) = mpsc::unbounded_channel();
        let updates = stream::unfold(told, |mut told| async { Some((told.recv().await?, told)) });
        (tell, updates.boxed())
    }

    async fn frame(response: &mut Response) -> Option<String> {
        let frame = response.body_mut().frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(frame.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn an_event_is_a_number_and_one_line_under_the_callers_id() {
        let (tell, updates) = told();
        tell.send(Ok((7, update("one\ntwo")))).unwrap();
        drop(tell);
        let mut response = open(updates, envelope(), until()).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        let event = frame(&mut response).await.unwrap();
        let data = event.strip_prefix("id: 7\ndata: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
        assert!(!data.contains('\n'));
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["id"], "a\"b");
        assert_eq!(data["result"]["message"]["parts"][0]["text"], "one\ntwo");
        assert_eq!(frame(&mut response).await, None);
    }

    #[tokio::test]
    async fn in_http_json_nothing_stands_around_events_and_faults() {
        let (tell, updates) = told();
        tell.send(Ok((7, update("x")))).unwrap();
        tell.send(Err(Fault::Internal("i".into()))).unwrap();
        let envelope = Envelope { binding: Binding::Rest(MediaType::A2a), ..envelope() };
        let mut response = open(updates, envelope, until()).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        assert!(frame(&mut response).await.unwrap().starts_with("id: 7\ndata: {\"message\":{"));
        let error = frame(&mut response).await.unwrap();
        assert!(error.starts_with("event: error\ndata: {\"error\":{\"code\":500,"), "{error}");
        assert_eq!(frame(&mut response).await, None);
    }

    #[tokio::test]
    async fn ur_48_no_proxy_is_invited_to_hold_events_back() {
        let (_tell, updates) = told();
        let response = open(updates, envelope(), until()).await.unwrap();
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache, no-transform");
    }

    #[tokio::test(start_paused = true)]
    async fn ur_48_a_quiet_stream_says_something_every_fifteen_seconds() {
        let (tell, updates) = told();
        let mut response = open(updates, envelope(), until()).await.unwrap();
        for _ in 0..3 {
            let before = Instant::now();
            assert_eq!(frame(&mut response).await.unwrap(), ": keep-alive\n\n");
            assert_eq!(before.elapsed(), KEEP_ALIVE);
        }
        tell.send(Ok((1, update("x")))).unwrap();
        assert!(frame(&mut response).await.unwrap().starts_with("id: 1\n"));
    }

    #[tokio::test]
    async fn a_fault_before_the_first_event_opens_nothing() {
        let (tell, updates) = told();
        tell.send(Err(Fault::TaskNotFound("t".into()))).unwrap();
        assert_eq!(open(updates, envelope(), until()).await.err(), Some(Fault::TaskNotFound("t".into())));
    }

    #[tokio::test]
    async fn a_fault_after_the_first_event_is_the_last_event() {
        let (tell, updates) = told();
        tell.send(Ok((1, update("x")))).unwrap();
        tell.send(Err(Fault::Internal("i".into()))).unwrap();
        let mut response = open(updates, envelope(), until()).await.unwrap();
        frame(&mut response).await.unwrap();
        let error = frame(&mut response).await.unwrap();
        let data = error.strip_prefix("event: error\ndata: ").unwrap();
        let data: serde_json::Value = serde_json::from_str(data.trim_end()).unwrap();
        assert_eq!((data["error"]["code"].as_i64(), data["id"].as_str()), (Some(-32603), Some("a\"b")));
        assert_eq!(frame(&mut response).await, None, "although its source is open");
    }

    #[tokio::test]
    async fn a_stop_ends_a_stream_between_two_events_and_opens_no_other() {
        let (tell, updates) = told();
        let until = until();
        let stop = until.stop.clone();
        tell.send(Ok((1, update("x")))).unwrap();
        let mut response = open(updates, envelope(), until).await.unwrap();
        stop.cancel();
        assert!(frame(&mut response).await.unwrap().ends_with("\n\n"), "what was begun is sent whole");
        assert_eq!(frame(&mut response).await, None);
        let late = Until { stop, idle: None, revoked: None, place: None };
        assert!(matches!(open(told().1, envelope(), late).await, Err(Fault::Draining { .. })));
    }

    #[tokio::test]
    async fn a_credential_that_ends_takes_its_streams_along() {
        let (_tell, updates) = told();
        let (revoke, revoked) = tokio::sync::oneshot::channel::<()>();
        let revoked: Revoked = Box::pin(async { drop(revoked.await) });
        let mut response =
            open(updates, envelope(), Until { revoked: Some(revoked), ..until() }).await.unwrap();
        revoke.send(()).unwrap();
        assert!(frame(&mut response).await.unwrap().contains("UNAUTHENTICATED"));
        assert_eq!(frame(&mut response).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_events_is_closed_cleanly_after_stream_idle() {
        let (tell, updates) = told();
        let until = Until { idle: Some(Duration::from_secs(20)), ..until() };
        tell.send(Ok((1, update("x")))).unwrap();
        let mut response = open(updates, envelope(), until).await.unwrap();
        let opened = Instant::now();
        frame(&mut response).await.unwrap();
        assert_eq!(frame(&mut response).await.unwrap(), ": keep-alive\n\n");
        assert_eq!(frame(&mut response).await, None);
        assert_eq!(opened.elapsed(), Duration::from_secs(20));
    }
}
