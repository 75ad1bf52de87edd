//! The runtime `echo`: answers with what it was sent, at once. For trying out a node, and for measuring one.

use tokio::sync::mpsc;

use super::{Job, Profile, Run, Runtime, answers};
use crate::model::{Artifact, Outcome, Progress};

/// The node itself as an agent.
#[derive(Debug)]
pub(super) struct Echo {
    profile: Profile,
}

impl Echo {
    pub(super) const fn new() -> Self {
        Self { profile: Profile { kind: "echo", tokens: false, steers: false, replies: false } }
    }
}

impl Runtime for Echo {
    fn about(&self) -> &Profile {
        &self.profile
    }

    /// The whole run is in the channel before the caller looks: no task, no wait.
    fn start(&self, job: Job) -> Run {
        let artifact = Artifact {
            artifact_id: "answer".into(),
            name: None,
            description: None,
            parts: job.prompt.message.parts,
            metadata: None,
            extensions: Vec::new(),
        };
        let (told, progress) = mpsc::channel(2);
        let (answers, _) = answers();
        // Two places, two steps: neither can fail.
        let _ = told.try_send(Progress::Artifact { artifact, append: false, last: true });
        let _ = told.try_send(Progress::Done(Outcome::Completed { message: None, metadata: None }));
        Run { progress, answers }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::model::Message;

    #[test]
    fn it_answers_with_the_parts_it_was_sent_without_waiting() {
        let mut run = Echo::new().start(testing::job(Message::user("hello")));
        let Ok(Progress::Artifact { artifact, append: false, last: true }) = run.progress.try_recv() else {
            panic!("no artifact");
        };
        assert_eq!(artifact.parts[0].plain(), Some("hello"));
        assert!(matches!(run.progress.try_recv(), Ok(Progress::Done(Outcome::Completed { .. }))));
        assert!(run.progress.try_recv().is_err());
    }
}
