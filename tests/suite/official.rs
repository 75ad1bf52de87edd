//! The official Rust client against the program itself: what a stranger's client is likely to do.
#![cfg(unix)]

use std::sync::Arc;

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskState, error_code,
};
use a2a_client::{
    A2AClient, A2AClientFactory, Transport, TransportFactory, agent_card::AgentCardResolver,
    auth::AuthInterceptor, jsonrpc::JsonRpcTransportFactory, rest::RestTransportFactory,
};
use futures_util::StreamExt as _;

use crate::support::home::{Home, Node};

type Client = A2AClient<Box<dyn Transport>>;

/// An agent that asks, tells and waits as it is told.
const TALK: &str = r#"#!/bin/sh
state() { echo '{"statusUpdate":{"status":{"state":"TASK_STATE_'"$1"'","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"'"$2"'"}]}}}}'; }
chunk() { echo '{"artifactUpdate":{"append":true,"artifact":{"artifactId":"a","parts":[{"text":"'"$1"'"}]}}}'; }
while IFS= read -r line; do
  case $line in
  *'"type":"cancel"'*) state CANCELED stopped; exit 0 ;;
  *'"text":"go"'*) chunk two; state COMPLETED done ;;
  *'"text":"red"'*) chunk red; state COMPLETED painted ;;
  *'"text":"ask"'*) state INPUT_REQUIRED which ;;
  *) chunk one ;;
  esac
done
"#;

fn home() -> Home {
    let home = Home::new();
    home.program("talk", TALK);
    let place = home.project();
    home.configure(&format!(
        "[node]\ndefault_agent = \"echo\"\n[agents.echo]\nruntime = \"echo\"\nworkspace = {place:?}\n\
         [agents.talk]\nruntime = \"jsonl\"\ncommand = [\"./talk\"]\nlisted = true\nworkspace = {place:?}\n"
    ));
    home
}

/// What a client speaks.
#[derive(Clone, Copy)]
enum Binding {
    Rpc,
    Rest,
}

const BINDINGS: [Binding; 2] = [Binding::Rpc, Binding::Rest];

/// A client as its documentation says: from the agent's card, with a token made for it.
async fn client(home: &Home, node: &Node<'_>, agent: &str, token: &str, binding: Binding) -> Client {
    // The client is built without a provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let token = if token.is_empty() {
        home.run(&["token", "new", &format!("for-{agent}"), "--json"]).ok()
    } else {
        format!(r#"{{"secret":"{token}"}}"#)
    };
    let made: serde_json::Value = serde_json::from_str(&token).unwrap();
    let card = AgentCardResolver::new(Some(http.clone()))
        .resolve(&format!("{}/agents/{agent}", node.url()))
        .await
        .unwrap();
    let transport: Arc<dyn TransportFactory> = match binding {
        Binding::Rpc => Arc::new(JsonRpcTransportFactory::new(Some(http))),
        Binding::Rest => Arc::new(RestTransportFactory::new(Some(http))),
    };
    A2AClientFactory::builder()
        .no_defaults()
        .register(transport)
        .with_interceptor(Arc::new(AuthInterceptor::bearer(made["secret"].as_str().unwrap())))
        .build()
        .create_from_card(&card)
        .await
        .unwrap()
}

fn send(text: &str) -> SendMessageRequest {
    let message = Message::new(Role::User, vec![Part::text(text)]);
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn at_once(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    };
    SendMessageRequest { configuration: Some(configuration), ..send(text) }
}

fn to(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = send(text);
    request.message.task_id = Some(task.id.clone());
    request
}

fn task(answer: Result<SendMessageResponse, A2AError>) -> Task {
    match answer.unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a bare message: {message:?}"),
    }
}

fn get(id: &str) -> GetTaskRequest {
    GetTaskRequest { id: id.into(), history_length: None, tenant: None }
}

