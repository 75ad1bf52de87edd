//! `[agents]` and `[defaults]` become the runtime's [`Agent`]s; without any, those of the machine.

use std::path::PathBuf;

use toml::Value;

use super::around::Surroundings;
use super::discover::{self, Found};
use super::draft::Draft;
use super::environment;
use super::fault::{Fault, Origin};
use super::keys::{LATER_RUNTIMES, RESERVED_RUNTIMES};
use super::leaf::{self, Codes, Count, Mode, Nice, Size, Time, Unconfined, Whole};
use super::near;
use super::paths::{Paths, Scope};
use super::workspace::{self, Refusal};
use super::{Flags, Look};
use crate::model::AgentName;
use crate::runtime::config::{Agent, Capabilities, Extension, Limits, Permissions, RuntimeKind, Skill};

/// What the agents of a node come to.
#[derive(Default)]
pub(super) struct Agents {
    pub(super) agents: Vec<Agent>,
    pub(super) found: Vec<Found>,
    pub(super) notice: Option<String>,
}

/// What is the same for all agents.
pub(super) struct Context<'a> {
    pub(super) flags: &'a Flags,
    pub(super) around: &'a Surroundings,
    pub(super) paths: &'a Paths,
    pub(super) look: Look,
    pub(super) limits: Limits,
}

impl Context<'_> {
    /// Where agents run that have no workspace of their own.
    fn workspace(&self) -> PathBuf {
        let cwd = &self.around.cwd;
        self.flags.workspace.as_ref().map_or_else(|| cwd.clone(), |dir| cwd.join(dir))
    }

    /// Where an agent may run, resolved; as it stands where the machine is not looked at.
    fn judged(&self, path: PathBuf, wide: bool) -> Result<PathBuf, Refusal> {
        if self.look == Look::File {
            return Ok(path);
        }
        let facts = workspace::look(&path, self.paths, self.around)?;
        workspace::judge(&facts, wide).map(|()| facts.path)
    }
}

pub(super) fn compose(draft: &mut Draft, context: &Context<'_>) -> Agents {
    let mut all = Agents::default();
    if draft.names("agents").is_empty() && context.look == Look::Machine {
        discover(draft, context, &mut all);
    }
    for name in draft.names("agents") {
        all.agents.extend(agent(draft, &name, context));
    }
    all
}

/// The agent programs of this machine, and `echo`; only `echo` where no agent may work.
fn discover(draft: &mut Draft, context: &Context<'_>, all: &mut Agents) {
    let mut serve = vec!["echo"];
    // A system's node serves what it was told to, not what lies about (O-69).
    if context.paths.scope == Scope::User {
        let here = context.workspace();
        let path =
            draft.read::<String>("node.path").or_else(|| context.around.var("PATH").map(str::to_owned));
        all.found = discover::discover(&path.unwrap_or_default(), &here);
        match context.judged(here, draft.of("defaults.allow_wide_workspace")) {
            Ok(_) => serve.extend(all.found.iter().filter(|found| found.served).map(|found| found.name)),
            Err(refusal) if context.flags.workspace.is_some() => {
                draft.faults.push(Fault {
                    origin: Origin::Flag("--workspace"),
                    key: None,
                    why: refusal.to_string(),
                    hint: Some(refusal.hint().to_owned()),
                });
            }
            Err(refusal) => {
                all.notice = Some(format!(
                    "only echo is served, for {refusal}: start in a project, or give --workspace DIR"
                ));
            }
        }
    }
    for name in serve {
        let path = format!("agents.{name}");
        draft.open(&path, Origin::Found);
        draft.settle_as(&format!("{path}.runtime"), Value::from(name), Origin::Found);
    }
}

