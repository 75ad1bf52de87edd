//! The node under test: its configuration, which `docs/performance.md` prints, and its start.
#![expect(clippy::disallowed_methods, reason = "a load program owns its directories")]

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{Plan, client::Request, process::Process};

/// A node that is ready.
pub(crate) struct Node {
    pub(crate) process: Process,
    pub(crate) addr: SocketAddr,
    pub(crate) token: String,
    /// From the start of the process to the first 200 of `/readyz`.
    pub(crate) ready_after: Duration,
}

/// The configuration: limits that would stand in the way are off, all else is as it comes.
pub(crate) fn config(port: u16, durability: &str, agent: &Path) -> String {
    let agent = agent.display();
    format!(
        r#"[node]
listen = ["127.0.0.1:{port}"]
default_agent = "echo"

[limits]
connections = 0
connections_per_address = 0
requests_per_minute = 0
running_tasks = 0
tasks_per_principal = 0
queued_tasks = 0
queued_per_principal = 0
streams_per_principal = 0

[store]
durability = "{durability}"

[log]
level = "warn"

[agents.echo]
runtime = "echo"
concurrency = 0

[agents.chunks]
runtime = "jsonl"
command = ["{agent}", "agent"]
"#
    )
}

/// A state directory of a name, empty.
pub(crate) fn fresh(plan: &Plan, name: &str) -> Result<PathBuf> {
    let dir = plan.dir.join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(dir.join("work"))?;
    Ok(dir)
}

impl Node {
    /// Starts a node on a directory and waits until it is ready.
    pub(crate) async fn start(plan: &Plan, dir: &Path, durability: &str) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        let file = dir.join("a2ad.toml");
        fs::write(&file, config(port, durability, &std::env::current_exe()?))?;
        let (file, state) = (file.display().to_string(), dir.join("state").display().to_string());
        let began = Instant::now();
        let args = ["serve", "--config", &file, "--state-dir", &state];
        let mut process = Process::start(&plan.binary, &args, &dir.join("work"))?;
        while !is_ready(addr).await {
            if !process.runs()? || began.elapsed() > Duration::from_secs(60) {
                bail!("the node does not get ready: see {}/work/stderr", dir.display());
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        let ready_after = began.elapsed();
        let token = fs::read_to_string(dir.join("state/token")).context("the node leaves its token")?;
        Ok(Self { process, addr, token: token.trim().to_owned(), ready_after })
    }

    /// A JSON-RPC request of A2A 1.0 to an agent, or to the default one.
    pub(crate) fn rpc(&self, agent: &str, method: &str, params: &str) -> Request {
        let path = if agent.is_empty() { "/".to_owned() } else { format!("/agents/{agent}") };
        Request::rpc(&path, &self.token, method, params)
    }
}

async fn is_ready(addr: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(addr).await else { return false };
    let ask = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = Vec::new();
    stream.write_all(ask).await.is_ok()
        && stream.read_to_end(&mut answer).await.is_ok()
        && answer.starts_with(b"HTTP/1.1 200")
}
