//! What the node does: every operation of every caller, on tasks that live in the store.
//!
//! Called by the doors and by the daemon. Never sees JSON of a caller, a socket or a dialect. This is the only place
//! where the errors of the store become faults; what is nobody's doing gets an incident id, and its detail goes to the
//! log.

mod access;
mod actor;
pub mod agents;
mod book;
pub mod config;
mod desk;
mod dispatch;
mod envelope;
mod principals;
mod prompt;
mod recover;
mod replay;
mod send;
mod status;
mod stream;
mod tasks;
mod turn;

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use futures_util::stream::BoxStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    access::{Act, may},
    agents::{Registry, Served},
    desk::Desk,
    dispatch::{Dispatch, Limits, Needs},
    principals::Principals,
    turn::Output,
};
pub use self::{
    principals::{Credential, FileToken, Known, list_tokens, make_token},
    status::{Health, Nature, exposed},
};
use crate::{
    lifecycle::Author,
    model::{
        AgentName, Caller, ContextId, Fault, Message, Operation, PrincipalId, Seq, Task, TaskId, Update,
    },
    runtime::{child::Custody, config::RuntimeKind},
    store::{Error, Store, TaskRow},
};

/// One request, decoded and authenticated.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who asks.
    pub caller: Caller,
    /// Of which agent.
    pub agent: AgentName,
    /// What.
    pub operation: Operation,
    /// The `Idempotency-Key` header (P-21).
    pub key: Option<String>,
    /// `Last-Event-ID` (P-26).
    pub after: Option<Seq>,
    /// Whether a subscription ends as the stream of a send does, at a question too, and a task that has ended is
    /// answered and not refused (P-25).
    pub to_question: bool,
}

/// A call without its operation.
struct Request {
    caller: Caller,
    agent: AgentName,
    key: Option<String>,
    after: Option<Seq>,
    to_question: bool,
}

/// What comes back.
pub struct Answer {
    /// The answer itself.
    pub reply: Reply,
    /// Whether it belongs to an earlier, equal send (P-21).
    pub replayed: bool,
}

/// The kinds of answers.
pub enum Reply {
    /// A task.
    Task(Task),
    /// A task, whole, as the JSON of A2A 1.0 that is stored.
    Stored(bytes::Bytes),
    /// A bare message.
    Message(Message),
    /// A page of tasks.
    Page(TaskPage),
    /// A stream.
    Updates(Updates),
}

/// A page of `ListTasks`.
#[derive(Clone, Debug)]
pub struct TaskPage {
    /// The tasks, history and artifacts cut as asked.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// As used for this page.
    pub page_size: i32,
    /// Of all pages (P-32).
    pub total_size: i32,
}

/// A stream of events, each with its place in the journal (P-26).
pub type Updates = BoxStream<'static, Result<(Seq, Update), Fault>>;

/// The node. A cheap handle on the one there is.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

/// What a node is made of.
pub struct Parts {
    /// Where tasks live.
    pub store: Store,
    /// What is served.
    pub registry: Registry,
    /// Who it is and how much it runs.
    pub config: config::Config,
    /// Tokens of the configuration.
    pub tokens: Vec<FileToken>,
    /// The local admin token.
    pub local: String,
    /// Holds the children.
    pub custody: Custody,
    /// Where all work is spawned.
    pub tracker: TaskTracker,
}

struct Inner {
    store: Store,
    registry: ArcSwap<Registry>,
    config: ArcSwap<config::Config>,
    dispatch: Dispatch,
    desk: Desk,
    principals: Principals,
    custody: Custody,
    tracker: TaskTracker,
    /// Cancelled when the node is no longer needed.
    stopped: CancellationToken,
    /// Cancelled when the node begins to stop: no new work.
    closing: CancellationToken,
    since: crate::model::Timestamp,
}

impl Node {
    /// A node whose unfinished tasks are in a truthful state and whose queue runs.
    ///
    /// # Errors
    /// The store's, as an incident whose detail is in the log.
    pub async fn start(parts: Parts) -> Result<Self, Fault> {
        let (dispatch, wakes) = Dispatch::new(limits(&parts.config));
        let inner = Arc::new(Inner {
            since: parts.store.now(),
            store: parts.store,
            registry: ArcSwap::from_pointee(parts.registry),
            config: ArcSwap::from_pointee(parts.config),
            dispatch,
            desk: Desk::default(),
            principals: Principals::new(&parts.local, parts.tokens),
            custody: parts.custody,
            tracker: parts.tracker,
            stopped: CancellationToken::new(),
            closing: CancellationToken::new(),
        });
        inner.dispatch.pause(true);
        inner.recover().await?;
        inner.dispatch.pause(false);
        inner.tracker.spawn(inner.clone().attend(wakes));
        inner.tracker.spawn(inner.clone().keep_house());
        Ok(Self(inner))
    }

