//! One process that serves many tasks: lines are handed to the run they belong to, in their order (J-26 to J-28).
//!
//! Started by `keeper`, spoken to by `link`. It knows of a task only where its lines go and whether it waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::super::config::Agent;
use super::super::pen::Written;
use super::super::talk::{self, Talk};
use super::super::turn::{self, TERM, Timer};
use super::link::{Gone, Heard, most_waiting, skipped, too_long};
use super::output;

/// How long a process without a running turn is kept, where the agent sets no `idle_timeout` (J-27).
const KEPT: Duration = Duration::from_secs(600);

/// How often a process without a running turn looks whether the node stops: nobody else would tell it.
const LOOK: Duration = Duration::from_millis(500);

/// What a run wants of the process.
#[derive(Debug)]
pub(super) enum Command {
    /// A place for a task; `line` is its first. Not answering `taken` refuses it.
    Enter { task: String, line: Vec<u8>, lines: mpsc::Sender<Heard>, taken: oneshot::Sender<()> },
    /// A further line.
    Write { task: String, line: Vec<u8>, written: Written },
    /// Its turn waits for its caller, or goes on.
    Suspended { task: String, suspended: bool },
    /// The run is over: later lines of the task are dropped (J-13).
    Leave { task: String },
    /// A turn did not obey its cancel line: no new turns, and the end with the last one (J-28).
    Condemn,
}

/// Failed starts of an agent's process, over all its processes.
#[derive(Debug, Default)]
pub(super) struct Starts(Mutex<(u32, Option<Instant>)>);

impl Starts {
    /// How many in a row, and how long ago the last one was.
    pub(super) fn failures(&self) -> (u32, Duration) {
        let (failures, at) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (failures, at.map_or(Duration::MAX, |at| at.elapsed()))
    }

    pub(super) fn failed(&self) {
        let mut starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *starts = (starts.0.saturating_add(1), Some(Instant::now()));
    }

    fn succeeded(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (0, None);
    }
}

/// Where a task's lines go.
struct Place {
    lines: mpsc::Sender<Heard>,
    /// Its first line: what the program says of a task before it is not meant (J-13).
    first: Written,
    suspended: bool,
}

/// The process with the tasks at it.
pub(super) struct Host {
    talk: Talk,
    agent: Arc<Agent>,
    starts: Arc<Starts>,
    tracker: TaskTracker,
    places: HashMap<String, Place>,
    lines: u64,
    /// It has printed a line that means something.
    speaks: bool,
    condemned: bool,
    /// When a condemned or idle process is ended.
    until: Timer,
}

impl Host {
    pub(super) fn new(talk: Talk, agent: Arc<Agent>, starts: Arc<Starts>, tracker: TaskTracker) -> Self {
        Self {
            talk,
            agent,
            starts,
            tracker,
            places: HashMap::new(),
            lines: 0,
            speaks: false,
            condemned: false,
            until: Timer::never(),
        }
    }

    /// Serves until the process ends, or has nothing more to do.
    pub(super) async fn serve(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        self.rest();
        let gone = loop {
            let idle = !self.works();
            tokio::select! {
                heard = self.talk.hear() => if let Some(gone) = self.hear(heard).await { break Some(gone) },
                command = inbox.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => break None,
                },
                () = self.until.passed() => break None,
                () = Timer::after(LOOK).passed(), if idle => if self.tracker.is_closed() { break None },
            }
            if self.condemned && !self.works() {
                break None;
            }
        };
        // Who asks for a place from here on is refused, and starts a fresh process.
        inbox.close();
        self.part(gone).await;
    }

    /// Whether a turn runs.
    fn works(&self) -> bool {
        self.places.values().any(|place| !place.suspended)
    }

    /// Starts the time of rest when no turn runs, and ends it when one does.
    fn rest(&mut self) {
        if !self.condemned {
            let kept = self.agent.idle_timeout.unwrap_or(KEPT);
            self.until = if self.works() { Timer::never() } else { Timer::after(kept) };
        }
    }

    async fn hear(&mut self, heard: talk::Heard) -> Option<Gone> {
        self.lines += 1;
        match heard {
            talk::Heard::Piece(bytes) => match output::read(&bytes) {
                Some(line) => self.route(line).await,
                None => skipped(self.lines, &bytes),
            },
            // Nobody can tell whose line it was; a turn that lost its end would wait for ever (J-3).
            talk::Heard::TooLong(bytes) => {
                let why = too_long(bytes, self.agent.limits.line);
                self.to_all(|| Heard::Line { number: self.lines, said: Err(why.clone()) }).await;
            }
            talk::Heard::Exit(exit) => return Some(Gone::Exit(exit, turn::tail(self.talk.child()))),
            talk::Heard::Mute => return Some(Gone::Mute(turn::tail(self.talk.child()))),
        }
        None
    }

    async fn route(&mut self, line: output::Line) {
        if !self.speaks {
            self.speaks = true;
            self.starts.succeeded();
        }
        let place = line.task.as_deref().and_then(|task| self.places.get(task));
        match place {
            Some(place) if place.first.is_done() => {
                // A run that is over has closed its end and will leave.
                let _ = place.lines.send(Heard::Line { number: self.lines, said: line.said }).await;
            }
            Some(_) | None => {
                tracing::info!(
                    line = self.lines,
                    task = line.task,
                    "a line for no task of this process is skipped"
                );
            }
        }
    }

    async fn to_all(&self, heard: impl Fn() -> Heard) {
        for place in self.places.values().filter(|place| !place.suspended) {
            let _ = place.lines.send(heard()).await;
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            // Unanswered, it is refused.
            Command::Enter { .. } if self.condemned || !self.talk.is_open() => {}
            Command::Enter { task, line, lines, taken } => {
                let first = Written::default();
                if taken.send(()).is_ok() {
                    self.places.insert(task.clone(), Place { lines, first: first.clone(), suspended: false });
                    self.write(&task, line, first).await;
                }
            }
            Command::Write { task, line, written } => self.write(&task, line, written).await,
            Command::Suspended { task, suspended } => {
                if let Some(place) = self.places.get_mut(&task) {
                    place.suspended = suspended;
                }
            }
            Command::Leave { task } => drop(self.places.remove(&task)),
            Command::Condemn => {
                self.condemned = true;
                self.until = Timer::after(self.agent.turn_timeout);
            }
        }
        self.rest();
    }

    /// Writes a line; a program that does not read loses the turn that waits, and all to come (J-29).
    async fn write(&mut self, task: &str, line: Vec<u8>, written: Written) {
        let one = line.len();
        self.talk.write_as(line, written);
        if self.talk.waiting() > most_waiting(self.agent.limits.line).max(one) {
            self.condemned = true;
            self.until = Timer::after(self.agent.turn_timeout);
            if let Some(place) = self.places.get(task) {
                let _ = place.lines.send(Heard::Clogged).await;
            }
        }
    }

    /// Tells the runs that the process is gone, or ends it.
    async fn part(self, gone: Option<Gone>) {
        if gone.is_some() && !self.speaks {
            self.starts.failed();
        }
        let by_itself = gone.is_some();
        let gone = gone.unwrap_or(Gone::Unknown);
        for place in self.places.into_values() {
            let _ = place.lines.send(Heard::Gone(gone.clone())).await;
        }
        let patience = if by_itself || self.condemned { Duration::ZERO } else { self.agent.grace };
        self.talk.leave(patience, if by_itself { TERM } else { self.agent.grace }).await;
    }
}
