//! Cards and the list of agents: what they claim, and that it is so.

use serde_json::{Value, json};

use crate::support::{
    http::Ask,
    node::{TestNode, message, said},
};

const CARD: &str = "/.well-known/agent-card.json";

async fn card(node: &TestNode, path: &str) -> Value {
    let reply = node.ask(Ask::get(path)).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    reply.json()
}

#[tokio::test]
async fn ur_66_what_the_card_claims_is_what_happens() {
    let node = TestNode::with(|setup| setup.agents[1].capabilities.streaming = false).await;
    for (path, rpc) in [(CARD, "/"), ("/agents/hidden/.well-known/agent-card.json", "/agents/hidden")] {
        let card = card(&node, path).await;
        let capabilities = &card["capabilities"];
        let stream = node.stream(node.rpc(rpc, "SendStreamingMessage", &said("x"))).await;
        if capabilities["streaming"] == true {
            assert_eq!(stream.head.header("content-type"), "text/event-stream");
            assert!(!stream.all().await.is_empty());
        } else {
            assert_eq!(stream.head.code(), -32004);
            let subscribe = node.rpc(rpc, "SubscribeToTask", &json!({ "id": "nope" }));
            assert_eq!(node.ask(subscribe).await.code(), -32004);
        }
        assert_eq!(capabilities["pushNotifications"], false);
        let push = json!({ "taskId": "t", "url": "https://example.org/hook" });
        assert_eq!(node.ask(node.rpc(rpc, "CreateTaskPushNotificationConfig", &push)).await.code(), -32003);
        let inline = json!({ "message": message("y"), "configuration": { "taskPushNotificationConfig": { "url": "https://example.org/hook" } } });
        assert_eq!(node.ask(node.rpc(rpc, "SendMessage", &inline)).await.code(), -32003);
        assert_eq!(capabilities["extendedAgentCard"], false);
        assert_eq!(node.ask(node.rpc(rpc, "GetExtendedAgentCard", &json!({}))).await.code(), -32004);
        let mut bindings = Vec::new();
        for interface in card["supportedInterfaces"].as_array().unwrap() {
            let url = interface["url"].as_str().unwrap();
            let path = url.strip_prefix(&format!("http://{}", node.addr)).unwrap();
            assert!(
                !url.ends_with('/')
                    && interface["protocolVersion"] == "1.0"
                    && interface.get("tenant").is_none()
            );
            let binding = interface["protocolBinding"].as_str().unwrap();
            let task = match binding {
                "JSONRPC" => {
                    let path = if path.is_empty() { "/" } else { path };
                    node.result(path, "SendMessage", &said("dialled")).await
                }
                "HTTP+JSON" => node
                    .ask(node.rest("POST", &format!("{path}/message:send"), &said("dialled")))
                    .await
                    .json(),
                other => panic!("{other} is not served"),
            };
            assert_eq!(task["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
            bindings.push(binding);
        }
        assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]);
    }
    node.end().await;
}

#[tokio::test]
async fn a_card_has_all_that_a_card_must_have() {
    let node = TestNode::start().await;
    let card = card(&node, CARD).await;
    assert_eq!((card["name"].as_str(), card["version"].as_str()), (Some("echo"), Some("1.0.0")));
    for required in [
        "description",
        "supportedInterfaces",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ] {
        assert!(card.get(required).is_some(), "{required}");
    }
    assert!(!card["skills"][0]["tags"].as_array().unwrap().is_empty());
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    assert!(card["securityRequirements"][0]["schemes"]["bearer"].is_object());
    let extension = &card["capabilities"]["extensions"][0];
    assert_eq!(extension["uri"], "urn:a2ad:node/1");
    let params = &extension["params"];
    assert!(["namespace", "none"].contains(&params["isolation"].as_str().unwrap()));
    assert_eq!(
        (params["sandbox"].as_str(), params["permissions"].as_str()),
        (Some("none"), Some("ask: deny"))
    );
    assert!(params["custody"].is_string());
    assert!(
        card.get("url").is_none() && card.get("protocolVersion").is_none(),
        "nothing of 0.3, which is not served"
    );
    node.end().await;
}

