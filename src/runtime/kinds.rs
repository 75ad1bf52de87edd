//! The kinds of runtime: from an agent's configuration to the runtime that serves it, and whether it is ready.
//!
//! Called by the daemon when it builds or reloads the registry, and by `doctor` and `agent list`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Runtime;
use super::child::Custody;
use super::claude::Claude;
use super::config::{Agent, Permissions, RuntimeKind};
use super::echo::Echo;
use super::exec::Exec;
use super::jsonl::Jsonl;
use super::turn::Program;

/// Why an agent cannot be served as configured.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A program is needed and none is named.
    #[error("[agents.{0}] names no program: set `command = [\"/path/to/program\"]`")]
    NoCommand(String),
    /// Nothing would be asked and nothing confines it.
    #[error(
        "[agents.{0}] has permissions = \"all\" without a sandbox: set another value, or accept_risk = \"unconfined\""
    )]
    Unconfined(String),
}

/// The runtime of an agent. Starts nothing.
///
/// # Errors
/// A configuration that no runtime can follow.
pub fn build(agent: &Agent, custody: &Custody) -> Result<Arc<dyn Runtime>, Error> {
    if agent.runtime != RuntimeKind::Echo && agent.command.is_empty() {
        return Err(Error::NoCommand(agent.name.to_string()));
    }
    let program = || Program { agent: Arc::new(agent.clone()), custody: custody.clone() };
    Ok(match agent.runtime {
        RuntimeKind::Echo => Arc::new(Echo::new()),
        RuntimeKind::Exec => Arc::new(Exec::new(program())),
        RuntimeKind::Jsonl => Arc::new(Jsonl::new(program())),
        RuntimeKind::Claude if agent.permissions == Permissions::All && !agent.accept_risk => {
            return Err(Error::Unconfined(agent.name.to_string()));
        }
        RuntimeKind::Claude => Arc::new(Claude::new(program())),
    })
}

/// What was found of an agent's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The file that `command` names now; `None` for `echo`, and where nothing was found.
    pub program: Option<PathBuf>,
    /// What it says of its version, for the kinds that can be asked.
    pub version: Option<String>,
    /// Whether a turn can start, or why not and what to do.
    pub problem: Option<String>,
}

impl Readiness {
    /// Whether a turn can start.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.problem.is_none()
    }
}

/// Looks at programs, and remembers what they said until the file changes: a version probe starts a whole program
/// (UR-2).
#[derive(Debug, Default)]
pub struct Looks {
    versions: Mutex<BTreeMap<PathBuf, Version>>,
}

/// What a program said of its version, or why it did not, and of which state of the file that holds.
type Version = (Option<SystemTime>, Result<String, String>);

impl Looks {
    /// Whether an agent's program is there and answers.
    pub async fn look(&self, agent: &Agent, custody: &Custody) -> Readiness {
        if agent.runtime == RuntimeKind::Echo {
            return Readiness::default();
        }
        if let Err(error) = build(agent, custody) {
            return Readiness { problem: Some(error.to_string()), ..Readiness::default() };
        }
        let command = agent.command.first().map_or("", String::as_str);
        let program = match custody.find(command, &agent.workspace) {
            Ok(program) => program,
            Err(error) => return Readiness { problem: Some(error.to_string()), ..Readiness::default() },
        };
        let version = match agent.runtime {
            RuntimeKind::Claude => Some(self.version(&program, custody).await),
            RuntimeKind::Exec | RuntimeKind::Jsonl | RuntimeKind::Echo => None,
        };
        let (version, problem) = match version {
            Some(Ok(version)) => (Some(version), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        Readiness { program: Some(program), version, problem }
    }

    async fn version(&self, program: &Path, custody: &Custody) -> Result<String, String> {
        let changed = std::fs::metadata(program).and_then(|file| file.modified()).ok();
        let known = || self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, said)) = known().get(program)
            && *at == changed
        {
            return said.clone();
        }
        let said = custody.probe(program, &["--version"]).await.map_err(|error| error.to_string());
        known().insert(program.to_owned(), (changed, said.clone()));
        said
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::testing::{self, Shell};
    use super::*;

    #[tokio::test]
    async fn a_program_that_is_not_installed_is_not_ready_and_says_why() {
        let shell = Shell::new("");
        let mut agent = shell.agent(RuntimeKind::Exec);
        agent.command = vec!["no-such-program-anywhere".into()];
        let seen = Looks::default().look(&agent, &shell.custody()).await;
        assert!(!seen.is_ready());
        assert!(seen.problem.unwrap().contains("no-such-program-anywhere"));
    }

    #[tokio::test]
    async fn ur_02_a_version_is_asked_once_without_stdin() {
        let shell = Shell::new("cat >/dev/null; echo asked >>$(dirname $0)/asked; echo 2.1.0");
        let (mut agent, custody, looks) =
            (shell.agent(RuntimeKind::Claude), shell.custody(), Looks::default());
        agent.command = vec![shell.executable().await];
        for _ in 0..2 {
            let seen = looks.look(&agent, &custody).await;
            assert_eq!(seen.version.as_deref(), Some("2.1.0"), "{seen:?}");
        }
        assert_eq!(shell.read("asked"), "asked\n");
    }

    #[tokio::test]
    async fn permissions_all_without_a_sandbox_needs_the_risk_to_be_accepted() {
        let shell = Shell::new("");
        let mut agent = shell.agent(RuntimeKind::Claude);
        agent.permissions = Permissions::All;
        assert_eq!(build(&agent, &shell.custody()).err(), Some(Error::Unconfined("test".into())));
        agent.accept_risk = true;
        assert!(build(&agent, &shell.custody()).is_ok());
        assert_eq!(testing::kind(&agent, &shell.custody()), "claude");
    }
}
