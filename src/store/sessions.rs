//! What runtimes remember of contexts (J-11).

use rusqlite::{Connection, OptionalExtension};

use super::error::Error;
use super::rows::SessionRow;
use crate::model::{AgentName, ContextId, PrincipalId, Session};

pub(super) fn get(
    db: &Connection,
    agent: &AgentName,
    principal: &PrincipalId,
    context: &ContextId,
) -> Result<Option<Session>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT session FROM sessions WHERE context = ?1 AND principal = ?2 AND agent = ?3",
    )?;
    let key = (context.as_str(), principal.as_str(), agent.as_str());
    Ok(statement.query_row(key, |row| row.get(0)).optional()?)
}

/// Stores a session, the newest wins; an empty one is forgotten.
pub(super) fn write(db: &Connection, row: &SessionRow) -> Result<(), Error> {
    if row.session.is_empty() {
        return forget(db, &row.agent, &row.principal, &row.context);
    }
    db.prepare_cached(
        "INSERT OR REPLACE INTO sessions (context, principal, agent, session) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((row.context.as_str(), row.principal.as_str(), row.agent.as_str(), &row.session))?;
    Ok(())
}

pub(super) fn forget(
    db: &Connection,
    agent: &AgentName,
    principal: &PrincipalId,
    context: &ContextId,
) -> Result<(), Error> {
    db.prepare_cached("DELETE FROM sessions WHERE context = ?1 AND principal = ?2 AND agent = ?3")?
        .execute((context.as_str(), principal.as_str(), agent.as_str()))?;
    Ok(())
}
