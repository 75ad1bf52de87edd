//! The A2A client: calls another node, or our own, over JSON-RPC or HTTP+JSON of A2A 1.0 or 0.3.
//!
//! Called by the command line, and by what delegates to other nodes. It never decides where a credential comes from,
//! never reads a configuration and never prints.

mod address;
mod binding;
pub mod discover;
mod error;
mod events;
mod follow;
mod http;
mod sse;

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use reqwest::{Method, header};
use serde::{Serialize, de::DeserializeOwned};

use binding::Way;

pub use address::{Address, Credential};
pub use binding::Binding;
pub use discover::{Endpoint, Found};
pub use error::{Error, Refusal};
pub use events::{Event, Events};
pub use follow::{Follow, Step};
pub use http::Http;

use crate::model::{CancelTask, GetTask, ListTasks, Operation, Seq, Task, TaskId};
use crate::wire::{Dialect, Method as Name, Page, Single};

/// What is waited for answers that need no turn.
const PATIENCE: Duration = Duration::from_secs(75);

/// One agent, reached over one interface.
#[derive(Debug)]
pub struct Peer {
    http: Http,
    endpoint: Endpoint,
    /// Whether it speaks another version than its card says.
    other: AtomicBool,
    ids: AtomicU64,
}

impl Peer {
    /// An agent whose card tells how to reach it.
    ///
    /// # Errors
    /// What [`discover::fetch`] and [`discover::choose`] say.
    pub async fn dial(http: Http, agent: Option<&str>) -> Result<Self, Error> {
        let found = discover::fetch(&http, agent).await?;
        let endpoint = discover::choose(&found, agent)?;
        Ok(Self::at(http, endpoint))
    }

    /// An agent of a node of our kind, whose routes need no card.
    #[must_use]
    pub fn of_node(http: Http, agent: Option<&str>) -> Self {
        let path = match agent {
            Some(agent) => format!("{}/agents/{agent}", http.address().node()),
            None => format!("{}/", http.address().node()),
        };
        let url = http.address().at(&path);
        let (binding, dialect) = (Binding::Rpc, Dialect::V1);
        Self::at(http, Endpoint { url, binding, tenant: None, dialect, streams: true, ours: true })
    }

    /// An agent at a known interface.
    #[must_use]
    pub const fn at(http: Http, endpoint: Endpoint) -> Self {
        Self { http, endpoint, other: AtomicBool::new(false), ids: AtomicU64::new(1) }
    }

    /// Where it is dialed.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What it speaks, as far as it is known.
    pub(super) fn dialect(&self) -> Dialect {
        if self.other.load(Ordering::Relaxed) { other(self.endpoint.dialect) } else { self.endpoint.dialect }
    }

    /// Carries out `work` in what the other side speaks. Where it refuses the version or the method, and so has done
    /// nothing, the other version is tried, and kept if the other side understands that one (UR-54).
    async fn spoken<T>(&self, work: impl AsyncFn(Dialect) -> Result<T, Error>) -> Result<T, Error> {
        let dialect = self.dialect();
        let refused = match work(dialect).await {
            Err(error) if is_foreign(&error) && self.endpoint.binding == Binding::Rpc => error,
            result => return result,
        };
        match work(other(dialect)).await {
            Err(Error::Unspoken { .. }) => Err(refused),
            Err(error) if is_foreign(&error) => Err(refused),
            result => {
                tracing::debug!(url = %self.endpoint.url, "speaks another version than its card says");
                self.other.store(other(dialect) != self.endpoint.dialect, Ordering::Relaxed);
                result
            }
        }
    }

