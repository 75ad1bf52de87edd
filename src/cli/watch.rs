//! Follows a turn or a task on the screen, until it ends, a person ends it, or the time is up.

use std::{io, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;

use super::{
    answer::{Answer, Piece},
    exit::{self, Code},
    signals::{Signal, Signals},
    terminal::{Screen, one_line},
};
use crate::model::{ContextId, Seq, Task, TaskId, TaskState, Update};
use crate::peer::{Follow, Peer, Step};

/// How long a lost stream is tried again.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Why the watching ended.
#[derive(Debug)]
pub(super) enum End {
    /// The turn or the task has ended, or waits.
    Told,
    /// A signal came.
    Signal(Signal),
    /// The time is up.
    TimeUp,
}

/// What is known of a task while it is watched, over several turns.
pub(super) struct Watch {
    screen: Screen,
    answer: Answer,
    spinner: Option<ProgressBar>,
    task: Option<TaskId>,
    context: Option<ContextId>,
    deadline: Option<Instant>,
    /// The terminal's last line has text on it.
    line_open: bool,
}

impl Watch {
    /// Begins. `deadline` is for all that follows.
    #[must_use]
    pub(super) fn new(screen: Screen, deadline: Option<Instant>) -> Self {
        Self {
            screen,
            answer: Answer::default(),
            spinner: None,
            task: None,
            context: None,
            deadline,
            line_open: false,
        }
    }

    /// The task, once it is known.
    pub(super) const fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// The answer so far.
    pub(super) const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The task as far as an answer to its question needs it.
    #[must_use]
    pub(super) fn stub(&self) -> Option<Task> {
        Some(Task {
            id: self.task.clone()?,
            context_id: self.context.clone(),
            status: crate::model::TaskStatus { state: self.answer.state()?, message: None, timestamp: None },
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        })
    }

    /// Follows to the end.
    ///
    /// # Errors
    /// What the stream says; [`io::ErrorKind::BrokenPipe`] when nobody reads.
    pub(super) async fn follow(
        &mut self,
        follow: &mut Follow<'_>,
        signals: &mut Signals,
    ) -> anyhow::Result<End> {
        self.spin("waiting");
        let ended = self.run(follow, signals).await;
        self.still();
        ended
    }

    async fn run(&mut self, follow: &mut Follow<'_>, signals: &mut Signals) -> anyhow::Result<End> {
        loop {
            let step = tokio::select! {
                biased;
                signal = signals.next() => return Ok(End::Signal(signal)),
                () = until(self.deadline) => return Ok(End::TimeUp),
                step = follow.next() => step?,
            };
            match step {
                Step::Event(event) => self.take(&event.update)?,
                Step::Reconnecting(error) => {
                    tracing::debug!(%error, "the stream is gone");
                    self.spin("reconnecting");
                }
                Step::End => return Ok(End::Told),
            }
        }
    }

    /// What a task has said before is not to be said again.
    pub(super) fn known(&mut self, task: &Task) {
        self.answer.known(task);
        self.task = Some(task.id.clone());
        self.context.clone_from(&task.context_id);
    }

    /// Shows what is new in an update.
    ///
    /// # Errors
    /// The output is closed.
    pub(super) fn take(&mut self, update: &Update) -> io::Result<()> {
        self.note_ids(update);
        let pieces = self.answer.take(update);
        if self.screen.json {
            return self.screen.json(update);
        }
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    if self.screen.out {
                        self.still();
                    }
                    self.screen.answer(&text)?;
                    self.line_open = self.screen.out && !text.ends_with('\n');
                }
                Piece::Progress(text) => self.spin(&text),
                Piece::Note(text) => {
                    self.end_line()?;
                    self.suspended(|screen| screen.note(&text));
                }
            }
        }
        if self.answer.state() == Some(TaskState::Submitted) {
            self.spin("queued");
        }
        Ok(())
    }

    fn note_ids(&mut self, update: &Update) {
        let (task, context) = match update {
            Update::Task(task) => (Some(&task.id), task.context_id.as_ref()),
            Update::StatusUpdate(update) => (Some(&update.task_id), Some(&update.context_id)),
            Update::ArtifactUpdate(update) => (Some(&update.task_id), Some(&update.context_id)),
            Update::Message(message) => (message.task_id.as_ref(), message.context_id.as_ref()),
        };
        if self.task.is_none() {
            self.task = task.cloned();
        }
        if self.context.is_none() {
            self.context = context.cloned();
        }
    }

    /// Ends the last line on a terminal. A pipe gets the answer's bytes and no more.
    ///
    /// # Errors
    /// The output is closed.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.line_open) { self.screen.answer("\n") } else { Ok(()) }
    }

    /// Says how it ended, and gives the code for it.
    pub(super) fn conclude(&mut self) -> anyhow::Result<Code> {
        self.end_line()?;
        let Some(state) = self.answer.state() else { return Ok(Code::Ok) };
        let said = self.answer.message().map(crate::model::Message::text).unwrap_or_default();
        let task = self.task.as_ref().map(ToString::to_string).unwrap_or_default();
        match state {
            TaskState::Failed => self.screen.error(&told(&format!("a2ad: task {task} failed"), &said)),
            TaskState::Rejected => {
                self.screen.error(&told(&format!("a2ad: task {task} was rejected"), &said))
            }
            TaskState::Canceled => {
                self.screen.error(&told(&format!("a2ad: task {task} was canceled"), &said))
            }
            TaskState::InputRequired => {
                let text = told(&format!("a2ad: task {task} waits for an answer"), &said);
                self.screen.error(&format!("{text}; give it with `a2ad send -t {task} TEXT`"));
            }
            TaskState::AuthRequired => {
                let text = told(&format!("a2ad: task {task} waits for a login"), &said);
                self.screen.error(&text);
                self.screen.error(&format!("a2ad: after it, go on with `a2ad send -t {task} TEXT`"));
            }
            TaskState::Completed | TaskState::Working | TaskState::Submitted => self.remember(),
        }
        Ok(exit::of_state(state))
    }

    /// For a person: how to go on in the same conversation, and what it used.
    fn remember(&self) {
        if !self.screen.out {
            return;
        }
        let mut words = Vec::new();
        words.extend(self.answer.usage().map(str::to_owned));
        words.extend(self.context.as_ref().map(|context| format!("go on: a2ad send -c {context} …")));
        if !words.is_empty() {
            self.screen.hint(&words.join(" · "));
        }
    }

    /// Shows that something is going on: on a terminal only, and never beside text on the same one.
    fn spin(&mut self, what: &str) {
        let beside = self.screen.out && self.answer.has_text();
        if !self.screen.err || self.screen.quiet || self.screen.json || beside {
            return;
        }
        let first = one_line(what.lines().next().unwrap_or_default()).into_owned();
        let spinner = self.spinner.get_or_insert_with(|| {
            let spinner = ProgressBar::new_spinner().with_message(first.clone());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(Duration::from_millis(120));
            spinner
        });
        spinner.set_message(first);
    }

    fn still(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn suspended(&self, show: impl FnOnce(Screen)) {
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| show(self.screen)),
            None => show(self.screen),
        }
    }
}

fn told(what: &str, said: &str) -> String {
    if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") }
}

/// Waits for a time, or for ever.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What a person can do with a task that goes on without them.
pub(super) fn let_go(screen: Screen, task: Option<&TaskId>) {
    match task {
        Some(task) => screen.error(&format!("the task goes on: a2ad task watch {task}")),
        None => screen.error("the task, if it has begun, goes on: a2ad task list"),
    }
}

/// Watches a task that somebody else started.
pub(super) async fn task(
    screen: Screen,
    peer: &Peer,
    id: TaskId,
    after: Option<Seq>,
) -> anyhow::Result<Code> {
    let mut signals = Signals::listen()?;
    let mut watch = Watch::new(screen, None);
    let mut follow = Follow::task(peer, id, after, PATIENCE);
    match watch.follow(&mut follow, &mut signals).await? {
        End::Told => watch.conclude(),
        End::Signal(signal) => {
            watch.end_line()?;
            signal.end()
        }
        End::TimeUp => Ok(Code::Busy),
    }
}
