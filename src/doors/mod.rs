//! Whoever calls in: listeners, connections, and the way of a request from its bytes to the node and back.
//!
//! Called by the daemon, which binds and serves the one [`Doors`]. Sees sockets and JSON, never the store, never a child,
//! and decides nothing about a task.
//!
//! | file | what |
//! |---|---|
//! | `listen`, `unix`, `owner` | opens ports and sockets, and says who has them where they are taken |
//! | `permits`, `connection` | how many connections, and how long each |
//! | `handler`, `inbound` | one request: id, gate, route, door |
//! | `gate`, `auth`, `limits`, `room` | where it comes from, who asks, how much |
//! | `router` | path to door, the one table |
//! | `call`, `addressed` | what every binding does alike: which agent, what it asks for, the node |
//! | `jsonrpc`, `rest` | the bindings |
//! | `envelope`, `sse` | what stands around their answers, streams of them |
//! | `card`, `agents`, `cache`, `health` | what is open to everybody |
//! | `ops` | the operator's calls |
//! | `refusal`, `body` | answers, and errors outside the envelope |

mod addressed;
mod agents;
mod auth;
mod body;
mod cache;
mod call;
mod card;
pub mod config;
mod connection;
mod envelope;
mod gate;
mod handler;
mod health;
mod inbound;
mod jsonrpc;
mod limits;
mod listen;
mod ops;
mod owner;
mod permits;
mod refusal;
mod rest;
mod room;
mod router;
mod sse;
mod state;
#[cfg(unix)]
mod unix;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    card::Changes,
    config::{Auth, Config, Listen},
    connection::Peer,
    limits::Streams,
    listen::Listener,
    permits::{Permits, Whose},
    state::State,
};
pub use self::{
    listen::Error,
    ops::{Hook, Hooks},
    state::Live,
};
use crate::{model::Timestamp, node::Node};

/// The open listeners of a node that does not serve yet.
pub struct Doors {
    listeners: Vec<Listener>,
    live: Live,
    notes: Vec<String>,
}

/// When a node stops: first politely, then at once.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// No new connections; streams end after a whole event; requests that wait for a turn go on.
    pub stop: CancellationToken,
    /// Everything ends.
    pub now: CancellationToken,
}

impl Doors {
    /// Opens every listener of the configuration. Nothing is accepted before [`serve`](Self::serve).
    ///
    /// # Errors
    /// One can't be opened; what is optional is then only noted.
    pub fn bind(config: Config) -> Result<Self, Error> {
        let (mut listeners, mut notes) = (Vec::new(), Vec::new());
        for listen in &config.listen {
            match listen::open(listen)? {
                Some(listener) => listeners.push(listener),
                None => notes.push(format!("this host has no address {listen}: not listening there")),
            }
            if let Listen::Tcp { addr, .. } = listen
                && !addr.ip().is_loopback()
            {
                notes.push(format!(
                    "plain HTTP on {addr}: whoever is on the way reads tokens and messages; \
                     use it only behind a TLS proxy or inside a VPN"
                ));
            }
        }
        if listeners.is_empty() {
            return Err(Error::Nowhere);
        }
        if config.auth == Auth::None {
            notes.push(
                "auth.mode = \"none\": every program of this machine, agents included, may call and answer questions"
                    .into(),
            );
        }
        if config.public_url.is_none() && ports(&listeners).is_empty() {
            notes.push("cards list no address: set [node] public_url, for there are sockets only".into());
        }
        Ok(Self { listeners, live: Live::new(config), notes })
    }

