//! What the configuration says to `runtime`: one [`Agent`] for each agent that is served.
//!
//! Plain data, whole: where the file may leave a key out, the default is already in its place. `None`
//! for a limit or a time means that it is off (`0` in the file).

use std::path::PathBuf;
use std::time::Duration;

use crate::model::AgentName;

/// One agent as it is served: `[agents.NAME]` over `[defaults]` over the built-in values.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name (P-10).
    pub name: AgentName,
    /// Which kind of program does the work.
    pub runtime: RuntimeKind,
    /// One sentence for the card; `None`: the card makes one from the name and the runtime.
    pub description: Option<String>,
    /// The directory the program runs in; absolute, allowed by the rules of O-4.
    pub workspace: PathBuf,
    /// Program and arguments; never empty but for [`RuntimeKind::Echo`]. The first word is resolved by
    /// the node at each turn (O-27), the rest is passed as it stands.
    pub command: Vec<String>,
    /// The model to ask the program for; `None`: the program's own choice.
    pub model: Option<String>,
    /// Shown in `GET /agents` without a credential.
    pub listed: bool,
    /// The agent's own version, for the card.
    pub version: String,
    /// Skills of the card; empty: the card makes one from the description.
    pub skills: Vec<Skill>,
    /// Media types that a part may have, `*` and `text/*` allowed.
    pub input_modes: Vec<String>,
    /// Media types that answers have.
    pub output_modes: Vec<String>,
    /// What the card may claim; what the node does not do is not claimed whatever stands here.
    pub capabilities: Capabilities,
    /// Extensions that the program itself understands.
    pub extensions: Vec<Extension>,
    /// Names and values added to the child's environment (`env_file`, then `env` over it). All of it
    /// counts as secret (O-35).
    pub env: Vec<(String, String)>,
    /// Names taken over from the node's own environment, as far as O-24 lets them pass.
    pub env_from: Vec<String>,
    /// What a tool may do without being asked (O-15).
    pub permissions: Permissions,
    /// The operator accepted that `permissions = "all"` runs without a sandbox, or as root.
    pub accept_risk: bool,
    /// How long a permission question waits before it is denied; `None`: for ever.
    pub permission_timeout: Option<Duration>,
    /// Who answers permission questions.
    pub approve: Approve,
    /// How long the program may be silent while no tool call, command or question is open.
    pub idle_timeout: Option<Duration>,
    /// How long a turn may last.
    pub turn_timeout: Option<Duration>,
    /// How long the program may take until it says its first word of protocol.
    pub start_timeout: Option<Duration>,
    /// How long a program may take to leave when asked; zero: it is ended at once.
    pub grace: Duration,
    /// Turns at once; `None`: no limit.
    pub concurrency: Option<usize>,
    /// How the child is to be confined.
    pub sandbox: Sandbox,
    /// `host:port` reached under `sandbox = "strict"`, besides the runtime's own.
    pub network: Vec<String>,
    /// Who shares workspace, home and memory (O-13).
    pub sharing: Sharing,
    /// Turns that may write in the same workspace need not wait for each other (O-53).
    pub share_workspace: bool,
    /// What the file API may do for the role `user` (O-9).
    pub files: Files,
    /// Paths of the workspace that are guarded besides the built-in ones (O-9).
    pub guard: Guard,
    /// Globs of files picked up as artifacts when a turn ends (O-34).
    pub artifacts: Vec<String>,
    /// What the program takes from the workspace (O-9).
    pub project_settings: ProjectSettings,
    /// Whose home directory the child has.
    pub home: Home,
    /// What becomes of a running turn when the node comes back after its death.
    pub on_restart: OnRestart,
    /// `jsonl`: one process for many tasks (J-26).
    pub keep_alive: bool,
    /// `jsonl`: what a `message` line means (J-14, J-15).
    pub replies: Replies,
    /// `exec`: how the program gets the prompt.
    pub prompt: PromptMode,
    /// `exec`: exit codes that mean success; never empty.
    pub success: Vec<i32>,
    /// Added to the child's scheduling priority: -20 to 19, higher is more polite.
    pub nice: i32,
    /// Bytes of memory of a turn's whole process tree; `None`: no cap.
    pub memory: Option<u64>,
    /// Processes in that tree; `None`: no cap.
    pub processes: Option<u32>,
    /// The child's umask; `None`: the one the node was started with (O-25).
    pub umask: Option<u32>,
    /// How much a turn may say.
    pub limits: Limits,
}

