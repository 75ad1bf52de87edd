//! The client against a scripted server on loopback, which says what it is told to and cuts where it is told to.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
    task::JoinSet,
};

use super::*;
use crate::model::{Message, Send, SendConfiguration, TaskState, Update};

/// One connection each, in order: what is answered, as it goes over the wire.
struct Server {
    address: Address,
    heard: mpsc::UnboundedReceiver<String>,
    _work: JoinSet<()>,
}

impl Server {
    async fn of(answers: Vec<String>) -> Self {
        Self::over(TcpListener::bind("127.0.0.1:0").await.unwrap(), answers)
    }

    fn over(listener: TcpListener, answers: Vec<String>) -> Self {
        let address = Address::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (told, heard) = mpsc::unbounded_channel();
        let mut work = JoinSet::new();
        work.spawn(async move {
            for answer in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = request(&mut socket).await;
                let _ = told.send(request);
                socket.write_all(answer.as_bytes()).await.unwrap();
                socket.shutdown().await.unwrap();
            }
        });
        Self { address, heard, _work: work }
    }

    fn peer(&self, ours: bool) -> Peer {
        let credential = Credential::new("a2ad_test").unwrap();
        let http = Http::new(self.address.clone(), Some(credential)).unwrap();
        let url = self.address.at("/");
        let (binding, tenant) = (Binding::Rpc, Some("x".into()));
        Peer::at(http, Endpoint { url, binding, tenant, dialect: Dialect::V1, streams: true, ours })
    }

    /// The next request, head and body.
    fn request(&mut self) -> String {
        self.heard.try_recv().expect("a request")
    }
}

async fn request(socket: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let mut more = [0; 4096];
        let read = socket.read(&mut more).await.unwrap();
        assert!(read > 0, "the request ended early");
        bytes.extend_from_slice(&more[..read]);
    }
}

fn json(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// A stream of events; one that is cut lacks the end that HTTP wants.
fn stream(events: &[(u64, &str)], cut: bool) -> String {
    let mut text = String::from(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\
         connection: close\r\n\r\n",
    );
    for (id, result) in events {
        let event = format!("id: {id}\ndata: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n\n");
        text.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    if !cut {
        text.push_str("0\r\n\r\n");
    }
    text
}

/// The same without an envelope.
fn bare_stream(events: &[(u64, &str)], cut: bool) -> String {
    let chunk = |(id, result): &(u64, &str)| {
        let event = format!("id: {id}\ndata: {result}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
                connection: close\r\n\r\n";
    let end = if cut { "" } else { "0\r\n\r\n" };
    format!("{head}{}{end}", events.iter().map(chunk).collect::<String>())
}

const TASK: &str = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const ASKS: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#;
const TEXT: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"hi"}]}}}"#;

fn hello() -> Send {
    Send {
        tenant: None,
        message: Message::user("hello"),
        configuration: SendConfiguration::default(),
        metadata: None,
    }
}

