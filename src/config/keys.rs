//! Every key of the configuration: what it is, its default, whether this version acts on it.
//!
//! One table, read by the file, the environment, `config show` and `check`. A key that a later version will
//! act on is marked [`Key::later`] (a warning when it is changed) or, where to ignore it would be unsafe,
//! [`Key::refused`].

use toml::Value;

use super::leaf::*;
use super::listen::Listens;
use super::log::Format;
use super::unit::Bad;
use crate::node::config::Protocol;
use crate::runtime::config as run;
use crate::store::config::Durability;

/// One key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) check: fn(&Value) -> Result<(), Bad>,
    default: Given,
    pub(super) effect: Effect,
    /// A change takes effect at the next start, not at a reload (O-22).
    pub(super) restart: bool,
    /// Its value is shown nowhere.
    pub(super) secret: bool,
    /// Its value is a path, and what stands there is kept from children.
    pub(super) hidden: bool,
}

/// A default, as the file would have it.
enum Given {
    Nothing,
    Text(&'static str),
    Bool(bool),
    Int(i64),
    Texts(&'static [&'static str]),
    Ints(&'static [i64]),
}

/// What becomes of a key that is set.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// It acts.
    Now,
    /// Nothing yet; said by `check` when it differs from the default.
    Later,
    /// A fault when it differs from the default: to ignore it would be unsafe. Why, and what to do.
    Refused(&'static str, &'static str),
}

impl Key {
    /// The default as a value, where there is one.
    pub(super) fn default(&self) -> Option<Value> {
        Some(match self.default {
            Given::Nothing => return None,
            Given::Text(text) => Value::from(text),
            Given::Bool(yes) => Value::from(yes),
            Given::Int(number) => Value::from(number),
            Given::Texts(texts) => Value::Array(texts.iter().copied().map(Value::from).collect()),
            Given::Ints(numbers) => Value::Array(numbers.iter().copied().map(Value::from).collect()),
        })
    }

    const fn text(mut self, text: &'static str) -> Self {
        self.default = Given::Text(text);
        self
    }

    const fn no(mut self) -> Self {
        self.default = Given::Bool(false);
        self
    }

    const fn yes(mut self) -> Self {
        self.default = Given::Bool(true);
        self
    }

    const fn int(mut self, number: i64) -> Self {
        self.default = Given::Int(number);
        self
    }

    const fn list(mut self, texts: &'static [&'static str]) -> Self {
        self.default = Given::Texts(texts);
        self
    }

    const fn ints(mut self, numbers: &'static [i64]) -> Self {
        self.default = Given::Ints(numbers);
        self
    }

    const fn later(mut self) -> Self {
        self.effect = Effect::Later;
        self
    }

    const fn refused(mut self, why: &'static str, hint: &'static str) -> Self {
        self.effect = Effect::Refused(why, hint);
        self
    }

    const fn restart(mut self) -> Self {
        self.restart = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

const fn key<T: Leaf>(name: &'static str) -> Key {
    Key {
        name,
        shape: T::SHAPE,
        check: check::<T>,
        default: Given::Nothing,
        effect: Effect::Now,
        restart: false,
        secret: false,
        hidden: false,
    }
}

fn check<T: Leaf>(value: &Value) -> Result<(), Bad> {
    T::read(value).map(drop)
}

/// A table of the file.
pub(super) struct Section {
    /// Its path; `*` stands for a name that the operator chose.
    pub(super) path: &'static [&'static str],
    /// Its keys.
    pub(super) keys: &'static [&'static [Key]],
    /// It is a list of tables, `[[…]]`.
    pub(super) list: bool,
}

const fn table(path: &'static [&'static str], keys: &'static [&'static [Key]]) -> Section {
    Section { path, keys, list: false }
}

/// Every table.
pub(super) static SECTIONS: &[Section] = &[
    table(&["node"], &[NODE]),
    table(&["tls"], &[TLS]),
    table(&["auth"], &[AUTH]),
    Section { path: &["auth", "tokens"], keys: &[TOKEN], list: true },
    Section { path: &["auth", "oidc"], keys: &[OIDC], list: true },
    table(&["limits"], &[LIMITS]),
    table(&["store"], &[STORE]),
    table(&["log"], &[LOG]),
    table(&["push"], &[PUSH]),
    table(&["mesh"], &[MESH]),
    table(&["metrics"], &[METRICS]),
    table(&["agents", "*"], &[AGENT, DEFAULTS]),
    table(&["defaults"], &[DEFAULTS]),
    table(&["runtimes", "*"], &[RUNTIME]),
    table(&["peers", "*"], &[PEER]),
];

/// Tables kept for later; used for nothing else.
pub(super) const RESERVED_TABLES: &[&str] = &["hub", "rooms", "uplinks", "schedules", "console"];

/// Keys of an agent kept for later.
pub(super) const RESERVED_AGENT_KEYS: &[&str] = &["offer", "identity", "title", "retries", "session"];

