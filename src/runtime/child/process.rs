//! A running child: its pipes, its exit, its end.
//!
//! Made by `spawn`, owned by a runtime. It never takes the end of a pipe for the end of a process, nor the end of a
//! process for the end of its tree (UR-6, UR-7, UR-9).

use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::lease::{self, Lease};
use super::status::Record;
use super::stderr::Tail;
use super::temp::Temp;
use super::{Custody, Error, Order, custodian};

/// How long the rest of stderr is awaited after the process has ended. A grandchild may hold the pipe for hours.
const DRAIN: Duration = Duration::from_millis(250);

/// How often a tree that was asked to leave is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// How long killing goes on while a caller waits for the answer (J-25).
const PATIENCE: Duration = Duration::from_secs(1);

/// How much a version probe may print.
const PROBED: u64 = 64 * 1024;

/// A child process. Dropped before [`Child::end`] was done, its whole tree is killed in the background.
pub struct Child {
    /// Its stdin, where the order asked for a pipe. Dropping it closes it.
    pub stdin: Option<ChildStdin>,
    /// Its stdout. After [`Child::wait`] a grandchild may still hold the other end: read on for a bounded time only.
    pub stdout: Option<Stdout>,
    pub(super) record: Arc<Record>,
    pub(super) stderr: Tail,
    pub(super) exit: Option<Exit>,
    /// `None` once the tree is proven empty, or given up.
    pub(super) held: Option<Held>,
}

/// What must be given back when the tree is gone.
pub(super) struct Held {
    pub(super) process: Box<dyn ChildWrapper>,
    pub(super) drain: JoinHandle<()>,
    pub(super) lease: Lease,
    pub(super) temp: Temp,
    pub(super) custody: Custody,
}

/// How a process ended. Both absent: the system did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// The status it gave.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Status 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => write!(f, "killed by signal {signal}"),
            (None, None) => f.write_str("ended in an unknown way"),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self { code: status.code(), signal }
    }
}

/// How a tree ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Of the process that was started.
    pub exit: Exit,
    /// Whether something of the tree had to be killed.
    pub forced: bool,
    /// Processes that even so are still there: waiting for a device, or of another user. 0 is proven by a look.
    pub survivors: usize,
}

impl Child {
    /// The process that was started.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.record.pid
    }

    /// At most the last `max` bytes of stderr, as text, secrets masked.
    #[must_use]
    pub fn stderr_tail(&self, max: usize) -> String {
        self.stderr.text(max)
    }

    /// Waits for the process, not for its pipes or its tree. Cancel-safe; tells the same again afterwards.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let Some(held) = &mut self.held else { return Exit::default() };
        // The inner process: a job object of Windows would wait for the whole tree.
        let exit = match held.process.inner_mut().wait().await {
            Ok(status) => status.into(),
            Err(error) => {
                tracing::warn!(pid = self.record.pid, %error, "the exit status of a child is not known");
                Exit::default()
            }
        };
        self.exit = Some(exit);
        held.drained().await;
        exit
    }

    /// Ends the tree: TERM to all of it, `term_wait` to leave, KILL until a fresh look finds nobody.
    /// Returns at once where nobody is left. Dropped half-way, the rest is done in the background.
    pub async fn end(&mut self, term_wait: Duration) -> Ended {
        let mut forced = false;
        if self.left().await != Some(0) {
            let heard = self.on_tree(super::host::Tree::terminate).await.unwrap_or(false);
            forced = !(heard && self.leaves(term_wait).await);
        }
        let survivors = if forced { self.kill().await } else { 0 };
        let exit = match timeout(LOOK * 40, self.wait()).await {
            Ok(exit) => exit,
            Err(_) => self.exit.unwrap_or_default(),
        };
        if let Some(held) = &mut self.held {
            held.drained().await;
        }
        self.release(survivors).await;
        Ended { exit, forced, survivors }
    }

    /// For a child that was asked to leave, as by closing its stdin: `grace` to go by itself, then [`Child::end`]
    /// (J-19).
    pub async fn leave(&mut self, grace: Duration) -> Ended {
        let _ = timeout(grace, self.wait()).await;
        self.end(grace).await
    }

    /// How many are alive; `None` where only a kill can tell.
    async fn left(&self) -> Option<usize> {
        self.on_tree(super::host::Tree::alive).await.flatten()
    }

    /// Whether the tree is empty before `within` is over.
    async fn leaves(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            if self.exit.is_none() {
                let _ = timeout(LOOK, self.wait()).await;
            } else {
                sleep(LOOK).await;
            }
            match self.left().await {
                Some(0) => return true,
                _ if Instant::now() >= until => return false,
                _ => {}
            }
        }
    }

    async fn kill(&mut self) -> usize {
        if let Some(held) = &mut self.held {
            // Of Windows the job, elsewhere the process alone; an error says that it is gone already.
            let _ = held.process.start_kill();
        }
        self.on_tree(|tree| tree.kill(PATIENCE)).await.unwrap_or(1)
    }

    /// A look at all processes takes milliseconds: not on a thread that serves others.
    async fn on_tree<T: Send + 'static>(
        &self,
        act: impl FnOnce(&super::host::Tree) -> T + Send + 'static,
    ) -> Option<T> {
        let record = Arc::clone(&self.record);
        let tracker = &self.held.as_ref()?.custody.0.config.tracker;
        tracker.spawn_blocking(move || act(&record.tree)).await.ok()
    }

    async fn release(&mut self, survivors: usize) {
        let Some(held) = self.held.take() else { return };
        let record = Arc::clone(&self.record);
        let tracker = held.custody.0.config.tracker.clone();
        let _ = tracker.spawn_blocking(move || held.release(&record, survivors)).await;
    }
}

