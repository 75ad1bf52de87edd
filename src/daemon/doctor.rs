//! `doctor` from inside the node: its user, its PATH, its isolation.

use super::Daemon;
use crate::model::{
    AgentName, Agents, Caller, CallerRole, CancelTask, Kind, Message, Operation, PrincipalId, Send,
    SendConfiguration, TaskId, TaskState, Timestamp, Via,
    ops::{Finding, Level},
};
use crate::node::{Call, Reply, exposed};

/// A clock before this binary was possible is wrong: 2026-01-01.
const BUILT_AFTER: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn finding(level: Level, what: &str, text: impl Into<String>) -> Finding {
    Finding { level, what: what.into(), text: text.into() }
}

impl Daemon {
    /// Everything that a person would get wrong, as the node sees it.
    pub(super) async fn doctor(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let config = self.config.load_full();
        let file = config.paths.file();
        match crate::config::Config::load(&self.flags, &self.around, crate::config::Look::Machine) {
            Ok(fresh) => {
                findings.push(finding(Level::Ok, "configuration", file));
                findings.extend(
                    fresh
                        .warnings
                        .iter()
                        .map(|warning| finding(Level::Warn, "configuration", warning.to_string())),
                );
            }
            Err(error) => findings.push(finding(Level::Fail, "configuration", error.to_string())),
        }
        let room = self.store.room();
        let state = config.paths.state.display();
        findings.push(match room.writable {
            Ok(()) => {
                finding(Level::Ok, "state", format!("{state}, {} MiB free", room.free.unwrap_or(0) >> 20))
            }
            Err(why) => finding(Level::Fail, "state", why),
        });
        findings.push(if Timestamp::now() < BUILT_AFTER {
            finding(
                Level::Warn,
                "clock",
                "the clock stands before this program was made; set it (timedatectl set-ntp true)",
            )
        } else {
            finding(Level::Ok, "clock", Timestamp::now().to_string())
        });
        let path = config.path.clone().or_else(|| self.around.var("PATH").map(str::to_owned));
        findings.push(finding(Level::Ok, "PATH", path.unwrap_or_else(|| "none".into())));
        self.of_agents(&mut findings).await;
        let isolation = self.custody.isolation();
        findings.push(match isolation.level {
            crate::runtime::child::Level::Namespace => finding(Level::Ok, "isolation", isolation.why.clone()),
            crate::runtime::child::Level::None => {
                finding(Level::Fail, "isolation", exposed(&isolation.why, &isolation.mend))
            }
        });
        findings.push(finding(
            Level::Warn,
            "sandbox",
            "none in this version: an agent can do what its user can",
        ));
        findings.push(finding(
            Level::Ok,
            "permissions",
            "ask: deny; questions of agents are denied in this version",
        ));
        findings.push(finding(Level::Ok, "custody", self.node.nature().custody));
        findings
    }

    async fn of_agents(&self, findings: &mut Vec<Finding>) {
        let registry = self.node.agents();
        super::build::look(&registry, &self.looks, &self.custody).await;
        for agent in self.node.agent_statuses() {
            let what = format!("agent {}", agent.name);
            findings.push(match (agent.not_ready, agent.program) {
                (Some(why), _) => finding(Level::Fail, &what, why),
                (None, Some(program)) => {
                    finding(Level::Ok, &what, format!("{program} {}", agent.version.unwrap_or_default()))
                }
                (None, None) => finding(Level::Ok, &what, agent.runtime),
            });
        }
    }

    /// Runs a real turn of an agent.
    pub(super) async fn test(&self, agent: &AgentName) -> Vec<Finding> {
        let what = format!("agent {agent}");
        let Some(served) = self.node.agents().get(agent.as_str()).cloned() else {
            return vec![finding(
                Level::Fail,
                &what,
                format!("there is no agent {agent}; see `a2ad agent list`"),
            )];
        };
        let caller = Caller {
            principal: PrincipalId::node(),
            kind: Kind::Node,
            role: CallerRole::User,
            may_call: Agents::All,
            run: None,
            via: Via::Local,
        };
        let send = Send {
            tenant: None,
            message: Message::user("Reply with the single word: ready"),
            configuration: SendConfiguration::default(),
            metadata: None,
        };
        let call = |operation| Call {
            caller: caller.clone(),
            agent: served.name.clone(),
            operation,
            key: None,
            after: None,
            to_question: false,
        };
        let result = match self.node.call(call(Operation::Send(send))).await {
            Ok(answer) => ended(answer.reply),
            Err(fault) => Err(fault.to_string()),
        };
        if let Ok((TaskState::InputRequired, Some(id))) = &result {
            // It works, and nobody will answer it.
            let cancel = CancelTask { tenant: None, id: id.clone(), metadata: None };
            let _ = self.node.call(call(Operation::CancelTask(cancel))).await;
        }
        vec![match result {
            Ok((state, _)) => finding(Level::Ok, &what, format!("a turn ended {}", state.word())),
            Err(why) => finding(Level::Fail, &what, why),
        }]
    }
}

/// How a test's turn ended, and which task it was.
fn ended(reply: Reply) -> Result<(TaskState, Option<TaskId>), String> {
    let task: crate::model::Task = match reply {
        Reply::Task(task) => task,
        Reply::Stored(json) => serde_json::from_slice(&json).map_err(|error| error.to_string())?,
        Reply::Message(_) => return Ok((TaskState::Completed, None)),
        Reply::Page(_) | Reply::Updates(_) => return Err("the node answered with a stream".into()),
    };
    let said = task.status.message.map(|message| message.text()).unwrap_or_default();
    match task.status.state {
        // A program that asks back works.
        state @ (TaskState::Completed | TaskState::InputRequired) => Ok((state, Some(task.id))),
        state => Err(format!("a turn ended {}: {said}", state.word())),
    }
}
