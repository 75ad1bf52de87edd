//! Codecs: bytes of A2A to [`Operation`]s and back, for the server's half and the client's.
//!
//! Called by the doors, by the command line and by whatever else speaks A2A to somebody. Pure: no socket, no clock, no
//! task, nothing that waits. Knows the names, codes and shapes of the specification and nothing of what they lead to.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod dialect;
pub mod envelope;
pub mod fault;
mod method;
pub mod percent;
mod read;
pub mod rest;
pub mod scan;
mod single;
mod v1;

pub use dialect::{Dialect, VERSIONS};
pub use method::{Kind, METHODS, Method, Names, Place, Rest};
pub use single::{Page, PushPage, Single};

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::model::{Fault, Operation, Update};

/// A dialect's codec. Each function is the reverse of another one here.
impl Dialect {
    /// A request's parameters. Absent ones and `null` are the empty object (A2A-180).
    ///
    /// # Errors
    /// `InvalidParams` with the camelCase path of the first flaw (A2A-13, A2A-177).
    pub fn decode_call(self, method: Method, params: Option<&RawValue>) -> Result<Operation, Fault> {
        match self {
            Self::V1 => v1::decode_call(method, params),
        }
    }

    /// The parameters of a request: one JSON object.
    #[must_use]
    pub fn encode_call(self, operation: &Operation) -> Bytes {
        match self {
            Self::V1 => v1::encode_call(operation),
        }
    }

    /// The result of an operation that is no stream.
    #[must_use]
    pub fn encode_reply(self, method: Method, reply: &Single<'_>) -> Bytes {
        match self {
            Self::V1 => v1::encode_reply(method, reply),
        }
    }

    /// The result of an operation that is no stream.
    ///
    /// # Errors
    /// `InvalidAgentResponse` with the path of the first flaw.
    pub fn decode_reply(self, method: Method, result: &RawValue) -> Result<Single<'static>, Fault> {
        match self {
            Self::V1 => v1::decode_reply(method, result),
        }
    }

    /// One event of a stream: a `StreamResponse`, in one line.
    #[must_use]
    pub fn encode_update(self, update: &Update) -> Bytes {
        match self {
            Self::V1 => v1::encode_update(update),
        }
    }

    /// One event of a stream.
    ///
    /// # Errors
    /// `InvalidAgentResponse` with the path of the first flaw.
    pub fn decode_update(self, event: &RawValue) -> Result<Update, Fault> {
        match self {
            Self::V1 => v1::decode_update(event),
        }
    }
}

#[cfg(test)]
mod tests;
