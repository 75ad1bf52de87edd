//! The one thread that starts children.
//!
//! Used by `spawn` and `isolation`. It lives as long as the process, because the signal that ends a child with its
//! parent is tied to the *thread* that started it: a thread of the blocking pool would take its children along when
//! it idles out. Between births it buries the orphans that the node adopted, one by one, each known not to be a
//! child of the asynchronous runtime, which waits for its own (so never `waitpid(-1)`).
//!
//! State of the process, not of one custody: a process has one set of children.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::host;

/// How long a dead orphan waits at most to be buried, while there are children, or where all orphans are the node's.
const ROUND: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce() + Send>;

static WORK: LazyLock<mpsc::Sender<Work>> = LazyLock::new(|| {
    let (work, inbox) = mpsc::channel();
    let started = std::thread::Builder::new().name("a2ad-custodian".to_owned()).spawn(move || keep(&inbox));
    if let Err(error) = started {
        tracing::error!(%error, "the thread that starts children could not be made");
    }
    work
});

/// Children that were started here: pid and start time, until the tree is proven empty.
static TREES: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

/// Runs `work` on the thread and waits for it. `None`: the thread could not be made, or `work` panicked.
pub(super) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, result) = mpsc::sync_channel(1);
    let work = Box::new(move || drop(answer.send(work())));
    WORK.send(work).ok()?;
    result.recv().ok()
}

fn keep(inbox: &mpsc::Receiver<Work>) {
    loop {
        let work = if trees().is_empty() && !host::is_init() {
            inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            inbox.recv_timeout(ROUND)
        };
        match work {
            // A fault in one birth must not end all others: the children die with this thread.
            Ok(work) => drop(catch_unwind(AssertUnwindSafe(work))),
            Err(mpsc::RecvTimeoutError::Timeout) => drop(catch_unwind(host::bury_adopted)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The trees that are not proven empty.
pub(super) fn trees() -> MutexGuard<'static, BTreeMap<u32, u64>> {
    TREES.lock().unwrap_or_else(PoisonError::into_inner)
}
