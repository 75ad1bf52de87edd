//! `[[auth.tokens]]`: tokens by configuration, beside those of the store.

use std::sync::Arc;

use super::draft::Draft;
use super::fault::Origin;
use super::{name, near};
use crate::model::{AgentName, Agents, CallerRole as Role};

/// A token of the configuration; its secret is known by its hash only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its name: the principal is `token:NAME`.
    pub name: String,
    /// SHA-256 of the secret.
    pub sha256: [u8; 32],
    /// What it may do.
    pub role: Role,
    /// Which agents it may use.
    pub agents: Agents,
    /// Where it stands, for `token revoke` to say (O-55).
    pub origin: Origin,
}

pub(super) fn compose(draft: &mut Draft, known: &[AgentName]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for number in draft.names("auth.tokens") {
        if let Some(token) = token(draft, &format!("auth.tokens.{number}"), known) {
            if tokens.iter().any(|other| other.sha256 == token.sha256) {
                draft.fault(
                    &format!("auth.tokens.{number}.sha256"),
                    "is the secret of another token too",
                    "make a new one",
                );
            }
            tokens.push(token);
        }
    }
    tokens
}

fn token(draft: &mut Draft, path: &str, known: &[AgentName]) -> Option<Token> {
    let at = |key: &str| format!("{path}.{key}");
    let name: Option<String> = draft.read(&at("name"));
    match &name {
        None => draft.fault(&at("name"), "is missing", "write name = \"desk\""),
        Some(name) => {
            if let Err(why) = name::check(name) {
                draft.fault(&at("name"), why, "");
            }
        }
    }
    let sha256 = draft.read::<String>(&at("sha256")).and_then(|text| hash(&text));
    if sha256.is_none() {
        draft.fault(
            &at("sha256"),
            "is not the SHA-256 of a secret, 64 hexadecimal digits",
            "make it with `a2ad token hash`",
        );
    }
    let word: String = draft.of(&at("role"));
    let role = match word.as_str() {
        "user" => Some(Role::User),
        "peer" => Some(Role::Peer),
        "admin" => Some(Role::Admin),
        _ => {
            let near = near::did_you_mean(&word, ["user", "peer", "admin"].into_iter());
            draft.fault(
                &at("role"),
                format!("`{word}` is not one of user, peer, admin"),
                near.unwrap_or_default(),
            );
            None
        }
    };
    let agents = match draft.read::<Vec<String>>(&at("agents")) {
        None => Agents::All,
        Some(names) => Agents::These(these(draft, &at("agents"), &names, known)),
    };
    Some(Token { origin: draft.origin(&at("name")), name: name?, sha256: sha256?, role: role?, agents })
}

fn these(draft: &mut Draft, path: &str, names: &[String], known: &[AgentName]) -> Arc<[AgentName]> {
    let mut these = Vec::new();
    for name in names {
        match known.iter().find(|agent| agent.as_str() == name) {
            Some(agent) => these.push(agent.clone()),
            // Without [agents] in the file, what is served depends on the machine.
            None if known.is_empty() => match name.parse() {
                Ok(agent) => these.push(agent),
                Err(why) => draft.fault(path, format!("{why}"), ""),
            },
            None => {
                let near = near::did_you_mean(name, known.iter().map(AgentName::as_str));
                draft.fault(path, format!("there is no agent `{name}`"), near.unwrap_or_default());
            }
        }
    }
    these.into()
}

fn hash(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (digits.len() == 64).then(|| bytes.try_into().ok()).flatten()
}
