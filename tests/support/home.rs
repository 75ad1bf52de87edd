//! The program itself, run in a home directory of its own.
#![expect(clippy::disallowed_methods, reason = "runs the program as a person does")]

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

/// What anything may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A user without anything but a workspace.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("project")).unwrap();
        std::fs::create_dir_all(dir.path().join(".config/a2ad")).unwrap();
        Self { dir }
    }

    /// With a variable in the environment of everything that is run.
    pub(crate) fn with(&self, name: &str, value: &str) -> Seat<'_> {
        Seat { home: self, env: vec![(name.to_owned(), value.to_owned())] }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join(".local/state/a2ad")
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.config(), text).unwrap();
    }

    /// Writes a program into the project.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        std::fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Writes a file into the project; gives its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.project().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The command, ready to be run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2ad"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.project())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ended(self.command(args).spawn().unwrap())
    }

    /// Runs it with something on standard input.
    pub(crate) fn pipe(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        ended(child)
    }

    /// The configuration's file.
    pub(crate) fn config(&self) -> PathBuf {
        self.dir.path().join(".config/a2ad/a2ad.toml")
    }

    /// Starts a node on a free port and waits until it is ready.
    pub(crate) fn serve(&self) -> Node<'_> {
        self.serve_at("127.0.0.1:0")
    }

    /// Starts a node at an address and waits until it is ready.
    pub(crate) fn serve_at(&self, address: &str) -> Node<'_> {
        let mut command = self.command(&["serve", "--listen", address]);
        let log = std::fs::File::create(self.dir.path().join("log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let node = Node { home: self, child: Some(child) };
        let begun = Instant::now();
        while !self.run(&["health", "--ready"]).status.success() {
            let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the node does not become ready: {log}");
        }
        node
    }
}

/// A home with something more in the environment.
pub(crate) struct Seat<'a> {
    home: &'a Home,
    env: Vec<(String, String)>,
}

impl Seat<'_> {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.home.command(args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        ended(command.spawn().unwrap())
    }
}

/// A node that runs until it is dropped.
pub(crate) struct Node<'a> {
    home: &'a Home,
    child: Option<Child>,
}

impl Node<'_> {
    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        let text = std::fs::read_to_string(self.home.state().join("node.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["urls"][0].as_str().unwrap().to_owned()
    }

    /// Sends it a signal.
    #[cfg(unix)]
    pub(crate) fn signal(&self, number: rustix::process::Signal) -> bool {
        self.child.as_ref().is_some_and(|child| signal(child, number))
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        #[cfg(unix)]
        let asked = signal(&child, rustix::process::Signal::TERM);
        #[cfg(not(unix))]
        let asked = child.kill().is_ok();
        if !asked || wait(&mut child).is_none() {
            let _ = child.kill();
        }
        let _ = child.wait();
    }
}

/// How something ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The exit code; `None` if a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    #[cfg(unix)]
    pub(crate) fn signal(&self) -> Option<i32> {
        std::os::unix::process::ExitStatusExt::signal(&self.status)
    }

    /// What it printed, if it ended well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code(), Some(0), "{self:?}");
        self.out
    }

    /// Fails unless it ended with this code and said this on standard error.
    pub(crate) fn fails(&self, code: i32, word: &str) {
        assert_eq!(self.code(), Some(code), "{self:?}");
        assert!(self.err.contains(word), "`{word}` is not in {self:?}");
    }
}

/// Waits for the end. What never ends fails the test instead of holding it up.
pub(crate) fn ended(mut child: Child) -> Ran {
    let reader = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                pipe.read_to_end(&mut bytes).unwrap();
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = reader(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let status = wait(&mut child).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("it does not end: {:?}", child.wait_with_output().map(|Output { status, .. }| status))
    });
    Ran { status, out: out.join().unwrap(), err: err.join().unwrap() }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Sends a signal.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) -> bool {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).is_ok()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it never holds: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
