//! One run while it lasts: its messages, its clock, and text that waits a moment to be written (P-28).

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::agents::Served;
use crate::{
    model::{Artifact, Content, FailureClass, Message, Metadata, Outcome, Progress},
    runtime::{Job, Reason, Run, Stop, answers},
};

/// Text of a token stream is written at the latest this long after it came…
const COALESCE: Duration = Duration::from_millis(80);
/// …or once so much has come.
const COALESCE_BYTES: usize = 2048;
/// Most steps of a run in one commit.
const MOST_STEPS: usize = 64;

/// What a run told: `None` is the end of its channel.
pub(super) struct Told(Option<Progress>);

/// How much a turn may say; `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Output {
    pub(super) artifact: Option<u64>,
    pub(super) task: Option<u64>,
}

/// A run with what its actor knows of it.
pub(super) struct Turn {
    run: Run,
    stop: Stop,
    /// Whether its text is a token stream.
    pub(super) tokens: bool,
    /// Whether it waits for somebody outside.
    pub(super) suspended: bool,
    /// Whether its program went away without a word.
    pub(super) gone: bool,
    /// Handed to the run and perhaps not read.
    sent: Vec<Message>,
    /// How long a turn may last.
    limit: Option<Duration>,
    /// When it has lasted so long; none while suspended.
    deadline: Option<Instant>,
    /// When it is dropped because it did not end.
    last_call: Option<Instant>,
    /// Text that waits to be written, and until when.
    held: Option<(Progress, Instant)>,
    written_at: Option<Instant>,
    output: Output,
    /// Bytes of the artifact that grows, and of all.
    said: (u64, u64),
    cut: bool,
}

impl Turn {
    /// Starts the runtime.
    pub(super) fn start(served: &Arc<Served>, job: Job, output: Output) -> Self {
        let stop = job.stop.clone();
        let run = served.runtime.start(job);
        let limit = served.config.turn_timeout;
        Self {
            run,
            stop,
            tokens: served.runtime.about().tokens,
            suspended: false,
            gone: false,
            sent: Vec::new(),
            limit,
            deadline: limit.map(|limit| Instant::now() + limit),
            last_call: None,
            held: None,
            written_at: None,
            output,
            said: (0, 0),
            cut: false,
        }
    }

    /// A turn that ends before it begins.
    pub(super) fn stillborn(outcome: Outcome) -> Self {
        let (told, progress) = tokio::sync::mpsc::channel(1);
        let (answers, _) = answers();
        // A fresh channel has room for its one message.
        let _ = told.try_send(Progress::Done(outcome));
        Self {
            run: Run { progress, answers },
            stop: Stop::default(),
            tokens: false,
            suspended: false,
            gone: false,
            sent: Vec::new(),
            limit: None,
            deadline: None,
            last_call: None,
            held: None,
            written_at: None,
            output: Output::default(),
            said: (0, 0),
            cut: false,
        }
    }

    /// What it tells next.
    pub(super) async fn next(&mut self) -> Told {
        Told(self.run.progress.recv().await)
    }

    /// What it told and whatever else is there, ready for one commit.
    pub(super) fn gather(&mut self, first: Told) -> Vec<Progress> {
        let mut steps = Vec::new();
        let mut next = first.0;
        loop {
            match next {
                Some(progress) => {
                    let done = matches!(progress, Progress::Done(_));
                    self.take(progress, &mut steps);
                    if done || steps.len() >= MOST_STEPS {
                        break;
                    }
                }
                None => {
                    self.flush(&mut steps);
                    self.gone = true;
                    break;
                }
            }
            match self.run.progress.try_recv() {
                Ok(progress) => next = Some(progress),
                Err(_) => break,
            }
        }
        steps
    }

    /// One step: text is held back a moment, everything else goes at once and takes the text along.
    fn take(&mut self, progress: Progress, steps: &mut Vec<Progress>) {
        let progress = match progress {
            Progress::Artifact { artifact, append, last } => {
                let Some(artifact) = self.measure(artifact, append, steps) else { return };
                Progress::Artifact { artifact, append, last }
            }
            Progress::Done(outcome) => Progress::Done(self.confess(outcome)),
            other => other,
        };
        if !self.tokens {
            steps.push(progress);
            return;
        }
        let Some(progress) = self.join(progress) else {
            if self.held.as_ref().is_some_and(|(held, _)| size(held) >= COALESCE_BYTES) {
                self.flush(steps);
            }
            return;
        };
        self.flush(steps);
        let now = Instant::now();
        let fresh = self.written_at.is_some_and(|at| now < at + COALESCE);
        if is_text(&progress) && fresh && size(&progress) < COALESCE_BYTES {
            self.held = Some((progress, now + COALESCE));
        } else {
            if is_text(&progress) {
                self.written_at = Some(now);
            }
            steps.push(progress);
        }
    }

