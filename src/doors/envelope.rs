//! What stands around the answers over HTTP: whole ones, events of a stream, and faults among them.

use bytes::Bytes;
use http::StatusCode;

use super::{body::Response, refusal};
use crate::{
    model::{Fault, Timestamp, Update},
    wire::{
        Dialect, Method, Single,
        envelope::{self, Id},
        fault::Context,
    },
};

/// How one caller is answered.
pub(super) struct Envelope {
    /// The caller's dialect.
    pub(super) dialect: Dialect,
    /// The id of the caller's request, repeated on each event (A2A-65).
    pub(super) id: Id<'static>,
    /// Our id of it, for errors.
    pub(super) request: String,
}

impl Envelope {
    /// An answer that is one value.
    pub(super) fn single(&self, method: Method, single: &Single<'_>) -> Response {
        let result = self.dialect.encode_reply(method, single);
        refusal::json(StatusCode::OK, envelope::answer(&self.id, &result))
    }

    /// The data of an event.
    pub(super) fn update(&self, update: &Update) -> Bytes {
        envelope::answer(&self.id, &self.dialect.encode_update(update))
    }

    /// The data of an event that tells a fault (A2A-67).
    pub(super) fn fault(&self, fault: &Fault) -> Bytes {
        let context = Context { request: &self.request, at: Timestamp::now() };
        envelope::refusal(&self.id, fault, &context)
    }
}
