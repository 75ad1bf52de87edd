//! The running node: the only place that builds everything, in order, and takes it down again.
//!
//! Called by `a2ad serve` and by tests. Never answers a caller and never touches a task itself.

mod banner;
mod build;
mod doctor;
mod files;
mod logs;
pub mod offline;
mod reload;
mod signals;

use std::{io::IsTerminal, path::Path, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio_util::task::TaskTracker;

use self::files::{Addresses, Files};
use crate::{
    config::{self, Config, Flags, Look, Surroundings},
    doors::{self, Doors, Hooks, Live, Stop},
    model::{Fault, Timestamp, secret},
    node::{Node, Parts, agents::Registry, exposed},
    runtime::{
        child::{self, Custody, CustodyConfig, Left, Level},
        kinds::Looks,
    },
    store::{self, Store},
};
use signals::{Signal, Signals};

/// Why the node does not start, or did not stop well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The doors.
    #[error(transparent)]
    Doors(#[from] doors::Error),
    /// The custody of children.
    #[error(transparent)]
    Custody(#[from] child::Error),
    /// An agent.
    #[error("{0}")]
    Agent(String),
    /// A file of ours.
    #[error("cannot {what} {path}: {why}")]
    File {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: String,
        /// What the system says.
        why: String,
    },
    /// Where the configuration lies is not what it was.
    #[error(
        "the directory of {0} is another one than when the node started; an agent's program may have put it there. \
         If it was you, restart the node"
    )]
    Replaced(String),
    /// The surroundings of the process.
    #[error("cannot look around: {0}; start from a directory that exists")]
    Surroundings(String),
    /// The signals of the system.
    #[error("cannot listen for signals: {0}")]
    Signals(String),
    /// `require_isolation`.
    #[error("require_isolation = true, but {0}")]
    Exposed(String),
    /// The node itself.
    #[error("the node could not start: {0}")]
    Node(Fault),
}

impl Error {
    fn file(what: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::File { what, path: path.display().to_string(), why: error.to_string() }
    }
}

/// A node with all that belongs to it.
pub struct Daemon {
    flags: Flags,
    around: Surroundings,
    config: ArcSwap<Config>,
    node: Node,
    store: Store,
    custody: Custody,
    live: Live,
    looks: Looks,
    log: logs::Handle,
    /// Where the configuration lay at the start.
    place: files::Place,
    reloading: tokio::sync::Mutex<()>,
}

/// Runs a node in the foreground until it is told to stop.
///
/// # Errors
/// Why it could not start.
pub async fn run(flags: Flags) -> Result<(), Error> {
    let around = Surroundings::here().map_err(|error| Error::Surroundings(error.to_string()))?;
    let mut signals = Signals::listen()?;
    let running = Running::start(flags, around).await?;
    running.announce().await;
    while signals.next().await == Signal::Reload {
        if let Err(error) = running.daemon.reload().await {
            tracing::error!(%error, "the configuration is faulty; the old one stays in force");
        }
    }
    tokio::select! {
        () = running.stop() => {}
        () = second(&mut signals) => {
            tracing::warn!("stopped at once: running turns are ended");
            running.stop_now().await;
        }
    }
    running.finish().await;
    Ok(())
}

async fn second(signals: &mut Signals) {
    while signals.next().await != Signal::Stop {}
}

/// A node that runs.
pub struct Running {
    /// The node.
    pub daemon: Arc<Daemon>,
    /// Where it listens.
    pub urls: Vec<String>,
    tracker: TaskTracker,
    doors: Stop,
    files: std::sync::Mutex<Option<Files>>,
}

impl Running {
    /// Builds a node and opens its doors.
    ///
    /// # Errors
    /// Why it could not start. Nothing is left running then.
    pub async fn start(flags: Flags, around: Surroundings) -> Result<Self, Error> {
        let config = Config::load(&flags, &around, Look::Machine)?;
        if config.log.file.as_ref().is_some_and(|file| file.starts_with(&config.paths.state)) {
            // The log is opened before the store makes its directory.
            files::prepare(&config.paths.state)?;
        }
        if let Some(dir) = config.paths.config_dir() {
            // There, it is covered; absent, a child could make it. Where it cannot be made, no child can make it either.
            let _ = files::prepare(dir);
        }
        let place = files::Place::of(&config.paths.config);
        let log = logs::start(&config.log)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let tracker = TaskTracker::new();
        let since = Timestamp::now();
        let store = Store::open(&config.store, since).await?;
        let mut files = Files::new(&config.paths.state)?;
        let bound = Doors::bind(config.doors.clone())?;
        for note in bound.notes() {
            tracing::warn!("{note}");
        }
        let (urls, sockets, live) = (bound.urls(), bound.sockets(), bound.live());
        let custody = custody(&config, &around, &urls, &sockets, &tracker)?;
        for left in custody.reap_left().await {
            let Left { agent, task, ended, survivors } = left;
            if ended + survivors > 0 {
                tracing::warn!(
                    agent,
                    task,
                    ended,
                    survivors,
                    "a program of the last run was still there: ended"
                );
            }
        }
        let local = secret::make().map_err(Error::Agent)?;
        files.token(&config.paths.state, &local)?;
        let registry = build::registry(&config, &custody, &Registry::empty())?;
        let parts = Parts {
            store: store.clone(),
            registry,
            config: config.node.clone(),
            tokens: offline::file_tokens(&config),
            local,
            custody: custody.clone(),
            tracker: tracker.clone(),
        };
        let node = Node::start(parts).await.map_err(Error::Node)?;
        let daemon = Arc::new(Daemon {
            flags,
            around,
            node: node.clone(),
            store,
            custody,
            live,
            looks: Looks::default(),
            log,
            place,
            reloading: tokio::sync::Mutex::default(),
            config: ArcSwap::from_pointee(config),
        });
        let doors = Stop::default();
        tracker.spawn(bound.serve(node, hooks(&daemon), tracker.clone(), doors.clone()));
        let addresses = Addresses {
            pid: std::process::id(),
            since,
            version: env!("CARGO_PKG_VERSION"),
            urls: &urls,
            unix: &sockets,
        };
        files.addresses(&daemon.config.load().paths.state, &addresses)?;
        let looked = daemon.clone();
        tracker.spawn(async move {
            build::look(&looked.node.agents(), &looked.looks, &looked.custody).await;
        });
        Ok(Self { daemon, urls, tracker, doors, files: std::sync::Mutex::new(Some(files)) })
    }

