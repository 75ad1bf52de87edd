//! Starting a program: the only `Command` of the node.
//!
//! Called by [`Custody::spawn`]. No shell, an absolute program, a cleared environment, pipes or nothing for the three
//! descriptors and none beyond, a session of its own, and covers over what no child may reach.

#![expect(clippy::disallowed_methods, reason = "every child is born here")]

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, PoisonError};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::runtime::Handle;

use super::environment::{self, Environment, Wanted};
use super::isolation::{self, Hidden, Level};
use super::lease::{Lease, Mark, Process, hex};
use super::process::{Child, Held, Stdout};
use super::status::Record;
use super::stderr::Tail;
use super::temp::Temp;
use super::{Custody, Error, Order, Stdin, custodian, host};

/// What the host's part of a birth needs to know.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems have no covers"))]
pub(super) struct Conditions {
    pub(super) umask: Option<u32>,
    pub(super) nice: i32,
    /// What to cover; `None`: there is no isolation here.
    pub(super) hidden: Option<Vec<Hidden>>,
}

/// What comes back from the thread that forks.
struct Born {
    process: Box<dyn ChildWrapper>,
    pid: u32,
    tree: host::Tree,
}

pub(super) fn spawn(custody: &Custody, mut order: Order) -> Result<Child, Error> {
    let handle = Handle::try_current()?;
    let config = &custody.0.config;
    let hidden = custody.0.hides.now();
    check(&order, &hidden)?;
    let temp = order.temp.take().map_or_else(|| custody.temp(), Ok)?;
    isolation::outside(temp.path(), &hidden)?;
    let nonce = nonce()?;
    let (environment, notes) = surroundings(custody, &order, &temp, &nonce);
    let mark = Mark::of(nonce.as_bytes());
    let mut lease = Lease::write(&config.runs, mark, &order.agent, &order.task, temp.path())?;

    let conditions = Conditions {
        umask: order.umask.or(config.umask),
        nice: order.nice,
        hidden: (custody.isolation().level == Level::Namespace).then_some(hidden),
    };
    let (agent, task) = (order.agent.clone(), order.task.clone());
    let piped = order.stdin;
    let program = order.program.clone();
    let entered = handle.clone();
    let birth = move || {
        let _runtime = entered.enter();
        give_birth(&order, &environment, &conditions, mark)
    };
    let born = custodian::run(birth).unwrap_or_else(|| {
        let source = io::Error::other("the thread that starts children did not answer");
        Err(Error::Start { program, why: source.to_string(), source })
    });
    let mut born = match born {
        Ok(born) => born,
        Err(error) => {
            lease.remove();
            return Err(error);
        }
    };
    let leased = lease.born(born.tree.child(), born.tree.user_namespace());

    let record = Arc::new(Record::new(born.pid, task, agent, born.tree));
    custody.0.living.lock().unwrap_or_else(PoisonError::into_inner).insert(born.pid, Arc::clone(&record));
    let stderr = Tail::new(custody.0.mask.with(notes.secrets));
    let stdin = born.process.stdin().take().filter(|_| piped == Stdin::Piped);
    let stdout = born.process.stdout().take().map(|pipe| Stdout { pipe, record: Arc::clone(&record) });
    let (filling, seen, pipe) = (stderr.clone(), Arc::clone(&record), born.process.stderr().take());
    let drain = config.tracker.spawn_on(
        async move {
            if let Some(pipe) = pipe {
                filling.fill(pipe, || seen.touch()).await;
            }
        },
        &handle,
    );
    let held = Held { process: born.process, drain, lease, temp, custody: custody.clone() };
    let child = Child { stdin, stdout, record, stderr, exit: None, held: Some(held) };
    // Without a lease the child is dropped, and so ended.
    leased.map(|()| child)
}

/// Refuses early what would fail late, with words.
fn check(order: &Order, hidden: &[Hidden]) -> Result<(), Error> {
    if !order.program.is_absolute() {
        return Err(Error::Relative { command: order.program.display().to_string() });
    }
    match order.cwd.metadata() {
        Ok(about) if about.is_dir() => {}
        Ok(_) => return Err(Error::Directory { path: order.cwd.clone(), why: "not a directory".to_owned() }),
        Err(why) => return Err(Error::Directory { path: order.cwd.clone(), why: why.to_string() }),
    }
    isolation::outside(&order.cwd, hidden)?;
    isolation::outside(&order.program, hidden)
}

fn surroundings(
    custody: &Custody,
    order: &Order,
    temp: &Temp,
    nonce: &str,
) -> (Environment, environment::Notes) {
    let mine: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let wanted = Wanted {
        env: &order.env,
        env_from: &order.env_from,
        path: custody.0.config.path.as_deref().map(AsRef::as_ref),
        temp: temp.path().as_os_str(),
        run: nonce,
    };
    let (environment, notes) = environment::of(&mine, &wanted);
    if !notes.refused.is_empty() {
        tracing::warn!(agent = order.agent, names = ?notes.refused, "left out of the child's environment: never given to a child");
    }
    (environment, notes)
}

fn nonce() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(hex(&bytes))
}

/// On the custodian's thread.
fn give_birth(
    order: &Order,
    environment: &Environment,
    conditions: &Conditions,
    mark: Mark,
) -> Result<Born, Error> {
    let mut command = tokio::process::Command::new(&order.program);
    command
        .args(&order.args)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(environment.iter())
        .stdin(if order.stdin == Stdin::Piped { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut command = CommandWrap::from(command);
    let explain = host::arm(&mut command, conditions).map_err(|source| start_error(order, source))?;
    // Held until the child is entered: whoever sees a process of the node that is not entered takes it for adopted.
    let mut trees = custodian::trees();
    let process = match command.spawn() {
        Ok(process) => process,
        Err(source) => {
            drop(command);
            return Err(match explain.step() {
                Some(step) => Error::Isolate { program: order.program.clone(), step, source },
                None => start_error(order, source),
            });
        }
    };
    // A process that was just started has a number until it is waited for.
    let pid = process.id().unwrap_or_default();
    let child = host::process(pid).unwrap_or(Process { pid, start: 0 });
    trees.insert(pid, child.start);
    drop(trees);
    Ok(Born { process, pid, tree: host::Tree::new(mark, child) })
}

/// The system's words, and what they mean for a file that is there (UR-25).
fn start_error(order: &Order, source: io::Error) -> Error {
    let there = order.program.exists();
    let meaning = match source.kind() {
        io::ErrorKind::NotFound if there => {
            " (the file is there: the interpreter that its first line names is not)"
        }
        io::ErrorKind::NotFound => " (there is no such file)",
        io::ErrorKind::PermissionDenied => {
            " (is it executable, and may this user enter every directory above it?)"
        }
        io::ErrorKind::ArgumentListTooLong => " (an argument is too long: give it on stdin)",
        _ => "",
    };
    Error::Start { program: order.program.clone(), why: format!("{source}{meaning}"), source }
}

/// Forks a process that runs `steps` and never another program: they end it, or fail with an error that comes back
/// here. For trying out what a birth does.
#[cfg(target_os = "linux")]
pub(super) fn rehearse(
    steps: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<Option<i32>> {
    let mut command = std::process::Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    host::before_exec(&mut command, steps);
    Ok(command.spawn()?.wait()?.code())
}
