//! The command line against the official Rust server: what `--to` meets that is no node of ours.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "a test owns its tasks")]

use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Part, PartContent, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, StaticAgentCard,
    agent_card::agent_card_router, jsonrpc::jsonrpc_router, rest::rest_router,
};
use futures_util::stream::{self, BoxStream};

use crate::support::home::{Home, Ran};

/// Says what it was told, in capitals; `fail` it fails.
struct Upper;

impl AgentExecutor for Upper {
    fn execute(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let parts = ctx.message.iter().flat_map(|message| &message.parts);
        let text: String = parts
            .filter_map(|part| match &part.content {
                PartContent::Text(text) => Some(text.to_uppercase()),
                _ => None,
            })
            .collect();
        let state = if text == "FAIL" { TaskState::Failed } else { TaskState::Completed };
        let artifact = Artifact {
            artifact_id: "a".into(),
            name: None,
            description: None,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: None,
        };
        let update = TaskArtifactUpdateEvent {
            task_id: ctx.task_id.clone(),
            context_id: ctx.context_id.clone(),
            artifact: artifact.clone(),
            append: None,
            last_chunk: Some(true),
            metadata: None,
        };
        Box::pin(stream::iter([
            Ok(StreamResponse::Task(task(&ctx, TaskState::Working, None))),
            Ok(StreamResponse::ArtifactUpdate(update)),
            Ok(StreamResponse::Task(task(&ctx, state, Some(vec![artifact])))),
        ]))
    }

    fn cancel(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        Box::pin(stream::iter([Ok(StreamResponse::Task(task(&ctx, TaskState::Canceled, None)))]))
    }
}

fn task(ctx: &ExecutorContext, state: TaskState, artifacts: Option<Vec<Artifact>>) -> Task {
    Task {
        id: ctx.task_id.clone(),
        context_id: ctx.context_id.clone(),
        status: TaskStatus { state, message: None, timestamp: None },
        artifacts,
        history: None,
        metadata: None,
    }
}

/// The server, with its bindings in this order on its card; where it listens.
async fn serve(bindings: &[&str]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let place = |binding: &&str| match *binding {
        "JSONRPC" => format!("{at}/rpc"),
        _ => format!("{at}/rest"),
    };
    let interfaces: Vec<_> = bindings
        .iter()
        .map(|binding| {
            serde_json::json!({ "url": place(binding), "protocolBinding": binding, "protocolVersion": "1.0" })
        })
        .collect();
    let card = serde_json::from_value(serde_json::json!({
        "name": "upper",
        "description": "says it in capitals",
        "version": "1",
        "supportedInterfaces": interfaces,
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "up", "name": "up", "description": "up", "tags": ["up"] }],
    }));
    let handler = Arc::new(DefaultRequestHandler::new(Upper, InMemoryTaskStore::new()));
    let mut app = agent_card_router(Arc::new(StaticAgentCard::new(card.unwrap())));
    for binding in bindings {
        app = match *binding {
            "JSONRPC" => app.nest("/rpc", jsonrpc_router(handler.clone())),
            _ => app.nest("/rest", rest_router(handler.clone())),
        };
    }
    tokio::spawn(async move { axum::serve(listener, app).await });
    at
}

/// A command at an agent elsewhere.
async fn run(home: &Arc<Home>, at: &str, args: &[&str]) -> Ran {
    let (home, at) = (home.clone(), at.to_owned());
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    tokio::task::spawn_blocking(move || {
        let mut all = vec!["--to", &at];
        all.extend(args.iter().map(String::as_str));
        home.run(&all)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_has_http_json_only_is_dialed_like_any_other() {
    let home = Arc::new(Home::new());
    for bindings in [&["HTTP+JSON"][..], &["HTTP+JSON", "JSONRPC"], &["JSONRPC", "HTTP+JSON"]] {
        let at = serve(bindings).await;
        assert_eq!(run(&home, &at, &["send", "hello"]).await.ok().trim_end(), "HELLO", "{bindings:?}");
        let failed = run(&home, &at, &["send", "fail"]).await;
        assert_eq!(failed.code(), Some(1), "{bindings:?}: {failed:?}");
        let id = run(&home, &at, &["send", "--no-wait", "later"]).await.ok();
        let shown = run(&home, &at, &["task", "show", id.trim(), "--json"]).await.ok();
        assert!(shown.contains(id.trim()), "{bindings:?}: {shown}");
        run(&home, &at, &["task", "show", "nope"]).await.fails(1, "nope");
    }
}