/// Every step until the end; reconnections by `-`, states by their last word.
async fn steps(follow: &mut Follow<'_>) -> Result<Vec<String>, Error> {
    let mut steps = Vec::new();
    loop {
        steps.push(match follow.next().await? {
            Step::End => return Ok(steps),
            Step::Reconnecting(_) => "-".to_owned(),
            Step::Event(event) => {
                let Event { seq, update } = *event;
                let kind = match update {
                    Update::Task(task) => task.status.state.as_str().to_owned(),
                    Update::StatusUpdate(update) => update.status.state.as_str().to_owned(),
                    Update::ArtifactUpdate(_) => "text".to_owned(),
                    Update::Message(_) => "message".to_owned(),
                };
                format!("{}:{}", seq.map_or(0, |seq| seq), kind.trim_start_matches("TASK_STATE_"))
            }
        });
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_after_the_last_event() {
    let answers = vec![stream(&[(1, TASK), (2, TEXT)], true), stream(&[(2, TASK), (3, DONE)], false)];
    let mut server = Server::of(answers).await;
    let peer = server.peer(false);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    let steps = steps(&mut follow).await.unwrap();
    assert_eq!(steps, ["1:WORKING", "2:text", "-", "2:WORKING", "3:COMPLETED"]);
    let first = server.request();
    assert!(first.contains("SendStreamingMessage") && first.contains(r#""tenant":"x""#), "{first}");
    assert!(
        first.contains("a2a-version: 1.0") && first.contains("authorization: Bearer a2ad_test"),
        "{first}"
    );
    let second = server.request();
    assert!(second.contains("SubscribeToTask") && second.contains("last-event-id: 2"), "{second}");
}

#[tokio::test]
async fn a_node_that_restarted_is_shown_its_new_token() {
    let refused = r#"{"error":{"code":401,"message":"the credential is not valid"}}"#;
    let answers = vec![
        stream(&[(1, TASK)], true),
        json("401 Unauthorized", refused),
        stream(&[(1, TASK), (2, DONE)], false),
    ];
    let mut server = Server::of(answers).await;
    let http = Http::new(server.address.clone(), Some(Credential::new("a2ad_old").unwrap())).unwrap();
    let peer = Peer::of_node(http.renewed_by(|| Credential::new("a2ad_new").ok()), None);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "-", "-", "1:WORKING", "2:COMPLETED"]);
    let tokens: Vec<bool> = (0..3).map(|_| server.request().contains("Bearer a2ad_new")).collect();
    assert_eq!(tokens, [false, false, true]);
}

#[tokio::test]
async fn a_stream_that_ends_before_the_task_is_resumed_too() {
    let answers = vec![stream(&[(1, TASK)], false), stream(&[(1, TASK), (2, DONE)], false)];
    let server = Server::of(answers).await;
    let peer = server.peer(false);
    let mut follow = Follow::task(&peer, "t".into(), None, PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "-", "1:WORKING", "2:COMPLETED"]);
}

#[tokio::test]
async fn a_task_that_ended_meanwhile_is_looked_at() {
    let ended = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"it has ended"}}"#;
    let task = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t","status":{"state":"TASK_STATE_FAILED"}}}"#;
    let answers = vec![stream(&[(1, TASK)], true), json("200 OK", ended), json("200 OK", task)];
    let server = Server::of(answers).await;
    let peer = server.peer(false);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "-", "0:FAILED"]);
}

#[tokio::test]
async fn a_turn_ends_with_a_question_and_a_task_does_not() {
    let server = Server::of(vec![stream(&[(1, TASK), (2, ASKS)], true)]).await;
    let peer = server.peer(false);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "2:INPUT_REQUIRED"]);

    let server = Server::of(vec![stream(&[(1, TASK), (2, ASKS), (3, DONE)], false)]).await;
    let peer = server.peer(false);
    let mut follow = Follow::task(&peer, "t".into(), None, PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "2:INPUT_REQUIRED", "3:COMPLETED"]);
}

#[tokio::test]
async fn a_message_whose_fate_is_unknown_is_repeated_to_a_node_of_ours_only() {
    let mut server = Server::of(vec![stream(&[], true), stream(&[(1, TASK), (2, DONE)], false)]).await;
    let peer = server.peer(true);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["-", "1:WORKING", "2:COMPLETED"]);
    let id = |request: String| {
        let (_, rest) = request.split_once(r#""messageId":""#).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(id(server.request()), id(server.request()));

    let server = Server::of(vec![stream(&[], true)]).await;
    let peer = server.peer(false);
    let error = steps(&mut Follow::turn(&peer, hello(), PATIENCE)).await.unwrap_err();
    assert!(matches!(error, Error::Lost { task: None, .. }), "{error}");
}

#[tokio::test]
async fn a_stream_that_does_not_come_back_is_lost() {
    let server = Server::of(vec![stream(&[(1, TASK)], true)]).await;
    let peer = server.peer(false);
    let error = steps(&mut Follow::turn(&peer, hello(), Duration::ZERO)).await.unwrap_err();
    assert!(matches!(&error, Error::Lost { task: Some(task), .. } if task.as_str() == "t"), "{error}");
}

#[tokio::test]
async fn what_can_not_be_reached_at_first_is_an_error_at_once() {
    let Server { address, .. } = Server::of(Vec::new()).await;
    let peer = Peer::of_node(Http::new(address, None).unwrap(), None);
    let error = steps(&mut Follow::turn(&peer, hello(), PATIENCE)).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_refusal_is_told_whatever_carries_it() {
    let rpc = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"parts: needs one"}}"#;
    let rest = r#"{"error":{"code":403,"status":"PERMISSION_DENIED","message":"not you"}}"#;
    let html = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>";
    let moved = "HTTP/1.1 301 Moved\r\nlocation: https://box.example/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for (answer, status, word) in [
        (json("200 OK", rpc), 200, "needs one"),
        (json("403 Forbidden", rest), 403, "not you"),
        (html.to_owned(), 502, "HTTP status 502"),
        (moved.to_owned(), 301, "dial that address"),
    ] {
        let server = Server::of(vec![answer]).await;
        let error = server.peer(true).stream(&Operation::Stream(hello()), None).await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.status, status);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[tokio::test]