    /// Adds text to the text that waits; gives back what is no continuation of it.
    fn join(&mut self, progress: Progress) -> Option<Progress> {
        let Some((Progress::Artifact { artifact: held, last: held_last, .. }, _)) = &mut self.held else {
            return Some(progress);
        };
        match progress {
            Progress::Artifact { artifact, append: true, last }
                if artifact.artifact_id == held.artifact_id && artifact.metadata.is_none() && !*held_last =>
            {
                match (held.parts.as_mut_slice(), artifact.parts.as_slice()) {
                    ([into], [more]) if into.plain().is_some() && more.plain().is_some() => {
                        if let (Content::Text(text), Some(more)) = (&mut into.content, more.plain()) {
                            text.push_str(more);
                        }
                        *held_last = last;
                        None
                    }
                    _ => Some(Progress::Artifact { artifact, append: true, last }),
                }
            }
            other => Some(other),
        }
    }

    fn flush(&mut self, steps: &mut Vec<Progress>) {
        if let Some((held, _)) = self.held.take() {
            self.written_at = Some(Instant::now());
            steps.push(held);
        }
    }

    /// Counts what is said; beyond the limits it is cut, once aloud (O-36).
    fn measure(&mut self, artifact: Artifact, append: bool, steps: &mut Vec<Progress>) -> Option<Artifact> {
        let bytes = artifact.size() as u64;
        let (one, all) = (if append { self.said.0 } else { 0 } + bytes, self.said.1 + bytes);
        let over = |most: Option<u64>, said: u64| most.is_some_and(|most| said > most);
        let limit = if over(self.output.artifact, one) {
            Some("limits.artifact")
        } else if over(self.output.task, all) {
            Some("limits.task")
        } else {
            None
        };
        let Some(limit) = limit else {
            self.said = (one, all);
            return Some(artifact);
        };
        if !std::mem::replace(&mut self.cut, true) {
            self.flush(steps);
            let text = format!("The output goes on but is cut here: it has reached {limit}.");
            steps.push(Progress::Working(Some(Message::agent(text))));
        }
        None
    }

    /// The end says whether output was cut.
    fn confess(&self, outcome: Outcome) -> Outcome {
        if !self.cut {
            return outcome;
        }
        let mark = |metadata: Option<Metadata>| {
            let mut metadata = metadata.unwrap_or_default();
            metadata.set("a2ad/cut", &true);
            Some(metadata)
        };
        match outcome {
            Outcome::Completed { message, metadata } => {
                Outcome::Completed { message, metadata: mark(metadata) }
            }
            Outcome::Failed { message, class, metadata } => {
                Outcome::Failed { message, class, metadata: mark(metadata) }
            }
            Outcome::Rejected(_) | Outcome::Canceled => outcome,
        }
    }

    /// When something is due.
    pub(super) fn alarm(&self) -> Option<Instant> {
        [self.deadline, self.last_call, self.held.as_ref().map(|(_, until)| *until)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due; gives what is to be written.
    pub(super) fn rang(&mut self, grace: Duration) -> Vec<Progress> {
        let now = Instant::now();
        let mut steps = Vec::new();
        if self.held.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.flush(&mut steps);
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.ask(Reason::Timeout, grace);
        }
        if self.last_call.is_some_and(|last_call| last_call <= now) {
            // Dropping the run, which follows, kills the tree; what it still says is not waited for.
            self.flush(&mut steps);
            steps.push(Progress::Done(self.confess(Outcome::Canceled)));
        }
        steps
    }

    /// Asks the run to end, with a last call after which it is dropped.
    pub(super) fn ask(&mut self, reason: Reason, grace: Duration) {
        self.deadline = None;
        self.last_call.get_or_insert_with(|| Instant::now() + grace + super::actor::AFTER_GRACE);
        self.stop.ask(reason);
    }

    /// Why it was asked to end, if it was.
    pub(super) fn asked(&self) -> Option<Reason> {
        self.stop.asked()
    }

    /// What to say of a turn that took too long.
    pub(super) fn overdue(&self) -> String {
        let seconds = self.limit.unwrap_or_default().as_secs_f64();
        format!("the turn did not end within {seconds} s (turn_timeout) and was stopped")
    }

    /// The turn waits for somebody outside: its clock stops.
    pub(super) fn suspend(&mut self) {
        self.suspended = true;
        self.deadline = None;
    }

    /// The turn goes on: its clock starts anew.
    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.suspended) {
            self.deadline = self.limit.map(|limit| Instant::now() + limit);
        }
    }

    /// Whether it has room for a message.
    pub(super) fn takes(&self) -> bool {
        self.run.answers.has_room()
    }

    /// Gives the run a message; given back if its program is gone.
    pub(super) fn hand(&mut self, message: Message) -> Result<(), Box<Message>> {
        self.run.answers.send(message.clone())?;
        self.sent.push(message);
        Ok(())
    }

    /// The messages that the run never took.
    pub(super) fn unread(&mut self) -> Vec<Message> {
        let taken = self.run.answers.taken().min(self.sent.len());
        self.sent.split_off(taken)
    }

    /// The failure of a program that went away in the middle of a turn.
    pub(super) fn vanished() -> Outcome {
        Outcome::failed(FailureClass::Protocol, "the agent's program went away without a result")
    }
}

fn is_text(progress: &Progress) -> bool {
    matches!(progress, Progress::Artifact { artifact, .. } if artifact.parts.iter().all(|part| part.plain().is_some()))
}

fn size(progress: &Progress) -> usize {
    match progress {
        Progress::Artifact { artifact, .. } => artifact.size(),
        _ => 0,
    }
}
