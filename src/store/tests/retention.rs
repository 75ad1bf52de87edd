use super::super::retention;
use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn ids(rows: Vec<TaskRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

#[tokio::test]
async fn ur_58_both_kinds_of_tasks_come_to_an_end() {
    let place = Place::new();
    let store = place.open().await;
    let now = at(0).after(DAY * 40);
    for state in TaskState::ALL {
        for (age, when) in [("old", 9), ("new", 11)] {
            let status_at = at(0).after(DAY * when);
            let row = TaskRow { state, status_at, ..task(&format!("{age}{}", state.number())) };
            store.commit(opening(&row, 2)).await.unwrap();
        }
    }
    let expired = store.expire(now).await.unwrap();
    assert_eq!((expired.tasks, expired.paused), (4, false));
    let mut waiting: Vec<&str> = expired.waiting.iter().map(TaskId::as_str).collect();
    waiting.sort_unstable();
    assert_eq!(waiting, ["old6", "old8"]);

    let left = store.page(PageQuery { limit: 100, ..PageQuery::default() }).await.unwrap();
    let mut left = ids(left.tasks);
    left.sort();
    let stay =
        ["new1", "new2", "new3", "new4", "new5", "new6", "new7", "new8", "old1", "old2", "old6", "old8"];
    assert_eq!(left, stay, "who waits is as it was: the node cancels it");
    assert_eq!(store.totals().await.unwrap().all(), 12);
    assert!(store.entries(&TaskId::from("old3"), 0, 9).unwrap().is_empty(), "its journal is gone too");
    assert_eq!(store.entries(&TaskId::from("new3"), 0, 9).unwrap().len(), 2);
}

#[tokio::test]
async fn more_than_one_transaction_can_hold_expires() {
    let place = Place::new();
    let store = place.open().await;
    let tasks = (0..200)
        .map(|n| Row::NewTask(TaskRow { state: TaskState::Failed, ..task(&format!("t{n}")) }))
        .collect();
    store.commit(rows(tasks)).await.unwrap();
    assert_eq!(store.expire(at(0).after(DAY * 40)).await.unwrap().tasks, 200);
    assert_eq!(store.totals().await.unwrap(), Totals::default());
}

#[tokio::test]
async fn what_is_kept_for_ever_stays() {
    let mut place = Place::new();
    (place.config.keep_terminal, place.config.keep_waiting) = (None, None);
    let store = place.open().await;
    for state in [TaskState::Completed, TaskState::InputRequired] {
        let row = TaskRow { state, ..task(&format!("t{}", state.number())) };
        store.commit(opening(&row, 1)).await.unwrap();
    }
    let expired = store.expire(at(0).after(DAY * 4000)).await.unwrap();
    assert_eq!(expired, Expired::default());
}

#[tokio::test]
async fn acceptances_are_forgotten_after_a_day() {
    let place = Place::new();
    let store = place.open().await;
    let sent = |key: &str, when| {
        Row::Sent(Sent {
            principal: desk(),
            agent: agent("echo"),
            key: key.to_owned(),
            digest: [1; 32],
            stream: TaskId::from("t1"),
            seq: 1,
            at: when,
        })
    };
    let new = at(0).after(DAY);
    store
        .commit(rows(vec![Row::NewTask(task("t1")), sent("m:old", at(0)), sent("m:new", new)]))
        .await
        .unwrap();
    let now = at(0).after(DAY).after(Duration::from_millis(1));
    assert_eq!(store.expire(now).await.unwrap().sends, 1);
    assert!(store.sent(&desk(), &agent("echo"), "m:old").unwrap().is_empty());
    assert_eq!(store.sent(&desk(), &agent("echo"), "m:new").unwrap().len(), 1);
}

#[tokio::test]
async fn a_task_that_went_on_meanwhile_is_not_deleted() {
    let place = Place::new();
    let store = place.open().await;
    let ended = TaskRow { state: TaskState::Completed, ..task("t1") };
    let open = TaskRow { state: TaskState::InputRequired, ..task("t2") };
    store.commit(rows(vec![Row::NewTask(ended.clone()), Row::NewTask(open.clone())])).await.unwrap();
    let ids = [ended.id.clone(), open.id.clone(), TaskId::from("t3")];
    let delete = |limit| {
        let ids = ids.clone();
        store.act(move |group| retention::delete_ended(group, &ids, limit))
    };
    assert_eq!(delete(ended.status_at).await.unwrap(), 0, "not from before");
    assert_eq!(delete(ended.status_at.after(DAY)).await.unwrap(), 1);
    assert!(store.task(&open.id).unwrap().is_some());
}

#[tokio::test]
async fn after_a_jump_of_the_clock_nothing_is_deleted() {
    let place = Place::new();
    let long_ago = at(Timestamp::now().millis() - 3 * 24 * 60 * 60 * 1000);
    let store = Store::open(&place.config, long_ago).await.unwrap();
    let row = TaskRow { state: TaskState::Completed, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let expired = store.expire(store.now()).await.unwrap();
    assert_eq!(expired, Expired { paused: true, ..Expired::default() });
    assert!(store.task(&row.id).unwrap().is_some());
}

#[tokio::test]
async fn the_last_task_of_a_context_takes_the_session_with_it() {
    let place = Place::new();
    let store = place.open().await;
    let (first, second) = (task("t1"), task("t2"));
    let session = SessionRow {
        agent: first.agent.clone(),
        principal: desk(),
        context: first.context.clone(),
        session: "s-1".to_owned(),
    };
    let batch = vec![Row::NewTask(first.clone()), Row::NewTask(second.clone()), Row::Session(session)];
    store.commit(rows(batch)).await.unwrap();
    let read = || store.session(&first.agent, &desk(), &first.context).unwrap();
    assert!(store.delete_task(&first.id).await.unwrap());
    assert!(!store.delete_task(&first.id).await.unwrap(), "only once");
    assert_eq!(read().as_deref(), Some("s-1"));
    assert!(store.delete_task(&second.id).await.unwrap());
    assert_eq!(read(), None);
}

#[tokio::test]
async fn a_context_is_deleted_for_its_owner_only() {
    let place = Place::new();
    let store = place.open().await;
    let foreign = TaskRow { scope: PrincipalId::local(), ..task("t1") };
    let session = |principal| SessionRow {
        agent: agent("claude"),
        principal,
        context: ContextId::from("c1"),
        session: "s-1".to_owned(),
    };
    let batch = vec![
        Row::NewTask(foreign.clone()),
        Row::NewTask(task("t2")),
        Row::NewTask(TaskRow { agent: agent("claude"), ..task("t3") }),
        Row::NewTask(TaskRow { context: ContextId::from("c2"), ..task("t4") }),
        Row::Session(session(desk())),
        Row::Session(session(PrincipalId::local())),
    ];
    store.commit(rows(batch)).await.unwrap();
    let gone = store.delete_context(&desk(), &ContextId::from("c1")).await.unwrap();
    assert_eq!(gone.tasks, 2);
    assert_eq!(gone.sessions, [(agent("claude"), "s-1".to_owned())]);
    let left = store.page(PageQuery { limit: 9, ..PageQuery::default() }).await.unwrap();
    assert_eq!(ids(left.tasks), ["t1", "t4"]);
    assert!(store.session(&agent("claude"), &PrincipalId::local(), &foreign.context).unwrap().is_some());
}

#[tokio::test]
async fn a_task_that_was_asked_for_again_and_again_is_gone_once_it_is_deleted() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { state: TaskState::Completed, ..task("t1") };
    let snapshot = Snapshot { json: Bytes::from_static(b"{}"), seq: 1, history: 0 };
    let mut batch = opening(&row, 1);
    batch.rows = vec![Row::NewTask(TaskRow { seq: 1, snapshot: Some(snapshot), ..row.clone() })];
    store.commit(batch).await.unwrap();
    let first = store.task(&row.id).unwrap();
    assert_eq!(first.as_ref().map(|row| row.state), Some(TaskState::Completed));
    assert_eq!(store.task(&row.id).unwrap(), first);
    assert!(store.delete_task(&row.id).await.unwrap());
    assert_eq!(store.task(&row.id).unwrap(), None);
}
