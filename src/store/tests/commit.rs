use std::pin::Pin;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use super::*;

#[tokio::test]
async fn what_was_committed_is_read_back_also_after_a_restart() {
    let place = Place::new();
    let store = place.open().await;
    let snapshot = Snapshot { json: Bytes::from_static(b"{\"id\":\"t1\"}"), seq: 2, history: 1 };
    let row = TaskRow { seq: 2, not_before: Some(at(9)), snapshot: Some(snapshot), ..task("t1") };
    let mut entries = append(&row.id, 1, 2);
    entries.entries[1].by.run = Some(TaskId::from("t0"));
    let session = SessionRow {
        agent: agent("echo"),
        principal: desk(),
        context: row.context.clone(),
        session: "s-1".to_owned(),
    };
    let batch = Batch {
        appends: vec![entries.clone()],
        rows: vec![Row::NewTask(row.clone()), Row::Session(session.clone())],
    };
    store.commit(batch).await.unwrap();
    let check = |store: &Store| {
        assert_eq!(store.task(&row.id).unwrap(), Some(row.clone()));
        assert_eq!(store.entries(&row.id, 0, 10).unwrap(), entries.entries);
        assert_eq!(store.entries(&row.id, 1, 10).unwrap(), entries.entries[1..]);
        assert_eq!(store.entries(&row.id, 0, 1).unwrap(), entries.entries[..1]);
        let session = store.session(&session.agent, &session.principal, &session.context).unwrap();
        assert_eq!(session.as_deref(), Some("s-1"));
        assert_eq!(store.task(&TaskId::from("t2")).unwrap(), None);
    };
    check(&store);
    store.close().await;
    check(&place.open().await);
}

#[tokio::test]
async fn a_head_changes_the_row_and_leaves_the_snapshot_unless_it_brings_one() {
    let place = Place::new();
    let store = place.open().await;
    let old = Snapshot { json: Bytes::from_static(b"old"), seq: 1, history: 1 };
    let row = TaskRow { snapshot: Some(old.clone()), ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let mut row = TaskRow { seq: 1, ..row };
    store.commit(going_on(&row, 2)).await.unwrap();
    row.seq = 2;
    assert_eq!(store.task(&row.id).unwrap(), Some(row.clone()));

    let new = Snapshot { json: Bytes::from_static(b"newer"), seq: 3, history: 2 };
    let end = Head {
        state: TaskState::Completed,
        status_at: at(5),
        updated_at: at(6),
        born: false,
        not_before: Some(at(7)),
        snapshot: Some(new.clone()),
        ..head(&row, 3)
    };
    store.commit(Batch { appends: vec![append(&row.id, 3, 3)], rows: vec![Row::Head(end)] }).await.unwrap();
    let expected = TaskRow {
        seq: 3,
        state: TaskState::Completed,
        status_at: at(5),
        updated_at: at(6),
        born: false,
        not_before: Some(at(7)),
        snapshot: Some(new),
        ..row
    };
    assert_eq!(store.task(&expected.id).unwrap(), Some(expected));
}

#[tokio::test]
async fn a_stale_expected_is_refused_and_nothing_of_the_batch_is_written() {
    let place = Place::new();
    let store = place.open().await;
    let row = task("t1");
    store.commit(opening(&row, 2)).await.unwrap();
    let stale = TaskRow { seq: 1, ..row.clone() };
    let mut batch = opening(&task("t2"), 1);
    batch.appends.extend(going_on(&stale, 2).appends);
    batch.rows.extend(going_on(&stale, 2).rows);
    let refused = store.commit(batch).await.unwrap_err();
    assert!(matches!(&refused, Error::Conflict { stream, head: 2 } if *stream == row.id), "{refused}");
    assert_eq!(store.task(&TaskId::from("t2")).unwrap(), None);
    assert_eq!(store.entries(&row.id, 0, 10).unwrap().len(), 2);

    let refused = store.commit(opening(&row, 1)).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { head: 2, .. }), "{refused}");
}

