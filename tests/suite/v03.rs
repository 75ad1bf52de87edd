//! A2A 0.3 over real sockets: each method in JSON-RPC, what lies below `/v1`, and the forms of the card.

use std::time::Duration;

use a2ad::{
    model::{
        Artifact, Ask as Question, Content, Message, Part, Progress, Role, Send, SendConfiguration, TaskId,
        Update,
    },
    node::config::Protocol,
    peer::{Address, Binding, Credential, Endpoint, Follow, Http, Peer, Step},
    runtime::config::Extension,
    wire::Dialect,
};
use serde_json::{Value, json};

use crate::support::{
    http::{Ask, Event, Reply},
    node::{Setup, TestNode},
};

const CARD: &str = "/.well-known/agent-card.json";
const OLD_CARD: &str = "/.well-known/agent.json";

fn both(setup: &mut Setup) {
    setup.node.protocols = vec![Protocol::V1, Protocol::V03];
}

fn old_only(setup: &mut Setup) {
    setup.node.protocols = vec![Protocol::V03];
}

async fn start() -> TestNode {
    TestNode::with(both).await
}

/// A request of 0.3, which names no version.
fn old(node: &TestNode, path: &str, method: &str, params: &Value) -> Ask {
    node.rpc(path, method, params).without("a2a-version")
}

async fn result(node: &TestNode, path: &str, method: &str, params: &Value) -> Value {
    let body = node.ask(old(node, path, method, params)).await.json();
    assert!(body.get("result").is_some(), "{body}");
    body["result"].clone()
}

fn message(text: &str) -> Value {
    json!({ "kind": "message", "messageId": format!("m-{text}"), "role": "user", "parts": [{ "kind": "text", "text": text }] })
}

fn said(text: &str) -> Value {
    json!({ "message": message(text) })
}

/// An event in a few words: its kind, its state, whether it is final.
fn brief(event: &Value) -> String {
    let state = event["status"]["state"].as_str().unwrap_or_default();
    let last = if event["final"] == true { " final" } else { "" };
    format!("{} {state}{last}", event["kind"].as_str().unwrap()).replace("  ", " ").trim_end().to_owned()
}

fn briefs(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| brief(event.result())).collect()
}

/// A request to a path below `/v1`.
fn rest(node: &TestNode, verb: &str, path: &str, body: &Value) -> Ask {
    let ask = Ask::new(verb, path).header("authorization", &format!("Bearer {}", node.local));
    if body.is_null() { ask } else { ask.header("content-type", "application/json").body(body.to_string()) }
}

#[tokio::test]
async fn ur_54_a_send_of_0_3_is_answered_in_0_3() {
    let node = start().await;
    for version in [None, Some(""), Some("0.3"), Some("0.3.0")] {
        let mut ask = old(&node, "/", "message/send", &said("hello"));
        if let Some(version) = version {
            ask = ask.header("a2a-version", version);
        }
        let reply = node.ask(ask).await;
        assert_eq!(reply.header("content-type"), "application/json");
        let task = &reply.json()["result"];
        assert_eq!(
            (task["kind"].as_str(), task["status"]["state"].as_str()),
            (Some("task"), Some("completed"))
        );
        assert_eq!(task["status"]["message"]["parts"][0], json!({ "kind": "text", "text": "hello" }));
        assert_eq!(task["history"][0]["role"], "user");
        assert!(task["contextId"].is_string());
    }
    node.end().await;
}

