//! The operator's calls: the private API of the node's own command line. Admins only, no stability promised.

use std::{borrow::Cow, sync::Arc};

use futures_util::future::BoxFuture;
use http::{Method as Verb, StatusCode};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tracing::Span;

use super::{
    body::Response,
    call,
    inbound::Inbound,
    refusal::{self, Refusal},
    state::State,
};
use crate::{
    model::{
        AgentName, Caller, ContextId, Fault, ListTasks, TaskId, TaskState, Timestamp,
        ops::{Finding, Reloaded},
    },
    wire::{Dialect, Method, Single},
};

/// Something that only the daemon can do.
pub type Hook<A, T> = Box<dyn Fn(A) -> BoxFuture<'static, Result<T, Fault>> + Send + Sync>;

/// What the operator's calls need of the daemon.
pub struct Hooks {
    /// Reads the configuration again. A faulty one is `InvalidRequest`, and the old one stays in force.
    pub reload: Hook<(), Reloaded>,
    /// Looks at everything that a person would get wrong.
    pub doctor: Hook<(), Vec<Finding>>,
    /// Looks at one agent, with a real turn.
    pub test: Hook<AgentName, Vec<Finding>>,
    /// Effective values and where each came from, of one key or all.
    pub config: Hook<Option<String>, serde_json::Value>,
}

/// `POST /ops/drain`.
#[derive(Deserialize)]
struct DrainOrder {
    on: bool,
}

/// `POST /ops/tokens/{name}/revoke`.
#[derive(Deserialize)]
struct Revocation {
    #[serde(default)]
    cancel: bool,
}

/// `DELETE /ops/contexts/{id}`.
#[derive(Serialize)]
struct Deleted {
    tasks: u64,
}

/// Answers what comes below `/ops/`.
///
/// # Errors
/// There is no admin's credential, no such call, or it fails.
pub(super) async fn serve(
    state: &Arc<State>,
    inbound: &mut Inbound,
    path: &[String],
) -> Result<Response, Refusal> {
    let who = inbound.admin(state)?;
    Span::current().record("principal", who.caller.principal.as_str());
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match inbound.parts.method {
        Verb::GET => get(state, inbound, &path).await,
        Verb::POST => post(state, inbound, &path).await,
        Verb::DELETE => delete(state, &who.caller, &path).await,
        _ => Err(Refusal::verb("GET, POST, DELETE", "use GET, POST or DELETE")),
    }
}

async fn get(state: &State, inbound: &Inbound, path: &[&str]) -> Result<Response, Refusal> {
    let node = &state.node;
    match path {
        ["status"] => {
            let mut status = node.status().await?;
            status.urls = state.urls();
            said(&status)
        }
        ["ps"] => said(&node.children()),
        ["agents"] => said(&node.agent_statuses()),
        ["tasks"] => {
            let list = filters(inbound)?;
            let page = node.all_tasks(&list).await?;
            let single = Single::Page(call::written(&page, list.include_artifacts));
            Ok(refusal::json(StatusCode::OK, Dialect::V1.encode_reply(Method::ListTasks, &single)))
        }
        ["tasks", id] => said(&node.waiting(&TaskId::from(*id)).await?),
        ["tokens"] => said(&node.tokens().await?),
        ["drain"] => said(&node.draining()),
        ["doctor"] => said(&(state.hooks.doctor)(()).await?),
        ["config"] => said(&(state.hooks.config)(one(inbound, "key")).await?),
        _ => Err(Refusal::nothing_at(inbound.parts.uri.path())),
    }
}

async fn post(state: &State, inbound: &mut Inbound, path: &[&str]) -> Result<Response, Refusal> {
    match path {
        ["tokens"] => {
            let new = body(inbound).await?;
            said(&state.node.token_new(new).await?)
        }
        ["tokens", name, "revoke"] => {
            let order: Revocation = body(inbound).await?;
            said(&state.node.token_revoke(name, order.cancel).await?)
        }
        ["reload"] => said(&(state.hooks.reload)(()).await?),
        ["drain"] => {
            let order: DrainOrder = body(inbound).await?;
            said(&state.node.drain(order.on))
        }
        ["agents", name, "test"] => {
            let name = name.parse().map_err(|_| Fault::NoAgent((*name).to_owned()))?;
            said(&(state.hooks.test)(name).await?)
        }
        _ => Err(Refusal::nothing_at(inbound.parts.uri.path())),
    }
}

async fn delete(state: &State, caller: &Caller, path: &[&str]) -> Result<Response, Refusal> {
    match path {
        ["tasks", id] => {
            state.node.delete_task(caller, &TaskId::from(*id)).await?;
            said(&Deleted { tasks: 1 })
        }
        ["contexts", id] => {
            said(&Deleted { tasks: state.node.delete_context(caller, &ContextId::from(*id)).await? })
        }
        _ => Err(Refusal::nothing_at(&format!("/ops/{}", path.join("/")))),
    }
}

fn said<T: Serialize + ?Sized>(value: &T) -> Result<Response, Refusal> {
    let body = serde_json::to_vec(value).map_err(|error| Fault::Internal(error.to_string()))?;
    Ok(refusal::json(StatusCode::OK, body))
}

/// Reads the body; an empty one is `{}`.
async fn body<T: DeserializeOwned>(inbound: &mut Inbound) -> Result<T, Refusal> {
    if !inbound.is_json() {
        return Err(Refusal::not_json());
    }
    let bytes = inbound.read().await?;
    let bytes = if bytes.is_empty() { b"{}" } else { &bytes[..] };
    serde_json::from_slice(bytes).map_err(|error| Fault::InvalidRequest(error.to_string()).into())
}

/// The one value of a query parameter.
fn one(inbound: &Inbound, name: &str) -> Option<String> {
    inbound.query(name).map(Cow::into_owned).find(|value| !value.is_empty())
}

/// What `task list --all` asks for.
fn filters(inbound: &Inbound) -> Result<ListTasks, Fault> {
    let limit = one(inbound, "limit").map(|limit| limit.parse()).transpose();
    let status = one(inbound, "state")
        .map(|state| of_word(&state).ok_or_else(|| Fault::invalid("state", "is no state")));
    let since = one(inbound, "since")
        .map(|since| Timestamp::parse(&since).map_err(|why| Fault::invalid("since", why)));
    Ok(ListTasks {
        tenant: one(inbound, "agent"),
        context_id: one(inbound, "context").map(ContextId::from),
        status: status.transpose()?,
        page_size: limit.map_err(|_| Fault::invalid("limit", "must be a number"))?,
        page_token: one(inbound, "page"),
        history_length: None,
        status_timestamp_after: since.transpose()?,
        include_artifacts: false,
    })
}

/// A state by its name in the protocol, or by the end of it in any case: `TASK_STATE_INPUT_REQUIRED`, `input-required`.
fn of_word(word: &str) -> Option<TaskState> {
    let word = word.to_ascii_uppercase().replace('-', "_");
    TaskState::ALL.into_iter().find(|state| {
        let name = state.as_str();
        name == word || name.strip_prefix("TASK_STATE_") == Some(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_people_write_them() {
        for word in ["TASK_STATE_INPUT_REQUIRED", "input-required", "INPUT_REQUIRED", "Input-Required"] {
            assert_eq!(of_word(word), Some(TaskState::InputRequired), "{word}");
        }
        for word in ["", "TASK_STATE_UNSPECIFIED", "busy"] {
            assert_eq!(of_word(word), None, "{word}");
        }
    }
}
