//! What the configuration says to `node`: who it is, how much it runs at once.

use std::time::Duration;

use crate::model::AgentName;

/// `[node]` and the part of `[limits]` that is counted in tasks. A limit that is `None` is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The node's name; the host name unless configured.
    pub name: String,
    /// The agent served at the root (O-68); `None` only when no agent is served.
    pub default_agent: Option<AgentName>,
    /// What cards say, without a trailing slash; `None`: made from the request's Host (O-50).
    pub public_url: Option<String>,
    /// `host:port` of gRPC in cards; `None`: that of `public_url`; empty: gRPC is left out.
    pub grpc_url: Option<String>,
    /// Protocols that the node may offer, in the order configured.
    pub protocols: Vec<Protocol>,
    /// How long running turns may go on once the node stops; zero: they are cancelled at once.
    pub drain_timeout: Duration,
    /// Turns at once on the node; waiting for input counts in none of these.
    pub running_tasks: Option<usize>,
    /// Turns at once of one principal.
    pub tasks_per_principal: Option<usize>,
    /// Turns that wait for a place.
    pub queued_tasks: Option<usize>,
    /// Turns of one principal that wait for a place.
    pub queued_per_principal: Option<usize>,
    /// Bytes of one artifact.
    pub artifact: Option<u64>,
    /// Bytes of all events and artifacts of one task; beyond it output is cut and the task says so.
    pub task: Option<u64>,
}

/// A protocol that callers may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A2A 1.0.
    V1,
    /// A2A 0.3.
    V03,
    /// The AgentsZone dialect.
    AgentsZone,
}

impl Protocol {
    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
            Self::AgentsZone => "agentszone",
        }
    }
}
