//! What goes out: a body that is whole, in up to three pieces, or a stream of events.

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
    /// Pieces that are not yet written, first one last.
    Whole(Vec<Bytes>),
    /// Frames, each a whole event.
    Events(BoxStream<'static, Bytes>),
}

impl Body {
    /// No body.
    pub(super) const fn empty() -> Self {
        Self { kind: Kind::Whole(Vec::new()), busy: None }
    }

    /// One piece.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Whole(vec![bytes.into()]), busy: None }
    }

    /// Something large between two small pieces, without a copy of it.
    pub(super) fn spliced(head: Bytes, middle: Bytes, tail: Bytes) -> Self {
        Self { kind: Kind::Whole(vec![tail, middle, head]), busy: None }
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
            Kind::Whole(pieces) => pieces.pop(),
            Kind::Events(events) => std::task::ready!(events.poll_next_unpin(cx)),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Whole(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(pieces) => SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
