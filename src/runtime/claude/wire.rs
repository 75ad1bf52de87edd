//! Claude Code's stream-json: what the CLI prints, and what it is told. Only the members that matter here.
//!
//! Pure. Everything may be missing and everything may be more: the format belongs to the CLI, and an unknown event
//! is no error.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// A line of the CLI.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    System(System),
    #[serde(rename = "stream_event")]
    Stream {
        event: Stream,
        #[serde(default)]
        parent_tool_use_id: Option<String>,
    },
    Assistant {
        message: Said,
        #[serde(default)]
        parent_tool_use_id: Option<String>,
        /// What went wrong, as `authentication_failed`.
        #[serde(default)]
        error: Option<String>,
    },
    User {
        message: Said,
    },
    Result(Box<Ended>),
    ControlRequest {
        request_id: String,
        request: Request,
    },
    #[serde(other)]
    Other,
}

/// Beginning of a turn, retries, and more that is not needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct System {
    pub(super) subtype: String,
    pub(super) session_id: String,
    pub(super) attempt: u64,
    pub(super) max_retries: u64,
    pub(super) error_status: Option<u16>,
    pub(super) error: Option<String>,
}

/// An event of the model's stream, as the model's API has it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Stream {
    MessageStart {
        message: Started,
    },
    ContentBlockDelta {
        delta: Delta,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Started {
    pub(super) id: String,
}

/// Only text belongs to the answer; thinking and the input of tools do not.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Delta {
    TextDelta {
        text: String,
    },
    #[serde(other)]
    Other,
}

/// A message of the model, or of the CLI in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) model: String,
    /// The blocks that are known; a plain text is the CLI's own and holds none.
    #[serde(deserialize_with = "known")]
    pub(super) content: Vec<Block>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
    },
    #[serde(other)]
    Other,
}

/// The elements of a list that can be read.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    let Value::Array(elements) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(elements.into_iter().filter_map(|element| Block::deserialize(element).ok()).collect())
}

/// The end of a turn. `is_error` decides, never `subtype`: API errors come as `success`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ended {
    pub(super) subtype: String,
    pub(super) is_error: bool,
    pub(super) result: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) terminal_reason: Option<String>,
    pub(super) api_error_status: Option<u16>,
    pub(super) api_error: Option<String>,
    pub(super) session_id: String,
    pub(super) usage: Tokens,
    /// Of the whole session up to now, over all its processes.
    pub(super) total_cost_usd: f64,
    pub(super) permission_denials: Vec<Denial>,
}

/// Tokens of one turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial {
    pub(super) tool_use_id: String,
}

/// What the CLI asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum Request {
    CanUseTool {
        tool_name: String,
        #[serde(default)]
        tool_use_id: String,
    },
    #[serde(other)]
    Other,
}

/// A user's message.
pub(super) fn user(content: &[Value]) -> Vec<u8> {
    line(&json!({
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": null,
        "session_id": "",
    }))
}

/// Asks the CLI to break its turn off.
pub(super) fn interrupt() -> Vec<u8> {
    line(&json!({"type": "control_request", "request_id": "interrupt", "request": {"subtype": "interrupt"}}))
}

/// No to a tool; `why` is told to the model.
pub(super) fn deny(request: &str, why: &str) -> Vec<u8> {
    line(&json!({
        "type": "control_response",
        "response": {
            "subtype": "success",
            "request_id": request,
            "response": {"behavior": "deny", "message": why},
        },
    }))
}

/// A question that nobody here can answer.
pub(super) fn unsupported(request: &str) -> Vec<u8> {
    line(&json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": request, "error": "not supported by this client"},
    }))
}

fn line(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Reads a line; `None` for what is none of the CLI's events, or an event of a shape that is not known.
pub(super) fn read(bytes: &[u8]) -> Option<Event> {
    serde_json::from_slice(&crate::runtime::child::lines::plain(bytes)).ok()
}