/// Agent programs that a later version runs.
pub(super) const LATER_RUNTIMES: &[&str] = &["codex", "gemini", "opencode", "acp", "remote"];

/// Runtimes reserved for later.
pub(super) const RESERVED_RUNTIMES: &[&str] = &["pull", "room"];

const NO_TLS: &str = "this version serves no TLS, and would answer in clear text";
const TLS_HINT: &str = "remove [tls] and let a proxy before the node end TLS (see auth.trusted_proxies)";

static NODE: &[Key] = &[
    key::<String>("name").restart(),
    key::<Listens>("listen").list(&["127.0.0.1:7878", "[::1]:7878"]).restart(),
    key::<String>("public_url"),
    key::<Text>("grpc_url").later(),
    key::<Words<Protocol>>("protocols").list(&["1.0", "0.3", "agentszone"]).restart(),
    key::<String>("default_agent"),
    key::<bool>("allow_plaintext").no().restart(),
    key::<bool>("require_isolation").no().restart(),
    key::<Time>("drain_timeout").text("20s"),
    key::<String>("path").restart(),
];

static TLS: &[Key] = &[
    key::<String>("cert").refused(NO_TLS, TLS_HINT),
    key::<String>("key").refused(NO_TLS, TLS_HINT).hidden(),
    key::<String>("client_ca").refused(NO_TLS, TLS_HINT),
    key::<bool>("require_client_cert").refused(NO_TLS, TLS_HINT),
];

static AUTH: &[Key] = &[
    key::<OneOrMore>("mode").text("token").restart(),
    key::<Cidrs>("trusted_proxies").list(&[]).restart(),
    key::<Vec<String>>("allowed_hosts").list(&[]),
    key::<Vec<String>>("allowed_origins").list(&[]),
];

static TOKEN: &[Key] = &[
    key::<String>("name"),
    key::<String>("sha256"),
    key::<String>("role").text("user"),
    key::<Vec<String>>("agents"),
];

static OIDC: &[Key] = &[
    key::<String>("issuer").later(),
    key::<String>("audience").later(),
    key::<Whole<Vec<Allow>>>("allow").later(),
    key::<bool>("id_tokens").no().later(),
];

static LIMITS: &[Key] = &[
    key::<Size>("body").text("8MiB"),
    key::<Time>("request_timeout").text("60s"),
    key::<Time>("stream_idle").text("0"),
    key::<Count>("connections").int(1024),
    key::<Count>("connections_per_address").int(128),
    key::<Count>("requests_per_minute").int(6000),
    key::<Count>("running_tasks").int(16),
    key::<Count>("tasks_per_principal").int(8),
    key::<Count>("queued_tasks").int(1000),
    key::<Count>("queued_per_principal").int(100),
    key::<Count>("streams_per_principal").int(64),
    key::<Size>("artifact").text("64MiB"),
    key::<Size>("task").text("256MiB"),
    key::<Size>("line").text("16MiB"),
];

static STORE: &[Key] = &[
    key::<StoreUrl>("url").text("sqlite").restart(),
    key::<Durability>("durability").text("strict").restart(),
    key::<Time>("keep_terminal").text("30d").restart(),
    key::<Time>("keep_waiting").text("30d").restart(),
    key::<Size>("min_free").text("256MiB").restart(),
    key::<Size>("max").text("0").restart(),
];

static LOG: &[Key] = &[
    key::<String>("level").text("info"),
    key::<Format>("format").text("auto"),
    key::<bool>("content").no(),
    key::<bool>("audit").yes().later(),
    key::<bool>("addresses").no(),
    key::<String>("file"),
    key::<Size>("max_size").text("32MiB"),
    key::<Count>("keep").int(5),
];

static PUSH: &[Key] = &[
    key::<Vec<String>>("allow").list(&[]).later(),
    key::<String>("secret_file").later().hidden(),
    key::<Count>("max_attempts").int(12).later(),
    key::<Time>("give_up_after").text("24h").later(),
    key::<bool>("artifacts").no().later(),
    key::<Count>("per_host").int(8).later(),
    key::<Count>("configs_per_task").int(10).later(),
    key::<Count>("configs_per_principal").int(1000).later(),
];

static MESH: &[Key] = &[
    key::<Count>("max_hops").int(5).later().restart(),
    key::<bool>("accept_delegations").yes().later().restart(),
];

static METRICS: &[Key] = &[
    key::<String>("listen").later().restart(),
    key::<bool>("token").later().restart(),
    key::<String>("otlp").later().restart(),
];

