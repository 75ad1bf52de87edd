//! One connection: HTTP/1.1 or HTTP/2 as the caller begins, ended when it is idle, when its peer stops reading, or when
//! the node stops.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};
use tokio_util::task::TaskTracker;

use super::{handler, state::State};

/// Requests at once on one HTTP/2 connection (O-66).
const STREAMS: u32 = 128;
/// Bytes of the headers of a request (O-66).
const HEADERS: u32 = 16 << 10;
/// Bytes that HTTP/1.1 buffers in one direction; also the most that its request line and headers may have.
const BUFFER: usize = 64 << 10;
/// Bytes of answers that wait on one HTTP/2 stream.
const SEND_BUFFER: usize = 64 << 10;
/// Resets of streams that one HTTP/2 connection may keep pending (O-66).
const RESETS: usize = 20;
/// How long a caller may read nothing while something waits for it.
const STALL: Duration = Duration::from_secs(120);
/// How long a connection may be idle where no `request_timeout` says so.
const IDLE: Duration = Duration::from_secs(60);

/// Who is at the other end, as the socket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// A program of this machine that may open the socket's file.
    Unix,
    /// A TCP connection.
    Tcp {
        /// The other end.
        remote: SocketAddr,
        /// Our end.
        local: SocketAddr,
    },
}

/// Serves one connection to its end.
pub(super) async fn serve<S>(io: S, peer: Peer, state: Arc<State>, tracker: TaskTracker)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let timeout = state.live.get().config.request_timeout.unwrap_or(IDLE);
    let work = Arc::new(Work::default());
    let service = service_fn(|request| {
        let (state, busy) = (state.clone(), Busy::new(&work));
        async move { Ok::<_, Infallible>(handler::handle(state, peer, request).await.map(|b| b.holding(busy))) }
    });
    let builder = builder(timeout, tracker);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(Stall::new(io)), service));
    let (mut closing, mut begun) = (false, 0);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!("a connection ended: {error}");
                }
                return;
            }
            () = state.stop.cancelled(), if !closing => {
                connection.as_mut().graceful_shutdown();
                closing = true;
            }
            () = state.now.cancelled() => return,
            // Covers what no timer of HTTP does: a peer that never says which HTTP it speaks, and idle HTTP/2.
            () = sleep(timeout) => {
                if work.is_idle_since(&mut begun) {
                    if closing {
                        return;
                    }
                    connection.as_mut().graceful_shutdown();
                    closing = true;
                }
            }
        }
    }
}

fn builder(timeout: Duration, tracker: TaskTracker) -> auto::Builder<Tracked> {
    let mut builder = auto::Builder::new(Tracked(tracker));
    builder.http1().timer(TokioTimer::new()).header_read_timeout(timeout).max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS)
        .max_send_buf_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(RESETS)
        .keep_alive_interval(Duration::from_secs(30));
    builder
}

/// Runs the streams of HTTP/2 among the work that a stop waits for.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, work: F) {
        self.0.spawn(work);
    }
}

/// What a connection has to do.
#[derive(Default)]
struct Work {
    now: AtomicUsize,
    begun: AtomicU64,
}

impl Work {
    /// Whether nothing is to be done and nothing was begun since the last look.
    fn is_idle_since(&self, seen: &mut u64) -> bool {
        let begun = self.begun.load(Ordering::Acquire);
        let idle = self.now.load(Ordering::Acquire) == 0 && begun == *seen;
        *seen = begun;
        idle
    }
}

/// Marks a connection as being at work.
pub(super) struct Busy(Arc<Work>);

impl Busy {
    fn new(work: &Arc<Work>) -> Self {
        work.now.fetch_add(1, Ordering::AcqRel);
        work.begun.fetch_add(1, Ordering::AcqRel);
        Self(work.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Ends a connection whose peer reads nothing for [`STALL`] while something waits for it (P-27). The task goes on; the
/// caller comes back by its number.
struct Stall<S> {
    io: S,
    since: Option<Pin<Box<Sleep>>>,
}

impl<S> Stall<S> {
    const fn new(io: S) -> Self {
        Self { io, since: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.since = None;
            return poll;
        }
        let since =
            self.since.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + STALL)));
        std::task::ready!(since.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer stopped reading")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write(cx, buf);
        self.watch(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.watch(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.io).poll_flush(cx);
        self.watch(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_stops_reading_is_left() {
        let (ours, _theirs) = tokio::io::duplex(8);
        let error = Stall::new(ours).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_connection_is_idle_only_after_a_whole_look_without_work() {
        let work = Arc::new(Work::default());
        let mut seen = 0;
        let busy = Busy::new(&work);
        assert!(!work.is_idle_since(&mut seen));
        assert!(!work.is_idle_since(&mut seen), "still at work");
        drop(busy);
        assert!(work.is_idle_since(&mut seen));
        drop(Busy::new(&work));
        assert!(!work.is_idle_since(&mut seen), "worked since the last look");
        assert!(work.is_idle_since(&mut seen));
    }
}
