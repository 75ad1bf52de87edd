//! `[node]`, `[auth]` and `[limits]` as the doors and the node read them.

use http::Uri;

use super::around::Surroundings;
use super::draft::Draft;
use super::leaf::{Cidrs, Count, OneOrMore, Size, Text, Time, Words};
use super::listen::Listens;
use super::near;
use crate::doors::config::{self as doors, Auth, Listen};
use crate::model::AgentName;
use crate::node::config::{self as node, Protocol};
use crate::runtime::config::Limits;

/// What one agent may say.
pub(super) fn limits(draft: &Draft) -> Limits {
    Limits {
        line: draft.of::<Size>("limits.line").0.and_then(|line| usize::try_from(line).ok()),
        artifact: draft.of::<Size>("limits.artifact").0,
        task: draft.of::<Size>("limits.task").0,
    }
}

pub(super) fn node(
    draft: &mut Draft,
    around: &Surroundings,
    default_agent: Option<AgentName>,
) -> node::Config {
    draft.settle("node.name", around.host.as_str());
    let protocols = draft.of::<Words<Protocol>>("node.protocols").0;
    if !protocols.iter().any(|protocol| matches!(protocol, Protocol::V1 | Protocol::V03)) {
        draft.fault("node.protocols", "names no version of A2A that this node speaks", "add \"1.0\"");
    }
    let count = |key: &str| draft.of::<Count>(&format!("limits.{key}")).things();
    let limits = limits(draft);
    node::Config {
        default_agent,
        public_url: draft.read("node.public_url").and_then(|url: String| public_url(&url).ok()),
        grpc_url: draft.read::<Text>("node.grpc_url").map(|url| url.0),
        protocols,
        drain_timeout: draft.of::<Time>("node.drain_timeout").0.unwrap_or_default(),
        running_tasks: count("running_tasks"),
        tasks_per_principal: count("tasks_per_principal"),
        queued_tasks: count("queued_tasks"),
        queued_per_principal: count("queued_per_principal"),
        artifact: limits.artifact,
        task: limits.task,
        name: draft.read("node.name").unwrap_or_else(|| around.host.clone()),
    }
}

pub(super) fn doors(draft: &mut Draft, around: &Surroundings) -> doors::Config {
    let listen = draft.of::<Listens>("node.listen").0;
    let allow_plaintext: bool = draft.of("node.allow_plaintext");
    let auth = auth(draft);
    let beyond: Vec<String> =
        listen.iter().filter(|listen| !listen.is_local()).map(Listen::to_string).collect();
    if let (Auth::None, [first, ..]) = (auth, &beyond[..]) {
        let why = format!("\"none\" lets everyone in, and {first} is open to other machines");
        draft.fault("auth.mode", why, "write \"token\", or listen on 127.0.0.1 or a unix socket");
    } else if let (false, [first, ..]) = (allow_plaintext, &beyond[..]) {
        let why =
            format!("{first} is open to other machines, and would carry tokens and answers in clear text");
        let hint = "listen on 127.0.0.1 behind a proxy that ends TLS, or write allow_plaintext = true (--allow-plaintext) inside a VPN";
        draft.fault("node.listen", why, hint);
    }
    let public_url = url(draft);
    let allowed_hosts = hosts(draft, around, public_url.as_deref());
    let count = |key: &str| draft.of::<Count>(&format!("limits.{key}"));
    doors::Config {
        listen,
        allow_plaintext,
        auth,
        trusted_proxies: draft.of::<Cidrs>("auth.trusted_proxies").0,
        allowed_hosts,
        body: draft.of::<Size>("limits.body").0,
        request_timeout: draft.of::<Time>("limits.request_timeout").0,
        stream_idle: draft.of::<Time>("limits.stream_idle").0,
        connections: count("connections").things(),
        connections_per_address: count("connections_per_address").things(),
        requests_per_minute: count("requests_per_minute").0,
        streams_per_principal: count("streams_per_principal").things(),
        allowed_origins: origins(draft),
        public_url,
    }
}