fn texts(task: &Task) -> Vec<&str> {
    let artifacts = task.artifacts.iter().flatten();
    artifacts.flat_map(|artifact| &artifact.parts).filter_map(Part::as_text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_sends_gets_and_lists() {
    for binding in BINDINGS {
        let home = home();
        let node = home.serve();
        let client = client(&home, &node, "echo", "", binding).await;
        let sent = task(client.send_message(&send("hello")).await);
        assert_eq!((sent.status.state.clone(), texts(&sent)), (TaskState::Completed, vec!["hello"]));
        let got = client.get_task(&get(&sent.id)).await.unwrap();
        assert_eq!(got, sent);
        let second = task(client.send_message(&send("again")).await);
        let all = ListTasksRequest {
            context_id: None,
            status: None,
            page_size: Some(1),
            page_token: None,
            history_length: Some(10),
            status_timestamp_after: None,
            include_artifacts: Some(true),
            tenant: None,
        };
        let page = client.list_tasks(&all).await.unwrap();
        assert_eq!((page.total_size, page.tasks), (2, vec![second.clone()]), "the newest first");
        let next = ListTasksRequest { page_token: Some(page.next_page_token), ..all.clone() };
        assert_eq!(client.list_tasks(&next).await.unwrap().tasks, [sent]);
        let mine = ListTasksRequest { context_id: Some(second.context_id.clone()), ..all };
        assert_eq!(client.list_tasks(&mine).await.unwrap().tasks, [second]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_answers_a_question() {
    for binding in BINDINGS {
        let home = home();
        let node = home.serve();
        let client = client(&home, &node, "talk", "", binding).await;
        let asked = task(client.send_message(&send("ask")).await);
        assert_eq!(asked.status.state, TaskState::InputRequired);
        assert_eq!(asked.status.message.as_ref().and_then(Message::text), Some("which"));
        let done = task(client.send_message(&to(&asked, "red")).await);
        assert_eq!((done.id.as_str(), done.status.state.clone()), (asked.id.as_str(), TaskState::Completed));
        assert_eq!(texts(&done), ["red"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_streams_and_subscribes() {
    for binding in BINDINGS {
        let home = home();
        let node = home.serve();
        let client = client(&home, &node, "talk", "", binding).await;
        let mut stream = client.send_streaming_message(&send("wait")).await.unwrap();
        let Some(Ok(StreamResponse::Task(opened))) = stream.next().await else {
            panic!("a stream begins with the task");
        };
        loop {
            match stream.next().await.unwrap().unwrap() {
                StreamResponse::ArtifactUpdate(update) => {
                    assert_eq!(update.artifact.parts[0].as_text(), Some("one"));
                    break;
                }
                StreamResponse::StatusUpdate(update) => assert_eq!(update.status.state, TaskState::Working),
                other => panic!("{other:?}"),
            }
        }
        let subscribe = SubscribeToTaskRequest { id: opened.id.clone(), tenant: None };
        let mut second = client.subscribe_to_task(&subscribe).await.unwrap();
        let Some(Ok(StreamResponse::Task(now))) = second.next().await else {
            panic!("a subscription begins with the task");
        };
        assert_eq!((now.status.state.clone(), texts(&now)), (TaskState::Working, vec!["one"]));
        task(client.send_message(&to(&opened, "go")).await);
        for stream in [stream, second] {
            let events: Vec<_> = stream.map(Result::unwrap).collect().await;
            let chunks = events.iter().filter_map(|event| match event {
                StreamResponse::ArtifactUpdate(update) => update.artifact.parts[0].as_text(),
                _ => None,
            });
            assert_eq!(chunks.collect::<Vec<_>>(), ["two"], "{events:?}");
            let Some(StreamResponse::StatusUpdate(last)) = events.last() else { panic!("{events:?}") };
            assert_eq!(last.status.state, TaskState::Completed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_cancels() {
    for binding in BINDINGS {
        let home = home();
        let node = home.serve();
        let client = client(&home, &node, "talk", "", binding).await;
        let opened = task(client.send_message(&at_once("wait")).await);
        assert!(!opened.status.state.is_terminal());
        let cancel = CancelTaskRequest { id: opened.id.clone(), metadata: None, tenant: None };
        assert_eq!(client.cancel_task(&cancel).await.unwrap().status.state, TaskState::Canceled);
        assert_eq!(client.get_task(&get(&opened.id)).await.unwrap().status.state, TaskState::Canceled);
        let again = client.cancel_task(&cancel).await.unwrap_err();
        assert_eq!(again.code, error_code::TASK_NOT_CANCELABLE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_understands_refusals() {
    for binding in BINDINGS {
        let home = home();
        let node = home.serve();
        let client = client(&home, &node, "echo", "", binding).await;
        let unknown = client.get_task(&get("00000000-0000-7000-8000-000000000000")).await.unwrap_err();
        assert_eq!(unknown.code, error_code::TASK_NOT_FOUND);
        let done = task(client.send_message(&send("hello")).await);
        let over = client.send_message(&to(&done, "more")).await.unwrap_err();
        assert_eq!(over.code, error_code::UNSUPPORTED_OPERATION);
        let subscribe = SubscribeToTaskRequest { id: done.id.clone(), tenant: None };
        let Err(ended) = client.subscribe_to_task(&subscribe).await else {
            panic!("a task that has ended is subscribed to");
        };
        assert_eq!(ended.code, error_code::UNSUPPORTED_OPERATION);
        let stranger = self::client(&home, &node, "echo", "not-a-token", binding).await;
        assert!(stranger.send_message(&send("hello")).await.is_err());
    }
}