/// What only `[agents.X]` has.
static AGENT: &[Key] = &[
    key::<String>("runtime"),
    key::<String>("description"),
    key::<String>("workspace"),
    key::<Vec<String>>("command"),
    key::<String>("model"),
    key::<String>("user").refused(
        "this version runs every agent as the node's own user",
        "remove the key, or run a node as that user",
    ),
    key::<bool>("listed").no(),
    key::<String>("version").text("1.0.0"),
    key::<Whole<Vec<Skill>>>("skills"),
    key::<Vec<String>>("input_modes"),
    key::<Vec<String>>("output_modes"),
    key::<Whole<Capabilities>>("capabilities"),
    key::<Whole<Vec<Extension>>>("extensions").list(&[]),
    key::<Pairs>("env").secret(),
    key::<Vec<String>>("env_from"),
    key::<String>("env_file").hidden(),
    key::<run::PromptMode>("prompt").text("stdin"),
    key::<Codes>("success").ints(&[0]),
    key::<String>("peer").later(),
    key::<String>("agent").later(),
];

/// What `[defaults]` has, and each `[agents.X]` too.
static DEFAULTS: &[Key] = &[
    key::<run::Permissions>("permissions").text("ask"),
    key::<Time>("permission_timeout").text("1h").later(),
    key::<run::Approve>("approve").text("owner").later(),
    key::<Time>("idle_timeout").text("10m"),
    key::<Time>("turn_timeout").text("2h"),
    key::<Time>("start_timeout").text("60s"),
    key::<Time>("grace").text("5s"),
    key::<Count>("concurrency").int(1),
    key::<run::Sandbox>("sandbox").text("workspace").later(),
    key::<bool>("require_sandbox").no().refused(
        "this version has no sandbox, so no agent could start",
        "remove the key, and read what `a2ad doctor` says of isolation",
    ),
    key::<Vec<String>>("network").list(&[]).later(),
    key::<run::Sharing>("sharing").text("agent").refused(
        "this version gives all callers of an agent one workspace, home and memory",
        "serve one agent for each principal, and give each its own workspace",
    ),
    key::<bool>("share_workspace").no(),
    key::<bool>("allow_wide_workspace").no(),
    key::<run::Files>("files").text("read").later(),
    key::<run::Guard>("guard").list(&[]).later(),
    key::<Vec<String>>("artifacts").list(&[]).later(),
    key::<run::ProjectSettings>("project_settings").text("memory"),
    key::<run::Home>("home").text("shared").refused(
        "this version gives agents the home directory of the node's user",
        "run the agent in a node of its own user",
    ),
    key::<run::OnRestart>("on_restart").text("fail"),
    key::<bool>("keep_alive").no(),
    key::<run::Replies>("replies").text("task"),
    key::<Nice>("nice").int(0),
    key::<Size>("memory").text("0").later(),
    key::<Count>("processes").int(0).later(),
    key::<Mode>("umask"),
    key::<Unconfined>("accept_risk"),
];

static RUNTIME: &[Key] = &[
    key::<Vec<String>>("command").later(),
    key::<run::PromptMode>("prompt").text("stdin").later(),
    key::<Output>("output").text("text").later(),
    key::<Whole<Fields>>("fields").later(),
    key::<Vec<String>>("resume").later(),
    key::<CancelBy>("cancel").text("term").later(),
];

static PEER: &[Key] = &[
    key::<String>("url").later(),
    key::<String>("token_file").later().hidden(),
    key::<String>("ca").later(),
    key::<String>("client_cert").later(),
    key::<String>("client_key").later().hidden(),
    key::<Vec<String>>("origins").later(),
    key::<Protocol>("min_version").later(),
    key::<bool>("require_signature").later(),
    key::<Vec<String>>("forward_headers").list(&[]).later(),
    key::<bool>("forward_authorization").later(),
];

impl Section {
    /// The section whose path, names filled in, is `path`.
    pub(super) fn at(path: &[&str]) -> Option<&'static Self> {
        SECTIONS.iter().find(|section| section.path.len() == path.len() && matches(section.path, path))
    }

    /// Whether some section lies below `path`.
    pub(super) fn below(path: &[&str]) -> bool {
        SECTIONS.iter().any(|section| section.path.len() > path.len() && matches(section.path, path))
    }

    /// The words that may follow `path`: its keys, and the tables below it.
    pub(super) fn words(path: &[&str]) -> Vec<&'static str> {
        let keys = Self::at(path).into_iter().flat_map(Self::keys).map(|key| key.name);
        let tables = SECTIONS
            .iter()
            .filter(|section| matches(section.path, path))
            .filter_map(|section| section.path.get(path.len()).copied());
        keys.chain(tables.filter(|word| *word != "*")).collect()
    }

    /// Its keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|keys| keys.iter())
    }

    /// One of its keys.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    path.len() <= pattern.len()
        && pattern.iter().zip(path).all(|(pattern, word)| *pattern == "*" || pattern == word)
}

/// The key at a dotted path, with its section; names and numbers stand where the section has `*` or is a list.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let words: Vec<&str> = path.split('.').collect();
    let (name, table) = words.split_last()?;
    if let Some(section) = Section::at(table).filter(|section| !section.list) {
        return section.key(name);
    }
    let (number, list) = table.split_last()?;
    number.parse::<usize>().ok()?;
    Section::at(list).filter(|section| section.list)?.key(name)
}
