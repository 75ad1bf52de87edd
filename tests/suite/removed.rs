//! What becomes of an agent's tasks when it is taken out of the configuration (O-22).

use a2ad::model::{Message, Progress};
use serde_json::{Value, json};

use crate::support::node::{TestNode, message, said};

fn at_once(text: &str) -> Value {
    json!({ "message": message(text), "configuration": { "returnImmediately": true } })
}

#[tokio::test]
async fn ended_tasks_of_a_removed_agent_stay_readable_to_their_owner() {
    let node = TestNode::start().await;
    let (desk, other) = (node.token("desk", None).await, node.token("other", Some(&["echo"])).await);
    let sent = node.ask(node.rpc_as(&desk, "/agents/hidden", "SendMessage", &said("x"))).await.json();
    let id = sent["result"]["task"]["id"].clone();
    node.remove("hidden").await;
    for (path, tenant) in [("/agents/hidden", Value::Null), ("/", json!("hidden"))] {
        let ask = |token: &str, method: &str, mut params: Value| {
            params["tenant"] = tenant.clone();
            node.rpc_as(token, path, method, &params)
        };
        let got = node.ask(ask(&desk, "GetTask", json!({ "id": id }))).await.json();
        assert_eq!(got["result"]["id"], id, "{got}");
        let list = node.ask(ask(&desk, "ListTasks", json!({}))).await.json();
        assert_eq!(list["result"]["totalSize"], 1, "{list}");
        assert_eq!(node.ask(ask(&desk, "CancelTask", json!({ "id": id }))).await.code(), -32002);
        assert_eq!(node.ask(ask(&desk, "SubscribeToTask", json!({ "id": id }))).await.code(), -32004);
        let reply = node.ask(ask(&other, "GetTask", json!({ "id": id }))).await;
        assert_eq!(reply.status, 403, "the agent is none of this token's");
    }
    let (stranger, get) = (node.token("stranger", None).await, json!({ "id": id }));
    let reply = node.ask(node.rpc_as(&stranger, "/agents/hidden", "GetTask", &get)).await;
    assert_eq!(reply.code(), -32001, "the task is none of this principal's");
    node.end().await;
}

#[tokio::test]
async fn a_removed_agent_takes_no_message_and_says_what_is_left_of_it() {
    let node = TestNode::start().await;
    node.result("/agents/hidden", "SendMessage", &said("x")).await;
    node.remove("hidden").await;
    for method in ["SendMessage", "SendStreamingMessage"] {
        let reply = node.ask(node.rpc("/agents/hidden", method, &said("y"))).await;
        assert_eq!((reply.status, reply.code()), (404, 404));
        assert!(reply.message().contains("was removed") && reply.message().contains("GetTask"));
    }
    node.remove("stage").await;
    let reply = node.ask(node.rpc("/agents/stage", "GetTask", &json!({ "id": "x" }))).await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.message(), "there is no agent stage", "it never had a task");
    node.end().await;
}

#[tokio::test]
async fn a_turn_of_a_removed_agent_goes_on_and_can_be_followed_and_canceled() {
    let mut node = TestNode::start().await;
    let mut ids = Vec::new();
    let mut turns = Vec::new();
    for text in ["followed", "canceled", "asks"] {
        let task = node.result("/agents/stage", "SendMessage", &at_once(text)).await["task"].clone();
        ids.push(json!({ "id": task["id"] }));
        turns.push(node.turn().await);
    }
    let (asks, canceled, followed) = (turns.pop().unwrap(), turns.pop().unwrap(), turns.pop().unwrap());
    let asking = Progress::Ask { message: Message::agent("which?"), kind: a2ad::model::Ask::Question };
    asks.tell(asking).await;
    loop {
        let task = node.result("/agents/stage", "GetTask", &ids[2]).await;
        if task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED" {
            break;
        }
    }
    node.remove("stage").await;
    let stream = node.stream(node.rpc("/agents/stage", "SubscribeToTask", &ids[0])).await;
    followed.complete("done").await;
    let last = stream.all().await.pop().unwrap();
    assert_eq!(last.result()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    for id in &ids[1..] {
        let task = node.result("/agents/stage", "CancelTask", id).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_CANCELED");
    }
    drop((canceled, asks));
    node.end().await;
}
