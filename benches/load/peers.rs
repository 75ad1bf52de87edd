//! What the node is measured beside: the official Rust SDK's echo agent with its store in memory, and a bare server.

use std::{convert::Infallible, io::Write, sync::Arc};

use a2a::{
    A2AError, Message, Part, PartContent, Role, StreamResponse, Task, TaskState, TaskStatus,
    TaskStatusUpdateEvent, new_message_id,
};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore};
use anyhow::Result;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet};

async fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    Ok(listener)
}

/// The SDK's agent: WORKING, then the completed task with the answer, as its own example does.
pub(crate) fn sdk() -> Result<()> {
    let handler = DefaultRequestHandler::new(Echo, InMemoryTaskStore::new());
    let app = a2a_server::jsonrpc::jsonrpc_router(Arc::new(handler));
    Runtime::new()?.block_on(async {
        axum::serve(listen().await?, app).await?;
        Ok(())
    })
}

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let text =
            ctx.message.iter().flat_map(|message| &message.parts).find_map(|part| match &part.content {
                PartContent::Text(text) => Some(text.clone()),
                _ => None,
            });
        let working = TaskStatusUpdateEvent {
            task_id: ctx.task_id.clone(),
            context_id: ctx.context_id.clone(),
            status: TaskStatus { state: TaskState::Working, message: None, timestamp: None },
            metadata: None,
        };
        let answer = Message {
            message_id: new_message_id(),
            context_id: Some(ctx.context_id.clone()),
            task_id: Some(ctx.task_id.clone()),
            role: Role::Agent,
            parts: vec![Part::text(text.unwrap_or_default())],
            metadata: None,
            extensions: None,
            reference_task_ids: None,
        };
        let completed = task(ctx, TaskState::Completed, Some(answer));
        Box::pin(stream::iter([
            Ok(StreamResponse::StatusUpdate(working)),
            Ok(StreamResponse::Task(completed)),
        ]))
    }

    fn cancel(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let canceled = task(ctx, TaskState::Canceled, None);
        Box::pin(stream::iter([Ok(StreamResponse::Task(canceled))]))
    }
}

fn task(ctx: ExecutorContext, state: TaskState, message: Option<Message>) -> Task {
    Task {
        id: ctx.task_id,
        context_id: ctx.context_id,
        status: TaskStatus { state, message, timestamp: None },
        artifacts: None,
        history: None,
        metadata: None,
    }
}

/// A bare server: reads the request, answers so many bytes of JSON.
pub(crate) fn bare(size: usize) -> Result<()> {
    let filling = " ".repeat(size.saturating_sub(br#"{"result":""}"#.len()));
    let body = Bytes::from(format!(r#"{{"result":"{filling}"}}"#));
    Runtime::new()?.block_on(async {
        let listener = listen().await?;
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let body = body.clone();
                async move {
                    let _ = request.into_body().collect().await;
                    let answer = Response::builder().header("content-type", "application/json");
                    Ok::<_, Infallible>(answer.body(Full::new(body)).unwrap_or_default())
                }
            });
            connections.spawn(
                hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), answer),
            );
        }
    })
}
