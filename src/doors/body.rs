//! What goes out: a body that is whole, or a stream of events.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use http_body::{Frame, SizeHint};

use super::connection::Busy;

/// The answer to a request.
pub(super) type Response = http::Response<Body>;

/// The body of an answer. While it lives its connection is not idle.
pub(super) struct Body {
    kind: Kind,
    busy: Option<Busy>,
}

enum Kind {
    /// All of it, until it is written.
    Whole(Option<Bytes>),
    /// Frames, each a whole event.
    Events(BoxStream<'static, Bytes>),
}

impl Body {
    /// No body.
    pub(super) const fn empty() -> Self {
        Self { kind: Kind::Whole(None), busy: None }
    }

    /// One piece.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Whole(Some(bytes.into())), busy: None }
    }

    /// A stream of events.
    pub(super) fn events(events: BoxStream<'static, Bytes>) -> Self {
        Self { kind: Kind::Events(events), busy: None }
    }

    /// Holds the connection's mark of being at work until the last byte is out.
    pub(super) fn holding(mut self, busy: Busy) -> Self {
        self.busy = Some(busy);
        self
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.kind {
            Kind::Whole(bytes) => bytes.take(),
            Kind::Events(events) => std::task::ready!(events.poll_next_unpin(cx)),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
