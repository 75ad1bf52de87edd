//! A call once its envelope is off, and its answer before one is put on: what every binding does alike.
//!
//! Called by the envelopes. Finds the agent, asks whether the caller may use it and what it demands of every call, hands
//! the operation to the node, and knows nothing of how either was written.

use std::{borrow::Cow, sync::Arc};

use http::{HeaderMap, HeaderValue};
use tracing::Span;

use super::{
    addressed::Addressed,
    auth::Who,
    body::Response,
    envelope::Envelope,
    inbound::Inbound,
    limits::Place,
    refusal::Refusal,
    sse::{self, Revoked, Until},
    state::State,
};
use crate::{
    model::{Caller, Fault, Operation},
    node::{Answer, Call, Reply, TaskPage, agents::Registry},
    wire::{Method, Page, Single, Version},
};

/// A caller who was let in, and the agent that the path names.
pub(super) struct Entry {
    who: Who,
    registry: Arc<Registry>,
    fixed: Option<Addressed>,
}

/// What the node answered, and what goes with it.
pub(super) struct Called {
    /// The answer itself.
    pub(super) reply: Reply,
    /// Whether artifacts of a list were asked for.
    pub(super) artifacts: bool,
    /// The extensions that are in force.
    pub(super) activated: Option<String>,
    /// Whether an earlier, equal send is answered.
    pub(super) replayed: bool,
    /// The place of the stream, held as long as it is open.
    pub(super) place: Option<Place>,
}

impl Entry {
    /// Lets a caller in. `agent`: the one of the path, if it names one.
    ///
    /// # Errors
    /// No valid credential, no such agent, or not this caller's: all before the body is read (P-7, P-8).
    pub(super) fn of(state: &State, inbound: &Inbound, agent: Option<&str>) -> Result<Self, Refusal> {
        let who = inbound.caller(state)?;
        Span::current().record("principal", who.caller.principal.as_str());
        let registry = state.node.agents();
        let fixed = match agent {
            None => None,
            Some(name) => Some(
                Addressed::find(&state.node, &registry, name)?
                    .ok_or_else(|| Fault::NoAgent(name.to_owned()))?,
            ),
        };
        if let Some(agent) = &fixed {
            allowed(&who.caller, agent)?;
        }
        Ok(Self { who, registry, fixed })
    }

    /// Carries an operation out and answers over HTTP: with one value, or with a stream.
    ///
    /// # Errors
    /// What [`Entry::call`] says, and what a stream says that is not opened (P-27).
    pub(super) async fn answer(
        &self,
        state: &State,
        inbound: &Inbound,
        operation: Operation,
        envelope: Envelope,
    ) -> Result<Response, Fault> {
        let (method, version) = (Method::of(&operation), envelope.dialect.version());
        let Called { reply, artifacts, activated, replayed, place } =
            self.call(state, inbound, version, operation).await?;
        let mut response = match reply {
            Reply::Task(task) => envelope.single(method, &Single::task(&task)),
            Reply::Stored(bytes) => envelope.single(method, &Single::Stored(bytes)),
            Reply::Message(message) => envelope.single(method, &Single::message(&message)),
            Reply::Page(page) => envelope.single(method, &Single::Page(written(&page, artifacts))),
            Reply::Updates(updates) => {
                sse::open(updates, envelope, self.until(state, inbound, place)).await?
            }
        };
        say(response.headers_mut(), version, activated.as_deref(), replayed);
        Ok(response)
    }

    /// Carries an operation out for a caller who speaks this version.
    ///
    /// # Errors
    /// What the agent, the limits or the node say.
    pub(super) async fn call(
        &self,
        state: &State,
        inbound: &Inbound,
        version: Version,
        operation: Operation,
    ) -> Result<Called, Fault> {
        let method = Method::of(&operation);
        let agent = self.agent(state, operation.tenant())?;
        allowed(&self.who.caller, &agent)?;
        record(&agent, &operation);
        let declared = declared(inbound, version);
        agent.check(method, &declared)?;
        let artifacts = matches!(&operation, Operation::ListTasks(list) if list.include_artifacts);
        let waits = waits(&operation);
        let call = Call {
            caller: self.who.caller.clone(),
            agent: agent.name().clone(),
            // The agent is known: whichever way it was named, the request is the same (P-21).
            operation: operation.for_tenant(None),
            key: key(inbound)?,
            after: last_event(inbound),
            to_question: version == Version::V03,
        };
        let activated = agent.activated(&declared);
        let place = self.place(state, inbound, method)?;
        let Answer { reply, replayed } = ask(state, inbound, call, waits).await?;
        Ok(Called { reply, artifacts, activated, replayed, place })
    }

