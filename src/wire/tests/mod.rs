//! Tests of the codecs as a whole: what goes in and out by way of the public functions.

mod bad;
mod envelope;
mod golden;
mod lenient;
mod models;
mod rest;
mod round;
mod v03;

use serde_json::value::RawValue;

use super::{Dialect, Method, Version, envelope as rpc, fault::Context};
use crate::model::{Fault, Operation, Timestamp};

/// What the errors of tests tell.
const CONTEXT: Context<'static> = Context { request: "req-1", at: Timestamp::from_millis(1_764_540_000_120) };

/// A text as raw JSON.
fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Parameters as 1.0 reads them.
fn decode(method: Method, params: &str) -> Result<Operation, Fault> {
    Dialect::V1.decode_call(method, Some(&raw(params)))
}

/// A body's way through the codec, as a door goes it: the operation, or the body of the refusal.
fn door(body: &[u8]) -> Result<Operation, String> {
    let refuse = |id: &rpc::Id<'_>, fault: &Fault| {
        String::from_utf8(rpc::refusal(id, fault, &CONTEXT).to_vec()).unwrap()
    };
    let call = rpc::read(body).map_err(|refused| refuse(&refused.id, &refused.fault))?;
    let id = call.id.unwrap_or(rpc::Id::NULL);
    Dialect::of(&Version::ALL, ["1.0"], [], &call.method)
        .and_then(|(dialect, method)| dialect.decode_call(method, call.params))
        .map_err(|fault| refuse(&id, &fault))
}

/// JSON without the white space between its tokens.
fn compact(text: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    text.chars()
        .filter(|letter| {
            let keep = inside || !letter.is_whitespace();
            if inside && !escaped && *letter == '\\' {
                escaped = true;
            } else {
                if *letter == '"' && !escaped {
                    inside = !inside;
                }
                escaped = false;
            }
            keep
        })
        .collect()
}
