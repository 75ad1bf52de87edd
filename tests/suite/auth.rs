//! Who may do what, and over which connection.

use a2ad::{doors::config::Auth, model::CallerRole};
use serde_json::{Value, json};

use crate::support::{
    http::Ask,
    node::{TestNode, said},
};

#[tokio::test]
async fn without_a_credential_nothing_is_read_and_nothing_done() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "SendMessage", &said("x"));
    let reply = node.ask(ask.clone().without("authorization")).await;
    assert_eq!((reply.status, reply.code()), (401, -32000));
    assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"a2ad\"");
    let data = &reply.json()["error"]["data"][0];
    assert_eq!((data["reason"].as_str(), data["domain"].as_str()), (Some("UNAUTHENTICATED"), Some("a2ad")));
    for bad in ["Bearer nope", "Basic YTpi", "Bearer", &format!("Token {}", node.local)] {
        let reply = node.ask(ask.clone().header("authorization", bad)).await;
        assert_eq!(reply.status, 401, "{bad}");
        assert!(reply.header("www-authenticate").contains("error=\"invalid_token\""), "{bad}");
    }
    // Before the body: what is refused here would be refused there for its media type.
    let reply =
        node.ask(ask.header("authorization", "Bearer nope").header("content-type", "text/plain")).await;
    assert_eq!(reply.status, 401);
    node.end().await;
}

#[tokio::test]
async fn the_local_token_is_worth_nothing_once_something_passed_it_on() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "ListTasks", &json!({}));
    assert_eq!(node.ask(ask.clone()).await.status, 200);
    for header in ["forwarded", "via", "x-forwarded-for", "x-forwarded-proto"] {
        assert_eq!(node.ask(ask.clone().header(header, "1.2.3.4")).await.status, 401, "{header}");
    }
    let desk = node.token("desk", None).await;
    let ask = node.rpc_as(&desk, "/", "ListTasks", &json!({})).header("via", "1.1 proxy");
    assert_eq!(node.ask(ask).await.status, 200, "a made token goes through a proxy");
    node.end().await;
}

#[tokio::test]
async fn a_token_covers_its_agents_and_no_other() {
    let node = TestNode::start().await;
    let token = node.token("desk", Some(&["hidden"])).await;
    let ask = |path: &str| node.rpc_as(&token, path, "SendMessage", &said("x"));
    assert_eq!(node.ask(ask("/agents/hidden")).await.status, 200);
    for path in ["/", "/agents/echo"] {
        let reply = node.ask(ask(path)).await;
        assert_eq!((reply.status, reply.code()), (403, -32000), "{path}");
        assert_eq!(reply.json()["error"]["data"][0]["reason"], "PERMISSION_DENIED");
    }
    let tenant = json!({ "tenant": "stage", "message": said("x")["message"] });
    assert_eq!(node.ask(node.rpc_as(&token, "/", "SendMessage", &tenant)).await.status, 403);
    node.end().await;
}

#[tokio::test]
async fn ur_62_the_tasks_of_others_are_neither_listed_nor_known() {
    let node = TestNode::start().await;
    let (ann, bob) = (node.token("ann", None).await, node.token("bob", None).await);
    let task =
        node.ask(node.rpc_as(&ann, "/", "SendMessage", &said("mine"))).await.json()["result"]["task"].clone();
    let list = |token: &str| node.rpc_as(token, "/", "ListTasks", &json!({}));
    assert_eq!(node.ask(list(&ann)).await.json()["result"]["totalSize"], 1);
    let of_bob = node.ask(list(&bob)).await.json()["result"].clone();
    assert_eq!((of_bob["totalSize"].as_u64(), &of_bob["tasks"]), (Some(0), &json!([])));
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let foreign = node.ask(node.rpc_as(&bob, "/", method, &json!({ "id": task["id"] }))).await;
        let unknown = node.ask(node.rpc_as(&bob, "/", method, &json!({ "id": "nope" }))).await;
        assert_eq!((foreign.code(), unknown.code()), (-32001, -32001), "{method}");
    }
    let all = Ask::get("/ops/tasks").header("authorization", &format!("Bearer {}", node.local));
    let all = node.ask(all).await.json();
    let seen = &all["tasks"][0];
    assert_eq!(seen["task"]["id"], task["id"], "the operator sees all");
    assert_eq!(
        (&seen["principal"], &seen["agent"]),
        (&json!("token:ann"), &json!("echo")),
        "and whose it is"
    );
    node.end().await;
}

