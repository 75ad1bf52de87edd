//! A node in this process: store, custody, doors and all, on a free port of loopback.
#![expect(clippy::disallowed_methods, reason = "a test owns its directories and its tasks")]

use std::{net::SocketAddr, path::Path, sync::Arc};

use a2ad::{
    doors::{
        self, Doors, Hooks, Live, Stop,
        config::{Auth, Listen},
    },
    model::{CallerRole, Fault, Timestamp, ops::NewToken, secret},
    node::{
        self, Node, Parts,
        agents::{Registry, Served},
    },
    runtime::{
        Runtime,
        child::{Custody, CustodyConfig},
        config::{
            Agent, Approve, Capabilities, Files, Guard, Home, Limits, OnRestart, Permissions,
            ProjectSettings, PromptMode, Replies, RuntimeKind, Sandbox, Sharing,
        },
    },
    store::{self, Store},
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::task::TaskTracker;

use super::{
    http::{Ask, Reply, Stream},
    stage::{Echo, Stage, Turn},
};

/// What a test may change before the node starts.
pub(crate) struct Setup {
    pub(crate) doors: doors::config::Config,
    pub(crate) node: node::config::Config,
    pub(crate) agents: Vec<Agent>,
}

/// A node that serves three agents: `echo` (the default), `stage` (played by the test, listed) and `hidden` (an echo that
/// is not listed).
pub(crate) struct TestNode {
    pub(crate) addr: SocketAddr,
    pub(crate) node: Node,
    /// The local admin token.
    pub(crate) local: String,
    pub(crate) live: Live,
    pub(crate) stop: Stop,
    pub(crate) turns: mpsc::UnboundedReceiver<Turn>,
    pub(crate) dir: tempfile::TempDir,
    store: Store,
    tracker: TaskTracker,
    serving: JoinHandle<()>,
}

impl TestNode {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        Self::at(tempfile::tempdir().unwrap(), change).await
    }

    /// On a state directory that may have been another node's.
    pub(crate) async fn at(dir: tempfile::TempDir, change: impl FnOnce(&mut Setup)) -> Self {
        let work = dir.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        let mut setup = Setup {
            doors: doors_config(),
            node: node_config(),
            agents: [("echo", false), ("hidden", false), ("stage", true)]
                .map(|(name, listed)| agent(name, &work, listed))
                .into(),
        };
        change(&mut setup);
        let state = dir.path().join("state");
        let tracker = TaskTracker::new();
        let store = Store::open(&store_config(&state), Timestamp::now()).await.unwrap();
        let custody = Custody::open(CustodyConfig {
            runs: state.join("runs"),
            temp: dir.path().join("temp"),
            hide: vec![state.clone()],
            path: None,
            secrets: Vec::new(),
            node_url: String::new(),
            umask: None,
            tracker: tracker.clone(),
        })
        .unwrap();
        let (stage, turns) = Stage::open();
        let default = setup.node.default_agent.clone();
        let registry = Registry::new(served(setup.agents, &stage), default, 1);
        let local = secret::make().unwrap();
        let parts = Parts {
            store: store.clone(),
            registry,
            config: setup.node,
            tokens: Vec::new(),
            local: local.clone(),
            custody,
            tracker: tracker.clone(),
        };
        let node = Node::start(parts).await.unwrap();
        let doors = Doors::bind(setup.doors).unwrap();
        let addr = doors.addresses().first().copied().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let (stop, live) = (Stop::default(), doors.live());
        let serving = tokio::spawn(doors.serve(node.clone(), hooks(), tracker.clone(), stop.clone()));
        Self { addr, node, local, live, stop, turns, dir, store, tracker, serving }
    }

    /// Takes an agent out of the configuration, as a reload does.
    pub(crate) async fn remove(&self, name: &str) {
        let left = self.node.agents().iter().filter(|served| served.name.as_str() != name).cloned().collect();
        let config = node_config();
        let registry = Registry::new(left, config.default_agent.clone(), 2);
        self.node.adopt(registry, config, Vec::new()).await;
    }

    /// The next turn of `stage`.
    pub(crate) async fn turn(&mut self) -> Turn {
        self.turns.recv().await.unwrap()
    }

    /// A token of the role user for some agents, or all.
    pub(crate) async fn token(&self, name: &str, agents: Option<&[&str]>) -> String {
        self.token_as(name, CallerRole::User, agents).await
    }

    pub(crate) async fn token_as(&self, name: &str, role: CallerRole, agents: Option<&[&str]>) -> String {
        let agents = agents.map(|agents| agents.iter().map(|&agent| agent.to_owned()).collect());
        let new = NewToken { name: name.into(), role, agents, expires_at: None, add: false, reuse: false };
        self.node.token_new(new).await.unwrap().secret
    }

    /// A JSON-RPC request of A2A 1.0 by the operator.
    pub(crate) fn rpc(&self, path: &str, method: &str, params: &Value) -> Ask {
        self.rpc_as(&self.local, path, method, params)
    }

    pub(crate) fn rpc_as(&self, token: &str, path: &str, method: &str, params: &Value) -> Ask {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Ask::post(path)
            .header("authorization", &format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body.to_string())
    }

    /// An HTTP+JSON request of A2A 1.0 by the operator; `null` is no body.
    pub(crate) fn rest(&self, method: &str, path: &str, body: &Value) -> Ask {
        self.rest_as(&self.local, method, path, body)
    }

    pub(crate) fn rest_as(&self, token: &str, method: &str, path: &str, body: &Value) -> Ask {
        let ask = Ask::new(method, path)
            .header("authorization", &format!("Bearer {token}"))
            .header("a2a-version", "1.0");
        match body {
            Value::Null => ask,
            body => ask.header("content-type", "application/a2a+json").body(body.to_string()),
        }
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Reply {
        ask.send(self.addr).await
    }

    /// The `result` of a JSON-RPC request.
    pub(crate) async fn result(&self, path: &str, method: &str, params: &Value) -> Value {
        let reply = self.ask(self.rpc(path, method, params)).await;
        let body = reply.json();
        assert!(body.get("result").is_some(), "{body}");
        body["result"].clone()
    }

    /// Opens a stream of a JSON-RPC request.
    pub(crate) async fn stream(&self, ask: Ask) -> Stream {
        Stream::open(self.addr, ask).await
    }

    /// Ends the node politely and gives its directory back.
    pub(crate) async fn end(self) -> tempfile::TempDir {
        self.node.close();
        self.stop.stop.cancel();
        self.node.shut();
        self.node.quiet().await;
        self.stop.now.cancel();
        self.serving.await.unwrap();
        self.node.stop();
        self.tracker.close();
        self.tracker.wait().await;
        drop(self.node);
        self.store.close().await;
        self.dir
    }
}

/// What a caller says.
pub(crate) fn said(text: &str) -> Value {
    json!({ "message": message(text) })
}

pub(crate) fn message(text: &str) -> Value {
    json!({ "messageId": format!("m-{text}"), "role": "ROLE_USER", "parts": [{ "text": text }] })
}

fn served(agents: Vec<Agent>, stage: &Arc<dyn Runtime>) -> Vec<Arc<Served>> {
    agents
        .into_iter()
        .map(|config| {
            let name = config.name.clone();
            let runtime = if name.as_str() == "stage" { stage.clone() } else { Echo::runtime() };
            Arc::new(Served { name, config, runtime, readiness: Default::default() })
        })
        .collect()
}

fn hooks() -> Hooks {
    fn none<A, T>() -> doors::Hook<A, T> {
        Box::new(|_| Box::pin(async { Err(Fault::InvalidRequest("there is no daemon here".into())) }))
    }
    Hooks { reload: none(), doctor: none(), test: none(), config: none() }
}

pub(crate) fn doors_config() -> doors::config::Config {
    doors::config::Config {
        listen: vec![Listen::Tcp { addr: "127.0.0.1:0".parse().unwrap(), optional: false }],
        allow_plaintext: false,
        auth: Auth::Token,
        trusted_proxies: Vec::new(),
        allowed_hosts: vec!["box.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        public_url: None,
        body: Some(64 << 10),
        request_timeout: Some(std::time::Duration::from_secs(60)),
        stream_idle: None,
        connections: Some(1024),
        connections_per_address: Some(128),
        requests_per_minute: None,
        streams_per_principal: None,
    }
}

fn node_config() -> node::config::Config {
    node::config::Config {
        name: "test".into(),
        default_agent: Some("echo".parse().unwrap()),
        public_url: None,
        grpc_url: None,
        protocols: vec![node::config::Protocol::V1],
        drain_timeout: std::time::Duration::ZERO,
        running_tasks: None,
        tasks_per_principal: None,
        queued_tasks: None,
        queued_per_principal: None,
        artifact: None,
        task: None,
    }
}

fn store_config(dir: &Path) -> store::config::Config {
    store::config::Config {
        dir: dir.to_owned(),
        durability: store::config::Durability::Relaxed,
        keep_terminal: None,
        keep_waiting: None,
        min_free: 0,
        max: None,
    }
}

fn agent(name: &str, workspace: &Path, listed: bool) -> Agent {
    Agent {
        name: name.parse().unwrap(),
        runtime: RuntimeKind::Echo,
        description: None,
        workspace: workspace.to_owned(),
        command: Vec::new(),
        model: None,
        listed,
        version: "1.0.0".into(),
        skills: Vec::new(),
        input_modes: vec!["*/*".into()],
        output_modes: vec!["text/plain".into()],
        capabilities: Capabilities { streaming: true, push: true, extended_card: true },
        extensions: Vec::new(),
        env: Vec::new(),
        env_from: Vec::new(),
        permissions: Permissions::Ask,
        accept_risk: false,
        permission_timeout: None,
        approve: Approve::Owner,
        idle_timeout: None,
        turn_timeout: None,
        start_timeout: None,
        grace: std::time::Duration::from_secs(1),
        concurrency: None,
        sandbox: Sandbox::Off,
        network: Vec::new(),
        sharing: Sharing::Agent,
        share_workspace: true,
        files: Files::Off,
        guard: Guard::Off,
        artifacts: Vec::new(),
        project_settings: ProjectSettings::Off,
        home: Home::Shared,
        on_restart: OnRestart::Fail,
        keep_alive: false,
        replies: Replies::Task,
        prompt: PromptMode::Stdin,
        success: vec![0],
        nice: 0,
        memory: None,
        processes: None,
        umask: None,
        limits: Limits { line: None, artifact: None, task: None },
    }
}
