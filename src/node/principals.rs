//! Who holds which credential: the local admin token, tokens of the configuration, tokens of the store.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::{Inner, Node, fault_of};
use crate::{
    model::{
        AgentName, Agents, Caller, CallerRole, Fault, Kind, PrincipalId, TaskId, Timestamp, Via,
        ops::{MadeToken, NewToken, Revoked, TokenInfo},
        secret,
    },
    store::{Store, TokenRow},
};

/// The SHA-256 of a secret.
type Hash = [u8; 32];

/// A token of the configuration (`[[auth.tokens]]`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileToken {
    /// Its name; the principal is `token:NAME`.
    pub name: String,
    /// The SHA-256 of its secret.
    pub hash: Hash,
    /// What it may do.
    pub role: CallerRole,
    /// Agents it covers.
    pub agents: Agents,
    /// Where it stands, as `a2ad.toml:12`.
    pub source: String,
}

/// A credential that was shown, to be asked later whether it still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential(Option<Hash>);

impl Credential {
    /// What callers have where none is needed.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }
}

/// A caller that was recognised.
#[derive(Clone, Debug)]
pub struct Known {
    /// Who.
    pub caller: Caller,
    /// By what.
    pub credential: Credential,
}

pub(super) struct Principals {
    local: Hash,
    file: ArcSwap<HashMap<Hash, FileToken>>,
    /// Grows with every change, so that open streams look again.
    changes: watch::Sender<u64>,
}

impl Principals {
    pub(super) fn new(local: &str, tokens: Vec<FileToken>) -> Self {
        Self {
            local: secret::hash(local),
            file: ArcSwap::from_pointee(by_hash(tokens)),
            changes: watch::Sender::new(0),
        }
    }

    /// Takes the tokens of a new configuration.
    pub(super) fn adopt(&self, tokens: Vec<FileToken>) {
        self.file.store(Arc::new(by_hash(tokens)));
        self.changed();
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

fn by_hash(tokens: Vec<FileToken>) -> HashMap<Hash, FileToken> {
    tokens.into_iter().map(|token| (token.hash, token)).collect()
}

impl Node {
    /// Who holds a secret. Looked up by its hash, so that nothing is compared letter by letter. `local`: the
    /// connection may use the local admin token (O-1).
    #[must_use]
    pub fn identify(&self, secret: &str, local: bool) -> Option<Known> {
        let hash = secret::hash(secret);
        let caller = self.0.caller(&hash, local)?;
        Some(Known { caller, credential: Credential(Some(hash)) })
    }

    /// Whether the node knows any credential but its local one (P-18).
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        let stored = self.0.store.tokens().unwrap_or_default();
        !self.0.principals.file.load().is_empty() || stored.iter().any(|token| token.revoked_at.is_none())
    }

    /// Resolves once a credential no longer holds, within a second of that.
    pub async fn revoked(&self, credential: &Credential) {
        let Credential(Some(hash)) = credential else { return std::future::pending().await };
        let mut changes = self.0.principals.changes.subscribe();
        loop {
            if self.0.caller(hash, true).is_none() {
                return;
            }
            // An expiry changes nothing, so the clock is looked at too.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(1), changes.changed()).await;
        }
    }

    /// Makes a token; its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// A name that is no name, is taken or reserved; an agent that is not served.
    pub async fn token_new(&self, new: NewToken) -> Result<MadeToken, Fault> {
        for agent in new.agents.iter().flatten() {
            if self.agents().get(agent).is_none() {
                return Err(Fault::invalid("agents", format!("there is no agent {agent}")));
            }
        }
        if let Some(token) = self.0.principals.file.load().values().find(|token| token.name == new.name) {
            let why = format!("{} is a token of the configuration ({})", new.name, token.source);
            return Err(Fault::invalid("name", why));
        }
        let made = make_token(&self.0.store, new, self.0.store.now()).await?;
        self.0.principals.changed();
        Ok(made)
    }

    /// All tokens, without their secrets.
    ///
    /// # Errors
    /// The store's.
    pub async fn tokens(&self) -> Result<Vec<TokenInfo>, Fault> {
        list_tokens(&self.0.store, self.0.principals.file.load().values())
    }

    /// Ends all secrets under a name; with `cancel` also what they have running (O-21).
    ///
    /// # Errors
    /// A name that has no token of the store.
    pub async fn token_revoke(&self, name: &str, cancel: bool) -> Result<Revoked, Fault> {
        if let Some(token) = self.0.principals.file.load().values().find(|token| token.name == name) {
            let why = format!("is a token of the configuration; remove it at {} and reload", token.source);
            return Err(Fault::invalid("name", why));
        }
        let secrets = self.0.store.token_revoke(name, self.0.store.now()).await.map_err(fault_of)?;
        if secrets == 0 {
            return Err(Fault::invalid(
                "name",
                format!("there is no valid token {name}; see `a2ad token list`"),
            ));
        }
        self.0.principals.changed();
        let scope = PrincipalId::token(name);
        let canceled = self.0.end_all_of(&scope, cancel).await;
        Ok(Revoked { secrets: secrets as u64, canceled })
    }
}

impl Inner {
    /// Who holds the secret of a hash.
    fn caller(&self, hash: &Hash, local: bool) -> Option<Caller> {
        if *hash == self.principals.local {
            return local.then(|| Caller {
                principal: PrincipalId::local(),
                kind: Kind::Person,
                role: CallerRole::Admin,
                may_call: Agents::All,
                run: None,
                via: Via::Local,
            });
        }
        if let Some(token) = self.principals.file.load().get(hash) {
            return Some(bearer(&token.name, token.role, token.agents.clone()));
        }
        let token = self.store.token(hash).ok().flatten()?;
        let now = self.store.now();
        if token.revoked_at.is_some() || token.expires_at.is_some_and(|expires| expires <= now) {
            return None;
        }
        self.store.token_used(hash, now);
        Some(bearer(&token.name, token.role, token.agents.clone()))
    }

