//! From an address to an interface: the AgentCard is fetched, and the first interface that we speak and may dial is
//! taken (A2A 1.0 sections 8.2 and 8.3.2). Interfaces of another origin are left alone (O-29).

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Response, Url, header};
use serde::Deserialize;

use super::{Binding, Error, Http, http::innermost};
use crate::wire::{Dialect, Version};

/// Bytes of a card (O-51).
const MOST_CARD: usize = 1 << 20;

/// What is waited for a card.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the well-known card lies below an origin or an agent of a node.
const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// Where cards of 0.2 lie; servers of 0.3 may still have one there.
const OLDER: &str = "/.well-known/agent.json";

/// The extension by which a node of our kind is known.
const NODE: &str = "urn:a2ad:node/1";

/// A card as it came, and where it was.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it was.
    pub url: Url,
    /// The very bytes.
    pub bytes: Bytes,
}

/// Where and how to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The interface.
    pub url: Url,
    /// Its binding.
    pub binding: Binding,
    /// To be sent in every request (A2A-119).
    pub tenant: Option<String>,
    /// What is spoken there.
    pub dialect: Dialect,
    /// Whether streams are offered.
    pub streams: bool,
    /// Whether it is a node of our kind, where a send may be repeated (P-21).
    pub ours: bool,
}

/// The part of a card that dialing needs, read leniently: a card may be wrong elsewhere.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Card {
    #[serde(alias = "supported_interfaces")]
    supported_interfaces: Vec<Interface>,
    capabilities: Capabilities,
    // The members of 0.3.
    url: Option<String>,
    protocol_version: Option<String>,
    preferred_transport: Option<String>,
    additional_interfaces: Option<Vec<Further>>,
}

/// A further interface of a card of 0.3.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Further {
    url: String,
    transport: String,
}

impl Card {
    /// Its interfaces. A card without a list of them is one of 0.3, where they have no version of their own.
    fn interfaces(&self) -> Vec<Interface> {
        if !self.supported_interfaces.is_empty() {
            return self.supported_interfaces.clone();
        }
        let version = self.protocol_version.as_deref().unwrap_or("0.3");
        let main = self.url.iter().map(|url| (url, self.preferred_transport.as_deref().unwrap_or("JSONRPC")));
        let further = self.additional_interfaces.iter().flatten();
        main.chain(further.map(|further| (&further.url, further.transport.as_str())))
            .map(|(url, transport)| Interface {
                url: url.clone(),
                protocol_binding: transport.to_owned(),
                protocol_version: version.to_owned(),
                tenant: None,
            })
            .collect()
    }
}

