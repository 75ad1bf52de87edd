//! HTTP+JSON: every operation, its errors and its streams, and that it is the same node behind it.

use std::time::Duration;

use a2ad::{
    model::{Artifact, ListTasks, Message, Progress, Send, SendConfiguration, Update},
    peer::{Address, Binding, Credential, Endpoint, Follow, Http, Peer, Step},
    wire::Dialect,
};
use serde_json::{Value, json};

use crate::support::{
    http::{Ask, Event, Reply},
    node::{TestNode, message, said},
};

/// What is fetched.
async fn get(node: &TestNode, path: &str) -> Reply {
    node.ask(node.rest("GET", path, &Value::Null)).await
}

async fn post(node: &TestNode, path: &str, body: &Value) -> Reply {
    node.ask(node.rest("POST", path, body)).await
}

/// A task that has ended.
async fn sent(node: &TestNode, path: &str, text: &str) -> Value {
    let reply = post(node, path, &said(text)).await;
    assert_eq!(reply.status, 200, "{}", reply.json());
    reply.json()["task"].clone()
}

/// Status and reason of a refusal, whose body has the form of A2A-172.
#[track_caller]
fn refused(reply: &Reply) -> (u16, String) {
    assert_eq!(reply.header("content-type"), "application/json");
    let body = reply.json();
    let error = &body["error"];
    assert_eq!(error["code"], reply.status, "{body}");
    assert!(error["status"].is_string() && !error["message"].as_str().unwrap().is_empty(), "{body}");
    let info = &error["details"][0];
    assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    assert_eq!(info["metadata"]["requestId"], reply.header("x-request-id"));
    (reply.status, info["reason"].as_str().unwrap().to_owned())
}