#[tokio::test]
async fn a_card_that_was_seen_is_not_sent_again() {
    let node = TestNode::start().await;
    let first = node.ask(Ask::get(CARD)).await;
    assert_eq!(first.header("cache-control"), "max-age=60");
    assert!(first.header("vary").contains("A2A-Version"));
    let (tag, date) = (first.header("etag"), first.header("last-modified"));
    for (name, value) in [
        ("if-none-match", tag),
        ("if-none-match", &format!("W/{tag}")),
        ("if-none-match", &format!("\"x\", {tag}")),
        ("if-none-match", "*"),
        ("if-modified-since", date),
    ] {
        let reply = node.ask(Ask::get(CARD).header(name, value)).await;
        assert_eq!((reply.status, reply.body.len(), reply.header("etag")), (304, 0, tag), "{name}: {value}");
    }
    assert_eq!(node.ask(Ask::get(CARD).header("if-none-match", "\"x\"")).await.status, 200);
    let head = node.ask(Ask::new("HEAD", CARD)).await;
    assert_eq!((head.status, head.header("etag")), (200, tag));
    assert_eq!(head.header("content-length"), first.body.len().to_string());
    let other = node.ask(Ask::get("/agents/stage/.well-known/agent-card.json")).await;
    assert_ne!(other.header("etag"), tag);
    node.end().await;
}

#[tokio::test]
async fn ur_52_a_card_gives_the_address_that_its_reader_can_dial() {
    let url = |card: &Value| card["supportedInterfaces"][0]["url"].as_str().unwrap().to_owned();
    // Nothing configured: the port, whatever name the caller used for it, and no word of an untrusted proxy.
    let node = TestNode::start().await;
    let at = format!("http://{}", node.addr);
    let reply = node
        .ask(Ask::get(CARD).header("x-forwarded-host", "box.example").header("x-forwarded-proto", "https"))
        .await;
    assert_eq!(url(&reply.json()), at);
    node.end().await;
    // A trusted proxy says what was dialled.
    let node = TestNode::with(|setup| setup.doors.trusted_proxies = vec!["127.0.0.1".parse().unwrap()]).await;
    let ask = Ask::get(CARD).header("x-forwarded-host", "box.example").header("x-forwarded-proto", "https");
    assert_eq!(url(&node.ask(ask).await.json()), "https://box.example");
    let evil = Ask::get(CARD).header("x-forwarded-host", "evil.example");
    assert_eq!(node.ask(evil).await.status, 421);
    node.end().await;
    // A wildcard is nobody's address: the Host is.
    let node = TestNode::with(|setup| {
        setup.doors.listen =
            vec![a2ad::doors::config::Listen::Tcp { addr: "0.0.0.0:0".parse().unwrap(), optional: false }];
    })
    .await;
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], node.addr.port()));
    let reply = Ask::get(CARD).header("host", &format!("box.example:{}", here.port())).send(here).await;
    assert_eq!(url(&reply.json()), format!("http://box.example:{}", here.port()));
    assert!(reply.header("vary").contains("Host"));
    node.end().await;
    // What is configured wins over everything.
    let node =
        TestNode::with(|setup| setup.doors.public_url = Some("https://public.example/a2a".into())).await;
    assert_eq!(url(&card(&node, CARD).await), "https://public.example/a2a");
    let other = card(&node, "/agents/stage/.well-known/agent-card.json").await;
    assert_eq!(url(&other), "https://public.example/a2a/agents/stage");
    node.end().await;
}

#[tokio::test]
async fn the_list_shows_everybody_what_is_public_and_callers_what_they_may_use() {
    let node = TestNode::start().await;
    let names = |list: Value| -> Vec<String> {
        list["agents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| agent["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let list = card(&node, "/agents").await;
    assert_eq!(list["agents"][0]["default"], true);
    assert_eq!(list["agents"][1]["url"], format!("http://{}/agents/stage", node.addr));
    assert_eq!(names(list), ["echo", "stage"]);
    let token = node.token("desk", Some(&["hidden"])).await;
    let mine = node.ask(Ask::get("/agents").header("authorization", &format!("Bearer {token}"))).await;
    assert_eq!(names(mine.json()), ["hidden"]);
    let again = Ask::get("/agents")
        .header("authorization", &format!("Bearer {token}"))
        .header("if-none-match", mine.header("etag"));
    assert_eq!(node.ask(again).await.status, 304);
    let bad = node.ask(Ask::get("/agents").header("authorization", "Bearer nope")).await;
    assert_eq!((bad.status, bad.code()), (401, 401));
    assert_eq!(node.ask(Ask::get("/agents/nope/.well-known/agent-card.json")).await.status, 404);
    node.end().await;
}