#[tokio::test]
async fn ur_61_a_web_page_does_not_get_through_whatever_it_tries() {
    let node = TestNode::start().await;
    let ask = node.rpc("/", "SendMessage", &said("x"));
    let rebound = node.ask(ask.clone().header("host", "evil.example")).await;
    assert_eq!(rebound.status, 421);
    assert!(rebound.message().contains("allowed_hosts"));
    let page = node.ask(ask.clone().header("origin", "https://evil.example")).await;
    assert_eq!((page.status, page.header("access-control-allow-origin")), (403, ""));
    let form = ask.clone().header("content-type", "text/plain");
    assert_eq!(node.ask(form).await.code(), -32005, "what a form can send is no JSON");
    assert_eq!(
        node.ask(ask.without("authorization")).await.status,
        401,
        "nor does the address open anything"
    );
    let preflight = Ask::new("OPTIONS", "/").header("access-control-request-method", "POST");
    assert_eq!(node.ask(preflight.clone().header("origin", "https://evil.example")).await.status, 403);
    let named = node.ask(preflight.header("origin", "https://app.example")).await;
    assert_eq!((named.status, named.header("access-control-allow-origin")), (204, "https://app.example"));
    let named = node.rpc("/", "ListTasks", &json!({})).header("origin", "https://app.example");
    assert_eq!(node.ask(named).await.header("access-control-allow-origin"), "https://app.example");
    node.end().await;
}

#[tokio::test]
async fn an_open_node_serves_this_machine_as_nobody_and_keeps_the_operators_paths() {
    let node = TestNode::with(|setup| setup.doors.auth = Auth::None).await;
    let ask = node.rpc("/", "SendMessage", &said("x")).without("authorization");
    assert_eq!(node.ask(ask.clone()).await.status, 200);
    // An Authorization is ignored there.
    assert_eq!(node.ask(ask.clone().header("authorization", "Bearer nope")).await.status, 200);
    for header in ["x-forwarded-for", "via", "tailscale-user-login", "cf-ray", "origin"] {
        let reply = node.ask(ask.clone().header(header, "https://app.example")).await;
        assert_eq!(reply.status, 403, "{header}");
        assert!(reply.message().contains("mode = \"token\""));
    }
    assert_eq!(node.ask(Ask::get("/ops/status")).await.status, 401);
    let card = node.ask(Ask::get("/.well-known/agent-card.json")).await.json();
    assert!(card.get("securitySchemes").is_none() && card.get("securityRequirements").is_none());
    node.end().await;
}

#[tokio::test]
async fn the_operators_paths_are_for_admins() {
    let node = TestNode::start().await;
    let user = node.token("desk", None).await;
    let admin = node.token_as("root", CallerRole::Admin, None).await;
    let get = |token: &str, path: &str| Ask::get(path).header("authorization", &format!("Bearer {token}"));
    assert_eq!(node.ask(Ask::get("/ops/status")).await.status, 401);
    assert_eq!(node.ask(get(&user, "/ops/status")).await.status, 403);
    let status = node.ask(get(&admin, "/ops/status")).await.json();
    assert_eq!(status["urls"], json!([format!("http://{}", node.addr)]));
    assert_eq!(status["agents"].as_array().unwrap().len(), 3);
    for path in ["/ops/ps", "/ops/agents", "/ops/tokens", "/ops/drain", "/ops/tasks?state=completed&limit=5"]
    {
        assert_eq!(node.ask(get(&node.local, path)).await.status, 200, "{path}");
    }
    for (path, status) in [("/ops/nope", 404), ("/ops/tasks?state=busy", 400), ("/ops/tasks/nope", 404)] {
        assert_eq!(node.ask(get(&node.local, path)).await.status, status, "{path}");
    }
    let tokens = node.ask(get(&node.local, "/ops/tokens")).await;
    assert!(!String::from_utf8(tokens.body).unwrap().contains(&user), "no secret is ever shown again");
    node.end().await;
}

#[tokio::test]
async fn a_revoked_token_ends_its_streams_and_opens_nothing_more() {
    let mut node = TestNode::start().await;
    let post = |path: &str, body: &Value| {
        Ask::post(path)
            .header("authorization", &format!("Bearer {}", node.local))
            .header("content-type", "application/json")
            .body(body.to_string())
    };
    let made = json!({ "name": "desk", "role": "user", "agents": null, "expires_at": null, "add": false, "reuse": false });
    let made = node.ask(post("/ops/tokens", &made)).await.json();
    let secret = made["secret"].as_str().unwrap();
    let revoke = post("/ops/tokens/desk/revoke", &json!({ "cancel": false }));
    let ask = node.rpc_as(secret, "/agents/stage", "SendStreamingMessage", &said("x"));
    let mut stream = node.stream(ask.clone()).await;
    assert!(stream.next().await.unwrap().result()["task"].is_object());
    let turn = node.turn().await;
    assert_eq!(node.ask(revoke).await.json()["secrets"], 1);
    let last = stream.all().await.pop().unwrap();
    assert_eq!(last.kind, "error");
    assert_eq!(last.data["error"]["data"][0]["reason"], "UNAUTHENTICATED");
    assert_eq!(node.ask(ask).await.status, 401);
    turn.complete("unheard").await;
    node.end().await;
}
