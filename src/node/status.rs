//! What the operator sees: what runs, what waits and for what, and whether the node is well.

use super::{Node, fault_of};
use crate::model::{
    Fault, ListTasks, TaskId, TaskState, Timestamp,
    ops::{AgentStatus, ChildStatus, Drain, Status, TaskList, Waiting},
};
use crate::runtime::config::Permissions;

/// Whether the node takes work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Ready,
    /// It is about to stop, or was told to drain.
    Draining,
    /// Its store can't write; why.
    CannotWrite(String),
}

/// What an operator may rely on, for the card's extension `urn:a2ad:node/1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Whether children can reach the node: `namespace` or `none`.
    pub isolation: String,
    /// How children are confined.
    pub sandbox: &'static str,
    /// How their trees are held together.
    pub custody: &'static str,
}

impl Node {
    /// Whether the node takes work.
    #[must_use]
    pub fn health(&self) -> Health {
        if self.0.closing.is_cancelled() || self.0.dispatch.counts().2 {
            return Health::Draining;
        }
        match self.0.store.room().writable {
            Ok(()) => Health::Ready,
            Err(why) => Health::CannotWrite(why),
        }
    }

    /// What an operator may rely on.
    #[must_use]
    pub fn nature(&self) -> Nature {
        Nature {
            isolation: self.0.custody.isolation().level.as_str().into(),
            sandbox: "none",
            custody: CUSTODY,
        }
    }

    /// `a2ad status`; the doors add where they listen.
    ///
    /// # Errors
    /// The store's.
    pub async fn status(&self) -> Result<Status, Fault> {
        let node = &self.0;
        let totals = node.store.totals().await.map_err(fault_of)?;
        let (running, queued, paused) = node.dispatch.counts();
        let room = node.store.room();
        let isolation = node.custody.isolation();
        let waiting = totals.of(TaskState::InputRequired) + totals.of(TaskState::AuthRequired);
        let mut warnings = Vec::new();
        if isolation.level == crate::runtime::child::Level::None {
            warnings.push(exposed(&isolation.why, &isolation.mend));
        }
        if let Err(why) = &room.writable {
            warnings.push(why.clone());
        }
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            name: node.config.load().name.clone(),
            pid: std::process::id(),
            since: node.since,
            urls: Vec::new(),
            agents: self.agent_statuses(),
            tasks: TaskState::ALL
                .into_iter()
                .map(|state| (state.as_str().to_owned(), totals.of(state)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            running,
            queued,
            waiting: usize::try_from(waiting).unwrap_or(usize::MAX),
            store_bytes: room.bytes,
            store_free: room.free.unwrap_or(0),
            isolation: isolation.level.as_str().into(),
            sandbox: "none".into(),
            custody: CUSTODY.into(),
            draining: paused,
            warnings,
        })
    }

    /// What is served, and how it is.
    #[must_use]
    pub fn agent_statuses(&self) -> Vec<AgentStatus> {
        let registry = self.agents();
        let default = registry.default().map(|served| served.name.clone());
        registry
            .iter()
            .map(|served| {
                let (running, queued) = self.0.dispatch.counts_of(&served.name);
                let readiness = served.readiness.load();
                AgentStatus {
                    name: served.name.to_string(),
                    default: default.as_ref() == Some(&served.name),
                    runtime: served.config.runtime.as_str().into(),
                    workspace: served.config.workspace.display().to_string(),
                    program: readiness.program.as_ref().map(|program| program.display().to_string()),
                    version: readiness.version.clone(),
                    not_ready: readiness.problem.clone(),
                    running,
                    queued,
                    permissions: effective(served.config.permissions).into(),
                }
            })
            .collect()
    }

    /// `a2ad ps`.
    #[must_use]
    pub fn children(&self) -> Vec<ChildStatus> {
        let now = Timestamp::now();
        self.0
            .custody
            .children()
            .into_iter()
            .map(|child| {
                let task = TaskId::from(child.task.as_str());
                let waits_for = match self.0.store.task(&task) {
                    Ok(Some(row)) if row.state.is_interrupted() => "an answer".to_owned(),
                    Ok(Some(row)) if row.state.is_terminal() => "its end".to_owned(),
                    Ok(_) | Err(_) => "its program".to_owned(),
                };
                ChildStatus {
                    pid: child.pid,
                    task: child.task.clone(),
                    agent: child.agent.clone(),
                    since: earlier(now, child.age),
                    last_output: child.silent.map(|age| earlier(now, age)),
                    cpu_ms: u64::try_from(child.cpu.as_millis()).unwrap_or(u64::MAX),
                    rss: child.rss,
                    processes: child.tree,
                    waits_for,
                }
            })
            .collect()
    }

    /// The end of `task show`: what a task waits for.
    ///
    /// # Errors
    /// `TaskNotFound`.
    pub async fn waiting(&self, id: &TaskId) -> Result<Waiting, Fault> {
        let row = self.0.stored(id)?;
        let mut lines = Vec::new();
        match row.state {
            TaskState::Submitted => match self.0.dispatch.place(id) {
                Some(place) => lines.push(format!("place {place} in the queue of its principal")),
                None => lines.push("a place to run".to_owned()),
            },
            TaskState::InputRequired => lines.push(format!("an answer, since {}", row.status_at)),
            TaskState::AuthRequired => lines.push(format!("a login, since {}", row.status_at)),
            TaskState::Working => {
                lines.push(format!(
                    "its agent {}, which last told something at {}",
                    row.agent, row.updated_at
                ));
                let served = self.agents().get(row.agent.as_str()).cloned();
                if let Some(limit) = served.and_then(|served| served.config.turn_timeout) {
                    lines.push(format!("at the latest until {} (turn_timeout)", row.status_at.after(limit)));
                }
            }
            TaskState::Completed | TaskState::Failed | TaskState::Canceled | TaskState::Rejected => {
                lines.push("nothing: it has ended".to_owned());
            }
        }
        for child in self.children().into_iter().filter(|child| child.task == id.as_str()) {
            let output = child.last_output.map_or_else(|| "never".to_owned(), |at| at.to_string());
            lines.push(format!("process {} since {}, last output {output}", child.pid, child.since));
        }
        Ok(Waiting { lines })
    }

    /// Every principal's tasks, newest first (`task list --all`); `page_token` as in `ListTasks`.
    ///
    /// # Errors
    /// A parameter that is wrong, or the store's.
    pub async fn all_tasks(&self, list: &ListTasks) -> Result<TaskList, Fault> {
        self.0.all_tasks(list).await
    }

    /// Lets waiting turns wait, or go on (O-38).
    pub fn drain(&self, on: bool) -> Drain {
        self.0.dispatch.pause(on);
        self.draining()
    }

    /// How far a drain has come.
    #[must_use]
    pub fn draining(&self) -> Drain {
        let (running, queued, draining) = self.0.dispatch.counts();
        Drain { draining, running, queued }
    }
}

/// How the trees of children are held together in this version.
const CUSTODY: &str = "subreaper";

/// What is said wherever no isolation holds (O-1).
#[must_use]
pub fn exposed(why: &str, mend: &str) -> String {
    format!("agents on this host can act as you on this node ({why}); {mend}")
}

/// What becomes of a permission question in this version: there is nobody yet whom an agent could ask.
const fn effective(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Ask | Permissions::Deny => "deny",
        Permissions::Edits => "edits",
        Permissions::All => "all",
    }
}

fn earlier(now: Timestamp, age: std::time::Duration) -> Timestamp {
    Timestamp::from_millis(now.millis() - i64::try_from(age.as_millis()).unwrap_or(0))
}