    /// Tells a person, or the log, that the node is there.
    async fn announce(&self) {
        let daemon = &self.daemon;
        let config = daemon.config.load_full();
        let isolation = daemon.custody.isolation();
        if isolation.level == Level::None {
            tracing::warn!("{}", exposed(&isolation.why, &isolation.mend));
        }
        if std::io::stderr().is_terminal() {
            build::look(&daemon.node.agents(), &daemon.looks, &daemon.custody).await;
            eprint!("{}", banner::banner(&config, &self.urls, &daemon.node.agent_statuses(), isolation));
        } else {
            if let Some(notice) = &config.notice {
                tracing::info!("{notice}");
            }
            for url in &self.urls {
                tracing::info!(%url, isolation = isolation.level.as_str(), sandbox = "none", ask = "deny", "listening");
            }
        }
    }

    /// Stops politely: no new work, running turns have `drain_timeout`, then they are ended.
    pub async fn stop(&self) {
        tracing::info!("stopping: running turns may end");
        self.daemon.node.close();
        self.doors.stop.cancel();
        let drain = self.daemon.config.load().node.drain_timeout;
        let _ = tokio::time::timeout(drain, self.daemon.node.quiet()).await;
        self.stop_now().await;
    }

    /// Ends running turns and waits until their trees are gone and their last facts are stored.
    pub async fn stop_now(&self) {
        self.daemon.node.close();
        self.doors.stop.cancel();
        self.daemon.node.shut();
        let grace =
            self.daemon.config.load().agents.iter().map(|agent| agent.grace).max().unwrap_or_default();
        let most = grace + Duration::from_secs(4);
        if tokio::time::timeout(most, self.daemon.node.empty()).await.is_err() {
            tracing::warn!("turns did not end in time; what they leave is ended at the next start");
        }
        self.doors.now.cancel();
    }

    /// Waits for all work, closes the store and removes the files of this start.
    pub async fn finish(self) {
        self.daemon.node.stop();
        self.tracker.close();
        if tokio::time::timeout(Duration::from_secs(5), self.tracker.wait()).await.is_err() {
            tracing::warn!("some work did not end in time");
        }
        drop(self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        self.daemon.store.clone().close().await;
        tracing::info!("stopped");
    }
}

/// The custody of children: what they must not reach, and what they are told.
fn custody(
    config: &Config,
    around: &Surroundings,
    urls: &[String],
    sockets: &[std::path::PathBuf],
    tracker: &TaskTracker,
) -> Result<Custody, Error> {
    let mut hide = config.hide.clone();
    hide.extend(sockets.iter().cloned());
    let custody = Custody::open(CustodyConfig {
        runs: config.paths.state.join("runs"),
        temp: temp(around),
        hide,
        path: config.path.clone(),
        secrets: config.secrets(),
        node_url: config.node.public_url.clone().or_else(|| urls.first().cloned()).unwrap_or_default(),
        umask: None,
        tracker: tracker.clone(),
    })?;
    let isolation = custody.isolation();
    if config.require_isolation && isolation.level == Level::None {
        return Err(Error::Exposed(exposed(&isolation.why, &isolation.mend)));
    }
    Ok(custody)
}

/// Where the temporary directories of tasks are made: of the user, and not in what is hidden from children.
fn temp(around: &Surroundings) -> std::path::PathBuf {
    let user = around.uid.map_or_else(|| "user".to_owned(), |uid| uid.to_string());
    around.temp.join(format!("a2ad-{user}"))
}

/// What the operator's calls need of the daemon.
fn hooks(daemon: &Arc<Daemon>) -> Hooks {
    let (reload, doctor, test, show) = (daemon.clone(), daemon.clone(), daemon.clone(), daemon.clone());
    Hooks {
        reload: Box::new(move |()| {
            let daemon = reload.clone();
            Box::pin(async move {
                daemon.reload().await.map_err(|error| Fault::InvalidRequest(error.to_string()))
            })
        }),
        doctor: Box::new(move |()| {
            let daemon = doctor.clone();
            Box::pin(async move { Ok(daemon.doctor().await) })
        }),
        test: Box::new(move |agent| {
            let daemon = test.clone();
            Box::pin(async move { Ok(daemon.test(&agent).await) })
        }),
        config: Box::new(move |key| {
            let daemon = show.clone();
            Box::pin(async move { daemon.show(key.as_deref()) })
        }),
    }
}

impl Daemon {
    /// The effective configuration of the running node: value and origin of one key, or all.
    fn show(&self, key: Option<&str>) -> Result<serde_json::Value, Fault> {
        let shown = self.config.load().show(key).map_err(|fault| Fault::invalid("key", fault.to_string()))?;
        let line = |shown: config::Shown| {
            serde_json::json!({
                "key": shown.key,
                "value": shown.value,
                "origin": shown.origin.to_string(),
                "restart": shown.restart,
            })
        };
        Ok(shown.into_iter().map(line).collect())
    }
}