fn agent(draft: &mut Draft, name: &str, context: &Context<'_>) -> Option<Agent> {
    let path = format!("agents.{name}");
    let at = |key: &str| format!("{path}.{key}");
    let parsed = name.parse::<AgentName>().map_err(|why| draft.fault(&path, why.to_string(), "")).ok();
    let runtime = runtime(draft, &at("runtime"), name)?;
    let name = parsed?;
    settle(draft, &path, runtime);
    let (command, env) = (command(draft, &at("command"), runtime), env(draft, &path, context));
    let workspace = place(draft, &path, runtime, context);
    permissions(draft, &path);
    let (skills, extensions) = (skills(draft, &at("skills")), extensions(draft, &at("extensions")));
    let capabilities: Option<Whole<leaf::Capabilities>> = draft.read(&at("capabilities"));
    let agent_key = name.as_str();
    Some(Agent {
        runtime,
        description: draft.read(&at("description")),
        workspace: workspace?,
        command: command?,
        model: draft.read(&at("model")),
        listed: draft.of(&at("listed")),
        version: draft.of(&at("version")),
        skills,
        input_modes: draft.of(&at("input_modes")),
        output_modes: draft.of(&at("output_modes")),
        capabilities: capabilities.map_or(
            Capabilities { streaming: true, push: true, extended_card: true },
            |all| {
                let leaf::Capabilities { streaming, push, extended_card } = all.0;
                Capabilities { streaming, push, extended_card }
            },
        ),
        extensions,
        env,
        env_from: draft.read(&at("env_from")).unwrap_or_default(),
        permissions: draft.agent(agent_key, "permissions"),
        accept_risk: draft.read::<Unconfined>(&at("accept_risk")).is_some(),
        permission_timeout: draft.agent::<Time>(agent_key, "permission_timeout").0,
        approve: draft.agent(agent_key, "approve"),
        idle_timeout: draft.agent::<Time>(agent_key, "idle_timeout").0,
        turn_timeout: draft.agent::<Time>(agent_key, "turn_timeout").0,
        start_timeout: draft.agent::<Time>(agent_key, "start_timeout").0,
        grace: draft.agent::<Time>(agent_key, "grace").0.unwrap_or_default(),
        concurrency: draft.agent::<Count>(agent_key, "concurrency").things(),
        sandbox: draft.agent(agent_key, "sandbox"),
        network: draft.agent(agent_key, "network"),
        sharing: draft.agent(agent_key, "sharing"),
        share_workspace: draft.agent(agent_key, "share_workspace"),
        files: draft.agent(agent_key, "files"),
        guard: draft.agent(agent_key, "guard"),
        artifacts: draft.agent(agent_key, "artifacts"),
        project_settings: draft.agent(agent_key, "project_settings"),
        home: draft.agent(agent_key, "home"),
        on_restart: draft.agent(agent_key, "on_restart"),
        keep_alive: draft.agent(agent_key, "keep_alive"),
        replies: draft.agent(agent_key, "replies"),
        prompt: draft.of(&at("prompt")),
        success: draft.of::<Codes>(&at("success")).0,
        nice: draft.agent::<Nice>(agent_key, "nice").0,
        memory: draft.agent::<Size>(agent_key, "memory").0,
        processes: draft.agent::<Count>(agent_key, "processes").0,
        umask: draft.read::<Mode>(&at("umask")).map(|mode| mode.0),
        limits: context.limits,
        name,
    })
}

