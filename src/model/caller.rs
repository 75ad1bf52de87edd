//! Who asks.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{AgentName, TaskId};

/// A principal: `local`, `anonymous`, `token:NAME`, `agent:NAME`, `node`, …; only the whole string compares (O-7).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrincipalId(Arc<str>);

impl PrincipalId {
    /// The holder of the local admin token.
    #[must_use]
    pub fn local() -> Self {
        Self(Arc::from("local"))
    }

    /// Everybody, where `auth.mode = "none"`.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(Arc::from("anonymous"))
    }

    /// What the node does of itself.
    #[must_use]
    pub fn node() -> Self {
        Self(Arc::from("node"))
    }

    /// The holders of the tokens under a name.
    #[must_use]
    pub fn token(name: &str) -> Self {
        Self(Arc::from(format!("token:{name}")))
    }

    /// A configured agent.
    #[must_use]
    pub fn agent(name: &AgentName) -> Self {
        Self(Arc::from(format!("agent:{name}")))
    }

    /// The whole string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PrincipalId {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a principal may do beside its own tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Own tasks.
    User,
    /// A user whose hop envelope is believed.
    Peer,
    /// All tasks, and the operator's calls.
    Admin,
}

/// What stands behind a principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person or what acts for one.
    Person,
    /// An agent of a node.
    Agent,
    /// Another node.
    Peer,
    /// This node.
    Node,
}

/// How the caller showed who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A bearer token.
    Bearer,
    /// The local admin token.
    Local,
    /// Not at all: `auth.mode = "none"`.
    Open,
}

/// Which agents a caller may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agents {
    /// All.
    All,
    /// These.
    These(Arc<[AgentName]>),
}

impl Agents {
    /// Whether this one is among them.
    #[must_use]
    pub fn holds(&self, agent: &AgentName) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(agent),
        }
    }
}

/// Who asks, as every operation sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub principal: PrincipalId,
    /// What stands behind it.
    pub kind: Kind,
    /// What it may do.
    pub role: Role,
    /// Which agents it may use.
    pub may_call: Agents,
    /// The task whose run holds this credential, if it is one.
    pub run: Option<TaskId>,
    /// How it showed who it is.
    pub via: Via,
}

impl Caller {
    /// Whether it may do all that the operator may.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }
}
