//! One stream of ten thousand chunks, read by a hundred subscribers, some of them slow: no gap, no repeat, and what it
//! costs the node in memory.

use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{io::AsyncReadExt, net::TcpStream, sync::Semaphore, task::LocalSet};

use crate::{
    Plan,
    agent::CHUNKS,
    client::{Connection, find},
    figures::Figures,
    node::{self, Node},
    process::Memory,
};

const SUBSCRIBERS: usize = 100;

/// Of these, so many read a little at a time and rest between.
const SLOW: usize = 10;

pub(crate) async fn measure(plan: &Plan) -> Result<()> {
    let (mut took, mut before, mut most, mut anonymous) =
        (Figures::default(), Figures::default(), Figures::default(), Figures::default());
    for _ in 0..plan.runs {
        let node = Node::start(plan, &node::fresh(plan, "streams")?, "strict").await?;
        let id = open(&node).await?;
        // One turn first, so that what is measured is the stream and not the first use of everything.
        let run = once(&node, &id).await?;
        took.add(run.took.as_secs_f64());
        before.add(run.before.resident as f64 / 1024.0);
        most.add(run.most.resident as f64 / 1024.0);
        anonymous.add((run.most.anonymous.saturating_sub(run.before.anonymous)) as f64 / 1024.0);
        eprintln!("stream: {:?}, {:?} then {:?}", run.took, run.before, run.most);
        node.process.end()?;
    }
    println!("### A stream of {CHUNKS} chunks, {SUBSCRIBERS} subscribers, {SLOW} of them slow\n");
    println!("* every subscriber got every chunk once and in order");
    println!("* from the first chunk to the last reader's end: {} s", took.show(1));
    println!("* resident before: {} MiB, at most: {} MiB", before.show(1), most.show(1));
    println!("* anonymous memory grew by at most {} MiB\n", anonymous.show(1));
    Ok(())
}

/// A task of the agent that works and waits.
pub(crate) async fn open(node: &Node) -> Result<String> {
    let params = r#"{"configuration":{"returnImmediately":true},"message":{"messageId":"open","role":"ROLE_USER","parts":[{"text":"wait"}]}}"#;
    let mut connection = Connection::open(node.addr).await?;
    let answer = connection.ask(&node.rpc("chunks", "SendMessage", params)).await?;
    let answer: serde_json::Value = serde_json::from_slice(answer)?;
    Ok(answer["result"]["task"]["id"].as_str().context("no task")?.to_owned())
}

struct Run {
    took: Duration,
    before: Memory,
    most: Memory,
}

async fn once(node: &Node, id: &str) -> Result<Run> {
    let subscribe = node.rpc("chunks", "SubscribeToTask", &format!(r#"{{"id":"{id}"}}"#));
    let joined = Rc::new(Semaphore::new(0));
    let local = LocalSet::new();
    let readers: Vec<_> = (0..SUBSCRIBERS)
        .map(|n| {
            let (subscribe, joined, addr) = (subscribe.clone(), joined.clone(), node.addr);
            local.spawn_local(async move {
                let stream = Connection::open(addr).await?.stream(&subscribe).await?;
                Reader::new(stream, n < SLOW).read(&joined).await
            })
        })
        .collect();
    local
        .run_until(async {
            let _all = joined.acquire_many(SUBSCRIBERS as u32).await?;
            let before = node.process.memory()?;
            let stop = Arc::new(AtomicBool::new(false));
            let watch = watch(node.process.id(), stop.clone());
            let began = Instant::now();
            let go = format!(
                r#"{{"configuration":{{"returnImmediately":true}},"message":{{"messageId":"go","taskId":"{id}","role":"ROLE_USER","parts":[{{"text":"go"}}]}}}}"#
            );
            Connection::open(node.addr).await?.ask(&node.rpc("chunks", "SendMessage", &go)).await?;
            for reader in readers {
                reader.await??;
            }
            let took = began.elapsed();
            stop.store(true, Ordering::Relaxed);
            let most = watch.join().map_err(|_| anyhow::anyhow!("nobody watched the memory"))?;
            Ok(Run { took, before, most })
        })
        .await
}

/// The most memory of a process until told to stop.
fn watch(id: u32, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<Memory> {
    std::thread::spawn(move || {
        let mut most = Memory { resident: 0, anonymous: 0 };
        while !stop.load(Ordering::Relaxed) {
            if let Ok(now) = Memory::of(id) {
                most.resident = most.resident.max(now.resident);
                most.anonymous = most.anonymous.max(now.anonymous);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    })
}

/// One subscriber: checks numbers as they come, keeps nothing.
struct Reader {
    stream: TcpStream,
    read: Vec<u8>,
    slow: bool,
    next: usize,
    seq: u64,
}

impl Reader {
    fn new(stream: TcpStream, slow: bool) -> Self {
        Self { stream, read: Vec::new(), slow, next: 0, seq: 0 }
    }

    async fn read(mut self, joined: &Semaphore) -> Result<()> {
        let most = if self.slow { 4 << 10 } else { 64 << 10 };
        let mut buffer = vec![0; most];
        let mut first = true;
        loop {
            let read = self.stream.read(&mut buffer).await?;
            ensure!(read > 0, "hung up after {} chunks", self.next);
            self.read.extend_from_slice(&buffer[..read]);
            let ended = self.lines()?;
            if first && self.seq > 0 {
                first = false;
                joined.add_permits(1);
            }
            if ended {
                ensure!(self.next == CHUNKS, "{} chunks only", self.next);
                return Ok(());
            }
            if self.slow {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }

    /// Takes the whole lines that were read; true at the last event.
    fn lines(&mut self) -> Result<bool> {
        let mut at = 0;
        let mut ended = false;
        while let Some(length) = find(&self.read[at..], b"\n") {
            let line = &self.read[at..at + length];
            at += length + 1;
            if let Some(id) = line.strip_prefix(b"id: ") {
                let seq: u64 = std::str::from_utf8(id)?.trim().parse()?;
                ensure!(seq > self.seq, "event {seq} after {}", self.seq);
                self.seq = seq;
            } else if line.starts_with(b"data: ") && find(line, b"\"artifactUpdate\"").is_some() {
                let text = find(line, b"\"text\":\"").context("a chunk without text")? + 8;
                let digits = line[text..].split(|byte| *byte == b';').next().unwrap_or_default();
                let chunk: usize = std::str::from_utf8(digits)?.parse()?;
                ensure!(chunk == self.next, "chunk {chunk} instead of {}", self.next);
                self.next += 1;
            } else if find(line, b"TASK_STATE_COMPLETED").is_some() {
                ended = true;
            }
        }
        self.read.drain(..at);
        Ok(ended)
    }
}
