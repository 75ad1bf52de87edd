//! What the command line does while no node runs: tokens, and a look at the agents' programs.
//!
//! For tokens the store is opened, changed and closed again; its own lock sees to it that no node runs on it meanwhile.

use crate::{
    config::Config,
    doors::config::Listen,
    model::{
        Fault, Timestamp,
        ops::{Finding, Level, MadeToken, NewToken, Revoked, TokenInfo},
    },
    node::{FileToken, list_tokens, make_token},
    runtime::{child, config::RuntimeKind},
    store::{self, Store},
};

/// Why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store can't be had.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// What was asked can't be.
    #[error(transparent)]
    Refused(#[from] Fault),
}

/// Makes a token; its secret is in the answer and nowhere else.
///
/// # Errors
/// As the running node has them.
pub async fn token_new(config: &Config, new: NewToken, now: Timestamp) -> Result<MadeToken, Error> {
    if let Some(token) = config.tokens.iter().find(|token| token.name == new.name) {
        let why = format!("{} is a token of the configuration ({})", new.name, token.origin);
        return Err(Fault::invalid("name", why).into());
    }
    for agent in new.agents.iter().flatten().filter(|_| !config.agents.is_empty()) {
        if !config.agents.iter().any(|served| served.name.as_str() == agent) {
            return Err(Fault::invalid("agents", format!("there is no agent {agent}")).into());
        }
    }
    let store = Store::open(&config.store, now).await?;
    let made = make_token(&store, new, store.now()).await;
    store.close().await;
    Ok(made?)
}

/// The tokens of a configuration, as the node wants them.
#[must_use]
pub fn file_tokens(config: &Config) -> Vec<FileToken> {
    let tokens = config.tokens.iter().map(|token| FileToken {
        name: token.name.clone(),
        hash: token.sha256,
        role: token.role,
        agents: token.agents.clone(),
        source: token.origin.to_string(),
    });
    tokens.collect()
}

/// All tokens, without their secrets: those of the store and those of the configuration.
///
/// # Errors
/// The store's.
pub async fn tokens(config: &Config, now: Timestamp) -> Result<Vec<TokenInfo>, Error> {
    let store = Store::open(&config.store, now).await?;
    let tokens = list_tokens(&store, file_tokens(config).iter());
    store.close().await;
    Ok(tokens?)
}

/// Ends all secrets under a name. Nothing runs that could be canceled.
///
/// # Errors
/// A name that has no token of the store.
pub async fn token_revoke(config: &Config, name: &str, now: Timestamp) -> Result<Revoked, Error> {
    if let Some(token) = config.tokens.iter().find(|token| token.name == name) {
        let why = format!("is a token of the configuration; remove it at {}", token.origin);
        return Err(Fault::invalid("name", why).into());
    }
    let store = Store::open(&config.store, now).await?;
    let secrets = store.token_revoke(name, store.now()).await;
    store.close().await;
    match secrets? {
        0 => {
            Err(Fault::invalid("name", format!("there is no valid token {name}; see `a2ad token list`"))
                .into())
        }
        secrets => Ok(Revoked { secrets: secrets as u64, canceled: 0 }),
    }
}

/// What this program is made of: the version of its store's schema, and the runtimes that it has.
#[must_use]
pub fn made_of() -> (usize, Vec<&'static str>) {
    let runtimes = RuntimeKind::ALL.into_iter().map(RuntimeKind::as_str);
    (store::schema_version(), runtimes.collect())
}

/// Which program each agent would run, from where this process stands.
#[must_use]
pub fn programs(config: &Config) -> Vec<Finding> {
    let agents = config.agents.iter().map(|agent| {
        let what = format!("agent {}", agent.name);
        let workspace = &agent.workspace;
        match agent.command.first().map(|program| child::find(program, config.path.as_deref(), workspace)) {
            None => Finding { level: Level::Ok, what, text: agent.runtime.to_string() },
            Some(Ok(path)) => Finding { level: Level::Ok, what, text: path.display().to_string() },
            Some(Err(error)) => Finding { level: Level::Fail, what, text: error.to_string() },
        }
    });
    agents.collect()
}

/// Whether the ports can be had now.
#[must_use]
pub fn ports(config: &Config) -> Vec<Finding> {
    let listen = config.doors.listen.iter().filter_map(|listen| match listen {
        Listen::Tcp { addr, optional: false } => Some(addr),
        Listen::Tcp { optional: true, .. } | Listen::Unix { .. } => None,
    });
    let look = |addr: &std::net::SocketAddr| {
        let (level, text) = match std::net::TcpListener::bind(addr) {
            Ok(_) => (Level::Ok, format!("{addr} is free")),
            Err(error) => {
                (Level::Fail, format!("{addr} can't be listened on now: {error}; is a node running there?"))
            }
        };
        Finding { level, what: "port".to_owned(), text }
    };
    listen.map(look).collect()
}