    /// Carries a call out.
    ///
    /// # Errors
    /// The fault that the caller is told.
    pub async fn call(&self, call: Call) -> Result<Answer, Fault> {
        let node = &self.0;
        let Call { caller, agent, operation, key, after, to_question } = call;
        let call = Request { caller, agent, key, after, to_question };
        if !call.caller.may_call.holds(&call.agent) {
            return Err(Fault::not_yours(&call.agent));
        }
        let plain = |reply| Answer { reply, replayed: false };
        // What waits is boxed: every call would else be as large as the largest.
        match operation {
            Operation::Send(send) => Box::pin(node.open_for_work()?.send(&call, send, false)).await,
            Operation::Stream(send) => Box::pin(node.open_for_work()?.send(&call, send, true)).await,
            Operation::GetTask(get) => node.get_task(&call, &get).map(plain),
            Operation::ListTasks(list) => Box::pin(node.list_tasks(&call, &list)).await.map(plain),
            Operation::CancelTask(cancel) => Box::pin(node.cancel_task(&call, &cancel)).await.map(plain),
            Operation::Subscribe(subscribe) => node.subscribe(&call, &subscribe).map(plain),
            Operation::CreatePush(_)
            | Operation::GetPush(_)
            | Operation::ListPush(_)
            | Operation::DeletePush(_) => Err(Fault::PushNotSupported),
            Operation::GetCard(_) => Err(Fault::Unsupported(
                "this agent has no extended card; its public card says all there is".into(),
            )),
        }
    }

    /// The agents as they are now.
    #[must_use]
    pub fn agents(&self) -> Arc<Registry> {
        self.0.registry.load_full()
    }

    /// Whether there are tasks of an agent, be it served or not (O-22).
    ///
    /// # Errors
    /// The store's.
    pub fn remembers(&self, agent: &AgentName) -> Result<bool, Fault> {
        self.0.store.knows(agent).map_err(fault_of)
    }

    /// The protocols that callers may speak, in the order configured.
    #[must_use]
    pub fn protocols(&self) -> Vec<config::Protocol> {
        self.0.config.load().protocols.clone()
    }

    /// Takes a new configuration: running turns keep the agent they began with (O-22).
    pub async fn adopt(&self, registry: Registry, config: config::Config, tokens: Vec<FileToken>) {
        self.0.dispatch.limit(limits(&config));
        self.0.config.store(Arc::new(config));
        self.0.registry.store(Arc::new(registry));
        self.0.principals.adopt(tokens);
        self.0.reject_orphans().await;
    }

    /// No new work from now on; running turns go on (surface of a stop: two phases, each with its time).
    pub fn close(&self) {
        self.0.closing.cancel();
        self.0.dispatch.pause(true);
    }

    /// Waits until no turn runs.
    pub async fn quiet(&self) {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        while self.0.dispatch.counts().0 > 0 {
            ticks.tick().await;
        }
    }

    /// Ends all turns: their tasks are FAILED "interrupted by shutdown", or left for the next start (P-30).
    pub fn shut(&self) {
        self.0.desk.shut();
    }

    /// Waits until no task is live any more.
    pub async fn empty(&self) {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while self.0.desk.is_busy() {
            ticks.tick().await;
        }
    }

    /// Deletes a task that has ended (O-71).
    ///
    /// # Errors
    /// `TaskNotFound`, or that it has not ended.
    pub async fn delete_task(&self, caller: &Caller, id: &TaskId) -> Result<(), Fault> {
        self.0.delete_task(caller, id).await
    }

    /// Deletes a context's tasks and what its agents remember of it; gives how many tasks there were.
    ///
    /// # Errors
    /// One of its tasks has not ended.
    pub async fn delete_context(&self, caller: &Caller, context: &ContextId) -> Result<u64, Fault> {
        self.0.delete_context(caller, context).await
    }

