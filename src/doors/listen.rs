//! Opens what the configuration says to listen on.

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::{TcpListener, TcpSocket};

use super::{config::Listen, owner};

/// How many may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Why a node can't listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program has the port.
    #[error("{addr} is taken{}: stop that program, or listen elsewhere with --listen ADDRESS:PORT", by.as_ref().map_or_else(String::new, |by| format!(" by {by}")))]
    Taken {
        /// The address asked for.
        addr: SocketAddr,
        /// Who has it, if it can be told.
        by: Option<String>,
    },
    /// The system does not let us.
    #[error("{addr} is not for this user: choose a port above 1023, or let the service manager open it")]
    NotAllowed {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// Anything else.
    #[error("can't listen on {addr}: {source}")]
    Tcp {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Something else has the path.
    #[error("can't listen on {}: {why}", path.display())]
    SocketTaken {
        /// The path asked for.
        path: PathBuf,
        /// What is there.
        why: &'static str,
    },
    /// The path can't be the name of a socket.
    #[error("can't listen on {}: a path of a socket has at most {longest} bytes; choose a shorter one", path.display())]
    SocketPath {
        /// The path asked for.
        path: PathBuf,
        /// What the system takes.
        longest: usize,
    },
    /// Anything else.
    #[error("can't listen on {}: {source}", path.display())]
    Socket {
        /// The path asked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no such group.
    #[error("there is no group {group}: create it, or name another one for the socket")]
    NoGroup {
        /// The group asked for.
        group: String,
    },
    /// This system has no unix sockets.
    #[error("can't listen on {}: this system has no unix sockets here; listen on 127.0.0.1 instead", path.display())]
    NoSockets {
        /// The path asked for.
        path: PathBuf,
    },
    /// Every listener was optional, and the host has none of them.
    #[error("nothing to listen on: this host has none of the addresses of `listen`")]
    Nowhere,
}

/// An open listener.
pub(super) enum Listener {
    /// A port.
    Tcp(TcpListener, SocketAddr),
    /// A socket, and its file, which goes away with it.
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, super::unix::Socket),
}

/// Opens one listener; `None` if it is optional and the host lacks the address. A port that is taken is an error even
/// then: callers of `localhost` would reach another program.
pub(super) fn open(listen: &Listen) -> Result<Option<Listener>, Error> {
    match listen {
        Listen::Tcp { addr, optional } => match tcp(*addr) {
            Ok(listener) => {
                let addr = listener.local_addr().map_err(|source| Error::Tcp { addr: *addr, source })?;
                Ok(Some(Listener::Tcp(listener, addr)))
            }
            Err(source) => match source.kind() {
                io::ErrorKind::AddrInUse => {
                    Err(Error::Taken { addr: *addr, by: owner::of_port(addr.port()) })
                }
                _ if *optional => Ok(None),
                io::ErrorKind::PermissionDenied => Err(Error::NotAllowed { addr: *addr }),
                _ => Err(Error::Tcp { addr: *addr, source }),
            },
        },
        #[cfg(unix)]
        Listen::Unix { path, mode, group } => {
            let (listener, socket) = super::unix::open(path, *mode, group.as_deref())?;
            Ok(Some(Listener::Unix(listener, socket)))
        }
        #[cfg(not(unix))]
        Listen::Unix { path, .. } => Err(Error::NoSockets { path: path.clone() }),
    }
}

fn tcp(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // So that a restart need not wait for old connections. On Windows it would let two programs share the port.
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_taken_port_is_an_error_that_says_by_whom() {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = other.local_addr().unwrap();
        for optional in [false, true] {
            let error = open(&Listen::Tcp { addr, optional }).err().unwrap().to_string();
            assert!(error.contains(&addr.to_string()) && error.contains("--listen"), "{error}");
            if cfg!(target_os = "linux") {
                assert!(error.contains(&format!("pid {}", std::process::id())), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_address_that_the_host_lacks_is_no_error_if_it_is_optional() {
        // TEST-NET-3 belongs to no host.
        let addr = "203.0.113.7:0".parse().unwrap();
        assert!(open(&Listen::Tcp { addr, optional: true }).unwrap().is_none());
        assert!(matches!(open(&Listen::Tcp { addr, optional: false }), Err(Error::Tcp { .. })));
    }
}
