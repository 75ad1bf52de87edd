//! What every request needs: the node, the settings that a reload replaces, and the signs that the node stops.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use super::{
    card::Changes,
    config::Config,
    limits::{Rates, Streams},
    ops::Hooks,
    room::Room,
};
use crate::{
    model::{Caller, Via},
    node::{Node, config::Protocol},
    wire::Version,
};

/// What all requests share.
pub(super) struct State {
    pub(super) node: Node,
    /// The versions of A2A that are served, as configured; a change needs a restart.
    pub(super) versions: Vec<Version>,
    pub(super) live: Live,
    pub(super) hooks: Hooks,
    /// The ports that are open, in the order of the configuration.
    pub(super) ports: Vec<SocketAddr>,
    pub(super) changes: Changes,
    pub(super) streams: Streams,
    /// No new connections; streams end after a whole event, requests go on.
    pub(super) stop: CancellationToken,
    /// Everything ends.
    pub(super) now: CancellationToken,
}

/// The settings in force. Clones share them; a reload replaces them under running requests, each of which keeps those it
/// began with.
#[derive(Clone)]
pub struct Live(Arc<ArcSwap<Settings>>);

/// Settings, and what is counted under them.
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) rates: Arc<Rates>,
    pub(super) room: Arc<Room>,
    /// Grows with every change.
    pub(super) version: u64,
}

impl Live {
    /// The first settings.
    pub(super) fn new(config: Config) -> Self {
        let rates = Arc::new(Rates::new(config.requests_per_minute));
        let room = Arc::new(Room::new(config.body));
        Self(Arc::new(ArcSwap::from_pointee(Settings { config, rates, room, version: 0 })))
    }

    /// Puts other settings in force. What is listened on stays as it was bound.
    pub fn replace(&self, config: Config) {
        self.0.rcu(|old| {
            let same = old.config.requests_per_minute == config.requests_per_minute;
            let rates =
                if same { old.rates.clone() } else { Arc::new(Rates::new(config.requests_per_minute)) };
            let same = old.config.body == config.body;
            let room = if same { old.room.clone() } else { Arc::new(Room::new(config.body)) };
            Settings { config: config.clone(), rates, room, version: old.version + 1 }
        });
    }

    /// The settings in force.
    pub(super) fn get(&self) -> Arc<Settings> {
        self.0.load_full()
    }
}

/// The versions of A2A among the protocols of a configuration.
pub(super) fn versions(protocols: &[Protocol]) -> Vec<Version> {
    let version = |protocol: &Protocol| match protocol {
        Protocol::V1 => Some(Version::V1),
        Protocol::V03 => Some(Version::V03),
        Protocol::AgentsZone => None,
    };
    let said: Vec<Version> = protocols.iter().filter_map(version).collect();
    Version::ALL.into_iter().filter(|known| said.contains(known)).collect()
}

impl State {
    /// The versions that a caller may speak. The node's own command line speaks 1.0, whatever others may.
    pub(super) fn versions(&self, caller: &Caller) -> &[Version] {
        match (caller.via, self.versions.as_slice()) {
            (Via::Local, [Version::V03]) => &Version::ALL,
            (_, versions) => versions,
        }
    }

    /// Where the node is reached from this machine.
    pub(super) fn urls(&self) -> Vec<String> {
        urls(&self.ports)
    }
}

/// Ports as URLs that this machine can dial.
pub(super) fn urls(ports: &[SocketAddr]) -> Vec<String> {
    let dialled = ports.iter().map(|port| match port.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port.port()),
        _ => *port,
    });
    dialled.map(|port| format!("http://{port}")).collect()
}
