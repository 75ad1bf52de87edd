//! The public cards: made from what is served, so that they cannot claim anything else (P-15 to P-19, UR-66).

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use super::{
    body::Response,
    cache::Kept,
    config::{Auth, Config},
    connection::Peer,
    inbound::Inbound,
    refusal::Refusal,
    state::State,
};
use crate::{
    model::{
        AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, Fault, Json, Metadata,
        SecurityRequirement, StringList, Timestamp,
    },
    node::{
        Nature,
        agents::{Registry, Served},
    },
    runtime::config::{Permissions, Skill},
    wire::{Dialect, Method, Single, Version, hybrid_card},
};

/// What the card's extension says of the node.
pub(super) const NODE_EXTENSION: &str = "urn:a2ad:node/1";

/// Of which what it says of a caller's security decides: the Host only where the address is made from it.
const VARY_FIXED: &str = "A2A-Version";
const VARY_HOST: &str = "A2A-Version, Host";

/// Where a card was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `agent-card.json`.
    Card,
    /// `agent.json`, where clients of 0.3 and before look.
    Old,
}

/// Answers `GET …/agent-card.json` and `…/agent.json`: of an agent by name, else of the default one.
///
/// # Errors
/// There is no such agent, or no card of 0.3.
pub(super) fn serve(
    state: &State,
    inbound: &Inbound,
    agent: Option<&str>,
    place: Place,
) -> Result<Response, Refusal> {
    inbound.counted_address()?;
    let registry = state.node.agents();
    let served = match agent {
        Some(name) => registry.get(name).ok_or_else(|| Fault::NoAgent(name.to_owned()))?,
        None => registry.default().ok_or_else(|| {
            Refusal::nothing_at("this address: no agent is the default; GET /agents lists them")
        })?,
    };
    let base = base(state, inbound);
    let url = base.as_deref().map(|base| match agent {
        Some(_) => of_agent(base, served),
        None => base.to_owned(),
    });
    let config = inbound.config();
    let card = card(served, url.as_deref(), &state.versions, &state.node.nature(), config.auth);
    let body = match place {
        Place::Old if !state.versions.contains(&Version::V03) || url.is_none() => {
            return Err(Refusal::nothing_at("this address: the card is at /.well-known/agent-card.json"));
        }
        Place::Old => Dialect::V03Json.encode_reply(Method::GetCard, &Single::card(&card)),
        Place::Card if asks_new(inbound) => Dialect::V1.encode_reply(Method::GetCard, &Single::card(&card)),
        Place::Card => hybrid_card(&card),
    };
    let kept = Kept {
        body: body.to_vec(),
        since: state.changes.since(&registry, inbound.settings.version),
        control: "max-age=60",
        vary: if config.public_url.is_some() { VARY_FIXED } else { VARY_HOST },
    };
    Ok(kept.response(&inbound.parts.headers))
}

/// Whether a caller asks for the card of 1.0 and nothing else: it says a version, and not 0.3 (P-15).
fn asks_new(inbound: &Inbound) -> bool {
    let mut said = inbound.header("a2a-version").map(str::trim).filter(|version| !version.is_empty());
    said.any(|version| Version::of(version) != Some(Version::V03))
}

/// Where an agent is reached by its own address.
pub(super) fn of_agent(base: &str, served: &Served) -> String {
    format!("{base}/agents/{}", served.name)
}

/// The card of an agent that is reached at `url`, if anywhere.
fn card(served: &Served, url: Option<&str>, versions: &[Version], nature: &Nature, auth: Auth) -> AgentCard {
    let config = &served.config;
    let description = config.description.clone().unwrap_or_else(|| described(served));
    let skills = match config.skills.as_slice() {
        [] => vec![only_skill(served, &description)],
        skills => skills.iter().map(skill).collect(),
    };
    let (security_schemes, security_requirements) = match auth {
        Auth::None => (BTreeMap::new(), Vec::new()),
        Auth::Token => bearer(),
    };
    AgentCard {
        name: served.name.to_string(),
        description,
        supported_interfaces: url.map(|url| interfaces(url, versions)).unwrap_or_default(),
        provider: None,
        version: config.version.clone(),
        documentation_url: None,
        capabilities: AgentCapabilities {
            streaming: Some(config.capabilities.streaming),
            push_notifications: Some(false),
            extensions: extensions(served, nature),
            extended_agent_card: Some(false),
        },
        security_schemes,
        security_requirements,
        default_input_modes: config.input_modes.clone(),
        default_output_modes: config.output_modes.clone(),
        skills,
        signatures: Vec::new(),
        icon_url: None,
    }
}

fn described(served: &Served) -> String {
    format!("The agent {}, run by a2ad as {}", served.name, served.config.runtime)
}

/// The bindings that are served at an address, best first, those of the newest version before all others (P-16).
fn interfaces(url: &str, versions: &[Version]) -> Vec<AgentInterface> {
    let interface = |version: Version, binding: &str| AgentInterface {
        url: url.to_owned(),
        protocol_binding: binding.into(),
        tenant: None,
        protocol_version: version.as_str().into(),
    };
    let bindings = |version: &Version| BINDINGS.map(|binding| interface(*version, binding));
    versions.iter().flat_map(bindings).collect()
}

