//! Streams: whole, in order, and again where they broke off.

use a2ad::model::{Artifact, Progress};
use serde_json::{Value, json};

use crate::support::{
    http::{Ask, Event},
    node::{TestNode, said},
    stage::Turn,
};

fn subscribe(node: &TestNode, id: &Value) -> Ask {
    node.rpc("/agents/stage", "SubscribeToTask", &json!({ "id": id }))
}

async fn chunk(turn: &Turn, text: &str) {
    let artifact = Artifact::text("a".into(), text);
    turn.tell(Progress::Artifact { artifact, append: true, last: false }).await;
}

/// The texts of artifact updates, and their numbers.
fn chunks(events: &[Event]) -> Vec<(u64, String)> {
    let text = |event: &Event| {
        Some(event.result()["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str()?.to_owned())
    };
    events.iter().filter_map(|event| Some((event.id.unwrap(), text(event)?))).collect()
}

fn state(event: &Event) -> &str {
    event.result()["statusUpdate"]["status"]["state"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_stream_is_the_task_then_each_event_then_the_end() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    assert_eq!(stream.head.status, 200);
    assert!(!stream.head.header("x-request-id").is_empty());
    let first = stream.next().await.unwrap();
    assert!(first.result()["task"]["id"].is_string() && first.data["id"] == 1);
    let turn = node.turn().await;
    chunk(&turn, "one").await;
    chunk(&turn, "two").await;
    turn.complete("end").await;
    let events = stream.all().await;
    assert_eq!(chunks(&events).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(state(events.last().unwrap()), "TASK_STATE_COMPLETED");
    let ids: Vec<u64> = events.iter().map(|event| event.id.unwrap()).collect();
    assert!(ids.is_sorted() && ids[0] > first.id.unwrap(), "{ids:?}");
    node.end().await;
}

#[tokio::test]
async fn ur_49_who_comes_back_with_the_last_number_misses_nothing() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    let id = stream.next().await.unwrap().result()["task"]["id"].clone();
    let turn = node.turn().await;
    chunk(&turn, "0").await;
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = chunks(&[stream.next().await.unwrap()]);
    }
    drop(stream);
    for n in 1..5 {
        chunk(&turn, &n.to_string()).await;
    }
    let by_header = subscribe(&node, &id).header("last-event-id", &seen[0].0.to_string());
    let mut stream = node.stream(by_header).await;
    let first = stream.next().await.unwrap();
    assert_eq!(first.result()["task"]["artifacts"][0]["parts"][0]["text"], "0", "the task as it stood then");
    assert_eq!(first.id, Some(seen[0].0));
    chunk(&turn, "5").await;
    turn.complete("end").await;
    seen.extend(chunks(&stream.all().await));
    let texts: Vec<&str> = seen.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["0", "1", "2", "3", "4", "5"], "no gap, no repeat");
    // The task is over: what was not seen is still told, then the stream ends.
    let by_query = node.rpc(
        &format!("/agents/stage?lastEventId={}", seen[3].0),
        "SubscribeToTask",
        &json!({ "id": id }),
    );
    let events = node.stream(by_query).await.all().await;
    assert!(events[0].result()["task"].is_object());
    assert_eq!(chunks(&events), seen[4..]);
    assert_eq!(
        node.ask(subscribe(&node, &id)).await.code(),
        -32004,
        "but without a number there is nothing to tell"
    );
    node.end().await;
}

#[tokio::test]
async fn ur_49_not_even_a_restart_of_the_node_loses_an_event() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    let id = stream.next().await.unwrap().result()["task"]["id"].clone();
    let turn = node.turn().await;
    chunk(&turn, "one").await;
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = chunks(&[stream.next().await.unwrap()]);
    }
    drop(stream);
    chunk(&turn, "two").await;
    turn.complete("end").await;
    // Once the task has ended everything before it is committed.
    let get = json!({ "id": id, "historyLength": 0 });
    while node.result("/agents/stage", "GetTask", &get).await["status"]["state"] != "TASK_STATE_COMPLETED" {
        tokio::task::yield_now().await;
    }
    let node = TestNode::at(node.end().await, |_| {}).await;
    let again = subscribe(&node, &id).header("last-event-id", &seen[0].0.to_string());
    let events = node.stream(again).await.all().await;
    assert_eq!(chunks(&events).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), ["two"]);
    assert_eq!(state(events.last().unwrap()), "TASK_STATE_COMPLETED");
    node.end().await;
}

#[tokio::test]
async fn ur_50_a_caller_that_leaves_does_not_stop_the_task() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    let id = stream.next().await.unwrap().result()["task"]["id"].clone();
    let turn = node.turn().await;
    let watcher = node.stream(subscribe(&node, &id)).await;
    drop(stream);
    chunk(&turn, "kept").await;
    assert_eq!(turn.job.stop.asked(), None);
    turn.complete("end").await;
    let events = watcher.all().await;
    assert_eq!(chunks(&events)[0].1, "kept");
    let task = node.result("/agents/stage", "GetTask", &json!({ "id": id })).await;
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "kept");
    node.end().await;
}

#[tokio::test]
async fn every_reader_of_a_task_sees_the_same_events_under_the_same_numbers() {
    let mut node = TestNode::start().await;
    let mut first = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    let id = first.next().await.unwrap().result()["task"]["id"].clone();
    let turn = node.turn().await;
    let mut second = node.stream(subscribe(&node, &id)).await;
    assert!(second.next().await.unwrap().result()["task"].is_object());
    for n in 0..20 {
        chunk(&turn, &n.to_string()).await;
    }
    turn.complete("end").await;
    let (first, second) = tokio::join!(first.all(), second.all());
    assert_eq!(chunks(&first), chunks(&second));
    assert_eq!(chunks(&first).len(), 20);
    node.end().await;
}

#[tokio::test]
async fn a_refused_stream_is_a_plain_answer() {
    let node = TestNode::start().await;
    let stream = node.stream(subscribe(&node, &json!("nope"))).await;
    assert_eq!((stream.head.status, stream.head.header("content-type")), (200, "application/json"));
    assert_eq!((stream.head.code(), &stream.head.json()["id"]), (-32001, &json!(1)));
    node.end().await;
}

#[tokio::test]
async fn a_stop_ends_streams_cleanly_and_their_task_can_be_taken_up_again() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("go"))).await;
    let id = stream.next().await.unwrap().result()["task"]["id"].clone();
    let turn = node.turn().await;
    chunk(&turn, "one").await;
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = chunks(&[stream.next().await.unwrap()]);
    }
    node.node.close();
    node.stop.stop.cancel();
    stream.all().await;
    drop(turn);
    let node = TestNode::at(node.end().await, |_| {}).await;
    let again = subscribe(&node, &id).header("last-event-id", &seen[0].0.to_string());
    let events = node.stream(again).await.all().await;
    assert_eq!(state(events.last().unwrap()), "TASK_STATE_FAILED");
    node.end().await;
}