async fn an_answer_at_once_to_a_streaming_call_is_its_only_event() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}"#;
    let server = Server::of(vec![json("200 OK", body)]).await;
    let peer = server.peer(false);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["0:message"]);
}

#[tokio::test]
async fn a_card_is_looked_for_at_the_agent_then_at_the_host() {
    let card = r#"{"supportedInterfaces":[]}"#;
    let mut server = Server::of(vec![json("404 Not Found", "{}"), json("200 OK", card)]).await;
    let http = Http::new(server.address.clone(), Some(Credential::new("a2ad_test").unwrap())).unwrap();
    let found = Peer::card(&http, Some("claude")).await.unwrap();
    assert_eq!(&found.bytes[..], card.as_bytes());
    let first = server.request();
    assert!(first.starts_with("GET /agents/claude/.well-known/agent-card.json "), "{first}");
    assert!(!first.contains("authorization"), "a card is public: {first}");
    assert!(server.request().starts_with("GET /.well-known/agent-card.json "));
}

#[tokio::test]
async fn a_redirect_of_a_card_stays_at_its_host_and_gets_no_credential() {
    let to = |place: &str| {
        format!("HTTP/1.1 307 Moved\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    };
    let private = json("401 Unauthorized", "{}");
    let mut server = Server::of(vec![to("/elsewhere"), private]).await;
    let http = Http::new(server.address.clone(), Some(Credential::new("a2ad_test").unwrap())).unwrap();
    assert!(Peer::card(&http, None).await.unwrap_err().refusal().unwrap().is_unauthenticated());
    server.request();
    assert!(!server.request().contains("authorization"));

    let server = Server::of(vec![to("https://evil.example/card")]).await;
    let http = Http::new(server.address.clone(), None).unwrap();
    let error = Peer::card(&http, None).await.unwrap_err().to_string();
    assert!(error.contains("another host"), "{error}");
}

#[tokio::test]
async fn a_task_is_read_and_a_state_is_known() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}},"error":null}"#;
    let server = Server::of(vec![json("200 OK", body)]).await;
    let task = server.peer(false).cancel(&"t".into()).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
}

/// A peer found by a card that offers HTTP+JSON only.
async fn found_by_card(answers: Vec<String>) -> (Server, Peer) {
    // The card has to name the port, which is known once there is a listener.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let card = format!(
        r#"{{"supportedInterfaces":[{{"url":"{at}/base","protocolBinding":"HTTP+JSON","protocolVersion":"1.0",
        "tenant":"x"}}],"capabilities":{{"streaming":true}}}}"#
    );
    let mut server = Server::over(listener, [vec![json("200 OK", &card)], answers].concat());
    let http = Http::new(server.address.clone(), Some(Credential::new("a2ad_test").unwrap())).unwrap();
    let peer = Peer::dial(http, None).await.unwrap();
    assert!(server.request().starts_with("GET /.well-known/agent-card.json "));
    (server, peer)
}

