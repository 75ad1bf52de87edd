//! What the operator's calls under `/ops` carry, between a node and its own command line. No stability is promised.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentName, CallerRole, PrincipalId, Task, Timestamp};

/// `GET /ops/status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The node's version.
    pub version: String,
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Since when it runs.
    pub since: Timestamp,
    /// Where it listens.
    pub urls: Vec<String>,
    /// What it serves.
    pub agents: Vec<AgentStatus>,
    /// Tasks by state, as `TASK_STATE_WORKING`, and all of them.
    pub tasks: BTreeMap<String, u64>,
    /// Turns that run.
    pub running: usize,
    /// Turns that wait for a place.
    pub queued: usize,
    /// Tasks that wait for a person.
    pub waiting: usize,
    /// Bytes of the store.
    pub store_bytes: u64,
    /// Bytes free beside it.
    pub store_free: u64,
    /// `namespace` or `none`.
    pub isolation: String,
    /// `none`: there is no sandbox in this version.
    pub sandbox: String,
    /// How children are held together.
    pub custody: String,
    /// Whether new turns wait for a drain to end.
    pub draining: bool,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

/// An agent as the operator sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentStatus {
    /// Its name.
    pub name: String,
    /// Whether it answers at the root.
    pub default: bool,
    /// `claude`, `exec`, `jsonl`, `echo`.
    pub runtime: String,
    /// Where it works.
    pub workspace: String,
    /// The program it resolved to.
    pub program: Option<String>,
    /// What the program says of its version.
    pub version: Option<String>,
    /// `None`: ready. Else why not, and what to do.
    pub not_ready: Option<String>,
    /// Turns that run.
    pub running: usize,
    /// Turns that wait.
    pub queued: usize,
    /// What may happen unasked: `ask`, `deny`, `edits`, `all`.
    pub permissions: String,
}

/// Letters of a reason that are shown where an agent has one line.
const BRIEF: usize = 100;

impl AgentStatus {
    /// Why it is not ready, in one line that is not long; `doctor` and `agent show` have the whole.
    #[must_use]
    pub fn brief(&self) -> Option<String> {
        let why = self.not_ready.as_deref()?;
        let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(match line.char_indices().nth(BRIEF) {
            Some((end, _)) => format!("{}… (`a2ad doctor` says all)", line[..end].trim_end()),
            None => line,
        })
    }
}

/// A child, for `ps`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChildStatus {
    /// Its process.
    pub pid: u32,
    /// The task it works for.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// Since when.
    pub since: Timestamp,
    /// When it last printed, if it did.
    pub last_output: Option<Timestamp>,
    /// CPU time of the tree, in milliseconds.
    pub cpu_ms: u64,
    /// Resident bytes of the tree.
    pub rss: u64,
    /// Processes in the tree.
    pub processes: usize,
    /// What it waits for.
    pub waits_for: String,
}

/// The end of `task show`: what a task waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// One line each, as `place 3 in the queue of claude`.
    pub lines: Vec<String>,
}

/// `GET /ops/tasks`: a page of everybody's tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskList {
    /// The newest first.
    pub tasks: Vec<OwnedTask>,
    /// Empty on the last page.
    pub next_page_token: String,
}

/// A task, and what it does not tell of itself: who does it, and for whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwnedTask {
    /// The agent that has it.
    pub agent: AgentName,
    /// Who sent it.
    pub principal: PrincipalId,
    /// The task, without history and artifacts.
    pub task: Task,
}

/// A token, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenInfo {
    /// Its name; the principal is `token:NAME`.
    pub name: String,
    /// The first letters of the secret.
    pub shown: String,
    /// What it may do.
    pub role: CallerRole,
    /// Agents it covers; `None`: all.
    pub agents: Option<Vec<String>>,
    /// When it was made; `None`: by the configuration.
    pub made_at: Option<Timestamp>,
    /// When it stops being valid.
    pub expires_at: Option<Timestamp>,
    /// When it was last used.
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Where it comes from: `store`, or file and line.
    pub source: String,
}

/// `POST /ops/tokens`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewToken {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: CallerRole,
    /// Agents it covers; `None`: all.
    pub agents: Option<Vec<String>>,
    /// When it stops being valid.
    pub expires_at: Option<Timestamp>,
    /// A further secret under a name that has one (rotation).
    pub add: bool,
    /// Takes a revoked name again.
    pub reuse: bool,
}

/// The answer to [`NewToken`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MadeToken {
    /// Shown once, stored as a hash.
    pub secret: String,
    /// How many tasks the name owns already.
    pub owned: u64,
    /// What to know of it (O-13).
    pub notes: Vec<String>,
}

/// The answer to a revocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revoked {
    /// Secrets that stopped being valid.
    pub secrets: u64,
    /// Turns that were canceled with them.
    pub canceled: u64,
}

/// The answer to `POST /ops/reload`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reloaded {
    /// Keys that changed and hold now.
    pub changed: Vec<String>,
    /// Keys that changed and wait for a restart.
    pub restart: Vec<String>,
    /// Warnings of the new configuration.
    pub warnings: Vec<String>,
}

/// The answer to `POST /ops/drain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drain {
    /// Whether new turns wait.
    pub draining: bool,
    /// Turns that still run.
    pub running: usize,
    /// Turns that wait.
    pub queued: usize,
}

/// One finding of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad.
    pub level: Level,
    /// What was looked at.
    pub what: String,
    /// What was found, and what to do.
    pub text: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Warn,
    /// To be mended.
    Fail,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_told_in_one_line_where_an_agent_has_one() {
        let agent = |why: Option<String>| AgentStatus {
            name: "claude".into(),
            default: true,
            runtime: "claude".into(),
            workspace: "/srv".into(),
            program: None,
            version: None,
            not_ready: why,
            running: 0,
            queued: 0,
            permissions: "deny".into(),
        };
        assert_eq!(agent(None).brief(), None);
        let short = agent(Some("it failed:\n\tno such\n  file\n".into())).brief();
        assert_eq!(short.as_deref(), Some("it failed: no such file"));
        let long = agent(Some("ü\n".repeat(500))).brief().unwrap();
        assert!(long.starts_with("ü ü") && long.contains("… (`a2ad doctor`"), "{long}");
        assert!(long.chars().count() < 140 && !long.contains('\n'), "{long}");
    }
}