/// What does an agent's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuntimeKind {
    /// Claude Code, spoken to over its stream-json protocol.
    Claude,
    /// Any program: the prompt on stdin, its stdout is the answer.
    Exec,
    /// Any program that speaks JSON lines (J-1 to J-30).
    Jsonl,
    /// The node itself: answers with what it was sent.
    Echo,
}

impl RuntimeKind {
    /// Every kind that this version can run.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Exec, Self::Jsonl, Self::Echo];

    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Exec => "exec",
            Self::Jsonl => "jsonl",
            Self::Echo => "echo",
        }
    }
}

impl std::fmt::Display for RuntimeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A skill of the card (A2A 1.0 section 4.4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its id, unique in the agent.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Words to find it by; never empty.
    pub tags: Vec<String>,
    /// Prompts that show it.
    pub examples: Vec<String>,
    /// Media types it takes, where they differ from the agent's.
    pub input_modes: Vec<String>,
    /// Media types it gives, where they differ from the agent's.
    pub output_modes: Vec<String>,
}

/// What the card may claim (A2A 1.0 section 4.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// `SendStreamingMessage` and `SubscribeToTask`.
    pub streaming: bool,
    /// Push notifications.
    pub push: bool,
    /// The extended card.
    pub extended_card: bool,
}

/// An extension that the agent's program understands (A2A 1.0 section 4.4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// The extension's URI.
    pub uri: String,
    /// A caller that does not declare it is refused (P-5).
    pub required: bool,
    /// What the agent uses it for.
    pub description: Option<String>,
    /// Parameters, as the extension defines them; always a JSON object.
    pub params: Option<serde_json::Value>,
}

/// What a tool may do without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// Every write, command and network tool is asked.
    Ask,
    /// What would be asked is denied.
    Deny,
    /// File changes inside the workspace are not asked.
    Edits,
    /// Nothing is asked.
    All,
}

impl Permissions {
    /// The word of the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

/// Who answers permission questions; never a model (O-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approve {
    /// Whoever owns the task, or an admin.
    Owner,
    /// An admin only.
    Admin,
}

/// How a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// Not at all.
    Off,
    /// It writes in its workspace only.
    Workspace,
    /// That, and it reaches only the network it was given.
    Strict,
}

/// Who shares workspace, home and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every principal that may call the agent.
    Agent,
    /// Each principal has its own.
    Principal,
    /// Each context has its own.
    Context,
}

/// What the file API may do for the role `user`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Nothing.
    Off,
    /// Look.
    Read,
    /// Look and change, guarded paths never.
    Write,
}

/// Guarded paths: never written by the file API, read-only to a confined child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The child may write them all.
    Off,
    /// The built-in ones and these.
    Also(Vec<String>),
}

/// What a program takes from the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectSettings {
    /// Nothing.
    Off,
    /// Instruction files only.
    Memory,
    /// Also hooks, MCP servers, plugins and permission rules.
    All,
}

/// Whose home directory a child has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The user's.
    Shared,
    /// One of its own below the state directory.
    Private,
}

/// What becomes of a turn that ran when the node died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// It is FAILED "interrupted by restart".
    Fail,
    /// It is started again (J-6).
    Resume,
}

/// What a `message` line of a `jsonl` program means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// The end of a task (J-14).
    Task,
    /// The whole answer, without a task (J-15, J-16).
    Message,
}

/// How an `exec` program gets the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptMode {
    /// On stdin, then closed.
    Stdin,
    /// Not at all; stdin is null.
    None,
    /// In a file whose path is the last argument.
    File,
}

/// How much a turn may say; from `[limits]`, the same for every agent. `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line of a program.
    pub line: Option<usize>,
    /// Bytes of one artifact.
    pub artifact: Option<u64>,
    /// Bytes of all events and artifacts of one task.
    pub task: Option<u64>,
}