#[tokio::test]
async fn an_agent_that_has_http_json_only_is_followed_over_a_loss() {
    let not_here = json("405 Method Not Allowed", r#"{"detail":"Method Not Allowed"}"#);
    let again = bare_stream(&[(2, TASK), (3, DONE)], false);
    let (mut server, peer) =
        found_by_card(vec![bare_stream(&[(1, TASK), (2, TEXT)], true), not_here, again]).await;
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    let steps = steps(&mut follow).await.unwrap();
    assert_eq!(steps, ["1:WORKING", "2:text", "-", "2:WORKING", "3:COMPLETED"]);
    let first = server.request();
    assert!(first.starts_with("POST /base/x/message:stream "), "{first}");
    assert!(first.contains("accept: text/event-stream, ") && first.contains("a2a-version: 1.0"), "{first}");
    assert!(first.contains("Bearer a2ad_test") && !first.contains("jsonrpc"), "{first}");
    for verb in ["POST", "GET"] {
        let next = server.request();
        assert!(next.starts_with(&format!("{verb} /base/x/tasks/t:subscribe ")), "{next}");
        assert!(next.contains("last-event-id: 2"), "{next}");
    }
}

#[tokio::test]
async fn an_agent_that_has_http_json_only_is_asked_by_paths() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}"#;
    let page = r#"{"tasks":[],"nextPageToken":"","pageSize":3,"totalSize":0}"#;
    let gone = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"task t was not found","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;
    let answers = [json("200 OK", TASK), json("200 OK", task), json("200 OK", task), json("200 OK", page)];
    let gone = json("404 Not Found", gone);
    let (mut server, peer) = found_by_card([&answers[..], &[gone.clone(), gone]].concat()).await;
    let sent = peer.call(&Operation::Send(hello())).await.unwrap();
    assert!(matches!(sent, Single::Task(task) if task.id.as_str() == "t"));
    assert_eq!(peer.cancel(&"t".into()).await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(peer.task(&"t".into(), Some(2)).await.unwrap().status.state, TaskState::Canceled);
    let list = ListTasks { page_size: Some(3), include_artifacts: true, ..ListTasks::default() };
    assert_eq!(peer.list(list).await.unwrap().page_size, 3);
    let error = peer.task(&"t".into(), None).await.unwrap_err();
    assert!(error.refusal().unwrap().is("TASK_NOT_FOUND", -32001) && error.refusal().unwrap().status == 404);
    let subscribe = Operation::Subscribe(crate::model::Subscribe { tenant: None, id: "t".into() });
    let error = peer.stream(&subscribe, None).await.unwrap_err();
    assert!(error.refusal().unwrap().is("TASK_NOT_FOUND", -32001), "an answer, not another verb's: {error}");
    for line in [
        "POST /base/x/message:send ",
        "POST /base/x/tasks/t:cancel ",
        "GET /base/x/tasks/t?historyLength=2 ",
        "GET /base/x/tasks?pageSize=3&includeArtifacts=true ",
        "GET /base/x/tasks/t ",
        "POST /base/x/tasks/t:subscribe ",
    ] {
        let request = server.request();
        assert!(request.starts_with(line), "{line}: {request}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_dialed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let mut work = JoinSet::new();
    work.spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let read = socket.read(&mut head).await.unwrap();
        assert!(String::from_utf8_lossy(&head[..read]).starts_with("GET /healthz "));
        socket.write_all(json("200 OK", "{}").as_bytes()).await.unwrap();
    });
    let http = Http::new(Address::unix(path), None).unwrap();
    assert_eq!(http.probe("/healthz", PATIENCE).await.unwrap(), 200);
    work.join_next().await.unwrap().unwrap();
}

const OLD_TASK: &str = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"working","timestamp":"2025-04-02T16:59:25.33"}}"#;
const OLD_DONE: &str =
    r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":true}"#;
const OLD_ASKS: &str = r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}"#;

/// A refusal by JSON-RPC.
fn refused(code: i32) -> String {
    json(
        "200 OK",
        &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no","data":null}}}}"#),
    )
}

