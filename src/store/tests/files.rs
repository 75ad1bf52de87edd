#![expect(clippy::disallowed_methods, reason = "the files are what is tested")]

use std::fs;

use super::*;

async fn refused(place: &Place) -> Error {
    match Store::open(&place.config, Timestamp::now()).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn ur_72_a_second_node_is_refused_and_told_who_holds_the_state() {
    let place = Place::new();
    let store = place.open().await;
    let error = refused(&place).await;
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    #[cfg(unix)]
    assert!(error.to_string().contains(&format!("pid {}, since 20", std::process::id())), "{error}");
    store.commit(opening(&task("t1"), 1)).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert!(store.task(&TaskId::from("t1")).unwrap().is_some());
}

#[tokio::test]
async fn the_state_is_held_until_the_store_is_closed() {
    let place = Place::new();
    let store = place.open().await;
    let clone = store.clone();
    drop(store);
    assert!(matches!(refused(&place).await, Error::Locked { .. }));
    clone.close().await;
    place.open().await.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_only_also_if_they_were_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    fs::create_dir(&place.config.dir).unwrap();
    fs::set_permissions(&place.config.dir, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.file("node.db"), "").unwrap();
    fs::set_permissions(place.file("node.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let store = place.open().await;
    store.commit(opening(&task("t1"), 1)).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.config.dir), 0o700);
    let mut names = Vec::new();
    for file in fs::read_dir(&place.config.dir).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["node.ballast", "node.db", "node.db-shm", "node.db-wal", "node.lock"]);
}

#[tokio::test]
async fn a_damaged_database_is_refused_and_kept() {
    let place = Place::new();
    place.open().await.close().await;
    let sound = fs::read(place.file("node.db")).unwrap();
    let mut letters = vec![b'?'; sound.len()];
    letters[..6].copy_from_slice(b"SQLite");
    let cut = sound[..sound.len() / 2].to_vec();
    for damaged in [letters, cut] {
        fs::write(place.file("node.db"), &damaged).unwrap();
        let error = refused(&place).await;
        assert!(matches!(error, Error::Corrupt(_)), "{error}");
        assert!(error.to_string().contains("node.db"), "{error}");
        assert!(error.to_string().contains("kept as it is"), "{error}");
        assert_eq!(fs::read(place.file("node.db")).unwrap(), damaged);
    }
    fs::write(place.file("node.db"), sound).unwrap();
    place.open().await.close().await;
}

#[tokio::test]
async fn damage_that_shows_later_stops_all_writing() {
    let place = Place::new();
    let store = place.open().await;
    for n in 0..50 {
        store.commit(opening(&task(&format!("t{n}")), 20)).await.unwrap();
    }
    store.close().await;
    let path = place.file("node.db");
    let mut bytes = fs::read(&path).unwrap();
    // All but the first pages, which tell the schema.
    let pages = bytes.len() / 4096;
    bytes[15 * 4096..pages * 4096].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    let store = place.open().await;
    let mut failures = Vec::new();
    for n in 0..50 {
        failures.extend(store.commit(opening(&task(&format!("u{n}")), 20)).await.err());
    }
    assert!(matches!(failures.first(), Some(Error::Corrupt(_))), "{failures:?}");
    assert!(matches!(failures.last(), Some(Error::Corrupt(_))), "{failures:?}");
    let why = store.room().writable.unwrap_err();
    assert!(why.contains("damaged"), "{why}");
}

