//! The AgentCard, as A2A 1.0 section 4.4 has it. Fields that are REQUIRED are always written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Json, Metadata, proto};

/// What an agent is, where it is reached and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// The agent's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Where it is reached, best first.
    #[serde(default, alias = "supported_interfaces", deserialize_with = "proto::unset")]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who provides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// The agent's own version.
    pub version: String,
    /// Where to read more.
    #[serde(default, alias = "documentation_url", skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// What is enabled.
    pub capabilities: AgentCapabilities,
    /// How callers show who they are: a `SecurityScheme` by name.
    #[serde(
        default,
        alias = "security_schemes",
        deserialize_with = "proto::unset",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, Json>,
    /// Which of them are needed: any of the list.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "proto::unset",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types taken.
    #[serde(default, alias = "default_input_modes", deserialize_with = "proto::unset")]
    pub default_input_modes: Vec<String>,
    /// Media types given.
    #[serde(default, alias = "default_output_modes", deserialize_with = "proto::unset")]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(default, deserialize_with = "proto::unset")]
    pub skills: Vec<AgentSkill>,
    /// JWS signatures of this card.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<Json>,
    /// A picture.
    #[serde(default, alias = "icon_url", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// One place where the agent is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// Absolute; `host:port` for gRPC.
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON` or a URI.
    #[serde(alias = "protocol_binding")]
    pub protocol_binding: String,
    /// To be sent back in every request.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `1.0` or `0.3`.
    #[serde(alias = "protocol_version")]
    pub protocol_version: String,
}

/// Who provides an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Where to find them.
    pub url: String,
    /// Their name.
    pub organization: String,
}

/// What is enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Callbacks.
    #[serde(default, alias = "push_notifications", skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// Extensions to the protocol.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// An extended card.
    #[serde(default, alias = "extended_agent_card", skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

/// An extension to the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentExtension {
    /// Names it, version included.
    pub uri: String,
    /// How the agent uses it.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether callers must declare it (A2A-161).
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Its own parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Metadata>,
}

/// One thing an agent can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Unique within the card.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// At least one.
    #[serde(default, deserialize_with = "proto::unset")]
    pub tags: Vec<String>,
    /// Prompts that fit.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types taken, if other than the card's.
    #[serde(
        default,
        alias = "input_modes",
        deserialize_with = "proto::unset",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub input_modes: Vec<String>,
    /// Media types given, if other than the card's.
    #[serde(
        default,
        alias = "output_modes",
        deserialize_with = "proto::unset",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub output_modes: Vec<String>,
}

/// Schemes that are needed together, with their scopes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecurityRequirement {
    /// Scheme name to scopes.
    #[serde(default)]
    pub schemes: BTreeMap<String, StringList>,
}

/// `StringList`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StringList {
    /// The texts.
    #[serde(default)]
    pub list: Vec<String>,
}