    /// The ports that are open, in the order of the configuration.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        ports(&self.listeners)
    }

    /// Where the node is reached from this machine, as URLs.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        state::urls(&self.addresses())
    }

    /// The sockets that are open.
    #[must_use]
    pub fn sockets(&self) -> Vec<PathBuf> {
        self.listeners
            .iter()
            .filter_map(|listener| match listener {
                #[cfg(unix)]
                Listener::Unix(_, socket) => Some(socket.path().to_owned()),
                Listener::Tcp(..) => None,
            })
            .collect()
    }

    /// What an operator should know at each start.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The handle by which a reload puts other settings in force.
    #[must_use]
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Serves until `stop` and the last connection has ended, or until `stop.now`. Connections run among `tracker`'s work.
    pub async fn serve(self, node: Node, hooks: Hooks, tracker: TaskTracker, stop: Stop) {
        let state = Arc::new(State {
            versions: state::versions(&node.protocols()),
            node,
            live: self.live,
            hooks,
            ports: ports(&self.listeners),
            changes: Changes::new(Timestamp::now()),
            streams: Streams::default(),
            stop: stop.stop.clone(),
            now: stop.now.clone(),
        });
        let hall = Hall { state, permits: Permits::default(), connections: TaskTracker::new(), tracker };
        let accepting = self.listeners.into_iter().map(|listener| accept(listener, hall.clone()));
        tokio::select! {
            _ = futures_util::future::join_all(accepting) => {}
            () = upkeep(&hall.state.live) => {}
        }
        hall.connections.close();
        tokio::select! {
            () = hall.connections.wait() => {}
            () = stop.now.cancelled() => {}
        }
    }
}

fn ports(listeners: &[Listener]) -> Vec<SocketAddr> {
    listeners
        .iter()
        .filter_map(|listener| match listener {
            Listener::Tcp(_, addr) => Some(*addr),
            #[cfg(unix)]
            Listener::Unix(..) => None,
        })
        .collect()
}

/// Where connections go from the listeners.
#[derive(Clone)]
struct Hall {
    state: Arc<State>,
    permits: Permits,
    /// Those that are open.
    connections: TaskTracker,
    /// All work of the daemon.
    tracker: TaskTracker,
}

/// Forgets callers that have been quiet.
async fn upkeep(live: &Live) {
    loop {
        sleep(Duration::from_secs(60)).await;
        live.get().rates.forget();
    }
}

/// Accepts on one listener until the node stops.
async fn accept(listener: Listener, hall: Hall) {
    let mut pause = Pause::default();
    loop {
        let accepted = tokio::select! {
            () = hall.state.stop.cancelled() => return,
            () = hall.state.now.cancelled() => return,
            accepted = one(&listener, &hall) => accepted,
        };
        match accepted {
            Ok(()) => pause = Pause::default(),
            Err(error) => pause.after(&error).await,
        }
    }
}

/// Accepts one connection.
async fn one(listener: &Listener, hall: &Hall) -> io::Result<()> {
    match listener {
        Listener::Tcp(listener, _) => {
            let (stream, remote) = listener.accept().await?;
            let local = stream.local_addr()?;
            // Events are small and are to go out at once.
            let _ = stream.set_nodelay(true);
            let ip = remote.ip().to_canonical();
            let proxy = hall.state.live.get().config.trusted_proxies.iter().any(|range| range.contains(ip));
            hall.enter(stream, Peer::Tcp { remote, local }, Whose::Tcp { ip, proxy });
        }
        #[cfg(unix)]
        Listener::Unix(listener, ..) => {
            let (stream, _) = listener.accept().await?;
            hall.enter(stream, Peer::Unix, Whose::Unix);
        }
    }
    Ok(())
}

impl Hall {
    /// Serves a connection, if there is a place for it; else it is closed.
    fn enter<S>(&self, stream: S, peer: Peer, whose: Whose)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let settings = self.state.live.get();
        let (all, each) = (settings.config.connections, settings.config.connections_per_address);
        match self.permits.take(whose, all, each) {
            Ok(permit) => {
                let (state, tracker) = (self.state.clone(), self.tracker.clone());
                let connection = async move {
                    connection::serve(stream, peer, state, tracker).await;
                    drop(permit);
                };
                self.tracker.spawn(self.connections.track_future(connection));
            }
            Err(full) => tracing::debug!(?peer, ?full, "no place for a connection"),
        }
    }
}

/// Waits after an accept that failed: longer each time, for what is missing (descriptors, memory) comes back slowly.
#[derive(Default)]
struct Pause(u32);

impl Pause {
    async fn after(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        // The caller's doing, not ours.
        if matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted) {
            return;
        }
        if self.0 == 0 {
            tracing::warn!("can't accept connections, trying on: {error}");
        }
        sleep(Duration::from_millis(10 << self.0.min(7))).await;
        self.0 += 1;
    }
}