#[tokio::test]
async fn the_database_of_another_program_is_refused() {
    let place = Place::new();
    fs::create_dir(&place.config.dir).unwrap();
    let other = Connection::open(place.file("node.db")).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(other);
    let error = refused(&place).await;
    assert!(error.to_string().contains("belongs to another program"), "{error}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_both_versions_and_who_wrote_it() {
    let place = Place::new();
    let store = place.open().await;
    store
        .act(|group| {
            group.db.execute_batch(
                "UPDATE meta SET value = 'a2ad 9.8.7' WHERE key = 'written_by'; PRAGMA user_version = 42",
            )?;
            Ok(())
        })
        .await
        .unwrap();
    store.close().await;
    let before = fs::read(place.file("node.db")).unwrap();
    let error = refused(&place).await;
    assert!(matches!(error, Error::Newer { found: 42, known: 1, .. }), "{error}");
    assert!(error.to_string().contains("a2ad 9.8.7"), "{error}");
    assert!(error.to_string().contains(env!("CARGO_PKG_VERSION")), "{error}");
    assert_eq!(fs::read(place.file("node.db")).unwrap(), before);
}

/// Opens a store as a later version would, with further scripts.
fn open_later(place: &Place, further: &[&'static str]) -> Result<Store, Error> {
    let scripts: Vec<&str> = schema::SCRIPTS.iter().copied().chain(further.iter().copied()).collect();
    Store::open_now(place.config.clone(), Timestamp::now(), &scripts)
}

#[tokio::test]
async fn a_migration_keeps_what_is_there_and_a_copy_of_it() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(opening(&task("t1"), 3)).await.unwrap();
    store.close().await;
    let later = ["ALTER TABLE tasks ADD COLUMN parent TEXT", "CREATE TABLE pushes (id TEXT)"];
    let store = open_later(&place, &later).unwrap();
    assert_eq!(store.entries(&TaskId::from("t1"), 0, 9).unwrap().len(), 3);
    store.commit(opening(&task("t2"), 1)).await.unwrap();
    store.close().await;

    let copy = Connection::open(place.file("node.db.before-3")).unwrap();
    let version: u32 = copy.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
    let tasks: u32 = copy.query_row("SELECT count(*) FROM tasks", (), |row| row.get(0)).unwrap();
    assert_eq!((version, tasks), (1, 1));
    let error = refused(&place).await;
    assert!(matches!(error, Error::Newer { found: 3, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(opening(&task("t1"), 3)).await.unwrap();
    store.close().await;
    let bad = "CREATE TABLE halfway (id TEXT); ALTER TABLE nothing ADD COLUMN parent TEXT";
    assert!(open_later(&place, &[bad]).is_err());
    let store = place.open().await;
    assert!(store.task(&TaskId::from("t1")).unwrap().is_some());
    let tables: u32 = store
        .look(|db| {
            let name = "SELECT count(*) FROM sqlite_schema WHERE name = 'halfway'";
            Ok(db.query_row(name, (), |row| row.get(0))?)
        })
        .await
        .unwrap();
    assert_eq!(tables, 0);
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_told() {
    let mut place = Place::new();
    let file = place.dir.path().join("file");
    fs::write(&file, "").unwrap();
    place.config.dir = file.join("state");
    let error = refused(&place).await;
    assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
}

/// Below /sys nobody, not even root, makes a directory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_cannot_be_written_is_told_with_what_to_do() {
    let mut place = Place::new();
    place.config.dir = "/sys/a2ad-state".into();
    let error = refused(&place).await;
    assert!(matches!(error, Error::ReadOnly(_)), "{error}");
    assert!(error.to_string().contains("--state-dir"), "{error}");
}

#[tokio::test]
async fn a_full_store_refuses_and_keeps_what_it_acknowledged() {
    let mut place = Place::new();
    place.config.max = Some(400 * 1024);
    let store = place.open().await;
    let mut kept = 0;
    let error = loop {
        let mut batch = opening(&task(&format!("t{kept}")), 1);
        batch.appends[0].entries[0].fact = Bytes::from(vec![b'x'; 20_000]);
        match store.commit(batch).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "it never gets full");
    };
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert!(kept > 5, "{kept}");
    let why = store.room().writable.unwrap_err();
    assert!(why.contains("store.max"), "{why}");
    assert_eq!(store.task(&TaskId::from(format!("t{kept}"))).unwrap(), None, "nothing half-written");

    // What is deleted makes room.
    store.delete_task(&TaskId::from("t0")).await.unwrap();
    store.commit(opening(&task("small"), 1)).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.totals().await.unwrap().all(), kept);
    assert_eq!(store.entries(&TaskId::from("t1"), 0, 9).unwrap()[0].fact.len(), 20_000);
}

#[tokio::test]
async fn the_files_become_small_again() {
    let place = Place::new();
    let store = place.open().await;
    for n in 0..40 {
        let mut batch = opening(&task(&format!("t{n}")), 1);
        batch.appends[0].entries[0].fact = Bytes::from(vec![b'x'; 100_000]);
        store.commit(batch).await.unwrap();
    }
    store.close().await;
    let size = || fs::metadata(place.file("node.db")).unwrap().len();
    let full = size();
    assert!(full > 4_000_000, "{full}");
    assert!(!place.file("node.db-wal").exists());
    let store = place.open().await;
    for n in 0..40 {
        store.delete_task(&TaskId::from(format!("t{n}"))).await.unwrap();
    }
    store.close().await;
    assert!(size() < full / 2, "{} of {full}", size());
}

#[tokio::test]
async fn durability_is_what_the_configuration_says() {
    for (durability, level) in [(Durability::Strict, 2), (Durability::Relaxed, 1)] {
        let mut place = Place::new();
        place.config.durability = durability;
        let store = place.open().await;
        let pragmas = store
            .act(|group| {
                let get = |name: &str| {
                    group.db.query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, i64>(0))
                };
                Ok((get("synchronous")?, get("auto_vacuum")?))
            })
            .await
            .unwrap();
        assert_eq!(pragmas, (level, 2), "{durability:?}");
    }
}

/// However fast somebody writes and however constantly somebody reads: the log is moved and begins anew.
#[tokio::test]
async fn the_log_stays_short_while_everybody_is_busy() {
    let place = Place::new();
    let store = place.open().await;
    let mut row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let reader = store.clone();
    let reading = tokio_util::sync::CancellationToken::new();
    let read = reading.clone();
    let busy = blocking(move || {
        while !read.is_cancelled() {
            reader.entries(&TaskId::from("t1"), 0, 1)?;
        }
        Ok(())
    });
    let write = async {
        let mut longest = 0;
        for _ in 0..192 {
            let mut batch = going_on(&row, row.seq + 1);
            batch.appends[0].entries[0].fact = Bytes::from(vec![7; 1 << 20]);
            store.commit(batch).await.unwrap();
            row.seq += 1;
            longest = longest.max(fs::metadata(place.file("node.db-wal")).unwrap().len());
        }
        reading.cancel();
        longest
    };
    let (longest, outcome) = tokio::join!(write, busy);
    outcome.unwrap();
    assert!(longest < 128 << 20, "the log grew to {} MiB of 192 written", longest >> 20);
    store.close().await;
    assert!(!place.file("node.db-wal").exists());
    assert_eq!(place.open().await.entries(&row.id, 0, 500).unwrap().len(), 193);
}
