//! What the configuration says to `doors`: where to listen, whom to believe, how much to take.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Listeners, `[auth]`, and the part of `[limits]` that is counted in bytes, requests and connections.
/// A limit that is `None` is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where to listen; never empty.
    pub listen: Vec<Listen>,
    /// Plain HTTP beyond loopback and unix sockets was allowed; said at every start (O-18).
    pub allow_plaintext: bool,
    /// How callers show who they are.
    pub auth: Auth,
    /// Proxies whose `X-Forwarded-*` count.
    pub trusted_proxies: Vec<Cidr>,
    /// Host names accepted besides IP literals and `localhost` (O-16), in lower case: the host name, that
    /// of `public_url`, `allowed_hosts`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call.
    pub allowed_origins: Vec<String>,
    /// What cards say, without a trailing slash; `None`: made from the request's Host (O-50).
    pub public_url: Option<String>,
    /// Bytes of a request's body.
    pub body: Option<u64>,
    /// Time to receive a request, and to answer all but blocking sends, streams and cancel.
    pub request_timeout: Option<Duration>,
    /// A stream without an event this long is closed cleanly.
    pub stream_idle: Option<Duration>,
    /// Connections at once.
    pub connections: Option<usize>,
    /// Connections at once from one address; unix sockets and trusted proxies are exempt.
    pub connections_per_address: Option<usize>,
    /// Requests a minute of one principal; local and admins are exempt. Unauthenticated calls have a
    /// tenth of it an address.
    pub requests_per_minute: Option<u32>,
    /// Open streams of one principal.
    pub streams_per_principal: Option<usize>,
}

/// One listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A TCP port.
    Tcp {
        /// Address and port; port 0: any free one.
        addr: SocketAddr,
        /// The host may lack it: an error at bind is no reason to stop (O-56).
        optional: bool,
    },
    /// A unix socket (O-57).
    Unix {
        /// Absolute, short enough for the system.
        path: PathBuf,
        /// Mode of the socket, 0600 unless configured.
        mode: u32,
        /// Group that the socket is given to; `None`: the node's own.
        group: Option<String>,
    },
}

impl Listen {
    /// Only this machine reaches it.
    pub const fn is_local(&self) -> bool {
        match self {
            Self::Tcp { addr, .. } => addr.ip().is_loopback(),
            Self::Unix { .. } => true,
        }
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { addr, .. } => addr.fmt(f),
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How callers show who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A bearer token.
    Token,
    /// Not at all: loopback and unix listeners only (O-17).
    None,
}

/// A range of addresses, `10.0.0.0/8`; a bare address is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    addr: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Whether the range holds `ip`; an IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.addr, ip.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                u32::from(net) & mask == u32::from(ip) & mask
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                u128::from(net) & mask == u128::from(ip) & mask
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let (addr, prefix) = match text.split_once('/') {
            Some((addr, prefix)) => (addr, Some(prefix)),
            None => (text, None),
        };
        let addr: IpAddr = addr.parse().map_err(|_| NotACidr)?;
        let widest = if addr.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| NotACidr)?,
            None => widest,
        };
        if prefix > widest { Err(NotACidr) } else { Ok(Self { addr, prefix }) }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.addr, self.prefix)
    }
}

/// The text is no range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address or a range of addresses such as 10.0.0.0/8")]
pub struct NotACidr;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_addresses_and_no_other() {
        let net: Cidr = "10.1.0.0/16".parse().unwrap();
        assert!(net.contains("10.1.2.3".parse().unwrap()));
        assert!(net.contains("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!net.contains("10.2.0.0".parse().unwrap()));
        assert!(!net.contains("::1".parse().unwrap()));
        let all: Cidr = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("203.0.113.9".parse().unwrap()));
        let one: Cidr = "2001:db8::1".parse().unwrap();
        assert!(
            one.contains("2001:db8::1".parse().unwrap()) && !one.contains("2001:db8::2".parse().unwrap())
        );
    }

    #[test]
    fn a_range_wider_than_its_address_is_refused() {
        for text in ["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8", "box/8", ""] {
            assert_eq!(text.parse::<Cidr>(), Err(NotACidr), "{text}");
        }
    }
}
