//! What comes in over the wire: good, bad and hostile.

use std::time::Duration;

use a2ad::doors::config::Listen;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    http::{Ask, Reply},
    node::{TestNode, message, said},
};

/// A POST of the operator with this body.
fn raw(node: &TestNode, body: impl Into<Vec<u8>>) -> Ask {
    node.rpc("/", "SendMessage", &json!({})).body(body)
}

fn reason(reply: &Reply) -> String {
    let body = reply.json();
    let error = &body["error"];
    let details = error.get("data").or_else(|| error.get("details")).unwrap();
    details[0]["reason"].as_str().unwrap().to_owned()
}

async fn total(node: &TestNode) -> u64 {
    node.result("/", "ListTasks", &json!({})).await["totalSize"].as_u64().unwrap()
}

#[tokio::test]
async fn a_send_is_answered_with_the_ended_task() {
    let node = TestNode::start().await;
    let result = node.result("/", "SendMessage", &said("hello")).await;
    assert_eq!(result["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(result["task"]["status"]["message"]["parts"][0]["text"], "hello");
    let id = result["task"]["id"].as_str().unwrap();
    assert_eq!(node.result("/", "GetTask", &json!({ "id": id })).await["id"], id);
    assert_eq!(total(&node).await, 1);
    node.end().await;
}

#[tokio::test]
async fn bad_input_gets_a_clear_error_and_leaves_nothing_behind() {
    let node = TestNode::with(|setup| setup.doors.body = Some(8 << 20)).await;
    let envelope = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"x","method":"SendMessage","params":{params}}}"#).into_bytes()
    };
    let with = |part: &str| {
        envelope(&format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}}}"#))
    };
    let deep = format!(r#"{{"data":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let many = vec![r#"{"text":""}"#; 10_001].join(",");
    // Body, code, whether the id is known, a word of the message.
    let table: Vec<(Vec<u8>, i64, bool, &str)> = vec![
        (b"{".to_vec(), -32700, false, "JSON"),
        (b"".to_vec(), -32700, false, "JSON"),
        (b"\xff\xfe".to_vec(), -32700, false, "UTF-8"),
        (with(r#"{"text":"\ud800"}"#), -32700, false, "surrogate"),
        (b"[]".to_vec(), -32600, false, "batch"),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]"#.to_vec(), -32600, false, "batch"),
        (b"1".to_vec(), -32600, false, "object"),
        (br#"{"jsonrpc":"1.0","id":"x","method":"ListTasks"}"#.to_vec(), -32600, true, "jsonrpc"),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ListTasks"}"#.to_vec(), -32600, false, "id"),
        (br#"{"jsonrpc":"2.0","id":"x","method":"Nope"}"#.to_vec(), -32601, true, "Nope"),
        (br#"{"jsonrpc":"2.0","id":"x","method":"message/send"}"#.to_vec(), -32601, true, "message/send"),
        (envelope("[]"), -32602, true, "object"),
        (envelope("{}"), -32602, true, "message"),
        (envelope(r#"{"message":7}"#), -32602, true, "message"),
        (envelope(r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#), -32602, true, "messageId"),
        (
            envelope(r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#),
            -32602,
            true,
            "role",
        ),
        (
            envelope(r#"{"message":{"messageId":"m","role":"ROLE_KING","parts":[{"text":"x"}]}}"#),
            -32602,
            true,
            "role",
        ),
        (with(""), -32602, true, "parts"),
        (with("{}"), -32602, true, "parts[0]"),
        (with(r#"{"text":"a","url":"b"}"#), -32602, true, "parts[0]"),
        (with(r#"{"text":1}"#), -32602, true, "parts[0]"),
        (with(r#"{"raw":"*"}"#), -32602, true, "parts[0]"),
        (with(&deep), -32602, true, "stand in each other"),
        (with(&many), -32602, true, "parts"),
        (
            envelope(
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"taskId":"nope"}}"#,
            ),
            -32001,
            true,
            "nope",
        ),
        (
            envelope(
                r#"{"tenant":"nope","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
            ),
            -32602,
            true,
            "tenant",
        ),
    ];
    for (body, code, known, word) in table {
        let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        let reply = node.ask(raw(&node, body)).await;
        assert_eq!(reply.status, 200, "{shown}");
        assert_eq!(reply.code(), code, "{shown}: {}", reply.json());
        assert!(reply.message().contains(word), "{shown}: {}", reply.message());
        assert_eq!(reply.json()["id"], if known { json!("x") } else { Value::Null }, "{shown}");
    }
    assert_eq!(total(&node).await, 0, "nothing was begun");
    let nul = node.ask(raw(&node, with(r#"{"text":"a\u0000b"}"#))).await.json();
    assert_eq!(nul["result"]["task"]["status"]["message"]["parts"][0]["text"], "a\0b", "NUL is data");
    node.end().await;
}

#[tokio::test]
async fn a_terminal_task_and_a_foreign_context_are_refused() {
    let node = TestNode::start().await;
    let task = node.result("/", "SendMessage", &said("one")).await["task"].clone();
    let follow = |context: &Value| {
        let mut message = message("two");
        message["taskId"] = task["id"].clone();
        message["contextId"] = context.clone();
        json!({ "message": message })
    };
    let reply = node.ask(node.rpc("/", "SendMessage", &follow(&task["contextId"]))).await;
    assert_eq!(reply.code(), -32004);
    let reply = node.ask(node.rpc("/", "SendMessage", &follow(&json!("other")))).await;
    assert!([-32602, -32004].contains(&reply.code()), "{}", reply.json());
    assert_eq!(total(&node).await, 1);
    node.end().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_or_without_a_length() {
    let node = TestNode::with(|setup| setup.doors.body = Some(1000)).await;
    for ask in [raw(&node, vec![b' '; 9 << 20]), raw(&node, vec![b' '; 5000]).chunked()] {
        let reply = node.ask(ask).await;
        assert_eq!((reply.status, reply.code()), (413, -32000));
        assert_eq!(reply.json()["id"], Value::Null);
        assert!(reply.message().contains("1000 bytes"), "{}", reply.message());
    }
    node.end().await;
}

#[tokio::test]
async fn only_json_as_it_is_is_taken() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "SendMessage", &said("x"));
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        let reply = node.ask(ask.clone().header("content-type", media_type)).await;
        assert_eq!((reply.status, reply.code()), (200, -32005), "{media_type}");
        assert_eq!(reply.json()["id"], Value::Null);
    }
    let reply = node.ask(ask.clone().without("content-type")).await;
    assert_eq!((reply.status, reply.code()), (200, -32005));
    assert!(
        reply.message().contains("send the header Content-Type: application/json"),
        "{}",
        reply.message()
    );
    for media_type in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/a2a+json"] {
        let reply = node.ask(ask.clone().header("content-type", media_type)).await;
        assert!(reply.json()["result"].is_object(), "{media_type}");
        assert_eq!(reply.header("content-type"), "application/json");
    }
    let reply = node.ask(ask.header("content-encoding", "gzip")).await;
    assert_eq!((reply.status, reply.code()), (415, 415));
    node.end().await;
}

#[tokio::test]
async fn ids_come_back_as_they_were_sent() {
    let node = TestNode::start().await;
    for id in [r#""a\"b""#, "0", "-1", "1.50", "18446744073709551616", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ListTasks"}}"#);
        let reply = node.ask(raw(&node, body)).await;
        let text = String::from_utf8(reply.body).unwrap();
        assert!(text.contains(&format!(r#""id":{id},"#)), "{text}");
    }
    node.end().await;
}

#[tokio::test]
async fn what_has_no_id_is_carried_out_in_silence() {
    let node = TestNode::start().await;
    let note =
        |method: &str| json!({ "jsonrpc": "2.0", "method": method, "params": said("quiet") }).to_string();
    let reply = node.ask(raw(&node, note("SendMessage"))).await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    assert_eq!(total(&node).await, 1);
    let reply = node.ask(raw(&node, note("Nope"))).await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    let reply = node.ask(raw(&node, note("SendStreamingMessage"))).await;
    assert_eq!((reply.status, reply.code(), &reply.json()["id"]), (200, -32600, &Value::Null));
    assert_eq!(total(&node).await, 1, "a stream must have one, and nothing was begun");
    node.end().await;
}

#[tokio::test]
async fn ur_54_a_caller_without_the_header_is_told_which_one_to_send() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "SendMessage", &said("x"));
    for ask in [ask.clone().without("a2a-version"), ask.clone().header("a2a-version", "0.3")] {
        let reply = node.ask(ask).await;
        assert_eq!((reply.status, reply.code()), (200, -32009));
        assert!(reply.message().contains("A2A-Version: 1.0"), "{}", reply.message());
        assert_eq!(reply.json()["error"]["data"][0]["metadata"]["supportedVersions"], "1.0");
    }
    let query = node.rpc("/?A2A-Version=1.0", "SendMessage", &said("x")).without("a2a-version");
    assert!(node.ask(query).await.json()["result"].is_object());
    assert_eq!(node.ask(ask.clone().header("a2a-version", "99.0")).await.code(), -32009);
    assert!(node.ask(ask.header("a2a-version", "1.0.7")).await.json()["result"].is_object());
    node.end().await;
}

#[tokio::test]
async fn the_agent_is_that_of_the_path_or_of_the_tenant_and_never_two() {
    let node = TestNode::start().await;
    let tenant = |name: &str| json!({ "tenant": name, "message": message("x") });
    for (path, params) in [
        ("/", tenant("hidden")),
        ("/agents/hidden", said("x")),
        ("/agents/hidden/", said("x")),
        ("/agents/hidden", tenant("hidden")),
        ("/agents/hidden", tenant("")),
    ] {
        let task = node.result(path, "SendMessage", &params).await["task"].clone();
        let get = json!({ "id": task["id"] });
        assert_eq!(
            node.ask(node.rpc("/", "GetTask", &get)).await.code(),
            -32001,
            "it is not the default agent's"
        );
        assert_eq!(node.result("/agents/hidden", "GetTask", &get).await["id"], task["id"]);
    }
    let reply = node.ask(node.rpc("/agents/hidden", "SendMessage", &tenant("echo"))).await;
    assert_eq!(reply.code(), -32602);
    assert_eq!(reply.json()["error"]["data"][1]["fieldViolations"][0]["field"], "tenant");
    let reply = node.ask(node.rpc("/agents/nope", "SendMessage", &said("x"))).await;
    assert_eq!((reply.status, reply.code()), (404, 404));
    assert_eq!(reason(&reply), "AGENT_NOT_FOUND");
    node.end().await;
}

#[tokio::test]
async fn paths_that_lead_nowhere_say_so_in_the_form_of_rest() {
    let node = TestNode::start().await;
    for (method, path, status) in [
        ("GET", "/nope", 404),
        ("GET", "/tasks/", 404),
        ("GET", "/Echo/tasks", 404),
        ("POST", "/v1/message:sent", 404),
        ("POST", "/tasks", 405),
        ("GET", "/tasks/%ff", 400),
        ("GET", "/%zz", 400),
        ("GET", "//", 400),
        ("GET", "/agents/../healthz", 400),
        ("PUT", "/agents", 405),
        ("DELETE", "/", 405),
        ("POST", "/lf.a2a.v1.A2AService/SendMessage", 415),
    ] {
        let reply = node.ask(Ask::new(method, path)).await;
        assert_eq!((reply.status, reply.code()), (status, i64::from(status)), "{method} {path}");
        assert!(!reply.message().is_empty() && !reply.header("x-request-id").is_empty());
    }
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        for path in ["/agents/nope", "/agents/nope/", "/agents/No%2Fpe"] {
            let reply = node.ask(Ask::new(method, path)).await;
            assert_eq!((reply.status, reply.code()), (404, 404), "{method} {path}");
            assert_eq!(reason(&reply), "AGENT_NOT_FOUND", "{method} {path}");
        }
        let reply = node.ask(Ask::new(method, "/agents/hidden")).await;
        assert_eq!((reply.status, reply.header("allow")), (405, "POST"), "{method}");
    }
    let reply = node.ask(Ask::new("PUT", "/agents/nope/.well-known/agent-card.json")).await;
    assert_eq!((reply.status, reason(&reply).as_str()), (404, "AGENT_NOT_FOUND"));
    let reply = node.ask(Ask::get("/")).await;
    assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
    assert!(reply.message().contains("/.well-known/agent-card.json"));
    let grpc = Ask::post("/lf.a2a.v1.A2AService/SendMessage").header("content-type", "application/grpc");
    let reply = node.ask(grpc).await;
    assert_eq!((reply.status, reply.header("grpc-status")), (200, "12"));
    node.end().await;
}

#[tokio::test]
async fn every_answer_carries_the_callers_request_id() {
    let node = TestNode::start().await;
    for (sent, kept) in [("my-id.7", true), ("no spaces please", false)] {
        let ask = node.rpc("/", "GetTask", &json!({ "id": "nope" })).header("x-request-id", sent);
        let reply = node.ask(ask).await;
        assert_eq!(reply.header("x-request-id") == sent, kept);
        assert_eq!(reply.json()["error"]["data"][0]["metadata"]["requestId"], reply.header("x-request-id"));
    }
    node.end().await;
}

#[tokio::test]
async fn an_idempotency_key_joins_the_first_send() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "SendMessage", &said("once")).header("idempotency-key", "k1");
    let first = node.ask(ask.clone()).await;
    let second = node.ask(ask.clone()).await;
    assert_eq!(first.header("a2ad-replayed"), "");
    assert_eq!(second.header("a2ad-replayed"), "true");
    assert_eq!(first.json()["result"]["task"]["id"], second.json()["result"]["task"]["id"]);
    assert_eq!(node.ask(ask.clone().header("idempotency-key", &"k".repeat(300))).await.code(), -32602);
    let other = node.rpc("/", "SendMessage", &said("another")).header("idempotency-key", "k1");
    assert_eq!(node.ask(other).await.code(), -32602);
    assert_eq!(total(&node).await, 1);
    node.end().await;
}

#[tokio::test]
async fn a_required_extension_is_asked_for_before_any_task_is_looked_up() {
    let node = TestNode::with(|setup| {
        setup.agents[0].extensions = vec![a2ad::runtime::config::Extension {
            uri: "urn:x:needed/1".into(),
            required: true,
            description: None,
            params: None,
        }];
    })
    .await;
    let get = node.rpc("/", "GetTask", &json!({ "id": "nope" }));
    assert_eq!(node.ask(get.clone()).await.code(), -32008);
    assert_eq!(node.ask(get.header("a2a-extensions", "urn:other/1, urn:x:needed/1")).await.code(), -32001);
    let send =
        node.rpc("/", "SendMessage", &said("x")).header("a2a-extensions", "urn:other/1,urn:x:needed/1");
    assert_eq!(
        node.ask(send).await.header("a2a-extensions"),
        "urn:x:needed/1",
        "only what is known is activated"
    );
    node.end().await;
}

#[tokio::test]
async fn probes_are_answered_to_whoever_asks() {
    let node = TestNode::start().await;
    let probe = |path: &str| Ask::get(path).header("host", "10.42.0.7.evil.example").header("via", "1.1 x");
    assert_eq!(node.ask(probe("/healthz")).await.status, 200);
    assert_eq!(node.ask(probe("/readyz")).await.status, 200);
    node.node.drain(true);
    assert_eq!(node.ask(probe("/readyz")).await.status, 503);
    assert_eq!(node.ask(probe("/healthz")).await.status, 200);
    node.node.drain(false);
    assert_eq!(node.ask(probe("/readyz")).await.status, 200);
    node.end().await;
}

#[tokio::test]
async fn a_principal_that_asks_too_often_is_told_when_to_come_back() {
    let node = TestNode::with(|setup| setup.doors.requests_per_minute = Some(3)).await;
    let desk = node.token("desk", None).await;
    let list = node.rpc_as(&desk, "/", "ListTasks", &json!({}));
    for _ in 0..3 {
        assert_eq!(node.ask(list.clone()).await.status, 200);
    }
    let reply = node.ask(list).await;
    assert_eq!((reply.status, reply.code()), (429, -32000));
    assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(
        node.ask(node.rpc("/", "ListTasks", &json!({}))).await.status,
        200,
        "the operator is not counted"
    );
    node.end().await;
}

#[tokio::test]
async fn a_principal_has_so_many_streams_at_once() {
    let mut node = TestNode::with(|setup| setup.doors.streams_per_principal = Some(1)).await;
    let ask = node.rpc("/agents/stage", "SendStreamingMessage", &said("x"));
    let first = node.stream(ask.clone()).await;
    let turn = node.turn().await;
    let refused = node.stream(node.rpc("/agents/stage", "SendStreamingMessage", &said("y"))).await;
    assert_eq!((refused.head.status, refused.head.code()), (429, -32000));
    turn.complete("end").await;
    first.all().await;
    // The place is free once the connection has ended, which the caller can't see.
    loop {
        let again = node.stream(ask.clone().header("idempotency-key", "again")).await;
        if again.head.status == 200 {
            break;
        }
    }
    node.end().await;
}

#[tokio::test]
async fn http_2_is_spoken_on_the_same_port() {
    let node = TestNode::start().await;
    let stream = TcpStream::connect(node.addr).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io).await.unwrap();
    let talk = async {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said("h2") }).to_string();
        let request = http::Request::post(format!("http://{}/", node.addr))
            .header("authorization", format!("Bearer {}", node.local))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(http_body_util::Full::new(bytes::Bytes::from(body)))
            .unwrap();
        let response = send.send_request(request).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        drop(send);
    };
    let (ended, ()) = tokio::join!(connection, talk);
    ended.unwrap();
    node.end().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_a_door_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a2ad.sock");
    let node = TestNode::with(|setup| {
        setup.doors.listen = vec![Listen::Unix { path: path.clone(), mode: 0o600, group: None }];
    })
    .await;
    let ask = node.rpc("/", "SendMessage", &said("x")).header("host", "whatever");
    let reply = ask.over(tokio::net::UnixStream::connect(&path).await.unwrap()).await;
    assert!(reply.json()["result"].is_object());
    let card = Ask::get("/.well-known/agent-card.json")
        .over(tokio::net::UnixStream::connect(&path).await.unwrap())
        .await;
    assert_eq!(card.json()["supportedInterfaces"], json!([]), "there is no address to give");
    node.end().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn who_says_nothing_or_half_a_request_is_left_after_request_timeout() {
    let node = TestNode::with(|setup| setup.doors.request_timeout = Some(Duration::from_millis(200))).await;
    for sent in ["", "POST / HTTP/1.1\r\nhost: localhost\r\n", "PRI * HTTP/2.0\r\n"] {
        let mut stream = TcpStream::connect(node.addr).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
        read.unwrap_or_else(|_| panic!("still held: {sent:?}")).unwrap();
    }
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\ncontent-length: 10\r\n\r\n12",
        node.local
    );
    let mut stream = TcpStream::connect(node.addr).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.starts_with("HTTP/1.1 408"), "{rest}");
    node.end().await;
}

#[tokio::test]
async fn more_connections_than_there_are_places_for_are_closed_and_the_others_go_on() {
    let node = TestNode::with(|setup| setup.doors.connections_per_address = Some(1)).await;
    let held = TcpStream::connect(node.addr).await.unwrap();
    // Accepted in order, so once this one is closed the first one has its place.
    let mut second = TcpStream::connect(node.addr).await.unwrap();
    assert_eq!(second.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let reply = Ask::get("/healthz").over(held).await;
    assert_eq!(reply.status, 200);
    node.end().await;
}

#[tokio::test]
async fn a_reload_changes_what_is_asked_of_the_next_request() {
    let node = TestNode::start().await;
    let ask = Ask::get("/agents").header("host", "new.example");
    assert_eq!(node.ask(ask.clone()).await.status, 421);
    let mut config = crate::support::node::doors_config();
    config.allowed_hosts.push("new.example".into());
    node.live.replace(config);
    assert_eq!(node.ask(ask).await.status, 200);
    node.end().await;
}

#[tokio::test]
async fn a_stop_lets_a_caller_that_waits_for_a_turn_have_its_answer() {
    let mut node = TestNode::start().await;
    let addr = node.addr;
    let ask = node.rpc("/agents/stage", "SendMessage", &said("long"));
    let waiting = async move { ask.send(addr).await };
    let stopping = async {
        let turn = node.turn().await;
        node.node.close();
        node.stop.stop.cancel();
        turn.complete("done after all").await;
        node
    };
    let (reply, node) = tokio::join!(waiting, stopping);
    assert_eq!(reply.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(TcpStream::connect(addr).await.is_err(), "nobody new is let in");
    node.end().await;
}