    /// Waiting tasks of a principal are rejected; with `cancel` its running ones end too. Gives how many ended.
    async fn end_all_of(self: &Arc<Self>, scope: &PrincipalId, cancel: bool) -> u64 {
        let by = super::node_itself();
        let unfinished = self.store.unfinished().await.unwrap_or_default();
        let mut ended = 0;
        for row in unfinished.into_iter().filter(|row| row.scope == *scope) {
            let id: &TaskId = &row.id;
            let waits = row.state == crate::model::TaskState::Submitted;
            if !waits && !cancel {
                continue;
            }
            let asked =
                self.ask(id, |answer| super::envelope::Envelope::Cancel { by: by.clone(), answer }).await;
            ended += u64::from(asked.is_ok() && !waits);
        }
        ended
    }
}

fn bearer(name: &str, role: CallerRole, agents: Agents) -> Caller {
    Caller {
        principal: PrincipalId::token(name),
        kind: if role == CallerRole::Peer { Kind::Peer } else { Kind::Person },
        role,
        may_call: agents,
        run: None,
        via: Via::Bearer,
    }
}

/// The tokens of a store and of a configuration, with or without a node over them.
///
/// # Errors
/// The store's.
pub fn list_tokens<'a>(
    store: &Store,
    file: impl Iterator<Item = &'a FileToken>,
) -> Result<Vec<TokenInfo>, Fault> {
    let mut tokens: Vec<TokenInfo> = store.tokens().map_err(fault_of)?.into_iter().map(stored_info).collect();
    tokens.extend(file.map(file_info));
    tokens.sort_by(|a, b| (&a.name, a.made_at).cmp(&(&b.name, b.made_at)));
    Ok(tokens)
}

/// Makes a token in a store, with or without a node over it.
///
/// # Errors
/// A name that is no name, is taken or reserved (O-7).
pub async fn make_token(store: &Store, new: NewToken, now: Timestamp) -> Result<MadeToken, Fault> {
    if let Err(error) = new.name.parse::<AgentName>()
        && matches!(error, crate::model::BadName::Letters(_))
    {
        return Err(Fault::invalid("name", error.to_string()));
    }
    let under: Vec<TokenRow> =
        store.tokens().map_err(fault_of)?.into_iter().filter(|token| token.name == new.name).collect();
    let valid = under.iter().any(|token| token.revoked_at.is_none());
    if valid && !new.add {
        let why = format!("{} has a token already; `--add` puts a further secret under it", new.name);
        return Err(Fault::invalid("name", why));
    }
    if !valid && !under.is_empty() && !new.reuse {
        let why =
            format!("{} was revoked and stays reserved; `--reuse` takes it again with all it owns", new.name);
        return Err(Fault::invalid("name", why));
    }
    let agents = new
        .agents
        .map(|names| names.iter().map(|name| name.parse()).collect::<Result<Arc<[AgentName]>, _>>())
        .transpose()
        .map_err(|error| Fault::invalid("agents", error.to_string()))?
        .map_or(Agents::All, Agents::These);
    let owned = store.owned(&PrincipalId::token(&new.name)).map_err(fault_of)?;
    let notes = shared_with(&store.tokens().map_err(fault_of)?, &new.name, &agents);
    let secret = secret::make().map_err(|error| super::incident(&error))?;
    let row = TokenRow {
        hash: secret::hash(&secret),
        shown: secret.chars().take(secret::SHOWN).collect(),
        name: new.name,
        role: new.role,
        agents,
        made_at: now,
        expires_at: new.expires_at,
        used_at: None,
        revoked_at: None,
    };
    store.token_add(row).await.map_err(fault_of)?;
    Ok(MadeToken { secret, owned, notes })
}

/// What the API keeps apart, the disk may not: said when a second principal gets an agent (O-13).
fn shared_with(tokens: &[TokenRow], name: &str, agents: &Agents) -> Vec<String> {
    let overlap = |other: &Agents| match (agents, other) {
        (Agents::These(mine), theirs) => mine.iter().any(|agent| theirs.holds(agent)),
        (Agents::All, _) => true,
    };
    let mut others: Vec<&str> = tokens
        .iter()
        .filter(|token| token.name != name && token.revoked_at.is_none() && overlap(&token.agents))
        .map(|token| token.name.as_str())
        .collect();
    others.sort_unstable();
    others.dedup();
    if others.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "shares agents with {}: principals who share an agent share its files and its program's transcripts",
        others.join(", ")
    )]
}

fn names(agents: &Agents) -> Option<Vec<String>> {
    match agents {
        Agents::All => None,
        Agents::These(names) => Some(names.iter().map(ToString::to_string).collect()),
    }
}

fn stored_info(token: TokenRow) -> TokenInfo {
    TokenInfo {
        name: token.name,
        shown: token.shown,
        role: token.role,
        agents: names(&token.agents),
        made_at: Some(token.made_at),
        expires_at: token.expires_at,
        used_at: token.used_at,
        revoked_at: token.revoked_at,
        source: "store".into(),
    }
}

fn file_info(token: &FileToken) -> TokenInfo {
    TokenInfo {
        name: token.name.clone(),
        shown: String::new(),
        role: token.role,
        agents: names(&token.agents),
        made_at: None,
        expires_at: None,
        used_at: None,
        revoked_at: None,
        source: token.source.clone(),
    }
}
