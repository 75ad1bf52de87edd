//! Cards: one address and further ones where 1.0 has a list, and security schemes that tell what they are by `type`.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    model::{AgentCard, AgentInterface, Fault, Json, SecurityRequirement, StringList, proto},
    wire::read::{answer, bytes},
};

/// What 0.3 calls itself on cards.
const VERSION: &str = "0.3.0";

/// The binding of a card that names none.
const USUAL: &str = "JSONRPC";

/// Names of security schemes: the type in 0.3, the member in 1.0.
const SCHEMES: [(&str, &str); 5] = [
    ("apiKey", "apiKeySecurityScheme"),
    ("http", "httpAuthSecurityScheme"),
    ("oauth2", "oauth2SecurityScheme"),
    ("openIdConnect", "openIdConnectSecurityScheme"),
    ("mutualTLS", "mtlsSecurityScheme"),
];

/// OAuth flows, the best first: 1.0 has room for one of them.
const FLOWS: [&str; 4] = ["authorizationCode", "clientCredentials", "implicit", "password"];

/// The members that a card has in 0.3 and not in 1.0.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Old<'a> {
    protocol_version: &'static str,
    url: &'a str,
    preferred_transport: &'a str,
    additional_interfaces: Vec<Further<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<BTreeMap<&'a str, &'a [String]>>,
}

#[derive(Serialize)]
struct Further<'a> {
    url: &'a str,
    transport: &'a str,
}

impl<'a> Old<'a> {
    /// `None` where nothing speaks 0.3.
    fn of(card: &'a AgentCard) -> Option<Self> {
        let spoken =
            |interface: &&AgentInterface| is_old(&interface.protocol_version) && interface.tenant.is_none();
        let mut interfaces = card.supported_interfaces.iter().filter(spoken).peekable();
        let first = *interfaces.peek()?;
        let further = interfaces
            .map(|interface| Further { url: &interface.url, transport: &interface.protocol_binding });
        let security = card.security_requirements.iter().map(|requirement| {
            requirement.schemes.iter().map(|(name, scopes)| (name.as_str(), &scopes.list[..])).collect()
        });
        Some(Self {
            protocol_version: VERSION,
            url: &first.url,
            preferred_transport: &first.protocol_binding,
            additional_interfaces: further.collect(),
            supports_authenticated_extended_card: card.capabilities.extended_agent_card,
            security: security.collect(),
        })
    }
}

/// Whether an interface speaks 0.3; a patch number does not count.
fn is_old(version: &str) -> bool {
    version == "0.3" || version.starts_with("0.3.")
}

/// A card in the form of 0.3. Signatures are those of 1.0, so they are left out.
pub(super) fn encode(card: &AgentCard) -> Bytes {
    let mut whole = members(card);
    for new in ["supportedInterfaces", "securityRequirements", "signatures"] {
        whole.remove(new);
    }
    if let Some(capabilities) = whole.get_mut("capabilities")
        && let Ok(mut inner) = capabilities.read::<BTreeMap<String, Json>>()
    {
        inner.remove("extendedAgentCard");
        *capabilities = Json::of(&inner);
    }
    add_old(&mut whole, card, false);
    bytes(&whole)
}

/// A card of 1.0 that readers of 0.3 understand as well: the members of both, where anything speaks 0.3 (P-15).
pub(in crate::wire) fn hybrid(card: &AgentCard) -> Bytes {
    let mut whole = members(card);
    add_old(&mut whole, card, true);
    bytes(&whole)
}

/// The members of a card of 1.0, each as it is written.
fn members<T: Serialize>(card: &T) -> BTreeMap<String, Json> {
    Json::of(card).read().unwrap_or_default()
}

/// Adds what 0.3 has of its own, replacing security schemes or, where both are wanted, adding to them.
fn add_old(whole: &mut BTreeMap<String, Json>, card: &AgentCard, both: bool) {
    let Some(old) = Old::of(card) else { return };
    whole.extend(members(&old));
    let schemes: BTreeMap<&String, Value> = card
        .security_schemes
        .iter()
        .map(|(name, scheme)| {
            let new: Value = scheme.read().unwrap_or_default();
            let written = match (old_scheme(&new), new) {
                (Some(old), Value::Object(mut new)) if both => {
                    new.extend(old);
                    Value::Object(new)
                }
                (Some(old), _) => Value::Object(old),
                (None, new) => new,
            };
            (name, written)
        })
        .collect();
    if !schemes.is_empty() {
        whole.insert("securitySchemes".into(), Json::of(&schemes));
    }
}

