//! The configuration: file, environment and flags become one [`Config`], with every fault said at once.
//!
//! Called by `cli` (`serve`, `check`, `config show`, `init`, `agent add`) and by `daemon` at a reload. Composed
//! of what each module asks for in its own `config.rs`. It never opens the state, never binds a port, never
//! starts a program, and looks for no file but those it is told of.
//!
//! The way of a value: the table of `keys` says what there is; `file`, `env` and `flags` put what was said
//! into a `Draft`, each over the one before; `agents`, `network`, `tokens` and `log` read it out, whole.
#![expect(clippy::disallowed_methods, reason = "reads the configuration file")]

mod agents;
mod around;
mod discover;
mod draft;
pub mod edit;
mod env;
mod environment;
mod fault;
mod file;
mod flags;
pub mod init;
mod keys;
mod later;
mod leaf;
mod listen;
mod log;
mod name;
mod near;
mod network;
mod paths;
mod show;
mod tokens;
pub mod unit;
pub mod workspace;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use around::Surroundings;
pub use discover::Found;
pub use fault::{Error, Fault, Origin, Warning};
pub use flags::Flags;
pub use log::{Format, Log};
pub use paths::{Paths, Scope};
pub use show::{Change, Shown};
pub use tokens::Token;

use crate::doors::config as doors;
use crate::node::config as node;
use crate::runtime::config::Agent;
use crate::store::config as store;
use draft::Draft;
use leaf::{Size, Time};

/// How far a configuration is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The text alone: what `check` and `config show` need.
    File,
    /// Also the machine: workspaces, `env_file`s, and the agent programs on PATH where no agent is
    /// configured. What `serve`, `check --live` and a reload need.
    Machine,
}

/// A whole configuration: nothing in it is optional by accident.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where configuration and state lie.
    pub paths: Paths,
    /// For the node.
    pub node: node::Config,
    /// For the doors.
    pub doors: doors::Config,
    /// For the store.
    pub store: store::Config,
    /// The agents served, by name. Empty only under [`Look::File`], where none is configured.
    pub agents: Vec<Agent>,
    /// Tokens of the file.
    pub tokens: Vec<Token>,
    /// For the logs.
    pub log: Log,
    /// PATH for programs; `None`: the node's own (O-27).
    pub path: Option<String>,
    /// Refuse to start where a child could reach the node (O-1).
    pub require_isolation: bool,
    /// Agent programs on PATH, looked for when no agent is configured; for the banner.
    pub found: Vec<Found>,
    /// Why only `echo` is served, where that is so; for the banner.
    pub notice: Option<String>,
    /// What no child may reach: state, configuration, the files that it names. Absolute; need not exist.
    pub hide: Vec<PathBuf>,
    /// What the operator should know.
    pub warnings: Vec<Warning>,
    draft: Draft,
}

impl Config {
    /// Reads everything that says how the node is to be.
    ///
    /// # Errors
    /// Every fault of file, environment and flags.
    pub fn load(flags: &Flags, around: &Surroundings, look: Look) -> Result<Self, Error> {
        Self::compose(flags, around, look, None)
    }

    /// As if this text were in the file: whether a node could run on it.
    ///
    /// # Errors
    /// Every fault of text, environment and flags.
    pub fn judge(text: &str, flags: &Flags, around: &Surroundings) -> Result<(), Error> {
        Self::compose(flags, around, Look::Machine, Some(text)).map(drop)
    }

    fn compose(flags: &Flags, around: &Surroundings, look: Look, text: Option<&str>) -> Result<Self, Error> {
        let paths = Paths::of(flags, around).map_err(|fault| Error::of(vec![fault]))?;
        let mut draft = Draft::default();
        match text {
            Some(text) => file::read(text, &paths.config, &mut draft),
            None => read_file(&paths, &mut draft),
        }
        env::read(&around.env, &mut draft);
        flags.read(&mut draft);
        draft.judge_effects();
        later::judge(&mut draft);

        let limits = network::limits(&draft);
        let context = agents::Context { flags, around, paths: &paths, look, limits };
        let agents::Agents { mut agents, found, notice } = agents::compose(&mut draft, &context);
        let default_agent = agents::default(&mut draft, &mut agents);
        let known: Vec<_> = draft.names("agents").iter().filter_map(|name| name.parse().ok()).collect();
        let tokens = tokens::compose(&mut draft, &known);
        let doors = network::doors(&mut draft, around);
        let node = network::node(&mut draft, around, default_agent);
        let log = log::compose(&mut draft, around, &paths.state);
        let hide = hide(&mut draft, &paths, around);
        let store = store(&draft, &paths);
        if !draft.faults.is_empty() {
            return Err(Error::of(draft.faults));
        }
        Ok(Self {
            path: draft.read("node.path"),
            require_isolation: draft.of("node.require_isolation"),
            warnings: sorted(draft.warnings.clone()),
            paths,
            node,
            doors,
            store,
            agents,
            tokens,
            log,
            found,
            notice,
            hide,
            draft,
        })
    }

    /// Every value that is shown as `***` wherever it turns up (O-35): all of `env`, of 8 bytes or more.
    pub fn secrets(&self) -> Vec<String> {
        let values = self.agents.iter().flat_map(|agent| agent.env.iter().map(|(_, value)| value));
        values.filter(|value| value.len() >= 8).cloned().collect()
    }
}

fn sorted(mut warnings: Vec<Warning>) -> Vec<Warning> {
    warnings.sort();
    warnings.dedup();
    warnings
}

fn read_file(paths: &Paths, draft: &mut Draft) {
    let path = &paths.config;
    let fault = |line, column, why: String, hint: &str| Fault {
        origin: Origin::File { path: path.clone(), line, column },
        key: None,
        why,
        hint: Some(hint.to_owned()),
    };
    match std::fs::read(path) {
        Ok(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => file::read(text, path, draft),
            Err(e) => {
                let line = bytes[..e.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
                draft.faults.push(fault(line, 1, "is not UTF-8".to_owned(), "save the file as UTF-8"));
            }
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !paths.named => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            draft.faults.push(fault(0, 0, "there is no such file".to_owned(), "make one with `a2ad init`"));
        }
        Err(e) => {
            draft.faults.push(fault(0, 0, format!("cannot be read: {e}"), "let the node's user read it"))
        }
    }
}

fn store(draft: &Draft, paths: &Paths) -> store::Config {
    store::Config {
        dir: paths.state.clone(),
        durability: draft.of("store.durability"),
        keep_terminal: draft.of::<Time>("store.keep_terminal").0,
        keep_waiting: draft.of::<Time>("store.keep_waiting").0,
        min_free: draft.of::<Size>("store.min_free").0.unwrap_or(0),
        max: draft.of::<Size>("store.max").0,
    }
}

/// State, configuration and every file of secrets; also those of the user's other instances.
fn hide(draft: &mut Draft, paths: &Paths, around: &Surroundings) -> Vec<PathBuf> {
    let named: Vec<String> = draft
        .settings()
        .filter(|(path, _)| keys::find(path).is_some_and(|key| key.hidden))
        .map(|(path, _)| path.to_owned())
        .collect();
    let mut hide = vec![paths.state.clone(), paths.config.clone()];
    hide.extend(paths.config_dir().map(Path::to_owned));
    if let Some(user) = Paths::user(None, around) {
        hide.extend(user.config_dir().map(Path::to_owned));
        hide.push(user.state);
    }
    hide.extend(around.var("CREDENTIALS_DIRECTORY").map(PathBuf::from));
    for key in named {
        hide.extend(draft.path(&key, around));
    }
    hide.sort();
    hide.dedup();
    hide
}
