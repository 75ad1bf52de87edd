//! Tables that this version reads and checks, and does not act on yet: what is wrong in them is said today.

use http::Uri;

use super::draft::Draft;
use super::keys::LATER_RUNTIMES;
use super::leaf::{Allow, Output, Whole};
use super::{listen, name};
use crate::runtime::config::RuntimeKind;

/// Headers that never go on to a peer (O-72).
const NEVER_FORWARDED: &[&str] = &[
    "cookie",
    "host",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "forwarded",
    "via",
];

pub(super) fn judge(draft: &mut Draft) {
    metrics(draft);
    for number in draft.names("auth.oidc") {
        issuer(draft, &format!("auth.oidc.{number}"));
    }
    for name in draft.names("runtimes") {
        runtime(draft, &name);
    }
    for name in draft.names("peers") {
        peer(draft, &name);
    }
}

/// Beyond loopback and unix sockets metrics need a credential (O-44).
fn metrics(draft: &mut Draft) {
    let Some(text) = draft.read::<String>("metrics.listen") else { return };
    if text.starts_with("unix:") {
        return;
    }
    match listen::address(&text) {
        Err(bad) => draft.fault("metrics.listen", bad.why, bad.hint.unwrap_or_default()),
        Ok(addr) if !addr.ip().is_loopback() && draft.read("metrics.token") != Some(true) => {
            let hint = "listen on 127.0.0.1, or write token = true beside it";
            draft.fault("metrics.listen", format!("{addr} shows metrics to other machines"), hint);
        }
        Ok(_) => {}
    }
}

/// Whoever the issuer knows must not be in: at least one rule says who is (O-8).
fn issuer(draft: &mut Draft, path: &str) {
    for key in ["issuer", "audience"] {
        if draft.read::<String>(&format!("{path}.{key}")).is_none() {
            draft.fault(&format!("{path}.{key}"), "is missing", "");
        }
    }
    let key = format!("{path}.allow");
    let rules = draft.read::<Whole<Vec<Allow>>>(&key).map(|rules| rules.0).unwrap_or_default();
    if rules.is_empty() {
        let hint = "write allow = [{ claim = \"email\", is = \"ann@example.org\" }]";
        draft.fault(&key, "is missing: nobody would be let in", hint);
    }
    for Allow { claim, is, role, agents } in rules {
        if claim.is_empty() || is.is_empty() {
            draft.fault(&key, "has a rule that matches nothing", "write claim = \"…\" and is = \"…\"");
        }
        if role.is_some_and(|role| !["user", "peer", "admin"].contains(&role.as_str())) {
            draft.fault(&key, "has a role that is not one of user, peer, admin", "");
        }
        if agents.is_some_and(|agents| agents.iter().any(|agent| name::check(agent).is_err())) {
            draft.fault(&key, "names an agent by what is no name", "");
        }
    }
}

fn runtime(draft: &mut Draft, runtime: &str) {
    let path = format!("runtimes.{runtime}");
    if let Err(why) = name::check(runtime) {
        draft.fault(&path, why, "");
    }
    if RuntimeKind::ALL.iter().any(|kind| kind.as_str() == runtime) || LATER_RUNTIMES.contains(&runtime) {
        draft.fault(&path, "is the name of a built-in runtime", "choose another name");
    }
    if draft.read::<Vec<String>>(&format!("{path}.command")).unwrap_or_default().is_empty() {
        draft.fault(&format!("{path}.command"), "is missing", "write command = [\"program\", \"argument\"]");
    }
    let fields = format!("{path}.fields");
    if draft.of::<Output>(&format!("{path}.output")) == Output::Text && draft.is_set(&fields) {
        draft.fault(&fields, "belongs to output = \"lines\"", "set it, or remove the key");
    }
    if let Some(Whole(all)) = draft.read::<Whole<super::leaf::Fields>>(&fields) {
        for pointer in [all.text, all.session, all.error, all.result].into_iter().flatten() {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                draft.fault(
                    &fields,
                    format!("`{pointer}` is not a JSON Pointer"),
                    format!("write \"/{pointer}\""),
                );
            }
        }
    }
}

fn peer(draft: &mut Draft, peer: &str) {
    let path = format!("peers.{peer}");
    let at = |key: &str| format!("{path}.{key}");
    if let Err(why) = name::check(peer) {
        draft.fault(&path, why, "");
    }
    let url: Option<String> = draft.read(&at("url"));
    let scheme = url
        .as_ref()
        .and_then(|url| url.parse::<Uri>().ok())
        .and_then(|uri| uri.scheme_str().map(str::to_owned));
    match (url, scheme.as_deref()) {
        (None, _) => draft.fault(&at("url"), "is missing", "write url = \"https://HOST\""),
        (_, Some("http" | "https")) => {}
        (Some(url), _) => {
            draft.fault(&at("url"), format!("`{url}` is not an http or https URL"), "write \"https://HOST\"")
        }
    }
    let authorization = draft.read(&at("forward_authorization")) == Some(true);
    if authorization && scheme.as_deref() != Some("https") {
        draft.fault(&at("forward_authorization"), "would send credentials in clear text", "use an https url");
    }
    let headers: Vec<String> = draft.of(&at("forward_headers"));
    for header in headers {
        let lower = header.to_lowercase();
        let never = NEVER_FORWARDED.contains(&lower.as_str())
            || lower.starts_with("proxy-")
            || lower.starts_with("x-forwarded-")
            || lower == "authorization" && !authorization;
        if never {
            draft.fault(&at("forward_headers"), format!("`{header}` is not forwarded"), "remove it");
        }
    }
}