#[tokio::test]
async fn a_task_begun_in_one_version_is_read_in_the_other() {
    let node = start().await;
    let begun = result(&node, "/", "message/send", &said("one")).await;
    let id = json!({ "id": begun["id"] });
    let new = node.result("/", "GetTask", &id).await;
    assert_eq!(new["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(new["status"]["timestamp"], begun["status"]["timestamp"]);
    let read = result(&node, "/", "tasks/get", &id).await;
    assert_eq!(read, begun);
    let bare = result(&node, "/", "tasks/get", &json!({ "id": begun["id"], "historyLength": 0 })).await;
    assert!(bare.get("history").is_none());
    node.end().await;
}

#[tokio::test]
async fn every_kind_of_part_goes_and_comes() {
    let mut node = start().await;
    let parts = json!([
        { "kind": "text", "text": "x", "metadata": { "n": 1.50 } },
        { "kind": "file", "file": { "bytes": "aGk=", "mimeType": "text/plain", "name": "a.txt" } },
        { "kind": "file", "file": { "uri": "https://x.example/y.png", "mimeType": "image/png" } },
        { "kind": "data", "data": { "k": [1, null] } },
        { "kind": "data", "data": { "value": [1, 2] }, "metadata": { "data_part_compat": true } },
    ]);
    let params = json!({ "message": { "messageId": "m", "role": "user", "parts": parts } });
    let mut stream = node.stream(old(&node, "/agents/stage", "message/stream", &params)).await;
    let task = stream.next().await.unwrap().result().clone();
    assert_eq!(task["history"][0]["parts"], parts);
    let turn = node.turn().await;
    let said = turn.job.prompt.message.parts.clone();
    assert_eq!(serde_json::to_value(&said).unwrap()[4], json!({ "data": [1, 2] }));
    let artifact = Artifact { parts: said, ..Artifact::text("a".into(), "") };
    turn.tell(Progress::Artifact { artifact, append: false, last: true }).await;
    turn.complete("end").await;
    let events = stream.all().await;
    let artifact = events.iter().map(Event::result).find(|event| event["kind"] == "artifact-update").unwrap();
    assert_eq!(artifact["artifact"]["parts"], parts);
    assert_eq!(artifact["lastChunk"], true);
    node.end().await;
}

#[tokio::test]
async fn who_does_not_block_has_the_task_at_once() {
    let mut node = start().await;
    let params = json!({ "message": message("go"), "configuration": { "blocking": false } });
    let task = result(&node, "/agents/stage", "message/send", &params).await;
    assert!(["submitted", "working"].contains(&task["status"]["state"].as_str().unwrap()), "{task}");
    node.turn().await.complete("end").await;
    node.end().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_final_event() {
    let mut node = start().await;
    let stream = node.stream(old(&node, "/agents/stage", "message/stream", &said("go"))).await;
    assert_eq!(stream.head.header("content-type"), "text/event-stream");
    node.turn().await.complete("end").await;
    let events = stream.all().await;
    let told = briefs(&events);
    assert!(told[0].starts_with("task "), "{told:?}");
    assert_eq!(told.last().unwrap(), "status-update completed final");
    assert_eq!(told.iter().filter(|event| event.ends_with("final")).count(), 1);
    assert!(events.iter().all(|event| event.data["id"] == 1 && event.id.is_some()));
    node.end().await;
}

#[tokio::test]
async fn p_25_both_streams_end_at_a_question_and_its_answer_goes_on() {
    let mut node = start().await;
    let mut stream = node.stream(old(&node, "/agents/stage", "message/stream", &said("go"))).await;
    let id = stream.next().await.unwrap().result()["id"].clone();
    let of_task = json!({ "id": id });
    let mut turn = node.turn().await;
    let mut reader = node.stream(old(&node, "/agents/stage", "tasks/resubscribe", &of_task)).await;
    assert_eq!(reader.next().await.unwrap().result()["kind"], "task");
    turn.tell(Progress::Ask { message: Message::agent("which?"), kind: Question::Question }).await;
    for events in [stream.all().await, reader.all().await] {
        assert_eq!(briefs(&events).last().unwrap(), "status-update input-required final");
    }
    let again = node.stream(old(&node, "/agents/stage", "tasks/resubscribe", &of_task)).await.all().await;
    assert_eq!(briefs(&again), ["task input-required"], "it is at the question");
    let mut answer = message("this");
    answer["taskId"] = id.clone();
    let follow =
        node.stream(old(&node, "/agents/stage", "message/stream", &json!({ "message": answer }))).await;
    assert!(turn.answer().await.is_some());
    turn.complete("end").await;
    assert_eq!(briefs(&follow.all().await).last().unwrap(), "status-update completed final");
    node.end().await;
}

#[tokio::test]
async fn p_25_a_subscription_to_a_task_that_has_ended_answers_it_and_closes() {
    let node = start().await;
    let task = result(&node, "/", "message/send", &said("one")).await;
    let ask = old(&node, "/", "tasks/resubscribe", &json!({ "id": task["id"] }));
    let events = node.stream(ask.clone()).await.all().await;
    assert_eq!(briefs(&events), ["task completed"]);
    assert_eq!(events[0].result()["id"], task["id"]);
    let number = events[0].id.unwrap().to_string();
    let events = node.stream(ask.header("last-event-id", &number)).await.all().await;
    assert_eq!(briefs(&events), ["task completed"]);
    let new = node.rpc("/", "SubscribeToTask", &json!({ "id": task["id"] }));
    assert_eq!(node.ask(new).await.code(), -32004, "as ever in 1.0");
    node.end().await;
}

#[tokio::test]
async fn a_running_task_is_canceled_and_one_that_has_ended_is_not() {
    let mut node = start().await;
    let params = json!({ "message": message("go"), "configuration": { "blocking": false } });
    let task = result(&node, "/agents/stage", "message/send", &params).await;
    let _turn = node.turn().await;
    let of_task = json!({ "id": task["id"], "metadata": { "why": "enough" } });
    let canceled = result(&node, "/agents/stage", "tasks/cancel", &of_task).await;
    assert_eq!((&canceled["kind"], &canceled["status"]["state"]), (&json!("task"), &json!("canceled")));
    let reply = node.ask(old(&node, "/agents/stage", "tasks/cancel", &of_task)).await;
    assert_eq!(reply.code(), -32002);
    node.end().await;
}

#[tokio::test]
async fn p_6_errors_keep_their_numbers() {
    let node = start().await;
    let unknown = json!({ "id": "nope" });
    let push = json!({ "taskId": "t", "pushNotificationConfig": { "url": "https://example.org/hook" } });
    let inline = json!({ "message": message("x"), "configuration": { "pushNotificationConfig": { "url": "https://example.org/hook" } } });
    let config = json!({ "id": "t", "pushNotificationConfigId": "c" });
    for (method, params, code, word) in [
        ("tasks/get", &unknown, -32001, "nope"),
        ("tasks/cancel", &unknown, -32001, "nope"),
        ("tasks/resubscribe", &unknown, -32001, "nope"),
        ("tasks/get", &json!({}), -32602, "id"),
        ("message/send", &json!({ "message": {} }), -32602, "messageId"),
        ("message/send", &inline, -32003, "push"),
        ("tasks/pushNotificationConfig/set", &push, -32003, "push"),
        ("tasks/pushNotificationConfig/get", &config, -32003, "push"),
        ("tasks/pushNotificationConfig/list", &unknown, -32003, "push"),
        ("tasks/pushNotificationConfig/delete", &config, -32003, "push"),
        ("agent/getAuthenticatedExtendedCard", &json!({}), -32004, "extended card"),
        ("tasks/list", &json!({}), -32601, "tasks/list"),
        ("SendMessage", &said("x"), -32009, "send the header A2A-Version: 1.0"),
    ] {
        let reply = node.ask(old(&node, "/", method, params)).await;
        assert_eq!((reply.status, reply.code()), (200, code), "{method}: {}", reply.json());
        assert!(reply.message().contains(word), "{method}: {}", reply.message());
        assert_eq!(reply.json()["id"], 1);
    }
    let reply = node.ask(old(&node, "/", "SendMessage", &said("x"))).await;
    assert_eq!(reply.json()["error"]["data"][0]["metadata"]["supportedVersions"], "1.0,0.3");
    let reply = node.ask(node.rpc("/", "message/send", &said("x"))).await;
    assert_eq!(reply.code(), -32601, "1.0 has no such method");
    node.end().await;
}

#[tokio::test]
async fn extensions_are_declared_and_said_back_by_the_older_name() {
    const URI: &str = "https://example.org/ext/v1";
    let node = TestNode::with(|setup| {
        both(setup);
        setup.agents[0].extensions =
            vec![Extension { uri: URI.into(), required: true, description: None, params: None }];
    })
    .await;
    let ask = old(&node, "/", "message/send", &said("x"));
    let reply = node.ask(ask.clone()).await;
    assert_eq!(reply.code(), -32008);
    assert!(reply.message().contains(URI), "{}", reply.message());
    for name in ["x-a2a-extensions", "a2a-extensions"] {
        let reply = node.ask(ask.clone().header(name, &format!("https://other.example, {URI}"))).await;
        assert!(reply.json()["result"].is_object());
        assert_eq!((reply.header("x-a2a-extensions"), reply.header("a2a-extensions")), (URI, ""));
    }
    let new = node.rpc(
        "/",
        "SendMessage",
        &json!({ "message": { "messageId": "n", "role": "ROLE_USER", "parts": [{ "text": "x" }] } }),
    );
    assert_eq!(node.ask(new.clone().header("x-a2a-extensions", URI)).await.code(), -32008, "1.0 has its own");
    let reply = node.ask(new.header("a2a-extensions", URI)).await;
    assert_eq!((reply.header("a2a-extensions"), reply.header("x-a2a-extensions")), (URI, ""));
    node.end().await;
}

#[tokio::test]
async fn http_json_of_0_3_lies_below_v1() {
    let mut node = start().await;
    let body = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "content": [{ "text": "hello" }] }, "configuration": { "blocking": true } });
    let reply = node.ask(rest(&node, "POST", "/v1/message:send", &body)).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    let task = reply.json()["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["status"]["message"]["content"], json!([{ "text": "hello" }]));
    let id = task["id"].as_str().unwrap();
    let reply = node.ask(rest(&node, "GET", &format!("/v1/tasks/{id}?historyLength=1"), &Value::Null)).await;
    assert_eq!(reply.json()["history"].as_array().unwrap().len(), 1);
    let schema = said("again");
    let reply = node.ask(rest(&node, "POST", "/agents/echo/v1/message:send", &schema)).await;
    assert_eq!(
        reply.json()["task"]["status"]["state"],
        "TASK_STATE_COMPLETED",
        "the schema's JSON is taken too"
    );
    for verb in ["GET", "POST"] {
        let ask = rest(&node, verb, &format!("/v1/tasks/{id}:subscribe"), &Value::Null);
        let events = node.stream(ask).await.all().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
    let stream = node.stream(rest(&node, "POST", "/agents/stage/v1/message:stream", &body)).await;
    node.turn().await.complete("end").await;
    let events = stream.all().await;
    assert!(events[0].data["task"].is_object());
    let last = &events.last().unwrap().data["statusUpdate"];
    assert_eq!((&last["status"]["state"], &last["final"]), (&json!("TASK_STATE_COMPLETED"), &json!(true)));
    node.end().await;
}

#[tokio::test]
async fn http_json_of_0_3_tells_faults_as_that_of_1_0() {
    let node = start().await;
    let status = |reply: &Reply| {
        (reply.status, reply.json()["error"]["details"][0]["reason"].as_str().unwrap().to_owned())
    };
    let nothing = Value::Null;
    for (verb, path, wanted) in [
        ("GET", "/v1/tasks/nope", (404, "TASK_NOT_FOUND")),
        ("POST", "/v1/tasks/nope:cancel", (404, "TASK_NOT_FOUND")),
        ("GET", "/v1/card", (400, "UNSUPPORTED_OPERATION")),
        ("GET", "/v1/tasks/t/pushNotificationConfigs", (400, "PUSH_NOTIFICATION_NOT_SUPPORTED")),
        ("DELETE", "/v1/tasks/t/pushNotificationConfigs/c", (400, "PUSH_NOTIFICATION_NOT_SUPPORTED")),
        ("GET", "/v1/tasks", (404, "NOT_FOUND")),
        ("GET", "/v1/message:send", (405, "METHOD_NOT_ALLOWED")),
    ] {
        let reply = node.ask(rest(&node, verb, path, &nothing)).await;
        assert_eq!(status(&reply), (wanted.0, wanted.1.to_owned()), "{verb} {path}: {}", reply.json());
    }
    let ask = rest(&node, "GET", "/v1/tasks/nope", &nothing);
    let reply = node.ask(ask.header("a2a-version", "1.0")).await;
    assert_eq!(status(&reply), (400, "VERSION_NOT_SUPPORTED".to_owned()));
    node.end().await;
}

#[tokio::test]
async fn p_15_the_card_has_a_form_for_each_reader() {
    let node = start().await;
    let get = |path: &str, version: Option<&str>| match version {
        Some(version) => Ask::get(path).header("a2a-version", version),
        None => Ask::get(path),
    };
    let pure = node.ask(get(CARD, Some("1.0"))).await;
    let hybrid = node.ask(get(CARD, None)).await;
    let old = node.ask(get(OLD_CARD, None)).await;
    let tag = |reply: &Reply| reply.header("etag").to_owned();
    assert!(tag(&pure) != tag(&hybrid) && tag(&hybrid) != tag(&old) && tag(&pure) != tag(&old));
    for (reply, path, version) in
        [(&pure, CARD, Some("1.0")), (&hybrid, CARD, Some("0.3")), (&old, OLD_CARD, None)]
    {
        assert!(reply.header("vary").contains("A2A-Version"), "{}", reply.header("vary"));
        let again = node.ask(get(path, version).header("if-none-match", &tag(reply))).await;
        assert_eq!(again.status, 304);
    }
    let (pure, hybrid, old) = (pure.json(), hybrid.json(), old.json());
    let url = format!("http://{}", node.addr);
    let interfaces: Vec<(&str, &str)> = pure["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interface| {
            assert_eq!(interface["url"], url.as_str());
            (interface["protocolBinding"].as_str().unwrap(), interface["protocolVersion"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        interfaces,
        [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")]
    );
    assert!(pure.get("url").is_none() && pure.get("preferredTransport").is_none());
    for card in [&hybrid, &old] {
        assert_eq!((card["url"].as_str(), card["protocolVersion"].as_str()), (Some(&*url), Some("0.3.0")));
        assert_eq!(card["preferredTransport"], "JSONRPC");
        let further =
            json!([{ "url": url, "transport": "JSONRPC" }, { "url": url, "transport": "HTTP+JSON" }]);
        assert_eq!(card["additionalInterfaces"], further);
        assert_eq!(card["security"], json!([{ "bearer": [] }]));
        assert_eq!(
            (&card["securitySchemes"]["bearer"]["type"], &card["securitySchemes"]["bearer"]["scheme"]),
            (&json!("http"), &json!("Bearer"))
        );
        assert_eq!(card["supportsAuthenticatedExtendedCard"], false);
    }
    assert_eq!(hybrid["supportedInterfaces"], pure["supportedInterfaces"]);
    assert_eq!(hybrid["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    assert!(old.get("supportedInterfaces").is_none() && old.get("securityRequirements").is_none());
    let of_agent = node.ask(Ask::get("/agents/hidden/.well-known/agent.json")).await.json();
    assert_eq!(
        (&of_agent["name"], &of_agent["url"]),
        (&json!("hidden"), &json!(format!("{url}/agents/hidden")))
    );
    node.end().await;
}

#[tokio::test]
async fn what_protocols_leaves_out_is_not_served_and_not_on_the_card() {
    let node = TestNode::start().await;
    let ann = node.token("ann", None).await;
    let call = |node: &TestNode, token: &str| {
        node.rpc_as(token, "/", "message/send", &said("x")).without("a2a-version")
    };
    let reply = node.ask(call(&node, &ann)).await;
    assert_eq!(reply.code(), -32009);
    assert!(reply.message().contains("send the header A2A-Version: 1.0"), "{}", reply.message());
    assert_eq!(reply.json()["error"]["data"][0]["metadata"]["supportedVersions"], "1.0");
    assert_eq!(node.ask(rest(&node, "GET", "/v1/tasks/t", &Value::Null)).await.status, 400);
    let card = node.ask(Ask::get(CARD)).await.json();
    assert!(!card.to_string().contains("0.3") && card.get("url").is_none(), "{card}");
    assert_eq!(node.ask(Ask::get(OLD_CARD)).await.status, 404);
    node.end().await;

    let node = TestNode::with(old_only).await;
    let ann = node.token("ann", None).await;
    assert_eq!(node.ask(call(&node, &ann)).await.json()["result"]["kind"], "task");
    let new = |token: &str| node.rpc_as(token, "/", "ListTasks", &json!({}));
    let reply = node.ask(new(&ann)).await;
    assert_eq!(reply.code(), -32009);
    assert_eq!(reply.json()["error"]["data"][0]["metadata"]["supportedVersions"], "0.3");
    assert!(node.ask(new(&node.local)).await.json()["result"].is_object(), "the node's own command line");
    let card = node.ask(Ask::get(CARD).header("a2a-version", "1.0")).await.json();
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(interfaces.iter().all(|interface| interface["protocolVersion"] == "0.3"), "{card}");
    node.end().await;
}

/// An event without what differs from task to task.
fn alike(update: Update) -> Update {
    let blank = |message: &mut Message| {
        (message.message_id, message.context_id, message.task_id) = ("m".into(), None, None);
    };
    match update {
        Update::Task(mut task) => {
            (task.id, task.context_id, task.status.timestamp) = ("t".into(), None, None);
            task.status.message.iter_mut().chain(&mut task.history).for_each(blank);
            Update::Task(task)
        }
        Update::StatusUpdate(mut update) => {
            (update.task_id, update.context_id, update.status.timestamp) = ("t".into(), "c".into(), None);
            update.status.message.iter_mut().for_each(blank);
            Update::StatusUpdate(update)
        }
        Update::ArtifactUpdate(mut update) => {
            (update.task_id, update.context_id) = ("t".into(), "c".into());
            Update::ArtifactUpdate(update)
        }
        Update::Message(message) => Update::Message(message),
    }
}

/// A message with a part of each kind that every dialect has words for.
fn every_part(task: Option<TaskId>) -> Send {
    let file = Part {
        filename: Some("a.bin".into()),
        media_type: Some("a/b".into()),
        ..Part::of(Content::Raw(vec![0, 255].into()))
    };
    let parts = vec![
        Part::text("go"),
        file,
        Part::of(Content::Url("https://x.example".into())),
        Part::data(&[1, 2]),
        Part::data(&json!({ "k": null })),
    ];
    let message = Message { task_id: task, ..Message::new(Role::User, parts) };
    Send { tenant: None, message, configuration: SendConfiguration::default(), metadata: None }
}

#[tokio::test]
async fn every_binding_and_version_tells_the_same() {
    let mut node = start().await;
    let address = Address::parse(&format!("http://{}", node.addr)).unwrap();
    let http = Http::new(address.clone(), Some(Credential::new(&node.local).unwrap())).unwrap();
    let mut told: Vec<(Dialect, Vec<Update>)> = Vec::new();
    for (binding, dialect) in [
        (Binding::Rpc, Dialect::V1),
        (Binding::Rest, Dialect::V1),
        (Binding::Rpc, Dialect::V03Json),
        (Binding::Rest, Dialect::V03Proto),
    ] {
        let url = address.at("/agents/stage");
        let peer = Peer::at(
            http.clone(),
            Endpoint { url, binding, tenant: None, dialect, streams: true, ours: true },
        );
        let mut seen = Vec::new();
        let mut follow = Follow::turn(&peer, every_part(None), Duration::from_secs(30));
        let Step::Event(first) = follow.next().await.unwrap() else { panic!() };
        let mut turn = node.turn().await;
        let artifact =
            Artifact { parts: turn.job.prompt.message.parts.clone(), ..Artifact::text("a".into(), "") };
        turn.tell(Progress::Artifact { artifact, append: false, last: true }).await;
        turn.tell(Progress::Ask { message: Message::agent("which?"), kind: Question::Question }).await;
        seen.push(first.update);
        while let Step::Event(event) = follow.next().await.unwrap() {
            seen.push(event.update);
        }
        let id = follow.id().unwrap().clone();
        let mut follow = Follow::turn(&peer, every_part(Some(id.clone())), Duration::from_secs(30));
        let Step::Event(first) = follow.next().await.unwrap() else { panic!() };
        assert!(turn.answer().await.is_some());
        turn.complete("end").await;
        seen.push(first.update);
        while let Step::Event(event) = follow.next().await.unwrap() {
            seen.push(event.update);
        }
        seen.push(Update::Task(peer.task(&id, None).await.unwrap()));
        told.push((dialect, seen.into_iter().map(alike).collect()));
    }
    let (_, first) = &told[0];
    assert!(first.len() >= 6, "{first:?}");
    for (dialect, seen) in &told {
        assert_eq!(seen, first, "{dialect:?}");
    }
    node.end().await;
}
