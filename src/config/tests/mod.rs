//! What a configuration comes to, from text to [`Config`].
#![expect(clippy::disallowed_methods, reason = "makes the files to be read")]

mod faults;
mod page;

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::keys::SECTIONS;
use super::*;
use crate::doors::config::{Auth, Listen};
use crate::node::config::Protocol;
use crate::runtime::config::{Permissions, RuntimeKind};

/// The reference of the configuration, as the documentation has it.
const REFERENCE: &str = include_str!("../../../proto-fixtures/config/a2ad.toml");

/// A user with a home, a project and an empty PATH.
struct Ann {
    dir: tempfile::TempDir,
    around: Surroundings,
    flags: Flags,
}

impl Ann {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home/project", "home/.config/a2ad", "bin"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let around = Surroundings {
            env: vec![("PATH".into(), root.join("bin").display().to_string())],
            cwd: root.join("home/project"),
            home: Some(root.join("home")),
            config_home: Some(root.join("home/.config")),
            state_home: Some(root.join("home/.local/state")),
            temp: root.join("tmp"),
            host: "build-box".into(),
            uid: Surroundings::here().unwrap().uid,
        };
        Self { dir, around, flags: Flags::default() }
    }

    fn file(self, text: &str) -> Self {
        std::fs::write(self.at("home/.config/a2ad/a2ad.toml"), text).unwrap();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.around.env.push((name.into(), value.into()));
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn load(&self, look: Look) -> Result<Config, Error> {
        Config::load(&self.flags, &self.around, look)
    }

    fn good(&self) -> Config {
        self.load(Look::Machine).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The faults, with the test's own directory taken out.
    fn faults(&self) -> String {
        self.clean(&self.load(Look::Machine).unwrap_err().to_string())
    }

    fn warnings(&self) -> String {
        let lines: Vec<String> = self.good().warnings.iter().map(Warning::to_string).collect();
        self.clean(&lines.join("\n"))
    }

    fn clean(&self, text: &str) -> String {
        text.replace(&self.at("home/.config/a2ad/").display().to_string(), "")
            .replace(&self.at("").display().to_string(), "/")
    }
}

fn value(config: &Config, key: &str) -> String {
    let shown = config.show(Some(key)).unwrap();
    assert_eq!(shown.len(), 1, "{key}");
    format!("{} ({})", shown[0].value, shown[0].origin)
}

#[test]
fn without_anything_the_defaults_hold_and_echo_is_served() {
    let config = Ann::new().good();
    let names: Vec<_> = config.agents.iter().map(|agent| (agent.name.as_str(), agent.runtime)).collect();
    assert_eq!(names, [("echo", RuntimeKind::Echo)]);
    assert_eq!(config.node.default_agent.as_ref().unwrap().as_str(), "echo");
    assert!(config.agents[0].listed, "the default agent is listed");
    assert_eq!(config.node.name, "build-box");
    assert_eq!(config.doors.auth, Auth::Token);
    assert_eq!(config.doors.listen.len(), 2);
    assert_eq!(config.doors.allowed_hosts, ["build-box"]);
    assert_eq!(config.store.min_free, 256 << 20);
    assert_eq!(config.doors.stream_idle, None);
    assert_eq!(config.warnings, []);
    assert_eq!((config.found, config.notice), (vec![], None));
}

/// The lines of a text whose keys are set, and those of its examples.
fn uncommented(text: &str) -> String {
    let example = |line: &str| {
        let code = line.strip_prefix("# ")?;
        let key = code.split_once(" = ").is_some_and(|(key, _)| {
            key.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '2' || c == '5' || c == '6')
        });
        (code.starts_with('[') || key).then(|| code.to_owned())
    };
    text.lines().map(|line| example(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn draft_of(text: &str) -> Draft {
    let mut draft = Draft::default();
    file::read(text, Path::new("a2ad.toml"), &mut draft);
    draft
}

fn parses_and_holds_the_defaults(text: &str) {
    let draft = draft_of(text);
    assert_eq!(draft.faults, []);
    for (path, setting) in draft.settings() {
        assert_eq!(keys::find(path).unwrap().default().as_ref(), Some(&setting.value), "{path}");
    }
    let set: BTreeSet<&str> = draft.settings().map(|(path, _)| path).collect();
    for section in SECTIONS.iter().filter(|section| !section.list && !section.path.contains(&"*")) {
        for key in section.keys().filter(|key| key.default().is_some()) {
            let path = format!("{}.{}", section.path.join("."), key.name);
            let example = ["log.max_size", "log.keep"].contains(&path.as_str());
            assert!(set.contains(path.as_str()) || example, "{path} is not in the text");
        }
    }
    let examples = draft_of(&uncommented(text));
    assert_eq!(examples.faults, []);
    assert!(examples.settings().count() > draft.settings().count() + 50);
}

#[test]
fn the_reference_parses_and_its_values_are_the_built_in_defaults() {
    parses_and_holds_the_defaults(REFERENCE);
}

#[test]
fn the_file_of_init_parses_and_its_values_are_the_built_in_defaults() {
    parses_and_holds_the_defaults(init::TEXT);
}

#[test]
fn the_file_of_init_names_every_key() {
    let draft = draft_of(&uncommented(init::TEXT));
    let named: BTreeSet<String> = draft
        .settings()
        .filter_map(|(path, _)| path.rsplit_once('.'))
        .map(|(table, key)| {
            let table = table.strip_prefix("auth.").map_or(table, |list| list.trim_end_matches(".0"));
            format!("{}.{key}", table.split('.').next().unwrap())
        })
        .collect();
    for section in SECTIONS {
        let table = if section.list { section.path[1] } else { section.path[0] };
        for key in section.keys() {
            let path = format!("{table}.{}", key.name);
            let of_defaults = table == "agents" && named.contains(&format!("defaults.{}", key.name));
            assert!(named.contains(&path) || of_defaults || path == "oidc.id_tokens", "{path}");
        }
    }
}

#[test]
fn the_file_of_init_changes_nothing() {
    let (bare, full) = (Ann::new().good(), Ann::new().file(init::TEXT));
    let config = full.good();
    assert_eq!(config.warnings, []);
    let changed: Vec<_> = bare
        .changes(&config)
        .into_iter()
        .filter(|change| change.from != change.to)
        .map(|change| change.key)
        .collect();
    // The two nodes of this test have their own directories.
    assert_eq!(changed, ["agents.echo.workspace"]);
}

#[test]
fn a_flag_stands_above_the_environment_above_the_file() {
    let mut ann = Ann::new()
        .file("[node]\nlisten = [\"127.0.0.1:1\"]\n[log]\nlevel = \"warn\"\nformat = \"json\"\n[limits]\nbody = \"1MiB\"\n")
        .env("A2AD_LOG__LEVEL", "error")
        .env("A2AD_LOG__FORMAT", "pretty")
        .env("A2AD_NODE__LISTEN", "127.0.0.1:2, 127.0.0.1:3");
    let config = ann.good();
    assert_eq!(value(&config, "node.listen"), r#"["127.0.0.1:2", "127.0.0.1:3"] (env A2AD_NODE__LISTEN)"#);
    ann.flags.listen = vec!["127.0.0.1:0".into()];
    ann.flags.log = Some("debug".into());
    let config = ann.good();
    assert_eq!(value(&config, "node.listen"), r#"["127.0.0.1:0"] (--listen)"#);
    assert_eq!(config.doors.listen, [Listen::Tcp { addr: "127.0.0.1:0".parse().unwrap(), optional: false }]);
    assert_eq!(value(&config, "log.level"), "\"debug\" (--log)");
    assert_eq!(config.log.format, Format::Pretty);
    assert_eq!(ann.clean(&value(&config, "limits.body")), "\"1MiB\" (a2ad.toml:7)");
    assert_eq!(config.doors.body, Some(1 << 20));
}

#[test]
fn the_environment_speaks_every_type() {
    let ann = Ann::new()
        .file("[agents.my-tests]\nruntime = \"exec\"\ncommand = [\"./a\"]\n")
        .env("A2AD_AGENTS__MY_TESTS__COMMAND", "./run, --all")
        .env("A2AD_AGENTS__MY_TESTS__SUCCESS", "0,2")
        .env("A2AD_AGENTS__MY_TESTS__GUARD", "off")
        .env("A2AD_AGENTS__MY_TESTS__SKILLS", r#"[{"id":"t","name":"T","description":"d","tags":["x"]}]"#)
        .env("A2AD_AUTH__MODE", "token")
        .env("A2AD_AUTH__ALLOWED_HOSTS", "[\"box.example\"]")
        .env("A2AD_LIMITS__CONNECTIONS", "0")
        .env("A2AD_NODE__ALLOW_PLAINTEXT", "true");
    let config = ann.good();
    let agent = &config.agents[0];
    assert_eq!(agent.command, ["./run", "--all"]);
    assert_eq!(agent.success, [0, 2]);
    assert_eq!(agent.guard, crate::runtime::config::Guard::Off);
    assert_eq!(agent.skills[0].tags, ["x"]);
    assert_eq!(config.doors.connections, None);
    assert_eq!(config.doors.allowed_hosts, ["box.example", "build-box"]);
    assert!(config.doors.allow_plaintext);
}

#[test]
fn an_agents_keys_stand_above_the_defaults() {
    let config = Ann::new()
        .file(
            r#"
[defaults]
turn_timeout = "1h"
idle_timeout = "3m"
concurrency = 0
[agents.claude]
runtime = "claude"
turn_timeout = "0"
model = "opus"
[agents.tests]
runtime = "exec"
command = ["./run-tests"]
permissions = "all"
accept_risk = "unconfined"
umask = "022"
[agents.jobs]
runtime = "jsonl"
command = ["./jobs"]
idle_timeout = "7m"
"#,
        )
        .good();
    let agent = |name: &str| config.agents.iter().find(|agent| agent.name.as_str() == name).unwrap();
    let (claude, tests, jobs) = (agent("claude"), agent("tests"), agent("jobs"));
    let minutes = |n: u64| Some(std::time::Duration::from_secs(60 * n));
    assert_eq!((claude.turn_timeout, tests.turn_timeout), (None, minutes(60)));
    // Programs that say nothing of their own accord are never idle, unless they are told so themselves.
    assert_eq!((claude.idle_timeout, tests.idle_timeout, jobs.idle_timeout), (minutes(3), None, minutes(7)));
    assert_eq!(claude.concurrency, None);
    assert_eq!((tests.permissions, tests.accept_risk, tests.umask), (Permissions::All, true, Some(0o022)));
    assert_eq!(claude.command, ["claude"]);
    assert_eq!(config.node.default_agent.as_ref().unwrap().as_str(), "claude");
    assert_eq!(value(&config, "agents.tests.idle_timeout"), "\"0\" (default)");
    assert!(value(&config, "agents.claude.concurrency").ends_with("a2ad.toml:5)"));
}

#[test]
fn agent_programs_are_found_when_none_is_configured() {
    let ann = Ann::new();
    for name in ["claude", "gemini"] {
        std::fs::write(ann.at("bin").join(name), "").unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(
            ann.at("bin").join(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }
    let config = ann.good();
    let names: Vec<_> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["claude", "echo"]);
    assert_eq!(config.node.default_agent.unwrap().as_str(), "claude");
    let found: Vec<_> = config.found.iter().map(|found| (found.name, found.served)).collect();
    assert_eq!(found, [("claude", true), ("gemini", false)]);

    // In a place that is no workspace only echo is served, and the banner says why.
    let mut home = ann;
    home.around.cwd = home.at("home");
    let config = home.good();
    assert_eq!(config.agents.len(), 1);
    assert_snapshot!(home.clean(config.notice.as_deref().unwrap()), @"only echo is served, for `/home` holds the node's state directory: start in a project, or give --workspace DIR");
    // Who asks for such a place by name is told no.
    home.flags.workspace = Some(".".into());
    assert_snapshot!(home.faults(), @"--workspace: `/home` holds the node's state directory; set `workspace` to another directory, or give --state-dir");
}

#[test]
fn an_agent_by_flag_is_the_only_one_and_echo_is_not_added() {
    let mut ann = Ann::new();
    ann.flags.agents = vec!["mine=claude".into()];
    let config = ann.good();
    assert_eq!(config.agents.len(), 1);
    assert_eq!(config.agents[0].runtime, RuntimeKind::Claude);
    ann.flags.agents = vec!["mine".into(), "tasks=echo".into()];
    assert_snapshot!(ann.faults(), @r##"
--agent: `mine` does not say which runtime the agent has; write --agent mine=claude
--agent: agents.tasks: `tasks` is reserved: it is a path of the node; choose another name
"##);
}

#[test]
fn the_systems_node_looks_for_no_programs() {
    let mut ann = Ann::new().env("STATE_DIRECTORY", "/var/lib/a2ad");
    std::fs::write(ann.at("bin/claude"), "").unwrap();
    ann.flags.config = Some(ann.at("a2ad.toml"));
    std::fs::write(ann.at("a2ad.toml"), "").unwrap();
    let config = ann.good();
    assert_eq!((config.agents.len(), config.found.len()), (1, 0));
}

#[test]
fn tokens_of_the_file_are_whole() {
    let hash = "0f".repeat(32);
    let config = Ann::new()
        .file(&format!(
            "[agents.a]\nruntime = \"echo\"\n[[auth.tokens]]\nname = \"desk\"\nsha256 = \"{hash}\"\nagents = [\"a\"]\n[[auth.tokens]]\nname = \"ops\"\nsha256 = \"{}\"\nrole = \"admin\"\n",
            "1e".repeat(32)
        ))
        .good();
    assert_eq!(config.tokens[0].sha256, [0x0f; 32]);
    assert_eq!(config.tokens[0].role, crate::model::CallerRole::User);
    assert_eq!(config.tokens[1].role, crate::model::CallerRole::Admin);
    assert_eq!(config.tokens[1].agents, crate::model::Agents::All);
    let twice = Ann::new().file(&format!(
        "[agents.a]\nruntime = \"echo\"\n[[auth.tokens]]\nname = \"desk\"\nsha256 = \"{hash}\"\nagents = [\"b\"]\nrole = \"amdin\"\n[[auth.tokens]]\nname = \"ops\"\nsha256 = \"{hash}\"\n[[auth.tokens]]\nname = \"ops\"\nsha256 = \"{hash}\"\n"
    ));
    assert_snapshot!(twice.faults(), @r##"
a2ad.toml:6:1: auth.tokens.0.agents: there is no agent `b`
a2ad.toml:7:1: auth.tokens.0.role: `amdin` is not one of user, peer, admin; did you mean `admin`?
a2ad.toml:13:1: auth.tokens.2.sha256: is the secret of another token too; make a new one
"##);
}

#[test]
fn secrets_are_shown_nowhere() {
    let ann = Ann::new().file("[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nenv = { KEY = \"hunter2hunter2\", N = \"1\" }\nenv_file = \"a.env\"\n");
    std::fs::write(ann.at("home/.config/a2ad/a.env"), "OTHER=swordfish1\nKEY=overridden\n").unwrap();
    let config = ann.good();
    assert_eq!(value(&config, "agents.a.env").split(' ').next(), Some("***"));
    let all: Vec<String> = config.show(None).unwrap().into_iter().map(|shown| shown.value).collect();
    assert!(!all.concat().contains("hunter2"));
    assert_eq!(config.secrets(), ["hunter2hunter2", "swordfish1"]);
    assert!(config.hide.contains(&ann.at("home/.config/a2ad/a.env")));
    assert!(config.hide.contains(&ann.at("home/.local/state/a2ad")));
}

#[test]
fn show_takes_a_key_or_a_table_and_knows_what_needs_a_restart() {
    let config = Ann::new().good();
    assert!(config.show(Some("store")).unwrap().iter().all(|shown| shown.restart));
    assert!(config.show(Some("limits")).unwrap().iter().all(|shown| !shown.restart));
    assert!(config.show(Some("node.public_url")).unwrap().is_empty(), "known and not set");
    assert!(config.show(None).unwrap().len() > 100);
    let fault = config.show(Some("limits.bdoy")).unwrap_err();
    assert_eq!(fault.to_string(), "limits.bdoy: there is no such key; did you mean `limits.body`?");
}

#[test]
fn a_reload_knows_what_changed() {
    let ann = Ann::new().file("[limits]\nbody = \"1MiB\"\n[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nenv = { K = \"one\" }\n");
    let before = ann.good();
    let ann = ann.file("\n[limits]\nbody = \"2MiB\"\n[store]\nmax = \"1GiB\"\n[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nenv = { K = \"two\" }\n");
    let changes = before.changes(&ann.good());
    let brief: Vec<_> = changes.iter().map(|change| (change.key.as_str(), change.restart)).collect();
    assert_eq!(brief, [("limits.body", false), ("store.max", true), ("agents.a.env", false)]);
    assert_eq!(changes[0].to.as_deref(), Some("\"2MiB\""));
    assert_eq!(changes[2].to.as_deref(), Some("***"));
}

#[test]
fn protocols_may_be_chosen_but_one_of_a2a_is_spoken() {
    let config = Ann::new().file("[node]\nprotocols = [\"1.0\"]\n").good();
    assert_eq!(config.node.protocols, [Protocol::V1]);
    let config = Ann::new().file("[node]\nprotocols = [\"0.3\"]\n").good();
    assert_eq!(config.node.protocols, [Protocol::V03]);
    assert_snapshot!(Ann::new().file("[node]\nprotocols = [\"agentszone\"]\ndefault_agent = \"x\"\n[agents.y]\nruntime = \"echo\"\n").faults(), @r##"
a2ad.toml:2:1: node.protocols: names no version of A2A that this node speaks; add "1.0"
a2ad.toml:3:1: node.default_agent: there is no agent `x`; there are y
"##);
}