#[tokio::test]
async fn a_journal_without_a_task_is_guarded_too() {
    let place = Place::new();
    let store = place.open().await;
    let room = TaskId::from("a-room");
    let write = |from, to| store.commit(Batch { appends: vec![append(&room, from, to)], rows: Vec::new() });
    write(1, 3).await.unwrap();
    let refused = write(1, 1).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { head: 3, .. }), "{refused}");
    let refused = write(5, 5).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { head: 3, .. }), "{refused}");
    write(4, 4).await.unwrap();
    assert_eq!(store.entries(&room, 0, 10).unwrap().len(), 4);
}

#[tokio::test]
async fn an_earlier_holder_cannot_write_any_more() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let claimed = store.claim(&row.id).await.unwrap().unwrap();
    assert_eq!(claimed.epoch, row.epoch + 1);
    let refused = store.commit(going_on(&row, 2)).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { head: 1, .. }), "{refused}");
    store.commit(going_on(&claimed, 2)).await.unwrap();
    assert_eq!(store.claim(&TaskId::from("t2")).await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_that_contradicts_itself_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();

    let mut gap = going_on(&row, 3);
    gap.appends[0].entries.remove(0);
    let mut longer = going_on(&row, 2);
    longer.appends[0].entries.push(entry(3));
    let mut twice = going_on(&row, 2);
    twice.rows.push(Row::Head(head(&row, 2)));
    for batch in [gap, longer, twice] {
        let refused = store.commit(batch).await.unwrap_err();
        assert!(matches!(refused, Error::Malformed(_)), "{refused}");
        assert_eq!(store.task(&row.id).unwrap(), Some(row.clone()));
        assert_eq!(store.entries(&row.id, 0, 10).unwrap().len(), 1);
    }
    assert_eq!(store.totals().await.unwrap().all(), 1);
}

/// Sends batches while the writer is held, so that all wait together; answers in their order.
async fn together(store: &Store, batches: Vec<Batch>) -> Vec<Result<(), Error>> {
    let release = held(store).await;
    let mut waiting: Vec<Pin<Box<dyn Future<Output = _> + '_>>> = Vec::new();
    for batch in batches {
        let mut commit = Box::pin(store.commit(batch));
        assert!((&mut commit).now_or_never().is_none(), "the writer is held");
        waiting.push(commit);
    }
    drop(release);
    join_all(waiting).await
}

#[tokio::test]
async fn what_waits_together_becomes_one_transaction() {
    let place = Place::new();
    let store = place.open().await;
    let before = store.transactions();
    let batches = (0..100).map(|n| opening(&task(&format!("t{n}")), 2)).collect();
    let answers = together(&store, batches).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    // One held the writer, one is the hundred.
    assert_eq!(store.transactions() - before, 2);
    assert_eq!(store.totals().await.unwrap().of(TaskState::Working), 100);
}

#[tokio::test]
async fn neighbours_of_a_bad_batch_survive() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t0") };
    store.commit(opening(&row, 1)).await.unwrap();
    // Refused while it is written, when its first head stands already.
    let mut broken = going_on(&row, 2);
    broken.rows.push(Row::Head(head(&row, 2)));
    let stale = going_on(&TaskRow { seq: 7, ..row.clone() }, 8);
    let answers = together(
        &store,
        vec![opening(&task("t1"), 1), broken, stale, going_on(&row, 2), opening(&task("t2"), 1)],
    )
    .await;
    let good: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, false, true, true], "{answers:?}");
    assert_eq!(store.totals().await.unwrap().all(), 3);
    assert_eq!(store.entries(&row.id, 0, 10).unwrap().len(), 2);
}

#[tokio::test]
async fn of_two_that_write_at_once_one_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let answers = together(&store, vec![going_on(&row, 2), going_on(&row, 3)]).await;
    assert!(answers[0].is_ok(), "{answers:?}");
    assert!(matches!(answers[1], Err(Error::Conflict { head: 2, .. })), "{answers:?}");
}

