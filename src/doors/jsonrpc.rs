//! JSON-RPC over HTTP (A2A 1.0 section 9): one body in, one JSON value, silence, or a stream out.

use std::{borrow::Cow, sync::Arc};

use http::{HeaderMap, HeaderValue, StatusCode};
use tracing::Span;

use super::{
    addressed::Addressed,
    auth::Who,
    body::{Body, Response},
    inbound::Inbound,
    limits::Place,
    refusal::{self, Refusal},
    sse,
    state::State,
};
use crate::{
    model::{Caller, Fault, Operation, Timestamp},
    node::{Answer, Call, Reply, TaskPage, Updates, agents::Registry},
    wire::{
        Dialect, Method, Page, Single,
        envelope::{self, Id},
        fault::{self, Context},
    },
};

/// Answers a POST: to the agent of the path, else to `params.tenant`, else to the default one.
///
/// # Errors
/// What is answered outside the envelope (P-7).
pub(super) async fn serve(
    state: &Arc<State>,
    inbound: &mut Inbound,
    agent: Option<&str>,
) -> Result<Response, Refusal> {
    let who = inbound.caller(state)?;
    Span::current().record("principal", who.caller.principal.as_str());
    let registry = state.node.agents();
    let fixed = match agent {
        None => None,
        Some(name) => Some(
            Addressed::find(&state.node, &registry, name)?.ok_or_else(|| Fault::NoAgent(name.to_owned()))?,
        ),
    };
    if let Some(agent) = &fixed {
        allowed(&who.caller, agent)?;
    }
    if !inbound.is_json() {
        let media_type = inbound.media_type().unwrap_or_else(|| "body without a Content-Type".into());
        let fault = Fault::ContentType {
            media_type,
            takes: "JSON: send the header Content-Type: application/json".into(),
        };
        inbound.discard().await;
        return Ok(refused(inbound, &Id::NULL, &fault));
    }
    let body = inbound.read().await?;
    let call = match envelope::read(&body) {
        Ok(call) => call,
        Err(bad) => return Ok(refused(inbound, &bad.id, &bad.fault)),
    };
    let asked = Asked { state, inbound, who, registry: &registry, fixed };
    let silent = call.id.is_none();
    match asked.carry_out(&call).await {
        Err(fault) if fault::row(&fault).outside => Err(fault.into()),
        // What has no id gets no answer, but is carried out; a stream without one is no request (P-4).
        Ok(_) if silent => Ok(nothing()),
        Err(fault) if silent && !matches!(fault, Fault::InvalidRequest(_)) => Ok(nothing()),
        Ok(response) => Ok(response),
        Err(fault) => Ok(refused(inbound, &call.id.unwrap_or(Id::NULL), &fault)),
    }
}

/// A request whose sender is known.
struct Asked<'a> {
    state: &'a Arc<State>,
    inbound: &'a Inbound,
    who: Who,
    registry: &'a Registry,
    fixed: Option<Addressed>,
}

impl Asked<'_> {
    /// From the envelope to the answer.
    async fn carry_out(mut self, call: &envelope::Call<'_>) -> Result<Response, Fault> {
        let (dialect, method) = self.dialect(&call.method)?;
        if call.id.is_none() && method.streams() {
            return Err(Fault::InvalidRequest("a stream needs an id to answer to".into()));
        }
        let operation = dialect.decode_call(method, call.params)?;
        let agent = self.agent(operation.tenant())?;
        allowed(&self.who.caller, &agent)?;
        record(&agent, &operation);
        let declared = declared(self.inbound);
        agent.check(method, &declared)?;
        let artifacts = matches!(&operation, Operation::ListTasks(list) if list.include_artifacts);
        let waits = waits(&operation);
        let call_of_node = Call {
            caller: self.who.caller.clone(),
            agent: agent.name().clone(),
            operation,
            key: key(self.inbound)?,
            after: last_event(self.inbound),
        };
        let activated = agent.activated(&declared);
        let place = self.place(method)?;
        let Answer { reply, replayed } = self.call(call_of_node, waits).await?;
        let id = call.id.clone().unwrap_or(Id::NULL);
        let value = |single: &Single<'_>| {
            refusal::json(StatusCode::OK, envelope::answer(&id, &dialect.encode_reply(method, single)))
        };
        let mut response = match reply {
            Reply::Task(task) => value(&Single::task(&task)),
            Reply::Stored(bytes) => value(&Single::Stored(bytes)),
            Reply::Message(message) => value(&Single::message(&message)),
            Reply::Page(page) => value(&Single::Page(written(&page, artifacts))),
            Reply::Updates(updates) => self.stream(updates, dialect, id.into_owned(), place).await?,
        };
        say(response.headers_mut(), activated.as_deref(), replayed);
        Ok(response)
    }

    /// Which operation of which dialect (P-1).
    fn dialect(&self, method: &str) -> Result<(Dialect, Method), Fault> {
        let query: Vec<Cow<'_, str>> = self.inbound.query("A2A-Version").collect();
        Dialect::of(self.inbound.header("a2a-version"), query.iter().map(AsRef::as_ref), method)
    }

    /// Which agent: that of the path, which `params.tenant` may repeat, else that of `params.tenant`, else the default
    /// (P-11, P-14).
    fn agent(&mut self, tenant: Option<&str>) -> Result<Addressed, Fault> {
        let invalid = |why: String| Fault::invalid("tenant", why);
        match (self.fixed.take(), tenant) {
            (Some(fixed), Some(tenant)) if fixed.name().as_str() != tenant => {
                Err(invalid(format!("the path names the agent {}; leave the tenant out", fixed.name())))
            }
            (Some(fixed), _) => Ok(fixed),
            (None, Some(tenant)) => Addressed::find(&self.state.node, self.registry, tenant)?
                .ok_or_else(|| invalid("there is no agent of this name".into())),
            (None, None) => self
                .registry
                .default()
                .map(|served| Addressed::Served(served.clone()))
                .ok_or_else(|| invalid("no agent is the default: name one".into())),
        }
    }

    /// Asks the node; what need not wait for a turn is waited for only so long (P-22).
    async fn call(&self, call: Call, waits: bool) -> Result<Answer, Fault> {
        let work = self.state.node.call(call);
        match self.inbound.config().request_timeout.filter(|_| !waits) {
            None => work.await,
            Some(time) => tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
                let incident = uuid::Uuid::now_v7().simple().to_string();
                tracing::error!(incident, "no answer within request_timeout");
                Err(Fault::Internal(incident))
            }),
        }
    }

    /// A place for the stream that a method opens.
    fn place(&self, method: Method) -> Result<Option<Place>, Fault> {
        let most = self.inbound.config().streams_per_principal;
        let take = || self.state.streams.take(&self.who.caller.principal, most);
        method.streams().then(take).transpose()
    }

    async fn stream(
        &self,
        updates: Updates,
        dialect: Dialect,
        id: Id<'static>,
        place: Option<Place>,
    ) -> Result<Response, Fault> {
        let envelope = sse::Envelope { dialect, id, request: self.inbound.id.clone() };
        let until = sse::Until {
            stop: self.state.stop.clone(),
            idle: self.inbound.config().stream_idle,
            place,
            revoked: self.who.credential.clone().map(|credential| {
                let node = self.state.node.clone();
                Box::pin(async move { node.revoked(&credential).await }) as sse::Revoked
            }),
        };
        sse::open(updates, envelope, until).await
    }
}

