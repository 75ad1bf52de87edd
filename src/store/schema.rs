//! The database file: how it is opened, its versions (O-37), and how it is kept small (O-36).

#![expect(clippy::disallowed_methods, reason = "the state directory is the store's own")]

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};

use super::config::{Config, Durability};
use super::error::Error;
use super::{dir, space};
use crate::model::Timestamp;

/// What brings the schema from each version to the next.
pub(super) const SCRIPTS: &[&str] = &[include_str!("schema/0001.sql")];

/// "a2ad": says whose file it is.
const APPLICATION: i32 = 0x6132_6164;

/// The binary that writes.
const WRITER: &str = concat!("a2ad ", env!("CARGO_PKG_VERSION"));

/// Free pages that are not worth the work of giving them back.
const SPARE: u32 = 256;

/// Free pages that are given back at a time.
const VACUUM: u32 = 2048;

/// How long the writer waits for a lock that only a stranger could hold.
const BUSY: Duration = Duration::from_secs(5);

/// Opens the database for writing, making or migrating it as needed.
pub(super) fn open(path: &Path, config: &Config, scripts: &[&str]) -> Result<Connection, Error> {
    dir::create(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .map_err(|error| Error::file("open", path, &error))?;
    let mut db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    db.busy_timeout(BUSY)?;
    cache_statements(&db)?;
    refuse_foreign(&db, path, scripts)?;
    // Before the first table: can't be turned on later without rewriting the file.
    db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0))?;
    if mode != "wal" {
        let path = path.display();
        return Err(Error::Io(format!("{path}: the file system does not allow a write-ahead log")));
    }
    synchronize(&db, config)?;
    db.execute_batch("PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY;")?;
    if let Some(max) = config.max {
        let page: u64 = db.query_row("PRAGMA page_size", (), |row| row.get::<_, u32>(0))?.into();
        db.query_row(&format!("PRAGMA max_page_count = {}", (max / page).max(1)), (), |_| Ok(()))?;
    }
    migrate(&mut db, path, scripts)?;
    Ok(db)
}

/// Keeps statements prepared. Without the flag SQLite prepares many of them anew for each new value bound, to see
/// whether another plan would suit it better: half of the time of a read.
pub(super) fn cache_statements(db: &Connection) -> Result<(), Error> {
    db.set_prepared_statement_cache_capacity(64);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// How carefully is written, by every connection that writes.
fn synchronize(db: &Connection, config: &Config) -> Result<(), Error> {
    Ok(db.execute_batch(match config.durability {
        Durability::Strict => {
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"
        }
        Durability::Relaxed => "PRAGMA synchronous = NORMAL",
    })?)
}

/// Opens the database once more, to move its log.
pub(super) fn open_beside(path: &Path, config: &Config) -> Result<Connection, Error> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    synchronize(&db, config)?;
    Ok(db)
}

fn version(db: &Connection) -> Result<u32, Error> {
    Ok(db.query_row("PRAGMA user_version", (), |row| row.get(0))?)
}

/// Refuses what a later version or another program made, before anything is changed.
fn refuse_foreign(db: &Connection, path: &Path, scripts: &[&str]) -> Result<(), Error> {
    let application: i32 = db.query_row("PRAGMA application_id", (), |row| row.get(0))?;
    let objects: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    if application != APPLICATION && objects > 0 {
        return Err(Error::Corrupt(format!("{} belongs to another program", path.display())));
    }
    let found = version(db)?;
    let known = u32::try_from(scripts.len()).unwrap_or(u32::MAX);
    if found > known {
        let written_by = written_by(db).unwrap_or_else(|| "a later version".to_owned());
        return Err(Error::Newer { path: path.to_owned(), found, known, written_by });
    }
    Ok(())
}

fn written_by(db: &Connection) -> Option<String> {
    db.query_row("SELECT value FROM meta WHERE key = 'written_by'", (), |row| row.get(0)).ok()
}

/// Brings the schema up to date, each version in a transaction of its own.
fn migrate(db: &mut Connection, path: &Path, scripts: &[&str]) -> Result<(), Error> {
    let found = version(db)?;
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    if found > 0 && done < scripts.len() {
        keep_copy(db, path, found, scripts.len())?;
    }
    for (number, script) in scripts.iter().enumerate().skip(done) {
        let change = Transaction::new(db, TransactionBehavior::Immediate)?;
        change.execute_batch(script)?;
        change.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}",
            number + 1
        ))?;
        change.commit()?;
    }
    if written_by(db).as_deref() != Some(WRITER) {
        db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('written_by', ?1)", [WRITER])?;
    }
    Ok(())
}

/// Copies the database to `node.db.before-N`, if there is room.
fn keep_copy(db: &Connection, path: &Path, from: u32, to: usize) -> Result<(), Error> {
    checkpoint(db, "TRUNCATE")?;
    let needed = fs::metadata(path).map_err(|error| Error::file("read", path, &error))?.len();
    if let Some(free) = path.parent().and_then(space::free)
        && free < needed.saturating_mul(2)
    {
        let to = u32::try_from(to).unwrap_or(u32::MAX);
        return Err(Error::NoRoomToMigrate { path: path.to_owned(), from, to, needed, free });
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".before-{}", to));
    let copy = PathBuf::from(name);
    let kept = fs::copy(path, &copy).and_then(|_| OpenOptions::new().write(true).open(&copy)?.sync_all());
    kept.map_err(|error| Error::file("write", &copy, &error))
}

/// The newest time that was stored.
pub(super) fn clock(db: &Connection) -> Result<Option<Timestamp>, Error> {
    let millis =
        db.query_row("SELECT value FROM meta WHERE key = 'clock'", (), |row| row.get(0)).optional()?;
    Ok(millis.map(Timestamp::from_millis))
}

/// Remembers a time; an earlier one than is stored changes nothing.
pub(super) fn set_clock(db: &Connection, millis: i64) -> Result<(), Error> {
    db.prepare_cached(
        "INSERT INTO meta (key, value) VALUES ('clock', ?1)
         ON CONFLICT DO UPDATE SET value = excluded.value WHERE excluded.value > value",
    )?
    .execute([millis])?;
    Ok(())
}

/// Gives free pages back and empties the log. Says whether nothing is left to do.
pub(super) fn shrink(db: &Connection) -> Result<bool, Error> {
    let free: u32 = db.query_row("PRAGMA freelist_count", (), |row| row.get(0))?;
    if free > SPARE {
        let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({VACUUM})"))?;
        let mut pages = statement.query(())?;
        while pages.next()?.is_some() {}
    }
    Ok(checkpoint(db, "TRUNCATE")? && free <= SPARE + VACUUM)
}

/// Moves what of the log no reader needs any more into the database. Nobody waits for it.
pub(super) fn move_log(db: &Connection) -> Result<(), Error> {
    Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?)
}

/// Moves the log into the database and lets it begin anew; says whether no reader was in the way.
pub(super) fn begin_anew(db: &Connection) -> Result<bool, Error> {
    checkpoint(db, "RESTART")
}

fn checkpoint(db: &Connection, mode: &str) -> Result<bool, Error> {
    // A reader is done soon; those who want to write don't wait for him.
    db.busy_timeout(Duration::from_millis(20))?;
    let pragma = format!("PRAGMA wal_checkpoint({mode})");
    let busy = db.query_row(&pragma, (), |row| row.get::<_, bool>(0));
    db.busy_timeout(BUSY)?;
    Ok(!busy?)
}