/// A security scheme of 1.0 in the form of 0.3; `None` for one that is none.
fn old_scheme(scheme: &Value) -> Option<Map<String, Value>> {
    let (kind, mut old) = SCHEMES
        .into_iter()
        .find_map(|(kind, member)| Some((kind, scheme.get(member)?.as_object()?.clone())))?;
    if let Some(place) = old.remove("location") {
        old.insert("in".into(), place);
    }
    if let Some(Value::Object(flows)) = old.get_mut("flows") {
        flows.retain(|name, _| FLOWS.contains(&name.as_str()));
        for flow in flows.values_mut().filter_map(Value::as_object_mut) {
            flow.remove("pkceRequired");
        }
    }
    old.insert("type".into(), kind.into());
    Some(old)
}

/// A card of 0.3, as much of it as 1.0 has no name for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadOld {
    #[serde(default, deserialize_with = "proto::unset")]
    supported_interfaces: Vec<Json>,
    #[serde(default, deserialize_with = "proto::unset")]
    url: String,
    #[serde(default, deserialize_with = "proto::unset")]
    preferred_transport: String,
    #[serde(default, deserialize_with = "proto::unset")]
    additional_interfaces: Vec<ReadFurther>,
    #[serde(default)]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(default, deserialize_with = "proto::unset")]
    security: Vec<BTreeMap<String, Vec<String>>>,
}

#[derive(Deserialize)]
struct ReadFurther {
    #[serde(default, deserialize_with = "proto::unset")]
    url: String,
    #[serde(default, deserialize_with = "proto::unset")]
    transport: String,
}

/// Reads a card of either version. One with a list of interfaces is of 1.0, whatever else it holds.
pub(in crate::wire) fn decode(text: &str) -> Result<AgentCard, Fault> {
    let old: ReadOld = answer(text)?;
    let mut card: AgentCard = answer(text)?;
    if !old.supported_interfaces.is_empty() {
        return Ok(card);
    }
    card.supported_interfaces = interfaces(&old);
    card.signatures.clear();
    let extended = old.supports_authenticated_extended_card;
    card.capabilities.extended_agent_card = card.capabilities.extended_agent_card.or(extended);
    if card.security_requirements.is_empty() {
        card.security_requirements = old.security.into_iter().map(requirement).collect();
    }
    for scheme in card.security_schemes.values_mut() {
        if let Some(new) = new_scheme(scheme) {
            *scheme = new;
        }
    }
    Ok(card)
}

/// The interfaces of a card of 0.3, the preferred one first, none twice.
fn interfaces(old: &ReadOld) -> Vec<AgentInterface> {
    let mut interfaces: Vec<AgentInterface> = Vec::new();
    let further = old.additional_interfaces.iter().map(|further| (&further.url, &further.transport));
    for (url, transport) in std::iter::once((&old.url, &old.preferred_transport)).chain(further) {
        let binding = if transport.is_empty() { USUAL } else { transport };
        let known = interfaces.iter().any(|known| known.url == *url && known.protocol_binding == binding);
        if !url.is_empty() && !known {
            interfaces.push(AgentInterface {
                url: url.clone(),
                protocol_binding: binding.to_owned(),
                tenant: None,
                protocol_version: "0.3".to_owned(),
            });
        }
    }
    interfaces
}

fn requirement(schemes: BTreeMap<String, Vec<String>>) -> SecurityRequirement {
    SecurityRequirement {
        schemes: schemes.into_iter().map(|(name, list)| (name, StringList { list })).collect(),
    }
}

/// A security scheme of 0.3 in the form of 1.0; `None` for one that is in it, or that nobody knows.
fn new_scheme(scheme: &Json) -> Option<Json> {
    let mut old: Map<String, Value> = scheme.read().ok()?;
    let kind = old.remove("type")?;
    let (_, member) = SCHEMES.into_iter().find(|(known, _)| kind.as_str() == Some(known))?;
    if let Some(place) = old.remove("in") {
        old.insert("location".into(), place);
    }
    if let Some(Value::Object(flows)) = old.get_mut("flows")
        && let Some(best) = FLOWS.into_iter().find(|flow| flows.contains_key(*flow))
    {
        flows.retain(|name, _| name == best);
    }
    Some(Json::of(&Map::from_iter([(member.to_owned(), Value::Object(old))])))
}
