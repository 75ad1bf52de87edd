//! From the configuration to what the node serves.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Error;
use crate::{
    config::Config,
    model::AgentName,
    node::agents::{Registry, Served},
    runtime::{
        child::Custody,
        config::Agent,
        kinds::{self, Looks},
    },
};

/// The registry of a configuration. Agents that did not change keep their runtime, and so their programs.
pub(super) fn registry(config: &Config, custody: &Custody, old: &Registry) -> Result<Registry, Error> {
    let served =
        config.agents.iter().map(|agent| served(agent, custody, old)).collect::<Result<Vec<_>, _>>()?;
    Ok(Registry::new(served, config.node.default_agent.clone(), old.version() + 1))
}

fn served(agent: &Agent, custody: &Custody, old: &Registry) -> Result<Arc<Served>, Error> {
    if let Some(same) = old.get(agent.name.as_str()).filter(|same| same.config == *agent) {
        return Ok(same.clone());
    }
    let runtime = kinds::build(agent, custody).map_err(|error| Error::Agent(error.to_string()))?;
    Ok(Arc::new(Served {
        name: agent.name.clone(),
        config: agent.clone(),
        runtime,
        readiness: ArcSwap::from_pointee(kinds::Readiness::default()),
    }))
}

/// Looks at every agent's program; a program that is missing or broken is shown, and its tasks fail with the reason.
pub(super) async fn look(
    registry: &Registry,
    looks: &Looks,
    custody: &Custody,
) -> Vec<(AgentName, Option<String>)> {
    let mut problems = Vec::new();
    for served in registry.iter() {
        let readiness = looks.look(&served.config, custody).await;
        problems.push((served.name.clone(), readiness.problem.clone()));
        served.readiness.store(Arc::new(readiness));
    }
    problems
}
