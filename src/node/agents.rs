//! The registry of agents at run time: filled by the configuration, asked at every request, replaced by a reload.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;

use crate::{
    model::AgentName,
    runtime::{Runtime, config::Agent, kinds::Readiness},
};

/// One agent that is served.
pub struct Served {
    /// Its name.
    pub name: AgentName,
    /// What the configuration says of it.
    pub config: Agent,
    /// What does its work.
    pub runtime: Arc<dyn Runtime>,
    /// What is known of its program, as of the last look.
    pub readiness: ArcSwap<Readiness>,
}

/// All agents, by name.
#[derive(Default)]
pub struct Registry {
    agents: BTreeMap<AgentName, Arc<Served>>,
    default: Option<AgentName>,
    version: u64,
}

impl Registry {
    /// A registry; `version` is part of the cards' ETag.
    #[must_use]
    pub fn new(served: Vec<Arc<Served>>, default: Option<AgentName>, version: u64) -> Self {
        let agents = served.into_iter().map(|served| (served.name.clone(), served)).collect();
        Self { agents, default, version }
    }

    /// The agent of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        name.parse::<AgentName>().ok().and_then(|name| self.agents.get(&name))
    }

    /// The agent at the root (O-68).
    #[must_use]
    pub fn default(&self) -> Option<&Arc<Served>> {
        self.default.as_ref().and_then(|name| self.agents.get(name))
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.agents.values()
    }

    /// Grows with every change.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }
}