/// The bindings that are served.
const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// A card needs a skill with tags (A2A-122).
fn only_skill(served: &Served, description: &str) -> AgentSkill {
    AgentSkill {
        id: served.name.to_string(),
        name: served.name.to_string(),
        description: description.to_owned(),
        tags: vec![served.config.runtime.to_string()],
        examples: Vec::new(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

fn skill(skill: &Skill) -> AgentSkill {
    AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
    }
}

/// The scheme by which callers show who they are, and that it is needed.
fn bearer() -> (BTreeMap<String, Json>, Vec<SecurityRequirement>) {
    let scheme = serde_json::json!({ "httpAuthSecurityScheme": {
        "scheme": "Bearer",
        "description": "A token of this node: its operator makes one with `a2ad token new NAME`",
    } });
    let needed = BTreeMap::from([("bearer".to_owned(), StringList::default())]);
    (
        BTreeMap::from([("bearer".to_owned(), Json::of(&scheme))]),
        vec![SecurityRequirement { schemes: needed }],
    )
}

/// What the node says of itself, then what the agent's program understands.
fn extensions(served: &Served, nature: &Nature) -> Vec<AgentExtension> {
    let mut params = Metadata::default();
    params.set("isolation", &nature.isolation);
    params.set("sandbox", nature.sandbox);
    params.set("custody", nature.custody);
    params.set("permissions", permissions(served.config.permissions));
    let node = AgentExtension {
        uri: NODE_EXTENSION.into(),
        description: Some("How this node holds the agent's program".into()),
        required: false,
        params: Some(params),
    };
    let own = served.config.extensions.iter().map(|extension| AgentExtension {
        uri: extension.uri.clone(),
        description: extension.description.clone(),
        required: extension.required,
        params: extension.params.as_ref().and_then(|params| Json::of(params).read().ok()),
    });
    std::iter::once(node).chain(own).collect()
}

/// What becomes of a tool that would be asked for: nobody can be asked yet, so it is denied, and the card says so.
const fn permissions(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Ask => "ask: deny",
        Permissions::Deny => "deny",
        Permissions::Edits => "edits",
        Permissions::All => "all",
    }
}

/// The address that cards give, without a trailing slash (P-17): what is configured; what a trusted proxy says was
/// dialled; the first port, as long as the caller can reach it; `None` where there is none.
pub(super) fn base(state: &State, inbound: &Inbound) -> Option<String> {
    let (config, target) = (inbound.config(), &inbound.target);
    if let Some(url) = &config.public_url {
        return Some(url.trim_end_matches('/').to_owned());
    }
    if target.outside
        && let Some(host) = &target.host
    {
        return Some(format!("{}://{host}", target.scheme));
    }
    let port = port(&state.ports, inbound.peer)?;
    if !port.ip().is_unspecified() {
        return Some(format!("http://{port}"));
    }
    let host = target.host.clone().unwrap_or_else(|| format!("{}:{}", host_name(config), port.port()));
    Some(format!("http://{host}"))
}

/// The port that a card names. Who came from another machine can't reach one of loopback, so the one by which the request
/// came stands in for it (UR-52).
fn port(ports: &[SocketAddr], peer: Peer) -> Option<SocketAddr> {
    let first = ports.first().copied()?;
    match peer {
        Peer::Tcp { remote, local }
            if first.ip().is_loopback() && !remote.ip().to_canonical().is_loopback() =>
        {
            Some(SocketAddr::new(local.ip().to_canonical(), local.port()))
        }
        _ => Some(first),
    }
}

/// The name of this machine, as far as it is known.
fn host_name(config: &Config) -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    let known = |name: &String| !name.is_empty();
    Some(name)
        .filter(known)
        .or_else(|| config.allowed_hosts.first().cloned())
        .unwrap_or_else(|| "localhost".into())
}

/// Since when the cards are as they are.
pub(super) struct Changes(Mutex<Seen>);

struct Seen {
    registry: u64,
    settings: u64,
    since: Timestamp,
}

impl Changes {
    /// As of `now`.
    pub(super) const fn new(now: Timestamp) -> Self {
        Self(Mutex::new(Seen { registry: 0, settings: 0, since: now }))
    }

    /// Since when cards made of these are as they are.
    pub(super) fn since(&self, registry: &Registry, settings: u64) -> Timestamp {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (seen.registry, seen.settings) != (registry.version(), settings) {
            *seen = Seen { registry: registry.version(), settings, since: Timestamp::now() };
        }
        seen.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(remote: &str, local: &str) -> Peer {
        Peer::Tcp { remote: remote.parse().unwrap(), local: local.parse().unwrap() }
    }

    #[test]
    fn ur_52_a_caller_from_elsewhere_is_not_sent_to_its_own_loopback() {
        let ports = ["127.0.0.1:7878".parse().unwrap(), "192.0.2.7:7878".parse().unwrap()];
        let here = port(&ports, peer("127.0.0.1:5000", "127.0.0.1:7878"));
        let there = port(&ports, peer("192.0.2.9:5000", "192.0.2.7:7878"));
        assert_eq!(here, Some(ports[0]));
        assert_eq!(there, Some(ports[1]));
        assert_eq!(port(&[], Peer::Unix), None, "a node with sockets only has no address to give");
    }

    #[test]
    fn cards_are_of_the_day_on_which_they_changed() {
        let changes = Changes::new(Timestamp::from_millis(5));
        let registry = Registry::new(Vec::new(), None, 0);
        assert_eq!(changes.since(&registry, 0), Timestamp::from_millis(5));
        let changed = changes.since(&registry, 1);
        assert!(changed > Timestamp::from_millis(5));
        assert_eq!(changes.since(&registry, 1), changed);
    }
}
