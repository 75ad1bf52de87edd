//! Processes that are measured: started, looked at through /proc, ended.
#![expect(clippy::disallowed_methods, reason = "a load program starts what it measures")]

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

/// A process of ours; it ends with its owner.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a program in a directory, its stderr kept there.
    pub(crate) fn start(program: &Path, args: &[&str], dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let log = fs::File::create(dir.join("stderr"))?;
        let child = Command::new(program)
            .args(args)
            .current_dir(dir)
            .env("HOME", dir.parent().unwrap_or(dir))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self(child))
    }

    /// The address that a peer prints first.
    pub(crate) fn address(&mut self) -> Result<SocketAddr> {
        let mut line = String::new();
        let stdout = self.0.stdout.take().context("the address is read once")?;
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }

    /// Milliseconds of CPU so far, children not counted.
    pub(crate) fn cpu(&self) -> Result<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // utime and stime, in hundredths of a second on every Linux.
        let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(ticks * 10)
    }

    /// Resident memory in KiB: all, and the anonymous part.
    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::of(self.0.id())
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Asks it to end, and waits.
    pub(crate) fn end(mut self) -> Result<()> {
        let id = i32::try_from(self.0.id())?;
        let pid = rustix::process::Pid::from_raw(id).context("a process has a number")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) anonymous: u64,
}

impl Memory {
    pub(crate) fn of(id: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let field = |name: &str| -> Result<u64> {
            let line = status.lines().find(|line| line.starts_with(name)).context("no such field")?;
            Ok(line.split_whitespace().nth(1).context("no value")?.parse()?)
        };
        Ok(Self { resident: field("VmRSS:")?, anonymous: field("RssAnon:")? })
    }
}
