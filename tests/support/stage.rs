//! An agent whose part the test plays: it gets each turn by hand and tells what it likes, when it likes.

use std::sync::Arc;

use a2ad::{
    model::{Message, Outcome, Progress},
    runtime::{Answers, Job, PROGRESS, Profile, Run, Runtime, answers},
};
use tokio::sync::mpsc;

/// A turn that waits for the test.
pub(crate) struct Turn {
    pub(crate) job: Job,
    tell: mpsc::Sender<Progress>,
    answers: Answers,
}

impl Turn {
    /// Tells a step.
    pub(crate) async fn tell(&self, step: Progress) {
        self.tell.send(step).await.expect("the node reads to the end of the turn");
    }

    /// The next message that the caller sends to the turn.
    pub(crate) async fn answer(&mut self) -> Option<Message> {
        self.answers.recv().await
    }

    /// Ends the turn well.
    pub(crate) async fn complete(self, text: &str) {
        let message = Some(Message::agent(text));
        self.tell(Progress::Done(Outcome::Completed { message, metadata: None })).await;
    }
}

/// The runtime: every turn goes to the test.
pub(crate) struct Stage {
    profile: Profile,
    turns: mpsc::UnboundedSender<Turn>,
}

impl Stage {
    pub(crate) fn open() -> (Arc<dyn Runtime>, mpsc::UnboundedReceiver<Turn>) {
        let (turns, received) = mpsc::unbounded_channel();
        let profile = Profile { kind: "stage", tokens: false, steers: true, replies: false };
        (Arc::new(Self { profile, turns }), received)
    }
}

impl Runtime for Stage {
    fn about(&self) -> &Profile {
        &self.profile
    }

    fn start(&self, job: Job) -> Run {
        let (tell, progress) = mpsc::channel(PROGRESS);
        let (sender, answers) = answers();
        let stop = job.stop.clone();
        let ended = tell.clone();
        job.tracker.spawn(async move {
            // An agent that stops at once when asked, whatever the test does with the turn.
            tokio::select! {
                _ = stop.wait() => drop(ended.send(Progress::Done(Outcome::Canceled)).await),
                () = ended.closed() => {}
            }
        });
        let _ = self.turns.send(Turn { job, tell, answers });
        Run { progress, answers: sender }
    }
}

/// An agent that answers at once with what it was sent.
pub(crate) struct Echo(Profile);

impl Echo {
    pub(crate) fn runtime() -> Arc<dyn Runtime> {
        Arc::new(Self(Profile { kind: "echo", tokens: false, steers: false, replies: false }))
    }
}

impl Runtime for Echo {
    fn about(&self) -> &Profile {
        &self.0
    }

    fn start(&self, job: Job) -> Run {
        let (tell, progress) = mpsc::channel(PROGRESS);
        let (answers, _) = answers();
        let message = Some(Message::agent(job.prompt.message.text()));
        let _ = tell.try_send(Progress::Done(Outcome::Completed { message, metadata: None }));
        Run { progress, answers }
    }
}
