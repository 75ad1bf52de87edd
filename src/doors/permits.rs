//! How many connections there may be: in all, and from one address. Some places are kept for this machine, so that
//! its operator gets in when the network has taken the rest.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

/// Places that only loopback and unix sockets may take.
const KEPT: usize = 16;

/// Counts connections.
#[derive(Clone, Default)]
pub(super) struct Permits(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// Leave to keep one connection; dropping it gives the place back.
pub(super) struct Permit {
    permits: Permits,
    counted: Option<IpAddr>,
}

/// Whose connection it is, as far as places go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A unix socket: never counted by address.
    Unix,
    /// An address; a trusted proxy stands for many callers and is not counted by address.
    Tcp {
        /// The peer.
        ip: IpAddr,
        /// Whether it is a trusted proxy.
        proxy: bool,
    },
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// `limits.connections`.
    All,
    /// `limits.connections_per_address`.
    Address,
}

impl Permits {
    /// Takes a place, if there is one. A limit that is `None` is off.
    pub(super) fn take(
        &self,
        whose: Whose,
        all: Option<usize>,
        per_address: Option<usize>,
    ) -> Result<Permit, Full> {
        let (local, counted) = match whose {
            Whose::Unix => (true, None),
            Whose::Tcp { ip, proxy } => {
                let ip = ip.to_canonical();
                (ip.is_loopback(), (!proxy).then(|| network(ip)))
            }
        };
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = all {
            let most = if local { all } else { all - KEPT.min(all / 2) };
            if taken.all >= most {
                return Err(Full::All);
            }
        }
        if let Some(ip) = counted {
            let here = taken.of.entry(ip).or_default();
            if per_address.is_some_and(|most| *here >= most) {
                return Err(Full::Address);
            }
            *here += 1;
        }
        taken.all += 1;
        drop(taken);
        Ok(Permit { permits: self.clone(), counted })
    }

    /// How many connections there are.
    #[cfg(test)]
    fn taken(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.permits.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(1);
        let Some(ip) = self.counted else { return };
        if let Some(here) = taken.of.get_mut(&ip) {
            *here = here.saturating_sub(1);
            if *here == 0 {
                taken.of.remove(&ip);
            }
        }
    }
}

/// What counts as one address: an IPv4 address, or an IPv6 network of /64, which is what one host is given.
pub(super) fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & !u128::from(u64::MAX)))
        }
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(ip: &str) -> Whose {
        Whose::Tcp { ip: ip.parse().unwrap(), proxy: false }
    }

    #[test]
    fn the_last_places_are_kept_for_this_machine() {
        let permits = Permits::default();
        let held: Vec<_> =
            (0..24).map(|n| permits.take(tcp(&format!("203.0.113.{n}")), Some(40), None).unwrap()).collect();
        assert_eq!(permits.take(tcp("203.0.113.99"), Some(40), None).err(), Some(Full::All));
        let local: Vec<_> = (0..15).map(|_| permits.take(tcp("::1"), Some(40), None).unwrap()).collect();
        let last = permits.take(Whose::Unix, Some(40), None).unwrap();
        assert_eq!(permits.take(Whose::Unix, Some(40), None).err(), Some(Full::All));
        drop((held, local, last));
        assert_eq!(permits.taken(), 0);
    }

    #[test]
    fn one_address_has_its_share_and_an_ipv6_network_is_one_address() {
        let permits = Permits::default();
        let first = permits.take(tcp("2001:db8::1"), None, Some(1)).unwrap();
        assert_eq!(permits.take(tcp("2001:db8::2"), None, Some(1)).err(), Some(Full::Address));
        assert!(permits.take(tcp("2001:db8:0:1::2"), None, Some(1)).is_ok());
        drop(first);
        assert!(permits.take(tcp("2001:db8::2"), None, Some(1)).is_ok());
    }

    #[test]
    fn unix_sockets_and_proxies_have_no_share_by_address() {
        let permits = Permits::default();
        let proxy = Whose::Tcp { ip: "10.0.0.1".parse().unwrap(), proxy: true };
        let held: Vec<_> =
            [proxy, proxy, Whose::Unix, Whose::Unix].map(|who| permits.take(who, None, Some(1))).into();
        assert!(held.iter().all(Result::is_ok));
    }

    #[test]
    fn a_small_limit_still_lets_the_network_in() {
        let permits = Permits::default();
        let _one = permits.take(tcp("203.0.113.1"), Some(2), None).unwrap();
        assert_eq!(permits.take(tcp("203.0.113.1"), Some(2), None).err(), Some(Full::All));
        assert!(permits.take(Whose::Unix, Some(2), None).is_ok());
    }
}
