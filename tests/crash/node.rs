//! The node that dies: the real binary, on a directory that outlives it.
#![expect(clippy::disallowed_methods, reason = "a test that starts and kills a node")]

use std::{
    fs::{self, File, OpenOptions},
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{agents, http};

/// Only a failure waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Where it lives.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    /// In the environment of every program that it starts.
    pub(crate) mark: String,
    addr: SocketAddr,
}

/// A process of it.
pub(crate) struct Node {
    pub(crate) addr: SocketAddr,
    pub(crate) token: String,
    child: Child,
    log: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mark = uuid::Uuid::new_v4().to_string();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for name in ["work", "temp"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let scripts = [
            ("shell", agents::SHELL),
            ("hang", agents::HANG),
            ("lines", agents::LINES),
            ("bare", agents::BARE),
        ];
        for (name, script) in scripts {
            fs::write(dir.path().join(format!("{name}.sh")), script).unwrap();
        }
        let config = agents::config(port, &mark, dir.path().join("work").to_str().unwrap());
        fs::write(dir.path().join("a2ad.toml"), config).unwrap();
        Self { dir, mark, addr: ([127, 0, 0, 1], port).into() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Starts it and does not wait.
    pub(crate) fn begin(&self) -> Node {
        let log = self.dir.path().join("log");
        let file: File = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_a2ad"))
            .arg("--config")
            .arg(self.dir.path().join("a2ad.toml"))
            .arg("--state-dir")
            .arg(self.state())
            .args(["--log", "info", "serve"])
            .current_dir(self.dir.path().join("work"))
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.dir.path().join("temp"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .unwrap();
        Node { addr: self.addr, token: String::new(), child, log }
    }

    /// Starts it and waits until it is ready.
    pub(crate) fn start(&self) -> Node {
        let mut node = self.begin();
        let began = Instant::now();
        while !http::is_ready(node.addr) {
            assert!(node.lives() && began.elapsed() < LONG, "the node does not start:\n{}", node.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        node.token = fs::read_to_string(self.state().join("token")).unwrap().trim().to_owned();
        node
    }
}

impl Node {
    fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The end of its log.
    pub(crate) fn log(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// SIGKILL, in the middle of whatever it does.
    pub(crate) fn kill(mut self) {
        assert!(self.lives(), "the node died by itself:\n{}", self.log());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, as an operator would.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the node stopped with {status}:\n{}", self.log());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
