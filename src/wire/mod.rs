//! Codecs: bytes of A2A to [`Operation`]s and back, for the server's half and the client's.
//!
//! Called by the doors, by the command line and by whatever else speaks A2A to somebody. Pure: no socket, no clock, no
//! task, nothing that waits. Knows the names, codes and shapes of the specification and nothing of what they lead to.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod bound;
mod dialect;
pub mod envelope;
pub mod fault;
mod method;
pub mod percent;
mod read;
pub mod rest;
pub mod scan;
mod single;
mod v03;
mod v1;

pub use dialect::{Dialect, Version};
pub use method::{Kind, METHODS, Method, Names, Place, Rest};
pub use single::{Page, PushPage, Single};

use bytes::Bytes;
use serde_json::value::RawValue;

use self::v03::Form;
use crate::model::{AgentCard, Fault, Operation, Update};

/// A dialect's codec. Each function is the reverse of another one here.
impl Dialect {
    /// A request's parameters. Absent ones and `null` are the empty object (A2A-180).
    ///
    /// # Errors
    /// `InvalidParams` with the camelCase path of the first flaw (A2A-13, A2A-177).
    pub fn decode_call(self, method: Method, params: Option<&RawValue>) -> Result<Operation, Fault> {
        let operation = match self {
            Self::V1 => v1::decode_call(method, params),
            Self::V03Json => v03::decode_call(Form::Json, method, params),
            Self::V03Proto => v03::decode_call(Form::Proto, method, params),
        }?;
        bound::check(&operation)?;
        Ok(operation)
    }

    /// The parameters of a request: one JSON object.
    #[must_use]
    pub fn encode_call(self, operation: &Operation) -> Bytes {
        match self {
            Self::V1 => v1::encode_call(operation),
            Self::V03Json => v03::encode_call(Form::Json, operation),
            Self::V03Proto => v03::encode_call(Form::Proto, operation),
        }
    }

    /// The result of an operation that is no stream.
    #[must_use]
    pub fn encode_reply(self, method: Method, reply: &Single<'_>) -> Bytes {
        match self {
            Self::V1 => v1::encode_reply(method, reply),
            Self::V03Json => v03::encode_reply(Form::Json, method, reply),
            Self::V03Proto => v03::encode_reply(Form::Proto, method, reply),
        }
    }

    /// The result of an operation that is no stream.
    ///
    /// # Errors
    /// `InvalidAgentResponse` with the path of the first flaw.
    pub fn decode_reply(self, method: Method, result: &RawValue) -> Result<Single<'static>, Fault> {
        match self {
            Self::V1 => v1::decode_reply(method, result),
            Self::V03Json => v03::decode_reply(Form::Json, method, result),
            Self::V03Proto => v03::decode_reply(Form::Proto, method, result),
        }
    }

    /// One event of a stream, in one line: a `StreamResponse`, or what 0.3 has for it.
    #[must_use]
    pub fn encode_update(self, update: &Update) -> Bytes {
        match self {
            Self::V1 => v1::encode_update(update),
            Self::V03Json => v03::encode_update(Form::Json, update),
            Self::V03Proto => v03::encode_update(Form::Proto, update),
        }
    }

    /// One event of a stream.
    ///
    /// # Errors
    /// `InvalidAgentResponse` with the path of the first flaw.
    pub fn decode_update(self, event: &RawValue) -> Result<Update, Fault> {
        match self {
            Self::V1 => v1::decode_update(event),
            Self::V03Json => v03::decode_update(Form::Json, event),
            Self::V03Proto => v03::decode_update(Form::Proto, event),
        }
    }
}

/// A card of 1.0 with the members by which clients of 0.3 find their way (P-15), if one of its interfaces speaks 0.3.
#[must_use]
pub fn hybrid_card(card: &AgentCard) -> Bytes {
    v03::hybrid(card)
}

/// Reads a card of either version, as one of 1.0.
///
/// # Errors
/// `InvalidAgentResponse` with the path of the first flaw.
pub fn read_card(text: &str) -> Result<AgentCard, Fault> {
    v03::read_card(text)
}

#[cfg(test)]
mod tests;
