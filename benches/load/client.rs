//! A client that costs little: requests are written as they stand, of answers only the length is read.

use std::{
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::LocalSet,
};

/// Where a request has an id of its own each time it is sent.
const PLACE: &str = "00000000-0000-7000-8000-000000000000";

/// A request, ready to be written.
#[derive(Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    /// Where [`PLACE`] stands in it.
    place: Option<usize>,
}

/// What stands in the place of the id.
#[derive(Clone)]
pub(crate) enum Ids {
    /// A new one each time.
    Fresh,
    /// These, in turns.
    Of(Rc<Vec<String>>),
}

impl Request {
    pub(crate) fn rpc(path: &str, token: &str, method: &str, params: &str) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\na2a-version: 1.0\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let text = head + &body;
        Self { place: text.find(PLACE), bytes: text.into_bytes() }
    }

    /// A message whose id is made for each request.
    pub(crate) fn message(text: &str) -> String {
        format!(r#"{{"message":{{"messageId":"{PLACE}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#)
    }

    /// A question for a task whose id is put in.
    pub(crate) fn task() -> String {
        format!(r#"{{"id":"{PLACE}"}}"#)
    }

    fn stamp(&mut self, ids: &Ids) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (Some(at), number) = (self.place, NEXT.fetch_add(1, Ordering::Relaxed)) else { return };
        match ids {
            Ids::Fresh => {
                let digits = format!("{number:012x}");
                self.bytes[at + PLACE.len() - 12..at + PLACE.len()].copy_from_slice(digits.as_bytes());
            }
            Ids::Of(ids) => {
                let id = &ids[usize::try_from(number).unwrap_or(0) % ids.len()];
                self.bytes[at..at + PLACE.len()].copy_from_slice(id.as_bytes());
            }
        }
    }
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(addr: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(4096) })
    }

    /// Sends a request; gives the body of the answer, which must be a result.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<&[u8]> {
        self.stream.write_all(&request.bytes).await?;
        self.read.clear();
        let (body, end) = loop {
            ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the server hung up");
            if let Some(head) = find(&self.read, b"\r\n\r\n") {
                let end = head + 4 + length(&self.read[..head]).context("an answer without a length")?;
                break (head + 4, end);
            }
        };
        while self.read.len() < end {
            ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the server hung up");
        }
        let good =
            self.read.starts_with(b"HTTP/1.1 200") && find(&self.read[body..], b"\"error\":").is_none();
        ensure!(good, "refused: {}", String::from_utf8_lossy(&self.read));
        Ok(&self.read[body..end])
    }

    /// Writes a request and gives the raw stream of its answer.
    pub(crate) async fn stream(mut self, request: &Request) -> Result<TcpStream> {
        self.stream.write_all(&request.bytes).await?;
        Ok(self.stream)
    }
}

pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    let line = head
        .lines()
        .find(|line| line.len() > 15 && line.as_bytes()[..15].eq_ignore_ascii_case(b"content-length:"))?;
    line[15..].trim().parse().ok()
}

/// What a load came to.
pub(crate) struct Load {
    pub(crate) answers: usize,
    pub(crate) took: Duration,
    /// Microseconds of each answer, sorted.
    pub(crate) micros: Vec<u32>,
}

impl Load {
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.took.as_secs_f64()
    }

    /// Milliseconds within which this share of the answers came.
    pub(crate) fn within(&self, share: f64) -> f64 {
        let last = self.micros.len().saturating_sub(1) as f64;
        self.micros.get((last * share) as usize).copied().map_or(0.0, |micros| f64::from(micros) / 1e3)
    }
}

/// Keeps `connections` busy for a while, one request at a time each.
pub(crate) async fn load(
    addr: SocketAddr,
    request: &Request,
    ids: &Ids,
    connections: usize,
    time: Duration,
) -> Result<Load> {
    let local = LocalSet::new();
    let began = Instant::now();
    let workers: Vec<_> = (0..connections)
        .map(|_| {
            let (mut request, ids) = (request.clone(), ids.clone());
            local.spawn_local(async move {
                let mut connection = Connection::open(addr).await?;
                let mut micros = Vec::new();
                while began.elapsed() < time {
                    request.stamp(&ids);
                    let asked = Instant::now();
                    connection.ask(&request).await?;
                    micros.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
                }
                anyhow::Ok(micros)
            })
        })
        .collect();
    let mut micros = Vec::new();
    local
        .run_until(async {
            for worker in workers {
                micros.extend(worker.await??);
            }
            anyhow::Ok(())
        })
        .await?;
    micros.sort_unstable();
    Ok(Load { answers: micros.len(), took: began.elapsed(), micros })
}