fn runtime(draft: &mut Draft, path: &str, name: &str) -> Option<RuntimeKind> {
    let kinds = RuntimeKind::ALL.map(RuntimeKind::as_str);
    let Some(word) = draft.read::<String>(path) else {
        // A faulty value has its fault already.
        if !draft.faults.iter().any(|fault| fault.key.as_deref() == Some(path)) {
            let likely = near::nearest(name, kinds.into_iter()).unwrap_or("exec");
            draft.fault(path, "is missing", format!("write runtime = \"{likely}\""));
        }
        return None;
    };
    if let Some(kind) = RuntimeKind::ALL.into_iter().find(|kind| kind.as_str() == word) {
        return Some(kind);
    }
    let kinds = kinds.join(", ");
    if LATER_RUNTIMES.contains(&word.as_str()) {
        draft.fault(path, format!("`{word}` is not in this version"), format!("this version runs {kinds}"));
    } else if RESERVED_RUNTIMES.contains(&word.as_str()) {
        draft.fault(
            path,
            format!("`{word}` is reserved for a later version"),
            format!("this version runs {kinds}"),
        );
    } else if draft.names("runtimes").contains(&word) {
        let why = format!("`{word}` is declared in [runtimes], which is not in this version");
        draft.fault(path, why, format!("this version runs {kinds}; exec and jsonl take any command"));
    } else {
        let near = near::did_you_mean(&word, RuntimeKind::ALL.map(RuntimeKind::as_str).into_iter());
        draft.fault(
            path,
            format!("there is no runtime `{word}`"),
            near.unwrap_or_else(|| format!("this version runs {kinds}")),
        );
    }
    None
}

/// What an agent's keys are when they are not set, where that depends on its runtime.
fn settle(draft: &mut Draft, path: &str, runtime: RuntimeKind) {
    let list = |texts: &[&str]| Value::Array(texts.iter().copied().map(Value::from).collect());
    let (input, output) = match runtime {
        RuntimeKind::Claude => (list(&["text/*", "image/*", "application/json"]), list(&["text/plain"])),
        RuntimeKind::Exec => (list(&["text/*"]), list(&["text/plain"])),
        RuntimeKind::Jsonl | RuntimeKind::Echo => (list(&["*/*"]), list(&["*/*"])),
    };
    draft.settle(&format!("{path}.input_modes"), input);
    draft.settle(&format!("{path}.output_modes"), output);
    match runtime {
        RuntimeKind::Claude => draft.settle(&format!("{path}.command"), list(&["claude"])),
        // What they do while they are silent only they know (J-23).
        RuntimeKind::Exec | RuntimeKind::Jsonl => draft.settle(&format!("{path}.idle_timeout"), "0"),
        RuntimeKind::Echo => {}
    }
}

fn command(draft: &mut Draft, path: &str, runtime: RuntimeKind) -> Option<Vec<String>> {
    let command: Vec<String> = draft.read(path).unwrap_or_default();
    if command.is_empty() && runtime != RuntimeKind::Echo {
        if !draft.faults.iter().any(|fault| fault.key.as_deref() == Some(path)) {
            draft.fault(
                path,
                format!("is missing: {runtime} runs a program"),
                "write command = [\"./program\", \"argument\"]",
            );
        }
        return None;
    }
    Some(command)
}

/// Where it works. `echo` works nowhere, so the place it happens to be is not judged.
fn place(draft: &mut Draft, path: &str, runtime: RuntimeKind, context: &Context<'_>) -> Option<PathBuf> {
    let key = format!("{path}.workspace");
    let own = draft.is_set(&key);
    let workspace = if own { draft.path(&key, context.around)? } else { context.workspace() };
    let settled = if runtime == RuntimeKind::Echo && !own {
        workspace
    } else {
        let wide = draft.of(&format!("{path}.allow_wide_workspace"));
        match context.judged(workspace, wide) {
            Ok(workspace) => workspace,
            Err(refusal) => {
                draft.fault(&key, refusal.to_string(), refusal.hint());
                return None;
            }
        }
    };
    draft.settle(&key, settled.to_string_lossy().into_owned());
    Some(settled)
}

fn permissions(draft: &mut Draft, path: &str) {
    let key = format!("{path}.permissions");
    let risk = draft.read::<Unconfined>(&format!("{path}.accept_risk")).is_some();
    if draft.of::<Permissions>(&key) == Permissions::All && !risk {
        draft.fault(
            &key,
            "\"all\" lets the agent do anything this user can, for this version has no sandbox",
            "write \"ask\", or accept_risk = \"unconfined\" beside it",
        );
    }
}