#[tokio::test]
async fn a_batch_is_stored_also_if_the_caller_goes_away() {
    let place = Place::new();
    let store = place.open().await;
    let release = held(&store).await;
    let mut commit = Box::pin(store.commit(opening(&task("t1"), 1)));
    assert!((&mut commit).now_or_never().is_none());
    drop(commit);
    drop(release);
    store.close().await;
    assert!(place.open().await.task(&TaskId::from("t1")).unwrap().is_some());
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let place = Place::new();
    let store = place.open().await;
    store.clone().close().await;
    let refused = store.commit(opening(&task("t1"), 1)).await.unwrap_err();
    assert!(matches!(refused, Error::Closed), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ur_73_many_writers_neither_damage_nor_lose_anything() {
    let place = Place::new();
    let store = place.open().await;
    let writers = (0..16).map(|n| {
        let store = store.clone();
        async move {
            let mut row = TaskRow { seq: 1, ..task(&format!("t{n}")) };
            store.commit(opening(&row, 1)).await.unwrap();
            for _ in 0..20 {
                store.commit(going_on(&row, row.seq + 2)).await.unwrap();
                row.seq += 2;
                assert_eq!(store.task(&row.id).unwrap().unwrap().seq, row.seq);
            }
        }
    });
    let mut set = tokio::task::JoinSet::new();
    writers.for_each(|writer| drop(set.spawn(writer)));
    set.join_all().await;
    store.close().await;

    let store = place.open().await;
    for n in 0..16 {
        let seqs = store.entries(&TaskId::from(format!("t{n}")), 0, 100).unwrap();
        assert!(seqs.iter().map(|entry| entry.seq).eq(1..=41), "{n}");
    }
    let sound: String =
        store.look(|db| Ok(db.query_row("PRAGMA integrity_check", (), |row| row.get(0))?)).await.unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn a_session_is_replaced_and_forgotten() {
    let place = Place::new();
    let store = place.open().await;
    let context = ContextId::from("c1");
    let row = |session: &str| {
        rows(vec![Row::Session(SessionRow {
            agent: agent("claude"),
            principal: desk(),
            context: ContextId::from("c1"),
            session: session.to_owned(),
        })])
    };
    let read = || store.session(&agent("claude"), &desk(), &context).unwrap();
    assert_eq!(read(), None);
    store.commit(row("one")).await.unwrap();
    store.commit(row("two")).await.unwrap();
    assert_eq!(read().as_deref(), Some("two"));
    assert_eq!(store.session(&agent("claude"), &PrincipalId::local(), &context).unwrap(), None);
    store.commit(row("")).await.unwrap();
    assert_eq!(read(), None);
}

#[tokio::test]
async fn ur_57_what_was_unfinished_is_found_after_a_restart_and_its_old_holder_is_shut_out() {
    let place = Place::new();
    let store = place.open().await;
    for (n, state) in TaskState::ALL.into_iter().enumerate() {
        let opened_at = at(100 - i64::try_from(n).unwrap());
        let row = TaskRow { state, opened_at, ..task(&format!("t{}", state.number())) };
        store.commit(opening(&row, 1)).await.unwrap();
    }
    store.close().await;

    let store = place.open().await;
    let states = |rows: Vec<TaskRow>| rows.into_iter().map(|row| row.state).collect::<Vec<_>>();
    let unfinished = states(store.unfinished().await.unwrap());
    let oldest_first =
        [TaskState::AuthRequired, TaskState::InputRequired, TaskState::Working, TaskState::Submitted];
    assert_eq!(unfinished, oldest_first);
    assert_eq!(states(store.queued().await.unwrap()), [TaskState::Submitted]);
    let running = TaskRow { seq: 1, ..task("t2") };
    store.claim(&running.id).await.unwrap().unwrap();
    assert!(store.commit(going_on(&running, 2)).await.is_err());
}

#[tokio::test]
async fn time_does_not_go_back_over_a_restart() {
    let place = Place::new();
    let store = place.open().await;
    let ahead = store.now().after(Duration::from_secs(60 * 60));
    let mut batch = opening(&task("t1"), 1);
    batch.appends[0].entries[0].at = ahead;
    store.commit(batch).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert!(store.now() >= ahead);
}
