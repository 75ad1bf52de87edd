//! HTTP/1.1 to a server that may die at any byte: every break is an error, none a panic.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Only a hang waits so long.
const LONG: Duration = Duration::from_secs(120);

/// A JSON-RPC request, ready to be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) agent: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// `Idempotency-Key`.
    pub(crate) key: Option<String>,
    /// `Last-Event-ID`.
    pub(crate) after: Option<u64>,
}

impl Ask {
    pub(crate) const fn new(agent: &'static str, method: &'static str, params: Value) -> Self {
        Self { agent, method, params, key: None, after: None }
    }

    fn write(&self, addr: SocketAddr, token: &str) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(LONG))?;
        let body =
            serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": self.method, "params": self.params });
        let body = body.to_string();
        let mut head = format!(
            "POST /agents/{} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n",
            self.agent
        );
        head += "content-type: application/json\r\na2a-version: 1.0\r\nconnection: close\r\n";
        if let Some(key) = &self.key {
            head += &format!("idempotency-key: {key}\r\n");
        }
        if let Some(after) = self.after {
            head += &format!("last-event-id: {after}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes())?;
        Answer::read(stream)
    }

    /// The whole answer.
    pub(crate) fn send(&self, addr: SocketAddr, token: &str) -> io::Result<Value> {
        let body = self.write(addr, token)?.whole()?;
        serde_json::from_slice(&body).map_err(|error| broken(&error.to_string()))
    }

    /// The answer as a stream; or, where it is refused, its error.
    pub(crate) fn stream(&self, addr: SocketAddr, token: &str) -> io::Result<Result<Stream, Value>> {
        let answer = self.write(addr, token)?;
        if !answer.head.contains("text/event-stream") {
            let body = answer.whole()?;
            return Ok(Err(serde_json::from_slice(&body).map_err(|error| broken(&error.to_string()))?));
        }
        Ok(Ok(Stream { answer, text: Vec::new() }))
    }
}

/// Whether a node answers `/readyz` with 200.
pub(crate) fn is_ready(addr: SocketAddr) -> bool {
    let asked = || -> io::Result<bool> {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(LONG))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        Ok(Answer::read(stream)?.head.starts_with("HTTP/1.1 200"))
    };
    asked().unwrap_or(false)
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}

struct Answer {
    head: String,
    stream: BufReader<TcpStream>,
}

impl Answer {
    fn read(stream: TcpStream) -> io::Result<Self> {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Err(broken("no whole head"));
            }
        }
        head.make_ascii_lowercase();
        Ok(Self { head: head.replacen("http", "HTTP", 1), stream })
    }

    fn whole(mut self) -> io::Result<Vec<u8>> {
        let length =
            self.head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body)?;
            }
            None => {
                while let Some(chunk) = self.chunk()? {
                    body.extend(chunk);
                }
            }
        }
        Ok(body)
    }

    fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut size = String::new();
        self.stream.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim_end(), 16).map_err(|_| broken("no whole chunk"))?;
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk)?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }
}

/// Server-sent events.
pub(crate) struct Stream {
    answer: Answer,
    text: Vec<u8>,
}

impl Stream {
    /// The next event's number and `result`; `None`: ended as it should.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Value)>> {
        loop {
            if let Some(end) = self.text.windows(2).position(|window| window == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                if event[0] != b':' {
                    return read(&event).map(Some);
                }
                continue;
            }
            match self.answer.chunk()? {
                Some(chunk) => self.text.extend(chunk),
                None => return Ok(None),
            }
        }
    }
}

fn read(event: &[u8]) -> io::Result<(u64, Value)> {
    let text = std::str::from_utf8(event).map_err(|error| broken(&error.to_string()))?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    // An event without a number ends a stream that the node had to give up.
    let id = field("id: ").and_then(|id| id.parse().ok()).ok_or_else(|| broken(text))?;
    let data: Value = field("data: ")
        .and_then(|data| serde_json::from_str(data).ok())
        .ok_or_else(|| broken("an event without data"))?;
    Ok((id, data["result"].clone()))
}
