//! Whom a call is for: an agent that is served, or one that was removed and whose tasks are still there (O-22).

use std::sync::Arc;

use crate::{
    model::{AgentName, Fault},
    node::{
        Node,
        agents::{Registry, Served},
    },
    wire::Method,
};

/// The agent that a call names.
#[derive(Clone)]
pub(super) enum Addressed {
    /// One of the configuration.
    Served(Arc<Served>),
    /// One that was removed from it. It does nothing more, but what it did is its callers' own.
    Removed(AgentName),
}

impl Addressed {
    /// The agent of a name; `None`: there is none, and no task of one.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn find(node: &Node, registry: &Registry, name: &str) -> Result<Option<Self>, Fault> {
        if let Some(served) = registry.get(name) {
            return Ok(Some(Self::Served(served.clone())));
        }
        let Ok(name) = name.parse::<AgentName>() else { return Ok(None) };
        Ok(node.remembers(&name)?.then_some(Self::Removed(name)))
    }

    /// Its name.
    pub(super) fn name(&self) -> &AgentName {
        match self {
            Self::Served(served) => &served.name,
            Self::Removed(name) => name,
        }
    }

    /// What it asks of every call, before any task is looked up (P-5, P-19); one that was removed takes only what is about
    /// the tasks that there are.
    ///
    /// # Errors
    /// A required extension is not declared, or this is nothing that the agent does.
    pub(super) fn check(&self, method: Method, declared: &[&str]) -> Result<(), Fault> {
        match self {
            Self::Served(served) => check(served, method, declared),
            Self::Removed(_) if is_of_a_task(method) => Ok(()),
            Self::Removed(name) => Err(Fault::AgentRemoved(name.clone())),
        }
    }

    /// The extensions that a caller declares and the agent knows, as they are said back (A2A-159).
    pub(super) fn activated(&self, declared: &[&str]) -> Option<String> {
        let own = match self {
            Self::Served(served) => served.config.extensions.as_slice(),
            Self::Removed(_) => &[],
        };
        let known: Vec<&str> = declared
            .iter()
            .copied()
            .filter(|uri| *uri == super::card::NODE_EXTENSION || own.iter().any(|known| known.uri == *uri))
            .collect();
        (!known.is_empty()).then(|| known.join(", "))
    }
}

/// Whether an operation asks for nothing but tasks as they are, or for the end of one.
const fn is_of_a_task(method: Method) -> bool {
    matches!(method, Method::GetTask | Method::ListTasks | Method::CancelTask | Method::Subscribe)
}

fn check(served: &Served, method: Method, declared: &[&str]) -> Result<(), Fault> {
    let config = &served.config;
    let missing =
        config.extensions.iter().find(|known| known.required && !declared.contains(&known.uri.as_str()));
    if let Some(missing) = missing.filter(|_| method != Method::GetCard) {
        return Err(Fault::ExtensionRequired(missing.uri.clone()));
    }
    if method.streams() && !config.capabilities.streaming {
        return Err(Fault::Unsupported(
            "this agent does not stream; send with SendMessage, poll with GetTask".into(),
        ));
    }
    Ok(())
}
