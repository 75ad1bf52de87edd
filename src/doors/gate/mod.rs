//! What is looked at before anybody is asked who they are: where a request comes from, whether its Host is ours, whether
//! a web page sent it.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, header, request::Parts};

use super::{
    config::{Auth, Config},
    connection::Peer,
    refusal::Refusal,
};

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The caller's address: the peer's, or what a trusted proxy says; `None`: a unix socket.
    pub(super) client: Option<IpAddr>,
    /// Whether the connection stays on this machine.
    pub(super) loopback: bool,
    /// Whether something passed the request on.
    pub(super) forwarded: bool,
    /// Whether it was a proxy that is trusted.
    pub(super) trusted: bool,
}

impl Source {
    /// Reads it from the connection and the headers.
    pub(super) fn of(peer: Peer, headers: &HeaderMap, config: &Config) -> Self {
        let forwarded = headers.keys().any(|name| passes_on(name.as_str()));
        let Peer::Tcp { remote, .. } = peer else {
            return Self { client: None, loopback: true, forwarded, trusted: false };
        };
        let ip = remote.ip().to_canonical();
        let trusts = |ip: IpAddr| config.trusted_proxies.iter().any(|range| range.contains(ip));
        let trusted = trusts(ip);
        let client = if trusted && forwarded { said(headers, trusts).unwrap_or(ip) } else { ip };
        Self { client: Some(client), loopback: ip.is_loopback(), forwarded, trusted }
    }

    /// Whether the local admin token counts: it came from this machine, and nothing passed it on (O-1).
    pub(super) const fn is_local(self) -> bool {
        self.loopback && !self.forwarded
    }
}

/// Headers by which a proxy shows itself (O-1).
fn passes_on(name: &str) -> bool {
    name == "forwarded" || name == "via" || name.starts_with("x-forwarded-")
}

/// The last address of `X-Forwarded-For` that is no trusted proxy: what stands before it, the caller may have written.
fn said(headers: &HeaderMap, trusts: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let lines: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    let hops = lines.iter().flat_map(|line| line.split(','));
    for hop in hops.collect::<Vec<_>>().into_iter().rev() {
        let ip: IpAddr = hop.trim().parse().ok()?;
        if !trusts(ip) {
            return Some(ip.to_canonical());
        }
    }
    None
}

/// What a request says of where it was sent, once it was found to be us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    /// Host and port as the caller wrote them; `None` on a unix socket without a Host that is ours.
    pub(super) host: Option<String>,
    /// Whether a trusted proxy said so.
    pub(super) outside: bool,
}

/// Checks the Host (O-16): a web page that lets its own name point to this machine is not answered.
///
/// # Errors
/// 400 without exactly one Host, 421 if it is not ours.
pub(super) fn host(parts: &Parts, peer: Peer, source: Source, config: &Config) -> Result<Target, Refusal> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let header = match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => return Err(Refusal::bad("the request has more than one Host".into())),
        (host, _) => host
            .map(|host| host.to_str().map_err(|_| Refusal::bad("the Host is not a host name".into())))
            .transpose()?,
    };
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    if let (Some(header), Some(authority)) = (header, authority)
        && !header.eq_ignore_ascii_case(authority)
    {
        return Err(Refusal::bad("the Host is another one than that of the request's address".into()));
    }
    let host = authority.or(header);
    if peer == Peer::Unix {
        let host = host.filter(|host| ours(host, config)).map(str::to_owned);
        return Ok(Target { scheme: "http", host, outside: false });
    }
    let host = host.ok_or_else(|| Refusal::bad("the request has no Host".into()))?;
    if !ours(host, config) {
        return Err(Refusal::misdirected(host, "Host"));
    }
    let mut target = Target { scheme: "http", host: Some(host.to_owned()), outside: false };
    if source.trusted {
        outside(&parts.headers, config, &mut target)?;
    }
    Ok(target)
}

/// What a trusted proxy says of the address that the caller dialled.
fn outside(headers: &HeaderMap, config: &Config, target: &mut Target) -> Result<(), Refusal> {
    let last = |name: &str| {
        let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
        Some(value.rsplit(',').next()?.trim().to_owned()).filter(|value| !value.is_empty())
    };
    if last("x-forwarded-proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) {
        target.scheme = "https";
        target.outside = true;
    }
    if let Some(host) = last("x-forwarded-host") {
        if !ours(&host, config) {
            return Err(Refusal::misdirected(&host, "X-Forwarded-Host"));
        }
        target.host = Some(host);
        target.outside = true;
    }
    Ok(())
}

/// Whether a Host is one of this node's. Rebinding needs a name, so every literal address is.
fn ours(host: &str, config: &Config) -> bool {
    let Some(name) = name(host) else { return false };
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    name.parse::<IpAddr>().is_ok()
        || name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok())
        || name == "localhost"
        || name.ends_with(".localhost")
        || config.allowed_hosts.iter().any(|allowed| allowed == name)
}

/// A Host without its port.
fn name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => host.split_at(rest.find(']')? + 2),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port =
        port.strip_prefix(':').map_or(port.is_empty(), |port| port.bytes().all(|b| b.is_ascii_digit()));
    (port && !name.is_empty() && !name.contains(['@', '/', ' '])).then_some(name)
}

/// Checks the Origin: only pages that the operator named may call (UR-61).
///
/// # Errors
/// 403 with the key to set.
pub(super) fn origin(headers: &HeaderMap, config: &Config) -> Result<(), Refusal> {
    for origin in headers.get_all(header::ORIGIN) {
        if !config.allowed_origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) {
            let origin = String::from_utf8_lossy(origin.as_bytes()).into_owned();
            return Err(Refusal::forbidden(format!(
                "web pages of {origin} may not call this node; if they should, add it to [auth] allowed_origins"
            )));
        }
    }
    Ok(())
}

/// Without authentication a node speaks to programs of this machine only: what shows that a tunnel, a proxy or a web page
/// is in between is refused (O-17).
///
/// # Errors
/// 403 with the key to set.
pub(super) fn open_node(headers: &HeaderMap, config: &Config) -> Result<(), Refusal> {
    if config.auth != Auth::None {
        return Ok(());
    }
    let tell = headers.keys().map(http::HeaderName::as_str).find(|name| {
        passes_on(name) || *name == "origin" || name.starts_with("tailscale-") || name.starts_with("cf-")
    });
    tell.map_or(Ok(()), |tell| {
        Err(Refusal::forbidden(format!(
            "this node asks nobody who they are, so it takes no call that carries `{tell}`: \
             it came through a proxy, a tunnel or a web page; set [auth] mode = \"token\" to serve those"
        )))
    })
}

#[cfg(test)]
mod tests;
