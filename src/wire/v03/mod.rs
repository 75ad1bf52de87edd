//! A2A 0.3: what its two JSONs and ours hold of each other. That of JSON-RPC tells objects by `kind` and spells enums in
//! lower case; that of HTTP+JSON and gRPC is ProtoJSON of the package `a2a.v1`.
//!
//! Called by the dialects of 0.3, for the doors and for the client. Never decides where a stream ends or what is served.
//! Reads leniently, either JSON in either place, and writes strictly. What 0.3 has no word for is left out: `tenant`,
//! media type and name of a text, media type of data, lists of tasks, OAuth's device flow.

mod calls;
mod card;
mod message;
mod part;
mod push;
mod reply;
mod task;
mod words;

pub(super) use calls::{decode_call, encode_call};
pub(super) use card::{decode as read_card, hybrid};
pub(super) use reply::{decode_reply, decode_update, encode_reply, encode_update};
pub(super) use words::parts_of_name;

/// Which of the two JSONs is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The JSON schema of 0.3, in JSON-RPC.
    Json,
    /// ProtoJSON, in HTTP+JSON and gRPC.
    Proto,
}