fn result(result: &str) -> String {
    json("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
}

fn old_peer(server: &Server) -> Peer {
    let http = Http::new(server.address.clone(), None).unwrap();
    let url = server.address.at("/");
    Peer::at(
        http,
        Endpoint {
            url,
            binding: Binding::Rpc,
            tenant: None,
            dialect: Dialect::V03Json,
            streams: true,
            ours: false,
        },
    )
}

#[tokio::test]
async fn a_peer_of_0_3_is_spoken_to_in_0_3() {
    let answers = vec![stream(&[(1, OLD_TASK), (2, OLD_DONE)], false), result(OLD_TASK)];
    let mut server = Server::of(answers).await;
    let peer = old_peer(&server);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "2:COMPLETED"]);
    let sent = server.request();
    assert!(sent.contains("a2a-version: 0.3") && sent.contains(r#""method":"message/stream""#), "{sent}");
    assert!(
        sent.contains(r#""kind":"text","text":"hello""#) && sent.contains(r#""blocking":true"#),
        "{sent}"
    );
    assert_eq!(peer.task(&"t".into(), None).await.unwrap().status.state, TaskState::Working);
    assert!(server.request().contains(r#""method":"tasks/get","params":{"id":"t"}"#));
    let error = peer.list(ListTasks::default()).await.unwrap_err().to_string();
    assert!(error.contains("speaks A2A 0.3, which has no ListTasks"), "{error}");
}

#[tokio::test]
async fn a_stream_of_0_3_that_breaks_is_taken_up_by_its_task() {
    let answers = vec![
        stream(&[(0, OLD_TASK)], true),
        refused(-32602),
        result(&OLD_TASK.replace("working", "completed")),
    ];
    let mut server = Server::of(answers).await;
    let peer = old_peer(&server);
    let mut follow = Follow::turn(&peer, hello(), PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["0:WORKING", "-", "0:COMPLETED"]);
    server.request();
    assert!(server.request().contains(r#""method":"tasks/resubscribe""#));
}

#[tokio::test]
async fn who_follows_a_task_of_0_3_stops_at_its_question() {
    let server = Server::of(vec![stream(&[(1, OLD_TASK), (2, OLD_ASKS)], false)]).await;
    let peer = old_peer(&server);
    let mut follow = Follow::task(&peer, "t".into(), None, PATIENCE);
    assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "2:INPUT_REQUIRED"]);
}

#[tokio::test]
async fn ur_54_a_card_that_is_wrong_about_the_version_does_no_harm() {
    for code in [-32601, -32009] {
        let answers = vec![refused(code), stream(&[(1, OLD_TASK), (2, OLD_DONE)], false), result(OLD_TASK)];
        let mut server = Server::of(answers).await;
        let peer = server.peer(false);
        let mut follow = Follow::turn(&peer, hello(), PATIENCE);
        assert_eq!(steps(&mut follow).await.unwrap(), ["1:WORKING", "2:COMPLETED"]);
        assert!(server.request().contains(r#""method":"SendStreamingMessage""#));
        assert!(server.request().contains(r#""method":"message/stream""#));
        peer.task(&"t".into(), None).await.unwrap();
        assert!(server.request().contains(r#""method":"tasks/get""#), "it is remembered");
    }
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    let server = Server::of(vec![refused(-32009), result(task)]).await;
    assert!(old_peer(&server).task(&"t".into(), None).await.is_ok(), "and the other way round");
}

#[tokio::test]
async fn who_understands_neither_version_is_quoted_as_it_answered_first() {
    let mut server =
        Server::of(vec![refused(-32601), refused(-32009), refused(-32601), refused(-32601)]).await;
    let peer = server.peer(false);
    let error = peer.task(&"t".into(), None).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().code, -32601);
    let error = peer.cancel(&"t".into()).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().code, -32601);
    let methods: Vec<bool> = (0..4).map(|_| server.request().contains(r#""tasks/"#)).collect();
    assert_eq!(methods, [false, true, false, true], "what did not help is not kept");
}

#[tokio::test]
async fn an_older_card_is_looked_for_last() {
    let card = r#"{"url":"http://x","protocolVersion":"0.2.6"}"#;
    let missing = || json("404 Not Found", "{}");
    let mut server = Server::of(vec![missing(), missing(), json("200 OK", card)]).await;
    let address = Address::parse(&format!("{}deep/agent", server.address.at("/"))).unwrap();
    let http = Http::new(address, None).unwrap();
    assert_eq!(&Peer::card(&http, None).await.unwrap().bytes[..], card.as_bytes());
    let places: Vec<String> =
        (0..3).map(|_| server.request().split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        places,
        [
            "/deep/agent/.well-known/agent-card.json",
            "/.well-known/agent-card.json",
            "/deep/agent/.well-known/agent.json"
        ]
    );
}

#[tokio::test]
async fn http_json_of_0_3_is_dialed_below_v1() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED"}}"#;
    let answers = vec![json("200 OK", &format!(r#"{{"task":{task}}}"#)), json("200 OK", task)];
    let mut server = Server::of(answers).await;
    let http = Http::new(server.address.clone(), None).unwrap();
    let (url, binding, dialect) = (server.address.at("/a"), Binding::Rest, Dialect::V03Proto);
    let peer = Peer::at(http, Endpoint { url, binding, tenant: None, dialect, streams: false, ours: false });
    let Single::Task(sent) = peer.call(&Operation::Send(hello())).await.unwrap() else { panic!() };
    assert_eq!(sent.status.state, TaskState::Canceled);
    let request = server.request();
    assert!(
        request.starts_with("POST /a/v1/message:send ") && request.contains("a2a-version: 0.3"),
        "{request}"
    );
    assert!(request.contains(r#""role":"ROLE_USER","content":[{"text":"hello"}]"#), "{request}");
    assert_eq!(peer.task(&"t/1".into(), Some(2)).await.unwrap().status.state, TaskState::Canceled);
    assert!(server.request().starts_with("GET /a/v1/tasks/t%2F1?historyLength=2 "));
}