impl Held {
    /// The rest of stderr has been read, or is held up by somebody.
    async fn drained(&mut self) {
        if !self.drain.is_finished() {
            let _ = timeout(DRAIN, &mut self.drain).await;
        }
    }

    /// The lease goes only with the last process.
    fn release(self, record: &Record, survivors: usize) {
        self.drain.abort();
        if survivors > 0 {
            tracing::error!(
                pid = record.pid,
                task = record.task,
                survivors,
                "processes of a child cannot be ended"
            );
            self.temp.leave();
            return;
        }
        custodian::trees().remove(&record.pid);
        self.custody.0.living.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.pid);
        self.lease.remove();
    }

    /// Kills and buries without the runtime, which may be going down.
    fn finish(mut self, record: &Record, exited: bool) {
        let _ = self.process.start_kill();
        let survivors = record.tree.kill(lease::PATIENCE);
        let mut tries = if exited { 0 } else { 400 };
        while tries > 0 && matches!(self.process.inner_mut().try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
            tries -= 1;
        }
        self.release(record, survivors);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        let (record, exited) = (Arc::clone(&self.record), self.exit.is_some());
        // A stop of the node waits for the token, so the process does not end before the tree.
        let token = held.custody.0.config.tracker.token();
        let ending = std::thread::Builder::new().name("a2ad-end".to_owned()).spawn(move || {
            held.finish(&record, exited);
            drop(token);
        });
        if let Err(error) = ending {
            tracing::error!(pid = self.record.pid, %error, "a child is left to the next start: no thread to end it");
        }
    }
}

/// The stdout of a child. Reading it is what `ps` knows as its last output.
pub struct Stdout {
    pub(super) pipe: ChildStdout,
    pub(super) record: Arc<Record>,
}

impl AsyncRead for Stdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.pipe).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.record.touch();
        }
        polled
    }
}

/// See [`Custody::probe`].
pub(super) async fn probe(
    custody: &Custody,
    path: &std::path::Path,
    args: &[&str],
    limit: Duration,
) -> Result<String, Error> {
    let empty = custody.temp()?;
    let cwd = empty.path().to_owned();
    let args = args.iter().map(Into::into).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let program = path.to_owned();
    let order = Order {
        program,
        args,
        cwd,
        agent: name,
        task: "probe".to_owned(),
        temp: Some(empty),
        ..Order::default()
    };
    let mut child = custody.spawn(order)?;
    let asked = timeout(limit, async {
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let mut stdout = stdout.take(PROBED);
            // Its exit is enough: what it started may hold the pipe.
            tokio::select! {
                _ = stdout.read_to_end(&mut said) => {}
                _ = child.wait() => drop(timeout(DRAIN, stdout.read_to_end(&mut said)).await),
            }
        }
        (child.wait().await, said)
    })
    .await;
    let ended = child.end(Duration::ZERO).await;
    let failed = |why: String| Error::Probe { program: path.to_owned(), why };
    match asked {
        Err(_) => Err(failed(format!("did not answer within {} s", limit.as_secs()))),
        Ok((exit, said)) if exit.is_success() => {
            Ok(String::from_utf8_lossy(&super::lines::plain(&said)).trim().to_owned())
        }
        Ok(_) => Err(failed(format!("ended with {}: {}", ended.exit, child.stderr_tail(500)))),
    }
}
