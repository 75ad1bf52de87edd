//! The flags of the command line that stand above the file.

use std::path::PathBuf;

use toml::Value;

use super::draft::Draft;
use super::fault::{Fault, Origin};
use super::keys;

/// What was typed; empty means that it was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--config FILE`.
    pub config: Option<PathBuf>,
    /// `--name INSTANCE`.
    pub name: Option<String>,
    /// `--state-dir DIR`.
    pub state_dir: Option<PathBuf>,
    /// `--listen ADDR`, any number: in place of the file's list.
    pub listen: Vec<String>,
    /// `--workspace DIR`: where agents run that have none of their own.
    pub workspace: Option<PathBuf>,
    /// `--agent NAME=RUNTIME`, any number: adds or overrides one agent.
    pub agents: Vec<String>,
    /// `--allow-plaintext`.
    pub allow_plaintext: bool,
    /// `--log LEVEL|FILTER`.
    pub log: Option<String>,
    /// `--log-format auto|pretty|json`.
    pub log_format: Option<String>,
}

impl Flags {
    /// Puts what was typed over what stands in `draft`.
    pub(super) fn read(&self, draft: &mut Draft) {
        if !self.listen.is_empty() {
            let listen = self.listen.iter().map(|addr| Value::from(addr.as_str())).collect();
            put(draft, "node.listen", Value::Array(listen), "--listen");
        }
        if self.allow_plaintext {
            put(draft, "node.allow_plaintext", Value::from(true), "--allow-plaintext");
        }
        if let Some(level) = &self.log {
            put(draft, "log.level", Value::from(level.as_str()), "--log");
        }
        if let Some(format) = &self.log_format {
            put(draft, "log.format", Value::from(format.as_str()), "--log-format");
        }
        for agent in &self.agents {
            match agent.split_once('=') {
                Some((name, runtime)) if !name.contains('.') && !name.is_empty() => {
                    put(draft, &format!("agents.{name}.runtime"), Value::from(runtime), "--agent");
                }
                _ => draft.faults.push(Fault {
                    origin: Origin::Flag("--agent"),
                    key: None,
                    why: format!("`{agent}` does not say which runtime the agent has"),
                    hint: Some(format!("write --agent {agent}=claude")),
                }),
            }
        }
    }
}

fn put(draft: &mut Draft, path: &str, value: Value, flag: &'static str) {
    if let Some(key) = keys::find(path) {
        draft.put(path, key, value, Origin::Flag(flag));
    }
}