    /// Ends the node's own work. The last call.
    pub fn stop(&self) {
        self.0.stopped.cancel();
    }
}

impl Inner {
    /// Refuses new work while the node stops.
    fn open_for_work(self: &Arc<Self>) -> Result<&Arc<Self>, Fault> {
        if self.closing.is_cancelled() {
            return Err(Fault::Draining { retry_after: Duration::from_secs(5) });
        }
        Ok(self)
    }

    /// The agent of a call.
    fn served(&self, call: &Request) -> Result<Arc<Served>, Fault> {
        let registry = self.registry.load();
        registry.get(call.agent.as_str()).cloned().ok_or_else(|| Fault::NoAgent(call.agent.to_string()))
    }

    /// The row of a task that a caller may do this with.
    fn row(&self, call: &Request, id: &TaskId, act: Act) -> Result<TaskRow, Fault> {
        let row = self.store.task(id).map_err(fault_of)?;
        row.filter(|row| may(&call.caller, &call.agent, row, act))
            .ok_or_else(|| Fault::TaskNotFound(id.clone()))
    }

    /// The row of a task of which the caller is known to be allowed everything.
    fn stored(&self, id: &TaskId) -> Result<TaskRow, Fault> {
        self.store.task(id).map_err(fault_of)?.ok_or_else(|| Fault::TaskNotFound(id.clone()))
    }

    /// What a turn of this task takes while it runs.
    fn needs(&self, row: &TaskRow) -> Needs {
        let registry = self.registry.load();
        let config = registry.get(row.agent.as_str()).map(|served| &served.config);
        let writes = config.filter(|config| config.runtime != RuntimeKind::Echo && !config.share_workspace);
        Needs {
            task: row.id.clone(),
            agent: row.agent.clone(),
            principal: row.scope.clone(),
            context: row.context.clone(),
            concurrency: config.and_then(|config| config.concurrency),
            workspace: writes.map(|config| config.workspace.clone()),
        }
    }

    /// How long a program of this agent may take to leave.
    fn grace(&self, agent: &AgentName) -> Duration {
        self.registry.load().get(agent.as_str()).map_or(Duration::from_secs(5), |served| served.config.grace)
    }

    /// How much a turn may say.
    fn limits(&self) -> Output {
        let config = self.config.load();
        Output { artifact: config.artifact, task: config.task }
    }

    /// Waiting tasks of agents that are no more begin, and so are rejected with the reason.
    async fn reject_orphans(self: &Arc<Self>) {
        let Ok(queued) = self.store.queued().await else { return };
        for row in queued {
            if self.registry.load().get(row.agent.as_str()).is_none() {
                self.dispatch.withdraw(&row.id);
                self.dispatch.enqueue(Needs { concurrency: None, workspace: None, ..self.needs(&row) });
            }
        }
    }
}

/// The part of the configuration that the dispatcher keeps.
fn limits(config: &config::Config) -> Limits {
    Limits {
        running: config.running_tasks,
        running_per_principal: config.tasks_per_principal,
        queued: config.queued_tasks,
        queued_per_principal: config.queued_per_principal,
    }
}

/// A queue that is full.
fn full(limit: &str) -> Fault {
    Fault::Busy { why: format!("the queue is full ({limit})"), retry_after: Duration::from_secs(5) }
}

/// Who made what a caller did.
fn author(caller: &Caller) -> Author {
    Author { principal: caller.principal.clone(), run: caller.run.clone() }
}

/// Who made what a run told.
fn author_of_run(row: &TaskRow) -> Author {
    Author { principal: PrincipalId::agent(&row.agent), run: Some(row.id.clone()) }
}

/// Who made what nobody asked for.
fn node_itself() -> Author {
    Author { principal: PrincipalId::node(), run: None }
}

/// What the store's errors are for a caller.
fn fault_of(error: Error) -> Fault {
    match error {
        Error::Full(_) | Error::ReadOnly(_) => Fault::NoSpace(error.to_string()),
        error => incident(&error),
    }
}

/// A fault of ours: the caller gets an id, the log the detail.
fn incident(detail: &dyn fmt::Display) -> Fault {
    let id = uuid::Uuid::now_v7().simple().to_string();
    tracing::error!(incident = %id, %detail, "internal error");
    Fault::Internal(id)
}

#[cfg(test)]
mod tests;
