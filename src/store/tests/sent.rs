use super::*;

fn sent(key: &str, digest: u8, stream: &str, when: i64) -> Sent {
    Sent {
        principal: desk(),
        agent: agent("echo"),
        key: key.to_owned(),
        digest: [digest; 32],
        stream: TaskId::from(stream),
        seq: 1,
        at: at(when),
    }
}

/// A batch that opens a task and says which message did.
fn accepted(sent: &Sent) -> Batch {
    rows(vec![Row::NewTask(task(sent.stream.as_str())), Row::Sent(sent.clone())])
}

fn earlier(answer: Result<(), Error>) -> Sent {
    match answer {
        Err(Error::Replayed(sent)) => sent,
        other => panic!("not replayed: {other:?}"),
    }
}

#[tokio::test]
async fn the_same_message_is_accepted_once() {
    let place = Place::new();
    let store = place.open().await;
    let first = sent("m:1", 1, "t1", 10);
    store.commit(accepted(&first)).await.unwrap();
    assert_eq!(earlier(store.commit(accepted(&sent("m:1", 1, "t2", 20))).await), first);
    assert_eq!(store.task(&TaskId::from("t2")).unwrap(), None, "nothing of it is written");
    assert_eq!(store.sent(&desk(), &agent("echo"), "m:1").unwrap(), [first]);
}

#[tokio::test]
async fn a_message_id_with_other_content_is_new() {
    let place = Place::new();
    let store = place.open().await;
    let (first, second) = (sent("m:1", 1, "t1", 10), sent("m:1", 2, "t2", 20));
    store.commit(accepted(&first)).await.unwrap();
    store.commit(accepted(&second)).await.unwrap();
    assert_eq!(store.sent(&desk(), &agent("echo"), "m:1").unwrap(), [second, first], "the newest first");
}

#[tokio::test]
async fn a_header_key_counts_whatever_the_content() {
    let place = Place::new();
    let store = place.open().await;
    let first = sent("h:1", 1, "t1", 10);
    store.commit(accepted(&first)).await.unwrap();
    let replayed = earlier(store.commit(accepted(&sent("h:1", 2, "t2", 20))).await);
    assert_eq!(replayed, first, "the digest tells that the request was another");
}

#[tokio::test]
async fn keys_are_of_one_principal_and_one_agent() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(accepted(&sent("h:1", 1, "t1", 10))).await.unwrap();
    let other = Sent { principal: PrincipalId::local(), ..sent("h:1", 1, "t2", 10) };
    store.commit(accepted(&other)).await.unwrap();
    store.commit(accepted(&Sent { agent: agent("claude"), ..sent("h:1", 1, "t3", 10) })).await.unwrap();
}

#[tokio::test]
async fn after_a_day_an_acceptance_counts_no_more() {
    let place = Place::new();
    let store = place.open().await;
    let day = 24 * 60 * 60 * 1000;
    store.commit(accepted(&sent("h:1", 1, "t1", 0))).await.unwrap();
    earlier(store.commit(accepted(&sent("h:1", 1, "t2", day - 1))).await);
    store.commit(accepted(&sent("h:1", 1, "t2", day))).await.unwrap();
    assert_eq!(store.sent(&desk(), &agent("echo"), "h:1").unwrap().len(), 1, "it is replaced");
}

#[tokio::test]
async fn an_acceptance_that_the_node_takes_back_is_replaced_once() {
    let place = Place::new();
    let store = place.open().await;
    let first = sent("m:1", 1, "t1", 10);
    store.commit(accepted(&first)).await.unwrap();
    let again = |stream| {
        let mut batch = accepted(&sent("m:1", 1, stream, 20));
        batch.rows.push(Row::Unsent(first.clone()));
        batch
    };
    store.commit(again("t2")).await.unwrap();
    let replayed = earlier(store.commit(again("t3")).await);
    assert_eq!(replayed.stream.as_str(), "t2", "who comes second joins the first");
}

#[tokio::test]
async fn an_acceptance_ends_with_its_task() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(accepted(&sent("h:1", 1, "t1", 10))).await.unwrap();
    assert!(store.delete_task(&TaskId::from("t1")).await.unwrap());
    assert_eq!(store.sent(&desk(), &agent("echo"), "h:1").unwrap(), []);
    store.commit(accepted(&sent("h:1", 1, "t2", 20))).await.unwrap();
}
