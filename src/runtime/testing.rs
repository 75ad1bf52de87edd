//! What the tests of runtimes share: a shell script as an agent, a job for it, and all it told.

#![expect(clippy::disallowed_methods, reason = "tests lay and read scratch files")]

use std::time::Duration;

use tokio::time::timeout;

use super::child::{Custody, CustodyConfig};
use super::config::{
    Agent, Approve, Capabilities, Files, Guard, Home, Limits, OnRestart, Permissions, ProjectSettings,
    PromptMode, Replies, RuntimeKind, Sandbox, Sharing,
};
use super::{Job, Prompt, Run, Stop, kinds};
use crate::model::{Message, Outcome, PrincipalId, Progress, TaskState};

/// Longer than any test takes; only a broken one waits for it.
pub(super) const LONG: Duration = Duration::from_secs(30);

/// A shell script that plays an agent's program, with a workspace of its own.
pub(super) struct Shell {
    dir: tempfile::TempDir,
}

impl Shell {
    pub(super) fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("work")).unwrap();
        std::fs::write(dir.path().join("program"), script).unwrap();
        Self { dir }
    }

    /// What the script wrote beside itself.
    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// Lays a copy of a file beside the script.
    pub(super) fn lay(&self, name: &str, from: &str) {
        std::fs::copy(from, self.dir.path().join(name)).unwrap();
    }

    /// Where the script lies.
    pub(super) fn path(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The script as a program of its own. A child writes it: what this process writes, a fork of another test may
    /// hold open, and such a file cannot be run.
    pub(super) async fn executable(&self) -> String {
        let write = "(echo '#!/bin/sh'; cat \"$0\") >\"$0.run\" && chmod 755 \"$0.run\"";
        let write =
            |agent: &mut Agent| agent.command.splice(1..1, ["-c".into(), write.into()]).for_each(drop);
        let mut run = self.start(RuntimeKind::Exec, write, job(Message::user("")));
        assert!(matches!(outcome(&mut run).await, Outcome::Completed { .. }));
        self.dir.path().join("program.run").to_str().unwrap().to_owned()
    }

    pub(super) fn custody(&self) -> Custody {
        Custody::open(CustodyConfig {
            runs: self.dir.path().join("state/runs"),
            temp: self.dir.path().join("temp"),
            hide: vec![self.dir.path().join("state")],
            node_url: "http://127.0.0.1:1".into(),
            ..CustodyConfig::default()
        })
        .unwrap()
    }

    /// An agent of that kind, with limits that no good test reaches. The shell is the program: a script of its own
    /// could not be run while a fork of another test still holds it open for writing.
    pub(super) fn agent(&self, runtime: RuntimeKind) -> Agent {
        let program = self.dir.path().join("program");
        Agent {
            name: "test".parse().unwrap(),
            runtime,
            description: None,
            workspace: self.dir.path().join("work"),
            command: vec!["/bin/sh".into(), program.to_str().unwrap().into()],
            model: None,
            listed: false,
            version: "1".into(),
            skills: Vec::new(),
            input_modes: vec!["*/*".into()],
            output_modes: vec!["text/plain".into()],
            capabilities: Capabilities { streaming: true, push: false, extended_card: false },
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
            grace: Duration::from_secs(10),
            concurrency: None,
            sandbox: Sandbox::Off,
            network: Vec::new(),
            sharing: Sharing::Agent,
            share_workspace: false,
            files: Files::Off,
            guard: Guard::Off,
            artifacts: Vec::new(),
            project_settings: ProjectSettings::Memory,
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
            limits: Limits { line: Some(1024 * 1024), artifact: None, task: None },
        }
    }

    /// Starts a turn of the agent after `change`.
    pub(super) fn start(&self, kind: RuntimeKind, change: impl FnOnce(&mut Agent), job: Job) -> Run {
        let mut agent = self.agent(kind);
        change(&mut agent);
        kinds::build(&agent, &self.custody()).unwrap().start(job)
    }
}

/// What kind of runtime an agent gets.
pub(super) fn kind(agent: &Agent, custody: &Custody) -> &'static str {
    kinds::build(agent, custody).unwrap().about().kind
}

/// A first turn.
pub(super) fn job(message: Message) -> Job {
    Job {
        task: "task-1".into(),
        context: "context-1".into(),
        agent: "test".parse().unwrap(),
        prompt: Prompt {
            message,
            history: Vec::new(),
            truncated: false,
            state: TaskState::Submitted,
            metadata: None,
            accepted_output_modes: Vec::new(),
            principal: PrincipalId::local(),
            resumed: false,
        },
        session: None,
        stop: Stop::default(),
        tracker: tokio_util::task::TaskTracker::new(),
    }
}

/// The next step, which must come.
pub(super) async fn next(run: &mut Run) -> Progress {
    timeout(LONG, run.progress.recv()).await.expect("a step in time").expect("a step before the end")
}

/// All steps until the channel closes.
pub(super) async fn all(run: &mut Run) -> Vec<Progress> {
    let mut steps = Vec::new();
    timeout(LONG, async {
        while let Some(step) = run.progress.recv().await {
            steps.push(step);
        }
    })
    .await
    .expect("an end in time");
    steps
}

/// How it ended.
pub(super) async fn outcome(run: &mut Run) -> Outcome {
    match all(run).await.pop() {
        Some(Progress::Done(outcome)) => outcome,
        other => panic!("no end, but {other:?}"),
    }
}

/// The text of all artifacts as a reader who follows sees it.
pub(super) fn text(steps: &[Progress]) -> String {
    let mut text = String::new();
    for step in steps {
        if let Progress::Artifact { artifact, append, .. } = step {
            if !append {
                text.clear();
            }
            text.extend(artifact.parts.iter().filter_map(|part| part.plain()));
        }
    }
    text
}

/// What a failure says, and its metadata.
pub(super) fn failure(outcome: &Outcome) -> (String, String) {
    match outcome {
        Outcome::Failed { message, class, metadata } => {
            let metadata = metadata.as_ref().map_or(String::new(), |it| serde_json::to_string(it).unwrap());
            (format!("{class:?}: {}", message.text()), metadata)
        }
        other => panic!("no failure, but {other:?}"),
    }
}