/// `env_file`, `env` over it; names that no child may have are refused.
fn env(draft: &mut Draft, path: &str, context: &Context<'_>) -> Vec<(String, String)> {
    let mut env = std::collections::BTreeMap::new();
    let file_key = format!("{path}.env_file");
    if let (Look::Machine, Some(file)) = (context.look, draft.path(&file_key, context.around)) {
        match environment::read(&file) {
            Ok(pairs) => env.extend(pairs),
            Err(why) => draft.fault(&file_key, why, "write lines of NAME=VALUE"),
        }
    }
    let own = draft.read::<leaf::Pairs>(&format!("{path}.env")).map(|pairs| pairs.0).unwrap_or_default();
    env.extend(own);
    for (key, names) in [
        (format!("{path}.env"), env.keys().cloned().collect::<Vec<_>>()),
        (format!("{path}.env_from"), draft.read(&format!("{path}.env_from")).unwrap_or_default()),
    ] {
        for name in names {
            if let Err(why) = environment::may_pass(&name) {
                draft.fault(&key, why, format!("remove `{name}`"));
            } else if key.ends_with("env_from") && environment::is_power(&name) {
                draft.warn(&key, format!("`{name}` gives the agent this user's sessions beyond the node"));
            }
        }
    }
    env.into_iter().collect()
}

fn skills(draft: &mut Draft, path: &str) -> Vec<Skill> {
    let read = draft.read::<Whole<Vec<leaf::Skill>>>(path).map(|skills| skills.0).unwrap_or_default();
    let mut skills: Vec<Skill> = Vec::new();
    for skill in read {
        let leaf::Skill { id, name, description, tags, examples, input_modes, output_modes } = skill;
        if tags.is_empty() {
            draft.fault(
                path,
                format!("skill `{id}` has no tags, which a card needs"),
                "write tags = [\"…\"]",
            );
        }
        if skills.iter().any(|other| other.id == id) {
            draft.fault(path, format!("skill `{id}` stands there twice"), "give each its own id");
        }
        skills.push(Skill { id, name, description, tags, examples, input_modes, output_modes });
    }
    skills
}

fn extensions(draft: &Draft, path: &str) -> Vec<Extension> {
    let read =
        draft.read::<Whole<Vec<leaf::Extension>>>(path).map(|extensions| extensions.0).unwrap_or_default();
    let extension = |leaf::Extension { uri, required, description, params }| Extension {
        uri,
        required,
        description,
        params: params.map(serde_json::Value::Object),
    };
    read.into_iter().map(extension).collect()
}

/// The agent at the root: the one configured, else by O-68. It is listed unless the file says no.
pub(super) fn default(draft: &mut Draft, agents: &mut [Agent]) -> Option<AgentName> {
    let wanted: Option<String> = draft.read("node.default_agent");
    let rank = |agent: &Agent| {
        let name = agent.name.as_str();
        (discover::PROGRAMS.iter().position(|known| *known == name).unwrap_or(usize::MAX), name.to_owned())
    };
    let chosen = match &wanted {
        Some(wanted) => agents.iter_mut().find(|agent| agent.name.as_str() == wanted),
        None => agents.iter_mut().min_by_key(|agent| rank(agent)),
    };
    if let Some(agent) = chosen {
        let listed = format!("agents.{}.listed", agent.name);
        draft.settle(&listed, true);
        agent.listed = draft.of(&listed);
        draft.settle("node.default_agent", agent.name.as_str());
        return Some(agent.name.clone());
    }
    if let Some(wanted) = wanted
        && !draft.names("agents").contains(&wanted)
        && !draft.names("agents").is_empty()
    {
        let names = draft.names("agents");
        let hint = near::did_you_mean(&wanted, names.iter().map(String::as_str))
            .unwrap_or_else(|| format!("there are {}", names.join(", ")));
        draft.fault("node.default_agent", format!("there is no agent `{wanted}`"), hint);
    }
    None
}