fn auth(draft: &mut Draft) -> Auth {
    let modes = draft.of::<OneOrMore>("auth.mode").0;
    for mode in &modes {
        let hint = "this version has token and none";
        match mode.as_str() {
            "token" | "none" => {}
            "oidc" | "mtls" => draft.fault("auth.mode", format!("\"{mode}\" is not in this version"), hint),
            _ => {
                let near = near::did_you_mean(mode, ["token", "oidc", "mtls", "none"].into_iter());
                draft.fault(
                    "auth.mode",
                    format!("there is no mode \"{mode}\""),
                    near.unwrap_or_else(|| hint.to_owned()),
                );
            }
        }
    }
    let none = modes.iter().any(|mode| mode == "none");
    if modes.is_empty() {
        draft.fault("auth.mode", "is empty: nobody could call", "write \"token\"");
    } else if none && modes.len() > 1 {
        draft.fault("auth.mode", "\"none\" stands alone: it lets everyone in", "remove it or the others");
    }
    if none { Auth::None } else { Auth::Token }
}

fn url(draft: &mut Draft) -> Option<String> {
    let text: String = draft.read("node.public_url")?;
    match public_url(&text) {
        Ok(url) => Some(url),
        Err(why) => {
            draft.fault(
                "node.public_url",
                format!("`{text}` {why}"),
                "write \"https://HOST\", as callers dial it",
            );
            None
        }
    }
}

/// A URL that cards can carry: absolute, without query, of a host that others can dial (O-50).
fn public_url(text: &str) -> Result<String, &'static str> {
    let uri: Uri = text.parse().map_err(|_| "is not a URL")?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("is not an http or https URL");
    }
    let host = uri.host().unwrap_or_default();
    if host.is_empty() {
        return Err("names no host");
    }
    if ["0.0.0.0", "[::]"].contains(&host) {
        return Err("names no host that anyone could dial");
    }
    if uri.query().is_some()
        || text.contains('#')
        || uri.authority().is_some_and(|whole| whole.as_str().contains('@'))
    {
        return Err("has more than scheme, host, port and path");
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn hosts(draft: &mut Draft, around: &Surroundings, public_url: Option<&str>) -> Vec<String> {
    let configured: Vec<String> = draft.of("auth.allowed_hosts");
    for host in &configured {
        if host.contains(['/', ':', '*', ' ']) {
            draft.fault(
                "auth.allowed_hosts",
                format!("`{host}` is not a host name"),
                "write names alone, as \"box.example\"",
            );
        }
    }
    let public =
        public_url.and_then(|url| url.parse::<Uri>().ok()).and_then(|uri| uri.host().map(str::to_owned));
    let mut hosts: Vec<String> = [around.host.clone()]
        .into_iter()
        .chain(public)
        .chain(configured)
        .map(|host| host.to_lowercase())
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn origins(draft: &mut Draft) -> Vec<String> {
    let origins: Vec<String> = draft.of("auth.allowed_origins");
    for origin in &origins {
        let uri = origin.parse::<Uri>().ok();
        let whole =
            uri.is_some_and(|uri| uri.scheme().is_some() && uri.host().is_some() && uri.path() == "/");
        if !whole || origin.ends_with('/') || origin.contains('*') {
            let hint = "write scheme, host and port alone, as \"https://app.example\"";
            draft.fault("auth.allowed_origins", format!("`{origin}` is not an origin"), hint);
        }
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ur_52_a_card_never_carries_an_address_that_nobody_can_dial() {
        assert_eq!(public_url("https://box.example/a2a/"), Ok("https://box.example/a2a".to_owned()));
        assert_eq!(public_url("http://box:7878"), Ok("http://box:7878".to_owned()));
        for text in [
            "http://0.0.0.0:7878",
            "http://[::]:7878",
            "box.example",
            "ftp://box",
            "https://box?x=1",
            "https://u:p@box",
            "",
        ] {
            assert!(public_url(text).is_err(), "{text}");
        }
    }
}
