//! Tokens that callers show: only their hashes are stored (O-7, O-54).

use std::sync::PoisonError;
use std::time::Duration;

use rusqlite::{Connection, Row as SqlRow};

use super::Store;
use super::error::Error;
use super::writer::{Call, Group, Job};
use crate::model::{AgentName, Agents, CallerRole, Timestamp};

/// A token. Several may stand under one name; a name that was ever used stays reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// Its name: the principal is `token:NAME`.
    pub name: String,
    /// What its holder may do.
    pub role: CallerRole,
    /// Which agents its holder may use.
    pub agents: Agents,
    /// The first letters of the secret, to tell tokens apart.
    pub shown: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it ends, by the wall clock.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub used_at: Option<Timestamp>,
}

/// How often at most a token's use is written down.
const USES: Duration = Duration::from_secs(60);

impl Store {
    /// Adds a token.
    ///
    /// # Errors
    /// The store can't be written, or the token is there.
    pub async fn token_add(&self, token: TokenRow) -> Result<(), Error> {
        self.act(move |group| add(group.db, &token)).await
    }

    /// The token with a hash, whether good, expired or revoked.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn token(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, Error> {
        self.0.readers.with(|db| get(db, hash))
    }

    /// All tokens by name, revoked ones too: their names stay reserved.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        self.0.readers.with(all)
    }

    /// Revokes the tokens under a name; says how many were not yet.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn token_revoke(&self, name: &str, at: Timestamp) -> Result<usize, Error> {
        let name = name.to_owned();
        self.act(move |group| revoke(group.db, &name, at)).await
    }

    /// Notes that a token was used; written once a minute, and nobody waits for it.
    pub fn token_used(&self, hash: &[u8; 32], at: Timestamp) {
        let mut uses = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.get(hash).is_some_and(|last| at.since(*last) < USES) {
            return;
        }
        uses.insert(*hash, at);
        drop(uses);
        let hash = *hash;
        let (work, _) = Job::new(move |group: &mut Group<'_>| used(group.db, &hash, at));
        // A store that closes has no use for it.
        let _ = self.send(Call::Work(work));
    }
}

const COLUMNS: &str =
    "SELECT hash, name, role, agents, shown, made_at, expires_at, revoked_at, used_at FROM tokens";

fn add(db: &Connection, token: &TokenRow) -> Result<(), Error> {
    let agents = match &token.agents {
        Agents::All => None,
        Agents::These(names) => {
            let names: Vec<&str> = names.iter().map(AgentName::as_str).collect();
            Some(serde_json::to_string(&names).map_err(|error| Error::Malformed(error.to_string()))?)
        }
    };
    db.execute(
        "INSERT INTO tokens (hash, name, role, agents, shown, made_at, expires_at, revoked_at, used_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        (
            token.hash,
            &token.name,
            role_word(token.role),
            agents,
            &token.shown,
            token.made_at.millis(),
            token.expires_at.map(Timestamp::millis),
            token.revoked_at.map(Timestamp::millis),
            token.used_at.map(Timestamp::millis),
        ),
    )?;
    Ok(())
}

fn get(db: &Connection, hash: &[u8; 32]) -> Result<Option<TokenRow>, Error> {
    let mut statement = db.prepare_cached(&format!("{COLUMNS} WHERE hash = ?1"))?;
    let mut rows = statement.query([hash])?;
    rows.next()?.map(token).transpose()
}

/// All, by name, the oldest first.
fn all(db: &Connection) -> Result<Vec<TokenRow>, Error> {
    let mut statement = db.prepare(&format!("{COLUMNS} ORDER BY name, made_at, hash"))?;
    let mut rows = statement.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(token(row)?);
    }
    Ok(found)
}

/// Revokes all tokens under a name; says how many were still good.
fn revoke(db: &Connection, name: &str, at: Timestamp) -> Result<usize, Error> {
    let change = "UPDATE tokens SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL";
    Ok(db.execute(change, (name, at.millis()))?)
}

fn used(db: &Connection, hash: &[u8; 32], at: Timestamp) -> Result<(), Error> {
    db.prepare_cached("UPDATE tokens SET used_at = ?2 WHERE hash = ?1 AND ifnull(used_at, 0) < ?2")?
        .execute((hash, at.millis()))?;
    Ok(())
}

fn token(row: &SqlRow<'_>) -> Result<TokenRow, Error> {
    let time = |column| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let damaged = |what: &str| Error::Corrupt(format!("a token has {what} that can't be read"));
    let role: String = row.get(2)?;
    let agents = match row.get::<_, Option<String>>(3)? {
        None => Agents::All,
        Some(names) => {
            let names: Vec<AgentName> = serde_json::from_str(&names).map_err(|_| damaged("agents"))?;
            Agents::These(names.into())
        }
    };
    Ok(TokenRow {
        hash: row.get(0)?,
        name: row.get(1)?,
        role: role_of(&role).ok_or_else(|| damaged("a role"))?,
        agents,
        shown: row.get(4)?,
        made_at: Timestamp::from_millis(row.get(5)?),
        expires_at: time(6)?,
        revoked_at: time(7)?,
        used_at: time(8)?,
    })
}

const fn role_word(role: CallerRole) -> &'static str {
    match role {
        CallerRole::User => "user",
        CallerRole::Peer => "peer",
        CallerRole::Admin => "admin",
    }
}

fn role_of(word: &str) -> Option<CallerRole> {
    [CallerRole::User, CallerRole::Peer, CallerRole::Admin].into_iter().find(|role| role_word(*role) == word)
}