    /// One operation with one answer. Blocking sends and cancels wait as long as they take.
    ///
    /// # Errors
    /// Every variant of [`Error`] but those of streams.
    pub async fn call(&self, operation: &Operation) -> Result<Single<'static>, Error> {
        self.spoken(async |dialect| self.call_in(dialect, operation).await).await
    }

    async fn call_in(&self, dialect: Dialect, operation: &Operation) -> Result<Single<'static>, Error> {
        let patience = match operation {
            Operation::Send(_) | Operation::CancelTask(_) => None,
            _ => Some(PATIENCE),
        };
        let response = self.ask(dialect, operation, Way { patience, ..Way::default() }).await?;
        if !response.status().is_success() {
            return Err(self.http.refusal(response).await);
        }
        let body = self.http.body(response).await?;
        let result = self.endpoint.binding.result(&body, &self.http.address().to_string())?;
        dialect.decode_reply(Name::of(operation), result).map_err(|fault| self.http.nonsense(fault))
    }

    /// `GetTask`.
    ///
    /// # Errors
    /// What [`Peer::call`] says.
    pub async fn task(&self, id: &TaskId, history_length: Option<i32>) -> Result<Task, Error> {
        let get = GetTask { tenant: None, id: id.clone(), history_length };
        self.task_of(&Operation::GetTask(get)).await
    }

    /// `CancelTask`.
    ///
    /// # Errors
    /// What [`Peer::call`] says.
    pub async fn cancel(&self, id: &TaskId) -> Result<Task, Error> {
        let cancel = CancelTask { tenant: None, id: id.clone(), metadata: None };
        self.task_of(&Operation::CancelTask(cancel)).await
    }

    /// `ListTasks`.
    ///
    /// # Errors
    /// What [`Peer::call`] says.
    pub async fn list(&self, query: ListTasks) -> Result<Page<'static>, Error> {
        match self.call(&Operation::ListTasks(query)).await? {
            Single::Page(page) => Ok(page),
            _ => Err(self.http.nonsense("a list of tasks was asked for")),
        }
    }

    async fn task_of(&self, operation: &Operation) -> Result<Task, Error> {
        match self.call(operation).await? {
            Single::Task(task) => Ok(task.into_owned()),
            _ => Err(self.http.nonsense("a task was asked for")),
        }
    }

    /// `SendStreamingMessage` or `SubscribeToTask`. `after` is the last event that was seen (P-26).
    ///
    /// # Errors
    /// Every variant of [`Error`]; a refusal that comes as JSON is told as one.
    pub async fn stream(&self, operation: &Operation, after: Option<Seq>) -> Result<Events, Error> {
        self.spoken(async |dialect| self.stream_in(dialect, operation, after).await).await
    }

    async fn stream_in(
        &self,
        dialect: Dialect,
        operation: &Operation,
        after: Option<Seq>,
    ) -> Result<Events, Error> {
        let (binding, url) = (self.endpoint.binding, self.http.address().to_string());
        let response = self.ask(dialect, operation, Way { stream: true, after, patience: None }).await?;
        if !response.status().is_success() {
            return Err(self.http.refusal(response).await);
        }
        let is_stream =
            response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(
                |value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"),
            );
        if is_stream {
            return Ok(Events::of(response, binding, dialect, url));
        }
        // A refusal before the first event (A2A-67), or a server that answers the whole at once.
        let body = self.http.body(response).await?;
        let update = events::answer(&body, binding, dialect, &url)?;
        Ok(Events::just(update))
    }

    /// The card, as it is served.
    ///
    /// # Errors
    /// What [`discover::fetch`] says.
    pub async fn card(http: &Http, agent: Option<&str>) -> Result<Found, Error> {
        discover::fetch(http, agent).await
    }

    async fn ask(
        &self,
        dialect: Dialect,
        operation: &Operation,
        way: Way,
    ) -> Result<reqwest::Response, Error> {
        if Name::of(operation).name(dialect).is_none() {
            return Err(Error::Unspoken {
                url: self.http.address().to_string(),
                version: dialect.version().as_str(),
                what: Name::of(operation).names().v1.unwrap_or_default(),
            });
        }
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.endpoint.binding.ask(&self.http, &self.endpoint, dialect, id, operation, way).await
    }
}

/// What JSON-RPC of the other version is.
const fn other(dialect: Dialect) -> Dialect {
    match dialect {
        Dialect::V1 => Dialect::V03Json,
        Dialect::V03Json | Dialect::V03Proto => Dialect::V1,
    }
}

/// Whether the other side does not know the method, or the version: it has done nothing then.
fn is_foreign(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| {
        refusal.is("METHOD_NOT_FOUND", -32601) || refusal.is("VERSION_NOT_SUPPORTED", -32009)
    })
}

impl Http {
    /// One of the operator's calls under `/ops`, JSON in and out.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Refused`], [`Error::Answer`].
    pub async fn ops<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
        patience: Duration,
    ) -> Result<T, Error> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.address().at(&format!("{}/ops/{path}", self.address().node()));
        url.set_query(query);
        let mut request = self.request(method, url).header(header::ACCEPT, "application/json");
        if let Some(body) = body {
            let body = serde_json::to_vec(body).map_err(|error| self.nonsense(error))?;
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }
        let response = self.send(request, Some(patience)).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let body = self.body(response).await?;
        let body: &[u8] = if body.is_empty() { b"null" } else { &body };
        serde_json::from_slice(body).map_err(|error| self.nonsense(error))
    }

    /// The status of `/healthz` or `/readyz`.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub async fn probe(&self, path: &str, patience: Duration) -> Result<u16, Error> {
        let response = self
            .send(
                self.open_request(self.address().at(&format!("{}{path}", self.address().node()))),
                Some(patience),
            )
            .await?;
        Ok(response.status().as_u16())
    }
}

#[cfg(test)]
mod tests;