impl Interface {
    /// How we call there, if we do. JSON-RPC of 0.2 is that of 0.3.
    fn spoken(&self) -> Option<(Binding, Dialect)> {
        let binding = Binding::named(&self.protocol_binding)?;
        let older = self.protocol_version.starts_with("0.2.") && binding == Binding::Rpc;
        match (Version::of(&self.protocol_version), binding) {
            (Some(Version::V1), _) => Some((binding, Dialect::V1)),
            (Some(Version::V03), Binding::Rpc) => Some((binding, Dialect::V03Json)),
            (Some(Version::V03), Binding::Rest) => Some((binding, Dialect::V03Proto)),
            (None, _) => older.then_some((binding, Dialect::V03Json)),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Interface {
    url: String,
    #[serde(alias = "protocol_binding")]
    protocol_binding: String,
    #[serde(alias = "protocol_version")]
    protocol_version: String,
    tenant: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Capabilities {
    streaming: Option<bool>,
    extensions: Option<Vec<Extension>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extension {
    uri: String,
}

/// Fetches the card of an agent, or of whatever answers at the address.
///
/// # Errors
/// [`Error::NoCard`], [`Error::Unreachable`], [`Error::Refused`].
pub async fn fetch(http: &Http, agent: Option<&str>) -> Result<Found, Error> {
    let address = http.address();
    let mut below = Vec::new();
    match agent {
        Some(agent) => below.push(format!("{}/agents/{agent}", address.node())),
        // A path names an agent of its own, so its card goes before the one of the whole host.
        None if !address.path().is_empty() => below.push(address.path().to_owned()),
        None => {}
    }
    below.push(String::new());
    let (mut missing, mut strange) = (None, false);
    for card in [WELL_KNOWN, OLDER] {
        for at in &below {
            let place = address.at(&format!("{at}{card}"));
            let why = match fetch_at(http, place.clone()).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(status)) => {
                    Error::NoCard { url: place.to_string(), why: format!("HTTP status {status}") }
                }
                Err(error @ Error::NoCard { .. }) => {
                    strange = true;
                    error
                }
                Err(error) => return Err(error),
            };
            missing.get_or_insert(why);
        }
        // Something is there, so it is no older server.
        if strange {
            break;
        }
    }
    Err(missing.unwrap_or_else(|| Error::NoCard { url: address.to_string(), why: "nothing is there".into() }))
}

/// A card at one place, or the status that says that nothing is there.
async fn fetch_at(http: &Http, url: Url) -> Result<Result<Found, u16>, Error> {
    let mut place = url.clone();
    for _ in 0..4 {
        let mut response = http.send(http.open_request(place.clone()), Some(PATIENCE)).await?;
        // A card that is not public: the credential may go there, unless a redirect led here.
        if response.status() == 401 && place == url {
            let request = http.request(reqwest::Method::GET, place.clone());
            response = http.send(request, Some(PATIENCE)).await?;
        }
        match response.status().as_u16() {
            200 => return read(http, place, response).await.map(Ok),
            301 | 302 | 303 | 307 | 308 => place = redirected(&place, &response)?,
            status @ (404 | 405 | 410) => return Ok(Err(status)),
            _ => return Err(http.refusal(response).await),
        }
    }
    Err(Error::NoCard { url: url.to_string(), why: "it redirects without end".into() })
}

async fn read(http: &Http, url: Url, response: Response) -> Result<Found, Error> {
    let bytes = http.body_within(response, MOST_CARD).await?;
    match serde_json::from_slice::<Card>(&bytes) {
        Ok(_) => Ok(Found { url, bytes }),
        Err(error) => Err(Error::NoCard { url: url.to_string(), why: innermost(&error) }),
    }
}

/// Where a redirect leads, if it stays at the origin.
fn redirected(from: &Url, response: &Response) -> Result<Url, Error> {
    let no = |why: String| Error::NoCard { url: from.to_string(), why };
    let place = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let place = place.ok_or_else(|| no("it redirects to nowhere".into()))?;
    let to = from.join(place).map_err(|error| no(format!("it redirects to `{place}`: {error}")))?;
    if to.origin() == from.origin() {
        Ok(to)
    } else {
        Err(no(format!("it redirects to another host: dial {} instead", to.origin().ascii_serialization())))
    }
}

/// The interface of a card to dial.
///
/// # Errors
/// [`Error::NoInterface`] with what the card offers.
pub fn choose(found: &Found, agent: Option<&str>) -> Result<Endpoint, Error> {
    let card: Card = serde_json::from_slice(&found.bytes)
        .map_err(|error| Error::NoCard { url: found.url.to_string(), why: innermost(&error) })?;
    let ours = card.capabilities.extensions.iter().flatten().any(|extension| extension.uri == NODE);
    let streams = card.capabilities.streaming.unwrap_or_default();
    let of_agent = agent.is_some_and(|agent| found.url.path().contains(&format!("/agents/{agent}/")));
    // The newest version first; else the card's order is its owner's preference (A2A-118).
    let interfaces = card.interfaces();
    let mut spoken: Vec<(&Interface, Binding, Dialect)> = interfaces
        .iter()
        .filter_map(|interface| interface.spoken().map(|(binding, dialect)| (interface, binding, dialect)))
        .collect();
    spoken.sort_by_key(|(.., dialect)| *dialect != Dialect::V1);
    for (interface, binding, dialect) in spoken {
        let Ok(url) = Url::parse(&interface.url) else { continue };
        let tenant = interface.tenant.clone().filter(|tenant| !tenant.is_empty());
        let fits = agent.is_none() || of_agent || tenant.as_deref() == agent;
        if fits && url.origin() == found.url.origin() {
            return Ok(Endpoint { url, binding, tenant, dialect, streams, ours });
        }
        // A node of ours behind a tunnel or another name: its routes are known, so the card's origin is not needed.
        if ours && (agent.is_none() || of_agent) {
            let mut url = found.url.clone();
            url.set_path(found.url.path().trim_end_matches(WELL_KNOWN));
            return Ok(Endpoint { url, binding, tenant, dialect, streams, ours });
        }
    }
    if let (true, false, Some(agent)) = (ours, of_agent, agent) {
        return Err(Error::NoCard {
            url: found.url.to_string(),
            why: format!("the node has no agent {agent}"),
        });
    }
    Err(Error::NoInterface { url: found.url.to_string(), why: offers(&card, found, agent) })
}

/// Why nothing of a card fits.
fn offers(card: &Card, found: &Found, agent: Option<&str>) -> String {
    let here = found.url.origin();
    let mut offers: Vec<String> = Vec::new();
    for interface in &card.interfaces() {
        let elsewhere = Url::parse(&interface.url).is_ok_and(|url| url.origin() != here);
        let note = if elsewhere { " on another origin, which is not followed: dial it by name" } else { "" };
        let Interface { protocol_binding, protocol_version, url, .. } = interface;
        offers.push(format!("{protocol_binding} {protocol_version} at {url}{note}"));
    }
    match (offers.is_empty(), agent, &card.protocol_version) {
        (true, _, Some(version)) => format!("it speaks A2A {version} only"),
        (true, ..) => "it names none at all".to_owned(),
        (false, Some(agent), _) => {
            format!("for agent {agent} there is none; it offers {}", offers.join(", "))
        }
        (false, None, _) => format!("it offers {}", offers.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, card: &str) -> Found {
        Found { url: url.parse().unwrap(), bytes: Bytes::from(card.to_owned()) }
    }

    const AT: &str = "https://box.example/.well-known/agent-card.json";

    #[test]
    fn the_first_interface_that_we_speak_is_taken_with_its_tenant() {
        let card = r#"{"supportedInterfaces":[
            {"url":"https://box.example/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},
            {"url":"https://box.example/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
            {"url":"https://box.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"},
            {"url":"https://box.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
            "capabilities":{"streaming":true}}"#;
        let endpoint = choose(&found(AT, card), None).unwrap();
        assert_eq!((endpoint.url.as_str(), endpoint.binding), ("https://box.example/rpc", Binding::Rpc));
        assert_eq!(endpoint.tenant.as_deref(), Some("t"));
        assert!(endpoint.streams && !endpoint.ours);
        assert!(choose(&found(AT, card), Some("other")).is_err());
        assert!(choose(&found(AT, card), Some("t")).is_ok());
    }

    #[test]
    fn http_json_is_dialed_where_it_comes_first_or_is_all_there_is() {
        let rest =
            r#"{"url":"https://box.example/rest","protocolBinding":"http+json","protocolVersion":"1.0.1"}"#;
        let rpc = r#"{"url":"https://box.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}"#;
        for list in [rest.to_owned(), format!("{rest},{rpc}")] {
            let card = format!(r#"{{"supportedInterfaces":[{list}]}}"#);
            let endpoint = choose(&found(AT, &card), None).unwrap();
            assert_eq!(
                (endpoint.url.as_str(), endpoint.binding),
                ("https://box.example/rest", Binding::Rest)
            );
        }
    }

    #[test]
    fn an_interface_of_another_origin_is_not_dialed() {
        for url in ["http://box.example/", "https://box.example:8443/", "https://evil.example/"] {
            let card = format!(
                r#"{{"supportedInterfaces":[{{"url":"{url}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}]}}"#
            );
            let error = choose(&found(AT, &card), None).unwrap_err().to_string();
            assert!(error.contains("another origin") && error.contains(url), "{error}");
        }
    }

    #[test]
    fn a_node_of_ours_is_dialed_where_its_card_was() {
        let card = r#"{"supportedInterfaces":[{"url":"http://127.0.0.1:7878/agents/claude","protocolBinding":"JSONRPC",
            "protocolVersion":"1.0"}],"capabilities":{"extensions":[{"uri":"urn:a2ad:node/1"}]}}"#;
        let tunnel = "http://localhost:9999/agents/claude/.well-known/agent-card.json";
        let endpoint = choose(&found(tunnel, card), Some("claude")).unwrap();
        assert_eq!(endpoint.url.as_str(), "http://localhost:9999/agents/claude");
        assert!(endpoint.ours);
    }

    #[test]
    fn a_card_of_0_3_is_dialed_in_0_3() {
        for version in [r#""protocolVersion":"0.3.0","#, r#""protocolVersion":"0.2.6","#, ""] {
            let card = format!(r#"{{{version}"url":"https://box.example/a2a","name":"x"}}"#);
            let endpoint = choose(&found(AT, &card), None).unwrap();
            assert_eq!(
                (endpoint.url.as_str(), endpoint.dialect),
                ("https://box.example/a2a", Dialect::V03Json)
            );
        }
        let card = r#"{"protocolVersion":"0.3.0","url":"https://box.example/grpc","preferredTransport":"GRPC",
            "additionalInterfaces":[{"url":"https://box.example/grpc","transport":"GRPC"},
            {"url":"https://box.example/rpc","transport":"JSONRPC"}]}"#;
        assert_eq!(choose(&found(AT, card), None).unwrap().url.as_str(), "https://box.example/rpc");
        let card = r#"{"protocolVersion":"0.1.0","url":"https://box.example/"}"#;
        let error = choose(&found(AT, card), None).unwrap_err().to_string();
        assert!(error.contains("it offers JSONRPC 0.1.0 at https://box.example/"), "{error}");
    }

    #[test]
    fn of_two_versions_the_newer_is_taken_wherever_it_stands() {
        let card = r#"{"url":"https://box.example/old","protocolVersion":"0.3.0","supportedInterfaces":[
            {"url":"https://box.example/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
            {"url":"https://box.example/new","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
        let endpoint = choose(&found(AT, card), None).unwrap();
        assert_eq!((endpoint.url.as_str(), endpoint.dialect), ("https://box.example/new", Dialect::V1));
    }
}
