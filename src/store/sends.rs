//! Messages that were accepted, so that none is accepted twice (P-21).

use std::time::Duration;

use rusqlite::Connection;

use super::error::Error;
use super::journal::{number, seq};
use super::rows::{Row, Sent};
use crate::model::{AgentName, PrincipalId, TaskId, Timestamp};

/// How long an acceptance counts.
pub(super) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What begins the key of an `Idempotency-Key`, which counts whatever the request says.
const HEADER: &str = "h:";

/// All acceptances under a key whose task still exists, the newest first.
pub(super) fn under(
    db: &Connection,
    principal: &PrincipalId,
    agent: &AgentName,
    key: &str,
) -> Result<Vec<Sent>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT digest, stream, seq, at FROM sends
         WHERE principal = ?1 AND agent = ?2 AND key = ?3 AND EXISTS (SELECT 1 FROM tasks WHERE id = stream)
         ORDER BY at DESC",
    )?;
    let sent = |row: &rusqlite::Row<'_>| {
        Ok(Sent {
            principal: principal.clone(),
            agent: agent.clone(),
            key: key.to_owned(),
            digest: row.get(0)?,
            stream: TaskId::from(row.get_ref(1)?.as_str()?),
            seq: seq(row.get(2)?),
            at: Timestamp::from_millis(row.get(3)?),
        })
    };
    let rows = statement.query_map((principal.as_str(), agent.as_str(), key), sent)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Refuses a message that was accepted before, unless the same batch says that the acceptance counts no more.
pub(super) fn check(db: &Connection, sent: &Sent, rows: &[Row]) -> Result<(), Error> {
    if !any(db, sent)? {
        return Ok(());
    }
    let unsent = |earlier: &Sent| {
        rows.iter().any(|row| match row {
            Row::Unsent(unsent) => unsent.digest == earlier.digest && unsent.stream == earlier.stream,
            _ => false,
        })
    };
    let by_header = sent.key.starts_with(HEADER);
    under(db, &sent.principal, &sent.agent, &sent.key)?
        .into_iter()
        .find(|earlier| {
            (by_header || earlier.digest == sent.digest)
                && sent.at.since(earlier.at) < KEPT
                && !unsent(earlier)
        })
        .map_or(Ok(()), |earlier| Err(Error::Replayed(earlier)))
}

/// Whether anything is stored under the key: most are new.
fn any(db: &Connection, sent: &Sent) -> Result<bool, Error> {
    let mut statement =
        db.prepare_cached("SELECT 1 FROM sends WHERE principal = ?1 AND agent = ?2 AND key = ?3 LIMIT 1")?;
    Ok(statement.exists((sent.principal.as_str(), sent.agent.as_str(), &sent.key))?)
}

/// Stores an acceptance, in place of one that counts no more.
pub(super) fn write(db: &Connection, sent: &Sent) -> Result<(), Error> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO sends (principal, agent, key, digest, stream, seq, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        sent.principal.as_str(),
        sent.agent.as_str(),
        &sent.key,
        sent.digest,
        sent.stream.as_str(),
        number(sent.seq),
        sent.at.millis(),
    ))?;
    Ok(())
}

/// Forgets an acceptance if it still points to the same task.
pub(super) fn forget(db: &Connection, sent: &Sent) -> Result<(), Error> {
    db.prepare_cached(
        "DELETE FROM sends WHERE principal = ?1 AND agent = ?2 AND key = ?3 AND digest = ?4 AND stream = ?5",
    )?
    .execute((
        sent.principal.as_str(),
        sent.agent.as_str(),
        &sent.key,
        sent.digest,
        sent.stream.as_str(),
    ))?;
    Ok(())
}

/// The key of an acceptance in its table.
pub(super) struct Key {
    principal: String,
    agent: String,
    key: String,
    digest: [u8; 32],
}

/// Acceptances from before `limit`, at most so many.
pub(super) fn before(db: &Connection, limit: Timestamp, most: usize) -> Result<Vec<Key>, Error> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement =
        db.prepare_cached("SELECT principal, agent, key, digest FROM sends WHERE at < ?1 LIMIT ?2")?;
    let rows = statement.query_map((limit.millis(), most), |row| {
        Ok(Key { principal: row.get(0)?, agent: row.get(1)?, key: row.get(2)?, digest: row.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Deletes those of the keys that are still from before `limit`; says how many.
pub(super) fn delete(db: &Connection, keys: &[Key], limit: Timestamp) -> Result<u64, Error> {
    let mut statement = db.prepare_cached(
        "DELETE FROM sends WHERE principal = ?1 AND agent = ?2 AND key = ?3 AND digest = ?4 AND at < ?5",
    )?;
    let mut deleted = 0;
    for key in keys {
        let row = (&key.principal, &key.agent, &key.key, key.digest, limit.millis());
        deleted += u64::try_from(statement.execute(row)?).unwrap_or(0);
    }
    Ok(deleted)
}
