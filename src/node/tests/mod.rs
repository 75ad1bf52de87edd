//! The node over a real store, with a runtime whose every word the test says.

mod recovery;
mod sends;
mod streams;
mod turns;

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::*;
use crate::{
    model::{
        Agents, Artifact, CallerRole, CancelTask, GetTask, Kind, Outcome, Progress, Send, SendConfiguration,
        Subscribe, TaskState, Timestamp, Via,
    },
    runtime::{
        Answers, Job, Profile, Run, Runtime, answers,
        child::CustodyConfig,
        config::{self as agent, Agent},
    },
    store::config::Durability,
};

/// A turn in the hands of the test.
pub(super) struct Hand {
    pub(super) job: Job,
    pub(super) tell: mpsc::Sender<Progress>,
    pub(super) answers: Answers,
}

impl Hand {
    pub(super) async fn say(&self, progress: Progress) {
        self.tell.send(progress).await.expect("the actor listens");
    }

    pub(super) async fn complete(&self) {
        self.say(Progress::Done(Outcome::Completed { message: None, metadata: None })).await;
    }

    pub(super) async fn ask(&self, question: &str) {
        let message = Message::agent(question);
        self.say(Progress::Ask { message, kind: crate::model::Ask::Question }).await;
    }

    pub(super) async fn write(&self, text: &str, append: bool) {
        let artifact = Artifact::text("answer".into(), text);
        self.say(Progress::Artifact { artifact, append, last: false }).await;
    }

    pub(super) fn prompt(&self) -> String {
        self.job.prompt.message.text()
    }
}

struct Scripted {
    profile: Profile,
    hands: mpsc::UnboundedSender<Hand>,
}

impl Runtime for Scripted {
    fn about(&self) -> &Profile {
        &self.profile
    }

    fn start(&self, job: Job) -> Run {
        assert_ne!(job.prompt.message.text(), "panic", "as asked");
        let (tell, progress) = mpsc::channel(64);
        let (sender, answers) = answers();
        // A test that lets go of its hands wants no more turns.
        let _ = self.hands.send(Hand { job, tell, answers });
        Run { progress, answers: sender }
    }
}

/// A node with scripted agents: `a` takes further messages, `b` does not, `r` may answer with bare messages.
pub(super) struct Bench {
    pub(super) node: Node,
    hands: mpsc::UnboundedReceiver<Hand>,
    store: Store,
    tracker: TaskTracker,
}

/// What a test may set of its agents.
pub(super) type Tune = fn(&mut Agent);

impl Bench {
    pub(super) async fn new(dir: &Path) -> Self {
        Self::tuned(dir, |_| {}).await
    }

    pub(super) async fn tuned(dir: &Path, tune: Tune) -> Self {
        let (sender, hands) = mpsc::unbounded_channel();
        let store = Store::open(&store_config(dir), Timestamp::now()).await.expect("a store");
        let tracker = TaskTracker::new();
        let custody = Custody::open(CustodyConfig {
            runs: dir.join("runs"),
            temp: dir.join("temp"),
            tracker: tracker.clone(),
            ..CustodyConfig::default()
        })
        .expect("custody");
        let served = ["a", "b", "r"].map(|name| {
            let mut config = agent_config(name, dir);
            tune(&mut config);
            let profile =
                Profile { kind: "scripted", tokens: name == "a", steers: name != "b", replies: name == "r" };
            Arc::new(Served {
                name: name.parse().expect("a name"),
                config,
                runtime: Arc::new(Scripted { profile, hands: sender.clone() }),
                readiness: Default::default(),
            })
        });
        let node = Node::start(Parts {
            store: store.clone(),
            registry: Registry::new(served.to_vec(), "a".parse().ok(), 1),
            config: node_config(),
            tokens: Vec::new(),
            local: "local".into(),
            custody,
            tracker: tracker.clone(),
        })
        .await
        .expect("a node");
        Self { node, hands, store, tracker }
    }

    /// The next turn that begins.
    pub(super) async fn hand(&mut self) -> Hand {
        tokio::time::timeout(Duration::from_secs(20), self.hands.recv())
            .await
            .expect("a turn begins")
            .expect("a turn")
    }

    /// Whether a turn has begun that nobody took.
    pub(super) fn has_begun(&mut self) -> bool {
        !self.hands.is_empty()
    }

    /// Stops as a killed process would: nothing more is written.
    pub(super) async fn kill(self) {
        self.node.stop();
        self.store.close().await;
    }

    /// Stops as a daemon would.
    pub(super) async fn shut(self) {
        self.node.close();
        self.node.shut();
        self.node.empty().await;
        self.node.stop();
        self.tracker.close();
        self.tracker.wait().await;
        self.store.close().await;
    }

    pub(super) async fn task(&self, id: &TaskId) -> Task {
        let get = GetTask { tenant: None, id: id.clone(), history_length: None };
        task(self.node.call(call("ann", "a", Operation::GetTask(get))).await.expect("a task"))
    }