/// A page as it is written.
fn written(page: &TaskPage, artifacts: bool) -> Page<'_> {
    Page {
        tasks: Cow::Borrowed(&page.tasks),
        next_page_token: Cow::Borrowed(&page.next_page_token),
        page_size: page.page_size,
        total_size: page.total_size,
        artifacts,
    }
}

/// Whether a caller may use an agent.
fn allowed(caller: &Caller, agent: &Addressed) -> Result<(), Fault> {
    if caller.may_call.holds(agent.name()) { Ok(()) } else { Err(Fault::not_yours(agent.name())) }
}

/// Whether the answer may take as long as a turn.
fn waits(operation: &Operation) -> bool {
    match operation {
        Operation::Send(send) => !send.configuration.return_immediately,
        Operation::Stream(_) | Operation::Subscribe(_) | Operation::CancelTask(_) => true,
        _ => false,
    }
}

/// The extensions that a caller declares (A2A-147).
fn declared(inbound: &Inbound) -> Vec<&str> {
    inbound
        .header("a2a-extensions")
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .collect()
}

/// The longest `Idempotency-Key`.
const LONGEST_KEY: usize = 255;

/// The `Idempotency-Key` (P-21).
fn key(inbound: &Inbound) -> Result<Option<String>, Fault> {
    let mut keys = inbound.header("idempotency-key").map(str::trim).filter(|key| !key.is_empty());
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) if key.len() <= LONGEST_KEY => Ok(Some(key.to_owned())),
        _ => Err(Fault::invalid(
            "Idempotency-Key",
            format!("must be one key of at most {LONGEST_KEY} letters"),
        )),
    }
}

/// The number of the last event that a caller has seen (P-26). What is no number is one that is not known.
fn last_event(inbound: &Inbound) -> Option<u64> {
    let header = inbound.header("last-event-id").map(Cow::Borrowed).next();
    header.or_else(|| inbound.query("lastEventId").next())?.trim().parse().ok()
}

/// Puts agent, task and context on every line of the log.
fn record(agent: &Addressed, operation: &Operation) {
    let span = Span::current();
    span.record("agent", agent.name().as_str());
    let (task, context) = match operation {
        Operation::Send(send) | Operation::Stream(send) => {
            (send.message.task_id.as_ref(), send.message.context_id.as_ref())
        }
        Operation::GetTask(get) => (Some(&get.id), None),
        Operation::CancelTask(cancel) => (Some(&cancel.id), None),
        Operation::Subscribe(subscribe) => (Some(&subscribe.id), None),
        _ => (None, None),
    };
    if let Some(task) = task {
        span.record("task", task.as_str());
    }
    if let Some(context) = context {
        span.record("context", context.as_str());
    }
}

/// What an answer says beside its body.
fn say(headers: &mut HeaderMap, activated: Option<&str>, replayed: bool) {
    if let Some(uris) = activated.and_then(|uris| HeaderValue::from_str(uris).ok()) {
        headers.insert("a2a-extensions", uris);
    }
    if replayed {
        headers.insert("a2ad-replayed", HeaderValue::from_static("true"));
    }
}

/// A fault inside the envelope, always with status 200 (A2A-174).
fn refused(inbound: &Inbound, id: &Id<'_>, fault: &Fault) -> Response {
    let context = Context { request: &inbound.id, at: Timestamp::now() };
    refusal::json(StatusCode::OK, envelope::refusal(id, fault, &context))
}

/// The answer to what has no id.
fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
