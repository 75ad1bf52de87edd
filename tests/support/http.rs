//! HTTP/1.1 by hand: what is sent is exactly what the test says, and what comes back is looked at byte by byte.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// A request to be sent.
#[derive(Clone)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let (method, path) = (method.into(), path.into());
        Self { method, path, headers: Vec::new(), body: Vec::new(), chunked: false }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new("POST", path)
    }

    /// Adds a header, or replaces it.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Without a length.
    pub(crate) fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str("host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.chunked {
            head.push_str("transfer-encoding: chunked\r\n");
        } else if !self.body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("connection: close\r\n\r\n");
        head
    }

    async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) {
        stream.write_all(self.head().as_bytes()).await.unwrap();
        let written = if self.chunked {
            let mut bytes = Vec::new();
            for piece in self.body.chunks(1000) {
                bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                bytes.extend_from_slice(piece);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            stream.write_all(&bytes).await
        } else {
            stream.write_all(&self.body).await
        };
        // Who is refused may find the connection closed while it still writes; what counts is the answer.
        let _ = written;
    }

    pub(crate) async fn send(&self, addr: SocketAddr) -> Reply {
        self.over(TcpStream::connect(addr).await.unwrap()).await
    }

    pub(crate) async fn over(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Reply {
        self.write(&mut stream).await;
        Reply::read(&mut BufReader::new(stream), self.method == "HEAD").await
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The first value of a header, or `""`.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error} in {:?} ({})", String::from_utf8_lossy(&self.body), self.status)
        })
    }

    /// `error.code` of the body.
    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {}", self.json()))
    }

    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    async fn read(stream: &mut (impl AsyncBufReadExt + Unpin), head_only: bool) -> Self {
        let mut reply = Self::read_head(stream).await;
        if head_only {
            return reply;
        }
        if reply.header("transfer-encoding") == "chunked" {
            while let Some(chunk) = read_chunk(stream).await {
                reply.body.extend(chunk);
            }
        } else if let Ok(length) = reply.header("content-length").parse() {
            reply.body = vec![0; length];
            stream.read_exact(&mut reply.body).await.unwrap();
        }
        reply
    }

    async fn read_head(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Self {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = stream.read_line(&mut line).await.unwrap();
            assert!(read > 0, "the connection was closed instead of an answer, after {lines:?}");
            if line == "\r\n" {
                break;
            }
            lines.push(line.trim_end().to_owned());
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..]
            .iter()
            .map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_ascii_lowercase(), value.trim().to_owned())
            })
            .collect();
        Self { status, headers, body: Vec::new() }
    }
}

async fn read_chunk(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<u8>> {
    let mut size = String::new();
    stream.read_line(&mut size).await.unwrap();
    assert!(size.ends_with("\r\n"), "the connection broke within a body: {size:?}");
    let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).await.unwrap();
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Event {
    /// The `result`, a StreamResponse.
    pub(crate) fn result(&self) -> &Value {
        &self.data["result"]
    }
}

/// A stream that is open. Dropping it closes the connection.
pub(crate) struct Stream {
    pub(crate) head: Reply,
    stream: BufReader<TcpStream>,
    rest: String,
}

impl Stream {
    pub(crate) async fn open(addr: SocketAddr, ask: Ask) -> Self {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        ask.write(&mut stream).await;
        let mut stream = BufReader::new(stream);
        let mut head = Reply::read_head(&mut stream).await;
        if head.header("content-type") != "text/event-stream" {
            let length = head.header("content-length").parse().unwrap_or(0);
            head.body = vec![0; length];
            stream.read_exact(&mut head.body).await.unwrap();
        }
        Self { head, stream, rest: String::new() }
    }

    /// The next event; `None`: the stream was ended cleanly.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let event = event.to_owned();
                self.rest = rest.to_owned();
                if event.starts_with(':') {
                    continue;
                }
                return Some(read_event(&event));
            }
            match read_chunk(&mut self.stream).await {
                Some(chunk) => self.rest.push_str(std::str::from_utf8(&chunk).unwrap()),
                None => {
                    assert!(self.rest.is_empty(), "ended within an event: {:?}", self.rest);
                    return None;
                }
            }
        }
    }

    /// All events up to the clean end.
    pub(crate) async fn all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn read_event(text: &str) -> Event {
    let mut event = Event { id: None, kind: "message".into(), data: Value::Null };
    let mut data = 0;
    for line in text.lines() {
        match line.split_once(": ").unwrap() {
            ("id", id) => event.id = Some(id.parse().unwrap()),
            ("event", kind) => event.kind = kind.into(),
            ("data", line) => {
                data += 1;
                event.data = serde_json::from_str(line).unwrap();
            }
            (other, _) => panic!("a stream has no field {other}"),
        }
    }
    assert_eq!(data, 1, "one line of data an event");
    event
}