#[track_caller]
fn is_refused(reply: &Reply, status: u16, reason: &str) {
    assert_eq!(refused(reply), (status, reason.to_owned()), "{}", reply.json());
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

#[tokio::test]
async fn a_send_a_get_and_a_list_are_bare_objects() {
    let node = TestNode::start().await;
    let task = sent(&node, "/message:send", "hello").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(get(&node, &format!("/tasks/{}", id(&task))).await.json(), task);
    let none = get(&node, &format!("/tasks/{}?historyLength=0", id(&task))).await.json();
    assert!(none.get("history").is_none() && task["history"].is_array());
    // The same over the other binding, and the other way round.
    assert_eq!(node.result("/", "GetTask", &json!({ "id": task["id"] })).await, task);
    let other = node.result("/", "SendMessage", &said("again")).await["task"].clone();
    let list = get(&node, "/tasks").await.json();
    assert_eq!(list["tasks"][0]["id"], other["id"]);
    assert_eq!(
        (&list["totalSize"], &list["pageSize"], &list["nextPageToken"]),
        (&json!(2), &json!(50), &json!(""))
    );
    assert!(list["tasks"][0].get("artifacts").is_none());
    node.end().await;
}

#[tokio::test]
async fn a_list_is_asked_for_by_its_query() {
    let node = TestNode::start().await;
    let first = sent(&node, "/message:send", "one").await;
    let second = sent(&node, "/message:send", "two").await;
    let list = async |query: &str| get(&node, &format!("/tasks?{query}")).await;
    let ids = |reply: Reply| -> Vec<Value> {
        reply.json()["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    let page = list("pageSize=1&includeArtifacts=true&historyLength=1").await.json();
    assert_eq!((&page["tasks"][0]["id"], &page["pageSize"]), (&second["id"], &json!(1)));
    assert!(page["tasks"][0]["artifacts"].is_array() && page["tasks"][0]["history"].is_array());
    let token = page["nextPageToken"].as_str().unwrap();
    assert_eq!(
        ids(list(&format!("page_size=1&includeArtifacts=true&historyLength=1&page_token={token}")).await),
        [first["id"].clone()]
    );
    let context = first["contextId"].as_str().unwrap();
    assert_eq!(ids(list(&format!("contextId={context}")).await), [first["id"].clone()]);
    assert_eq!(ids(list("status=TASK_STATE_COMPLETED").await).len(), 2);
    assert_eq!(ids(list("status=TASK_STATE_FAILED").await).len(), 0);
    let after = second["status"]["timestamp"].as_str().unwrap();
    assert!(ids(list(&format!("statusTimestampAfter={after}")).await).contains(&second["id"]));
    assert_eq!(ids(list("statusTimestampAfter=2999-01-01T00:00:00+02:00").await).len(), 0);
    for bad in
        ["pageSize=0", "pageSize=x", "status=done", "includeArtifacts=1", "pageToken=nope", "contextId=%ff"]
    {
        let reply = list(bad).await;
        assert_eq!(refused(&reply).0, 400, "{bad}");
    }
    let field =
        list("pageSize=101").await.json()["error"]["details"][1]["fieldViolations"][0]["field"].clone();
    assert_eq!(field, "pageSize");
    node.end().await;
}

#[tokio::test]
async fn a_task_is_canceled_with_no_body_or_an_empty_one() {
    let mut node = TestNode::start().await;
    let at_once =
        |text: &str| json!({ "message": message(text), "configuration": { "returnImmediately": true } });
    for (n, body) in
        [None, Some(""), Some("{}"), Some("null"), Some(r#"{"id":"other","metadata":{"why":1}}"#)]
            .into_iter()
            .enumerate()
    {
        let task = post(&node, "/stage/message:send", &at_once(&n.to_string())).await.json()["task"].clone();
        node.turn().await;
        let cancel = node.rest("POST", &format!("/stage/tasks/{}:cancel", id(&task)), &Value::Null);
        let cancel = match body {
            None => cancel,
            Some(body) => cancel.header("content-type", "application/json").body(body),
        };
        let reply = node.ask(cancel.clone()).await;
        assert_eq!(reply.json()["status"]["state"], "TASK_STATE_CANCELED", "{body:?}");
        is_refused(&node.ask(cancel).await, 400, "TASK_NOT_CANCELABLE");
    }
    // Without a length and without a type, and nothing in it.
    let unknown = node.rest("POST", "/tasks/nope:cancel", &Value::Null).chunked();
    is_refused(&node.ask(unknown).await, 404, "TASK_NOT_FOUND");
    node.end().await;
}

#[tokio::test]
async fn a_stream_is_events_without_an_envelope_and_is_subscribed_to_by_either_verb() {
    let mut node = TestNode::start().await;
    let mut stream = node.stream(node.rest("POST", "/stage/message:stream", &said("go"))).await;
    assert_eq!((stream.head.status, stream.head.header("content-type")), (200, "text/event-stream"));
    let first = stream.next().await.unwrap();
    let task = first.data["task"]["id"].as_str().expect("no envelope around it").to_owned();
    let turn = node.turn().await;
    let path = format!("/stage/tasks/{task}:subscribe");
    let mut others = Vec::new();
    for verb in ["GET", "POST"] {
        let mut other = node.stream(node.rest(verb, &path, &Value::Null)).await;
        assert_eq!(other.next().await.unwrap().data["task"]["id"], task.as_str(), "{verb}");
        others.push(other);
    }
    let rpc = node.rpc("/agents/stage", "SubscribeToTask", &json!({ "id": task }));
    let mut rpc = node.stream(rpc).await;
    rpc.next().await.unwrap();
    for text in ["one", "two"] {
        let artifact = Artifact::text("a".into(), text);
        turn.tell(Progress::Artifact { artifact, append: true, last: false }).await;
    }
    turn.complete("end").await;
    let chunks = |events: &[Event], rpc: bool| -> Vec<(u64, Value)> {
        let data = |event: &Event| if rpc { event.result().clone() } else { event.data.clone() };
        let chunk = |event: &Event| Some((event.id.unwrap(), data(event).get("artifactUpdate")?.clone()));
        events.iter().filter_map(chunk).collect()
    };
    let seen = stream.all().await;
    assert_eq!(seen.last().unwrap().data["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let wanted = chunks(&seen, false);
    assert_eq!(wanted.len(), 2);
    for other in others {
        assert_eq!(chunks(&other.all().await, false), wanted);
    }
    assert_eq!(
        chunks(&rpc.all().await, true),
        wanted,
        "the same events under the same numbers in both bindings"
    );
    // It has ended: what was not seen is told to who says what was, by header or by query.
    let after = wanted[0].0;
    let header = node.rest("GET", &path, &Value::Null).header("last-event-id", &after.to_string());
    let query = node.rest("POST", &format!("{path}?lastEventId={after}"), &Value::Null);
    for ask in [header, query] {
        let events = node.stream(ask).await.all().await;
        assert!(events[0].data["task"].is_object());
        assert_eq!(chunks(&events, false), wanted[1..]);
    }
    node.end().await;
}

#[tokio::test]
async fn a_refused_stream_is_a_plain_error() {
    let node = TestNode::with(|setup| setup.agents[1].capabilities.streaming = false).await;
    let task = sent(&node, "/message:send", "x").await;
    let mut more = said("more");
    more["message"]["taskId"] = task["id"].clone();
    for (verb, path, body, status, reason) in [
        ("POST", "/tasks/nope:subscribe".to_owned(), Value::Null, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/nope:subscribe".to_owned(), Value::Null, 404, "TASK_NOT_FOUND"),
        ("GET", format!("/tasks/{}:subscribe", id(&task)), Value::Null, 400, "UNSUPPORTED_OPERATION"),
        ("POST", "/message:stream".to_owned(), more, 400, "UNSUPPORTED_OPERATION"),
        ("POST", "/message:stream".to_owned(), json!({}), 400, "INVALID_PARAMS"),
        ("POST", "/hidden/message:stream".to_owned(), said("y"), 400, "UNSUPPORTED_OPERATION"),
    ] {
        let ask = node.rest(verb, &path, &body).header("accept", "text/event-stream");
        is_refused(&node.stream(ask).await.head, status, reason);
    }
    node.end().await;
}

#[tokio::test]
async fn the_agent_is_that_of_the_path_or_of_the_tenant() {
    let node = TestNode::start().await;
    let of = |tenant: &str| json!({ "tenant": tenant, "message": message("x") });
    for (path, body) in [
        ("/hidden/message:send", said("x")),
        ("/agents/hidden/message:send", said("x")),
        ("/agents/hidden/message:send", of("hidden")),
        ("/message:send", of("hidden")),
        ("/message:send?tenant=hidden", said("x")),
        ("/message:send?tenant=hidden", of("")),
        // The first segment wins.
        ("/hidden/message:send", of("echo")),
        ("/hidden/message:send?tenant=nope", said("x")),
    ] {
        let task = sent(&node, path, "x").await;
        let task =
            if body == said("x") { task } else { post(&node, path, &body).await.json()["task"].clone() };
        is_refused(&get(&node, &format!("/tasks/{}", id(&task))).await, 404, "TASK_NOT_FOUND");
        for place in ["/hidden/tasks/", "/agents/hidden/tasks/"] {
            assert_eq!(get(&node, &format!("{place}{}", id(&task))).await.json()["id"], task["id"], "{path}");
        }
        let query = format!("/tasks/{}?tenant=hidden", id(&task));
        assert_eq!(get(&node, &query).await.json()["id"], task["id"]);
    }
    for (path, body) in [
        ("/agents/hidden/message:send", of("echo")),
        ("/agents/hidden/message:send?tenant=echo", said("x")),
        ("/message:send?tenant=hidden", of("echo")),
        ("/message:send", of("nope")),
    ] {
        let reply = post(&node, path, &body).await;
        is_refused(&reply, 400, "INVALID_PARAMS");
        assert_eq!(reply.json()["error"]["details"][1]["fieldViolations"][0]["field"], "tenant", "{path}");
    }
    is_refused(&get(&node, "/nope/tasks").await, 404, "AGENT_NOT_FOUND");
    is_refused(&get(&node, "/agents/nope/tasks").await, 404, "AGENT_NOT_FOUND");
    node.end().await;
}

#[tokio::test]
async fn no_list_shows_a_task_of_another_agent_or_of_another_caller() {
    let node = TestNode::start().await;
    let desk = node.token("desk", None).await;
    for (path, text) in [("/message:send", "a"), ("/hidden/message:send", "b")] {
        let reply = node.ask(node.rest_as(&desk, "POST", path, &said(text))).await;
        assert_eq!(reply.status, 200);
    }
    let guest = node.token("guest", None).await;
    let total = async |token: &str, path: &str| {
        node.ask(node.rest_as(token, "GET", path, &Value::Null)).await.json()["totalSize"].clone()
    };
    for path in ["/tasks", "/echo/tasks", "/hidden/tasks", "/agents/hidden/tasks", "/tasks?tenant=hidden"] {
        assert_eq!(total(&desk, path).await, 1, "{path}");
        assert_eq!(total(&guest, path).await, 0, "{path}");
    }
    assert_eq!(total(&desk, "/stage/tasks").await, 0);
    node.end().await;
}

#[tokio::test]
async fn the_version_is_said_in_header_or_query_or_the_call_is_refused() {
    let node = TestNode::start().await;
    let ask = node.rest("GET", "/tasks", &Value::Null);
    for ask in [
        ask.clone().without("a2a-version"),
        ask.clone().header("a2a-version", ""),
        ask.clone().header("a2a-version", "0.3"),
        ask.clone().header("a2a-version", "1"),
        ask.clone().header("a2a-version", "99.0"),
        ask.clone().header("a2a-version", "1.0, 0.3"),
    ] {
        let reply = node.ask(ask).await;
        is_refused(&reply, 400, "VERSION_NOT_SUPPORTED");
        assert_eq!(reply.json()["error"]["details"][0]["metadata"]["supportedVersions"], "1.0");
        assert!(reply.message().contains("A2A-Version: 1.0") || reply.message().contains("two A2A versions"));
    }
    let query = node.rest("GET", "/tasks?A2A-Version=1.0&pageSize=3", &Value::Null).without("a2a-version");
    assert_eq!(node.ask(query).await.json()["pageSize"], 3);
    assert_eq!(node.ask(ask.header("a2a-version", "1.0.1")).await.status, 200);
    // Before the body is looked at.
    let send = node.rest("POST", "/message:send", &json!("x")).header("content-type", "text/plain");
    is_refused(&node.ask(send.without("a2a-version")).await, 400, "VERSION_NOT_SUPPORTED");
    node.end().await;
}

#[tokio::test]
async fn both_media_types_are_taken_and_the_answer_has_the_one_that_the_caller_wants() {
    let node = TestNode::start().await;
    let ask = node.rest("POST", "/message:send", &said("x"));
    for (sent, accept, wanted) in [
        ("application/a2a+json", None, "application/a2a+json"),
        ("application/json", None, "application/json"),
        ("application/json; charset=utf-8", Some("*/*"), "application/json"),
        ("APPLICATION/A2A+JSON", Some("*/*"), "application/a2a+json"),
        ("application/json", Some("application/a2a+json, application/json"), "application/a2a+json"),
        ("application/a2a+json", Some("application/json"), "application/json"),
    ] {
        let ask = ask.clone().header("content-type", sent);
        let ask = if let Some(accept) = accept { ask.header("accept", accept) } else { ask };
        let reply = node.ask(ask).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, wanted), "{sent} {accept:?}");
    }
    assert_eq!(get(&node, "/tasks").await.header("content-type"), "application/a2a+json");
    for wrong in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        is_refused(
            &node.ask(ask.clone().header("content-type", wrong)).await,
            400,
            "CONTENT_TYPE_NOT_SUPPORTED",
        );
    }
    is_refused(&node.ask(ask.clone().without("content-type")).await, 400, "CONTENT_TYPE_NOT_SUPPORTED");
    assert_eq!(node.ask(ask.header("content-encoding", "gzip")).await.status, 415);
    node.end().await;
}

#[tokio::test]
async fn bad_bodies_are_refused_and_leave_nothing_behind() {
    let node = TestNode::with(|setup| setup.doors.body = Some(4000)).await;
    let raw = |body: &[u8]| node.rest("POST", "/message:send", &json!({})).body(body);
    for (body, reason, word) in [
        (&b"{"[..], "PARSE_ERROR", "JSON"),
        (b"\xff", "PARSE_ERROR", "UTF-8"),
        (br#"{"message":{"messageId":"\ud800"}}"#, "PARSE_ERROR", "surrogate"),
        (b"", "INVALID_PARAMS", "message"),
        (b"null", "INVALID_PARAMS", "message"),
        (b"[]", "INVALID_PARAMS", "object"),
        (b"{}", "INVALID_PARAMS", "message"),
        (
            br#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
            "INVALID_PARAMS",
            "message.parts",
        ),
        (
            br#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"taskId":"nope"}}"#,
            "TASK_NOT_FOUND",
            "nope",
        ),
    ] {
        let reply = node.ask(raw(body)).await;
        let shown = String::from_utf8_lossy(body);
        assert_eq!(refused(&reply).1, reason, "{shown}");
        assert!(reply.message().contains(word), "{shown}: {}", reply.message());
    }
    is_refused(&node.ask(raw(&[b' '; 9000])).await, 413, "TOO_LARGE");
    is_refused(&node.ask(raw(&[b' '; 9000]).chunked()).await, 413, "TOO_LARGE");
    assert_eq!(get(&node, "/tasks").await.json()["totalSize"], 0, "nothing was begun");
    node.end().await;
}

#[tokio::test]
async fn who_is_not_let_in_is_told_before_the_body_is_read() {
    let node = TestNode::start().await;
    let ask = node.rest("POST", "/message:send", &said("x"));
    let reply = node.ask(ask.clone().without("authorization")).await;
    is_refused(&reply, 401, "UNAUTHENTICATED");
    assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"a2ad\"");
    let reply = node
        .ask(ask.clone().header("authorization", "Bearer nope").header("content-type", "text/plain"))
        .await;
    is_refused(&reply, 401, "UNAUTHENTICATED");
    assert!(reply.header("www-authenticate").contains("invalid_token"));
    let desk = node.token("desk", Some(&["hidden"])).await;
    for path in
        ["/message:send", "/echo/message:send", "/agents/echo/message:send", "/message:send?tenant=echo"]
    {
        is_refused(&node.ask(node.rest_as(&desk, "POST", path, &said("x"))).await, 403, "PERMISSION_DENIED");
    }
    assert_eq!(node.ask(node.rest_as(&desk, "POST", "/hidden/message:send", &said("x"))).await.status, 200);
    node.end().await;
}

#[tokio::test]
async fn who_asks_too_often_or_of_a_node_that_stops_is_told_when_to_come_back() {
    let node = TestNode::with(|setup| setup.doors.requests_per_minute = Some(1)).await;
    let desk = node.token("desk", None).await;
    let list = node.rest_as(&desk, "GET", "/tasks", &Value::Null);
    assert_eq!(node.ask(list.clone()).await.status, 200);
    let reply = node.ask(list).await;
    is_refused(&reply, 429, "BUSY");
    assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
    node.node.close();
    let reply = post(&node, "/message:send", &said("x")).await;
    is_refused(&reply, 503, "SERVER_DRAINING");
    assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
    node.end().await;
}

#[tokio::test]
async fn wrong_verbs_are_told_the_right_ones() {
    let node = TestNode::start().await;
    for (verb, path, allow) in [
        ("GET", "/message:send", "POST"),
        ("POST", "/tasks", "GET"),
        ("DELETE", "/tasks/t", "GET"),
        ("PUT", "/stage/tasks/t:cancel", "GET, POST"),
        ("PATCH", "/agents/stage/tasks/t/pushNotificationConfigs/c", "GET, DELETE"),
    ] {
        let reply = node.ask(Ask::new(verb, path)).await;
        is_refused(&reply, 405, "METHOD_NOT_ALLOWED");
        assert_eq!(reply.header("allow"), allow, "{verb} {path}");
    }
    let colon = get(&node, "/tasks/a:cancel").await;
    is_refused(&colon, 404, "TASK_NOT_FOUND");
    assert!(colon.message().contains("a:cancel"));
    node.end().await;
}

#[tokio::test]
async fn what_the_node_does_not_do_yet_is_refused_in_all_its_operations() {
    let node = TestNode::start().await;
    let config = json!({ "url": "https://example.org/hook" });
    for (verb, path, body) in [
        ("POST", "/tasks/t/pushNotificationConfigs", &config),
        ("GET", "/tasks/t/pushNotificationConfigs", &Value::Null),
        ("GET", "/tasks/t/pushNotificationConfigs/c", &Value::Null),
        ("DELETE", "/tasks/t/pushNotificationConfigs/c", &Value::Null),
    ] {
        is_refused(&node.ask(node.rest(verb, path, body)).await, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED");
    }
    is_refused(&get(&node, "/extendedAgentCard").await, 400, "UNSUPPORTED_OPERATION");
    is_refused(&get(&node, "/hidden/extendedAgentCard").await, 400, "UNSUPPORTED_OPERATION");
    node.end().await;
}

#[tokio::test]
async fn a_key_joins_the_first_send_whichever_way_either_came() {
    let node = TestNode::start().await;
    let ways = [
        node.rest("POST", "/message:send", &said("once")),
        node.rest("POST", "/message:send", &said("once")),
        node.rest("POST", "/echo/message:send", &said("once")),
        node.rest("POST", "/agents/echo/message:send", &said("once")),
        node.rpc("/", "SendMessage", &said("once")),
    ];
    let mut ids = Vec::new();
    for (n, ask) in ways.into_iter().enumerate() {
        let reply = node.ask(ask.header("idempotency-key", "k1")).await;
        assert_eq!(reply.header("a2ad-replayed") == "true", n > 0, "{}", reply.json());
        let body = reply.json();
        ids.push(body.get("result").unwrap_or(&body)["task"]["id"].clone());
    }
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()), "{ids:?}");
    let other = node.rest("POST", "/message:send", &said("other")).header("idempotency-key", "k1");
    is_refused(&node.ask(other).await, 400, "INVALID_PARAMS");
    node.end().await;
}

#[tokio::test]
async fn extensions_are_asked_for_and_said_back() {
    let node = TestNode::with(|setup| {
        setup.agents[0].extensions = vec![a2ad::runtime::config::Extension {
            uri: "urn:x:needed/1".into(),
            required: true,
            description: None,
            params: None,
        }];
    })
    .await;
    is_refused(&get(&node, "/tasks/nope").await, 400, "EXTENSION_SUPPORT_REQUIRED");
    let ask = node
        .rest("POST", "/message:send", &said("x"))
        .header("a2a-extensions", "urn:other/1, urn:x:needed/1");
    let reply = node.ask(ask.header("x-request-id", "my-id.7")).await;
    assert_eq!((reply.status, reply.header("a2a-extensions")), (200, "urn:x:needed/1"));
    assert_eq!(reply.header("x-request-id"), "my-id.7");
    node.end().await;
}

#[tokio::test]
async fn our_own_client_gets_the_same_over_either_binding() {
    let mut node = TestNode::start().await;
    let address = Address::parse(&format!("http://{}", node.addr)).unwrap();
    let http = Http::new(address.clone(), Some(Credential::new(&node.local).unwrap())).unwrap();
    let ways = [
        (Binding::Rpc, "/", Some("stage")),
        (Binding::Rest, "/", Some("stage")),
        (Binding::Rest, "/agents/stage", None),
    ];
    let mut told = Vec::new();
    for (binding, path, tenant) in ways {
        let (url, tenant) = (address.at(path), tenant.map(str::to_owned));
        let peer = Peer::at(
            http.clone(),
            Endpoint { url, binding, tenant, dialect: Dialect::V1, streams: true, ours: true },
        );
        let send = Send {
            tenant: None,
            message: Message::user("go"),
            configuration: SendConfiguration::default(),
            metadata: None,
        };
        let mut follow = Follow::turn(&peer, send, Duration::from_secs(30));
        let mut seen = Vec::new();
        let mut turn = None;
        loop {
            match follow.next().await.unwrap() {
                Step::End => break,
                Step::Reconnecting(error) => panic!("{error}"),
                Step::Event(event) => seen.push(kind(&event.update)),
            }
            if turn.is_none() {
                let started = node.turn().await;
                let artifact = Artifact::text("a".into(), "one");
                started.tell(Progress::Artifact { artifact, append: false, last: true }).await;
                started.complete("end").await;
                turn = Some(());
            }
        }
        let id = follow.id().unwrap().clone();
        let task = peer.task(&id, Some(0)).await.unwrap();
        seen.push(task.status.state.as_str().to_owned());
        let list = ListTasks {
            context_id: task.context_id.clone(),
            include_artifacts: true,
            ..ListTasks::default()
        };
        let page = peer.list(list).await.unwrap();
        assert_eq!((page.total_size, page.tasks[0].artifacts.clone()), (1, task.artifacts));
        for (refused, reason) in [
            (peer.cancel(&id).await.map(drop), "TASK_NOT_CANCELABLE"),
            (peer.task(&"a/b:c d".into(), None).await.map(drop), "TASK_NOT_FOUND"),
            (
                peer.list(ListTasks { page_size: Some(0), ..ListTasks::default() }).await.map(drop),
                "INVALID_PARAMS",
            ),
        ] {
            let error = refused.unwrap_err();
            assert!(error.refusal().unwrap().is(reason, 0), "{binding:?}: {error}");
            seen.push(error.to_string().replace(id.as_str(), "ID"));
        }
        told.push(seen);
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
    node.end().await;
}

fn kind(update: &Update) -> String {
    match update {
        Update::Task(_) => "task".into(),
        Update::Message(_) => "message".into(),
        Update::StatusUpdate(update) => update.status.state.as_str().into(),
        Update::ArtifactUpdate(_) => "artifact".into(),
    }
}

#[tokio::test]
async fn a_page_that_may_call_may_send_what_is_needed() {
    let node = TestNode::start().await;
    let ask = Ask::new("OPTIONS", "/stage/tasks/t/pushNotificationConfigs/c")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "DELETE");
    let reply = node.ask(ask).await;
    assert_eq!(reply.status, 204);
    assert!(reply.header("access-control-allow-methods").contains("DELETE"));
    node.end().await;
}
