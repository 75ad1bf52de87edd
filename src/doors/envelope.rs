//! What stands around the answers over HTTP: whole ones, events of a stream, and faults among them.

use bytes::Bytes;
use http::StatusCode;

use super::{
    body::Response,
    refusal::{self, MediaType},
};
use crate::{
    model::{Fault, Timestamp, Update},
    wire::{
        Dialect, Method, Single,
        envelope::{self, Id},
        fault::{self, Context},
        rest,
    },
};

/// How one caller is answered.
pub(super) struct Envelope {
    /// The caller's dialect.
    pub(super) dialect: Dialect,
    /// The caller's binding.
    pub(super) binding: Binding,
    /// Our id of the request, for errors.
    pub(super) request: String,
}

/// What a binding puts around an answer.
pub(super) enum Binding {
    /// JSON-RPC: the id of the caller's request, repeated on each event (A2A-65).
    Rpc(Id<'static>),
    /// HTTP+JSON: nothing (A2A-66, A2A-184). The media type of an answer that is one value.
    Rest(MediaType),
}

impl Envelope {
    /// An answer that is one value.
    pub(super) fn single(&self, method: Method, single: &Single<'_>) -> Response {
        match &self.binding {
            Binding::Rpc(id) => {
                let result = self.dialect.encode_reply(method, single);
                refusal::json(StatusCode::OK, envelope::answer(id, &result))
            }
            Binding::Rest(media_type) => {
                refusal::whole(StatusCode::OK, *media_type, rest::reply(self.dialect, method, single))
            }
        }
    }

    /// The data of an event.
    pub(super) fn update(&self, update: &Update) -> Bytes {
        let update = self.dialect.encode_update(update);
        match &self.binding {
            Binding::Rpc(id) => envelope::answer(id, &update),
            Binding::Rest(_) => update,
        }
    }

    /// The data of an event that tells a fault (A2A-67).
    pub(super) fn fault(&self, fault: &Fault) -> Bytes {
        let context = Context { request: &self.request, at: Timestamp::now() };
        match &self.binding {
            Binding::Rpc(id) => envelope::refusal(id, fault, &context),
            Binding::Rest(_) => fault::rest_body(fault, &context),
        }
    }
}