    /// The versions of A2A that the caller may speak.
    pub(super) fn versions<'a>(&self, state: &'a State) -> &'a [Version] {
        state.versions(&self.who.caller)
    }

    /// Which agent: that of the path, which the request may repeat, else the one that the request names, else the
    /// default (P-11, P-14).
    fn agent(&self, state: &State, tenant: Option<&str>) -> Result<Addressed, Fault> {
        let invalid = |why: String| Fault::invalid("tenant", why);
        match (&self.fixed, tenant) {
            (Some(fixed), Some(tenant)) if fixed.name().as_str() != tenant => {
                Err(invalid(format!("the path names the agent {}; leave the tenant out", fixed.name())))
            }
            (Some(fixed), _) => Ok(fixed.clone()),
            (None, Some(tenant)) => Addressed::find(&state.node, &self.registry, tenant)?
                .ok_or_else(|| invalid("there is no agent of this name".into())),
            (None, None) => self
                .registry
                .default()
                .map(|served| Addressed::Served(served.clone()))
                .ok_or_else(|| invalid("no agent is the default: name one".into())),
        }
    }

    /// A place for the stream that a method opens.
    fn place(&self, state: &State, inbound: &Inbound, method: Method) -> Result<Option<Place>, Fault> {
        let most = inbound.config().streams_per_principal;
        let take = || state.streams.take(&self.who.caller.principal, most);
        method.streams().then(take).transpose()
    }

    /// What ends a stream of this caller besides its task.
    pub(super) fn until(&self, state: &State, inbound: &Inbound, place: Option<Place>) -> Until {
        Until {
            stop: state.stop.clone(),
            idle: inbound.config().stream_idle,
            place,
            revoked: self.who.credential.clone().map(|credential| {
                let node = state.node.clone();
                Box::pin(async move { node.revoked(&credential).await }) as Revoked
            }),
        }
    }
}

/// Asks the node; what need not wait for a turn is waited for only so long (P-22).
async fn ask(state: &State, inbound: &Inbound, call: Call, waits: bool) -> Result<Answer, Fault> {
    let work = state.node.call(call);
    match inbound.config().request_timeout.filter(|_| !waits) {
        None => work.await,
        Some(time) => tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
            let incident = uuid::Uuid::now_v7().simple().to_string();
            tracing::error!(incident, "no answer within request_timeout");
            Err(Fault::Internal(incident))
        }),
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

/// The header by which extensions are declared and said back.
const fn extensions_header(version: Version) -> &'static str {
    match version {
        Version::V1 => "a2a-extensions",
        Version::V03 => "x-a2a-extensions",
    }
}

/// The extensions that a caller declares (A2A-147). Clients of 0.3 that know 1.0 use either name of the header.
fn declared(inbound: &Inbound, version: Version) -> Vec<&str> {
    let old = (version == Version::V03).then(|| inbound.header(extensions_header(version)));
    let lists = inbound.header(extensions_header(Version::V1)).chain(old.into_iter().flatten());
    let mut declared = Vec::new();
    for uri in lists.flat_map(|list| list.split(',')).map(str::trim).filter(|uri| !uri.is_empty()) {
        if !declared.contains(&uri) {
            declared.push(uri);
        }
    }
    declared
}

/// The longest `Idempotency-Key`.
const LONGEST_KEY: usize = 255;

/// The `Idempotency-Key` (P-21).
fn key(inbound: &Inbound) -> Result<Option<String>, Fault> {
    let mut keys = inbound.header("idempotency-key").map(str::trim).filter(|key| !key.is_empty());
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) if key.len() <= LONGEST_KEY && key.is_ascii() => Ok(Some(key.to_owned())),
        _ => Err(Fault::invalid(
            "Idempotency-Key",
            format!("must be one key of at most {LONGEST_KEY} ASCII letters"),
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
fn say(headers: &mut HeaderMap, version: Version, activated: Option<&str>, replayed: bool) {
    if let Some(uris) = activated.and_then(|uris| HeaderValue::from_str(uris).ok()) {
        headers.insert(extensions_header(version), uris);
    }
    if replayed {
        headers.insert("a2ad-replayed", HeaderValue::from_static("true"));
    }
}