    /// Waits until a task has this state.
    pub(super) async fn reaches(&self, id: &TaskId, state: TaskState) -> Task {
        for _ in 0..2000 {
            let task = self.task(id).await;
            if task.status.state == state {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{id} is {:?} and not {state:?}", self.task(id).await.status);
    }

    /// Sends and does not wait for the turn.
    pub(super) async fn send_now(&self, agent: &str, message: Message) -> Task {
        task(self.node.call(call("ann", agent, now(message))).await.expect("accepted"))
    }

    /// Sends; the answer comes with the turn's end.
    pub(super) fn send(
        &self,
        agent: &str,
        message: Message,
    ) -> tokio::task::JoinHandle<Result<Answer, Fault>> {
        let (node, call) = (self.node.clone(), call("ann", agent, blocking(message)));
        self.tracker.spawn(async move { node.call(call).await })
    }

    pub(super) async fn cancel(&self, id: &TaskId) -> Result<Task, Fault> {
        let cancel = CancelTask { tenant: None, id: id.clone(), metadata: None };
        self.node.call(call("ann", "a", Operation::CancelTask(cancel))).await.map(task)
    }

    pub(super) async fn stream(&self, message: Message) -> Updates {
        updates(
            self.node
                .call(call("ann", "a", Operation::Stream(request(message, false))))
                .await
                .expect("a stream"),
        )
    }

    pub(super) async fn subscribe(&self, id: &TaskId, after: Option<Seq>) -> Result<Updates, Fault> {
        let subscribe = Subscribe { tenant: None, id: id.clone() };
        let call = Call { after, ..call("ann", "a", Operation::Subscribe(subscribe)) };
        self.node.call(call).await.map(updates)
    }

    /// A subscription that ends at a question.
    pub(super) async fn subscribe_to_question(&self, id: &TaskId, after: Option<Seq>) -> Vec<(Seq, Update)> {
        let subscribe = Operation::Subscribe(Subscribe { tenant: None, id: id.clone() });
        let call = Call { after, to_question: true, ..call("ann", "a", subscribe) };
        all(updates(self.node.call(call).await.expect("a stream"))).await
    }
}

fn store_config(dir: &Path) -> crate::store::Config {
    crate::store::Config {
        dir: dir.to_owned(),
        durability: Durability::Relaxed,
        keep_terminal: None,
        keep_waiting: None,
        min_free: 0,
        max: None,
    }
}

fn node_config() -> config::Config {
    config::Config {
        name: "test".into(),
        default_agent: "a".parse().ok(),
        public_url: None,
        grpc_url: None,
        protocols: vec![config::Protocol::V1],
        drain_timeout: Duration::from_secs(1),
        running_tasks: None,
        tasks_per_principal: None,
        queued_tasks: Some(100),
        queued_per_principal: Some(100),
        artifact: Some(100_000),
        task: None,
    }
}

fn agent_config(name: &str, dir: &Path) -> Agent {
    Agent {
        name: name.parse().expect("a name"),
        runtime: agent::RuntimeKind::Echo,
        description: None,
        workspace: dir.to_owned(),
        command: Vec::new(),
        model: None,
        listed: false,
        version: "1".into(),
        skills: Vec::new(),
        input_modes: vec!["text/*".into()],
        output_modes: vec!["text/plain".into()],
        capabilities: agent::Capabilities { streaming: true, push: true, extended_card: true },
        extensions: Vec::new(),
        env: Vec::new(),
        env_from: Vec::new(),
        permissions: agent::Permissions::Ask,
        accept_risk: false,
        permission_timeout: None,
        approve: agent::Approve::Owner,
        idle_timeout: None,
        turn_timeout: None,
        start_timeout: None,
        grace: Duration::from_millis(200),
        concurrency: Some(1),
        sandbox: agent::Sandbox::Off,
        network: Vec::new(),
        sharing: agent::Sharing::Agent,
        share_workspace: false,
        files: agent::Files::Off,
        guard: agent::Guard::Off,
        artifacts: Vec::new(),
        project_settings: agent::ProjectSettings::Memory,
        home: agent::Home::Shared,
        on_restart: agent::OnRestart::Fail,
        keep_alive: false,
        replies: agent::Replies::Task,
        prompt: agent::PromptMode::Stdin,
        success: vec![0],
        nice: 0,
        memory: None,
        processes: None,
        umask: None,
        limits: agent::Limits { line: None, artifact: None, task: None },
    }
}

pub(super) fn caller(name: &str) -> Caller {
    Caller {
        principal: PrincipalId::token(name),
        kind: Kind::Person,
        role: CallerRole::User,
        may_call: Agents::All,
        run: None,
        via: Via::Bearer,
    }
}

pub(super) fn call(name: &str, agent: &str, operation: Operation) -> Call {
    let (caller, agent) = (caller(name), agent.parse().expect("a name"));
    Call { caller, agent, operation, key: None, after: None, to_question: false }
}

pub(super) fn request(message: Message, return_immediately: bool) -> Send {
    let configuration = SendConfiguration { return_immediately, ..SendConfiguration::default() };
    Send { tenant: None, message, configuration, metadata: None }
}

pub(super) fn now(message: Message) -> Operation {
    Operation::Send(request(message, true))
}

pub(super) fn blocking(message: Message) -> Operation {
    Operation::Send(request(message, false))
}

/// A message to a task.
pub(super) fn to(task: &TaskId, text: &str) -> Message {
    Message { task_id: Some(task.clone()), ..Message::user(text) }
}

/// A message in a conversation.
pub(super) fn within(context: &str, text: &str) -> Message {
    Message { context_id: Some(context.into()), ..Message::user(text) }
}

pub(super) fn task(answer: Answer) -> Task {
    match answer.reply {
        Reply::Task(task) => task,
        Reply::Stored(json) => serde_json::from_slice(&json).expect("a stored task"),
        Reply::Message(_) | Reply::Page(_) | Reply::Updates(_) => panic!("no task"),
    }
}

pub(super) fn updates(answer: Answer) -> Updates {
    match answer.reply {
        Reply::Updates(updates) => updates,
        Reply::Task(_) | Reply::Stored(_) | Reply::Message(_) | Reply::Page(_) => panic!("no stream"),
    }
}

/// All events of a stream that ends.
pub(super) async fn all(updates: Updates) -> Vec<(Seq, Update)> {
    updates.map(|event| event.expect("an event")).collect().await
}
