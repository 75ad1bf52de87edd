//! How much a caller may send: bytes, time, requests a minute.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use http_body_util::BodyExt;

use super::{
    permits::network,
    refusal::Refusal,
    room::{self, Room},
};
use crate::model::{Caller, Fault, PrincipalId, Via};

/// Requests a minute: a bucket with a full minute's burst (P-23).
pub(super) struct Rates {
    principals: Option<DefaultKeyedRateLimiter<PrincipalId>>,
    addresses: Option<DefaultKeyedRateLimiter<IpAddr>>,
    clock: DefaultClock,
}

impl Rates {
    /// `per_minute` of a principal, a tenth of it of an address; `None`: no limit.
    pub(super) fn new(per_minute: Option<u32>) -> Self {
        let principals = per_minute.and_then(NonZeroU32::new);
        let addresses = principals.map(|most| NonZeroU32::new(most.get() / 10).unwrap_or(NonZeroU32::MIN));
        Self {
            principals: principals.map(|most| RateLimiter::keyed(Quota::per_minute(most))),
            addresses: addresses.map(|most| RateLimiter::keyed(Quota::per_minute(most))),
            clock: DefaultClock::default(),
        }
    }

    /// Counts a request of somebody known. The operator, admins and everybody of `mode = "none"` are not counted.
    pub(super) fn caller(&self, caller: &Caller) -> Result<(), Fault> {
        if caller.is_admin() || caller.via != Via::Bearer {
            return Ok(());
        }
        self.check(self.principals.as_ref(), &caller.principal, "this principal's")
    }

    /// Counts a request of nobody known. Unix sockets (`None`) and this machine are not counted: one program of it
    /// must not lock out the others (O-20).
    pub(super) fn address(&self, ip: Option<IpAddr>) -> Result<(), Fault> {
        let Some(ip) = ip.map(network).filter(|ip| !ip.is_loopback()) else { return Ok(()) };
        self.check(self.addresses.as_ref(), &ip, "this address's")
    }

    fn check<K: std::hash::Hash + Eq + Clone>(
        &self,
        rates: Option<&DefaultKeyedRateLimiter<K>>,
        key: &K,
        whose: &str,
    ) -> Result<(), Fault> {
        let Some(Err(early)) = rates.map(|rates| rates.check_key(key)) else { return Ok(()) };
        let wait = early.wait_time_from(self.clock.now());
        // In whole seconds, rounded up: `Retry-After` has no smaller unit, and too early is refused again.
        let retry_after = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        Err(Fault::Busy { why: format!("{whose} requests of this minute are used up"), retry_after })
    }

    /// Forgets who has been quiet for a minute.
    pub(super) fn forget(&self) {
        if let Some(rates) = &self.principals {
            rates.retain_recent();
            rates.shrink_to_fit();
        }
        if let Some(rates) = &self.addresses {
            rates.retain_recent();
            rates.shrink_to_fit();
        }
    }
}

/// Counts the open streams of each principal. Clones share the count.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<PrincipalId, usize>>>);

/// A place for one stream; dropping it gives the place back.
pub(super) struct Place {
    streams: Streams,
    principal: PrincipalId,
}

impl Streams {
    /// Takes a place for a stream. A limit that is `None` is off.
    ///
    /// # Errors
    /// The principal has as many as it may have.
    pub(super) fn take(&self, principal: &PrincipalId, most: Option<usize>) -> Result<Place, Fault> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = open.entry(principal.clone()).or_default();
        if most.is_some_and(|most| *here >= most) {
            let why = format!(
                "this principal has {here} streams open, as many as it may have (streams_per_principal)"
            );
            return Err(Fault::Busy { why, retry_after: Duration::from_secs(1) });
        }
        *here += 1;
        Ok(Place { streams: self.clone(), principal: principal.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(here) = open.get_mut(&self.principal) else { return };
        *here = here.saturating_sub(1);
        if *here == 0 {
            open.remove(&self.principal);
        }
    }
}

/// Reads a whole body.
///
/// # Errors
/// It is larger than `most`, slower than `time`, or breaks off; or it is not small and there is no room for it within half
/// of that time.
pub(super) async fn collect<B>(
    body: &mut B,
    most: Option<u64>,
    time: Option<Duration>,
    room: &Room,
) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let most = most.unwrap_or(u64::MAX);
    if body.size_hint().lower() > most {
        return Err(too_large(most));
    }
    let whole = body.size_hint().exact().unwrap_or(most);
    let patience = time.map_or(PATIENCE, |time| time / 2);
    let reading = async {
        let mut held = None;
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::bad(format!("the body broke off: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            let read = first.len() + all.len() + data.len();
            if read as u64 > most {
                return Err(too_large(most));
            }
            if read > room::FREE && held.is_none() {
                let taken = tokio::time::timeout(patience, room.take(whole)).await;
                held = Some(taken.map_err(|_| crowded())?);
            }
            // Most bodies come in one piece, which is then taken as it is.
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
        }
        Ok(if all.is_empty() { first } else { all.freeze() })
    };
    match time {
        None => reading.await,
        Some(time) => tokio::time::timeout(time, reading).await.unwrap_or_else(|_| Err(Refusal::slow(time))),
    }
}

/// How long a body waits for room where no `request_timeout` says so.
const PATIENCE: Duration = Duration::from_secs(30);

fn crowded() -> Refusal {
    let why = "the node is reading as many large bodies as it has room for".into();
    Fault::Busy { why, retry_after: Duration::from_secs(5) }.into()
}

fn too_large(most: u64) -> Refusal {
    Fault::TooLarge(format!(
        "the body is larger than {most} bytes; send less, or let the operator raise [limits] body"
    ))
    .into()
}

/// Reads what is left of a body that is not wanted, so that its sender gets to read the answer instead of a broken
/// connection. Only so much, and only so long.
pub(super) async fn discard<B>(body: &mut B, most: u64)
where
    B: http_body::Body<Data = Bytes> + Unpin,
{
    const PATIENCE: Duration = Duration::from_secs(2);
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len) as u64;
            if read > most {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, reading).await;
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;
    use crate::model::{Agents, CallerRole, Kind};

    fn caller(role: CallerRole, via: Via) -> Caller {
        Caller {
            principal: PrincipalId::token("desk"),
            kind: Kind::Person,
            role,
            may_call: Agents::All,
            run: None,
            via,
        }
    }

    #[test]
    fn a_principal_has_a_minutes_burst_and_is_then_told_when_to_come_back() {
        let rates = Rates::new(Some(3));
        let desk = caller(CallerRole::User, Via::Bearer);
        for _ in 0..3 {
            rates.caller(&desk).unwrap();
        }
        let Err(Fault::Busy { retry_after, .. }) = rates.caller(&desk) else { panic!("was let in") };
        assert!(retry_after >= Duration::from_secs(1) && retry_after <= Duration::from_secs(60));
        let other = Caller { principal: PrincipalId::token("other"), ..desk };
        rates.caller(&other).unwrap();
    }

    #[test]
    fn admins_this_machine_and_open_nodes_are_not_counted() {
        let rates = Rates::new(Some(1));
        for _ in 0..5 {
            rates.caller(&caller(CallerRole::Admin, Via::Bearer)).unwrap();
            rates.caller(&caller(CallerRole::User, Via::Open)).unwrap();
            rates.address(None).unwrap();
            rates.address(Some("127.0.0.1".parse().unwrap())).unwrap();
        }
    }

    #[test]
    fn an_address_without_credential_has_a_tenth() {
        let rates = Rates::new(Some(20));
        let ip = Some("203.0.113.4".parse().unwrap());
        rates.address(ip).unwrap();
        rates.address(ip).unwrap();
        assert!(matches!(rates.address(ip), Err(Fault::Busy { .. })));
        rates.address(Some("203.0.113.5".parse().unwrap())).unwrap();
        rates.forget();
        assert!(rates.address(ip).is_err(), "who was refused a moment ago is not forgotten");
    }

    #[test]
    fn a_principal_has_so_many_streams_and_gets_the_place_of_one_that_ended() {
        let (streams, desk) = (Streams::default(), PrincipalId::token("desk"));
        let first = streams.take(&desk, Some(1)).unwrap();
        assert!(matches!(streams.take(&desk, Some(1)), Err(Fault::Busy { .. })));
        assert!(streams.take(&PrincipalId::token("other"), Some(1)).is_ok());
        drop(first);
        assert!(streams.take(&desk, Some(1)).is_ok());
        assert!(streams.0.lock().unwrap().is_empty(), "nobody is remembered for nothing");
    }

    #[tokio::test]
    async fn a_body_is_taken_up_to_its_limit_and_not_one_byte_more() {
        let mut body = Full::new(Bytes::from_static(b"12345678"));
        assert_eq!(collect(&mut body, Some(8), None, &Room::new(None)).await.unwrap(), "12345678");
        let mut body = Full::new(Bytes::from_static(b"123456789"));
        let refusal = collect(&mut body, Some(8), None, &Room::new(None)).await.unwrap_err();
        assert_eq!(refusal.status(), http::StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_counted_as_it_comes() {
        let pieces = || {
            let pieces = ["1234", "5678", "9"].map(|piece| http_body::Frame::data(Bytes::from(piece)));
            let pieces = pieces.map(Ok::<_, std::convert::Infallible>);
            http_body_util::StreamBody::new(futures_util::stream::iter(pieces))
        };
        let mut body = pieces();
        assert!(collect(&mut body, Some(8), None, &Room::new(None)).await.is_err());
        let mut body = pieces();
        assert_eq!(collect(&mut body, Some(9), None, &Room::new(None)).await.unwrap(), "123456789");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_waited_for_only_so_long() {
        let never =
            futures_util::stream::pending::<Result<http_body::Frame<Bytes>, std::convert::Infallible>>();
        let mut body = http_body_util::StreamBody::new(never);
        let refusal =
            collect(&mut body, None, Some(Duration::from_secs(60)), &Room::new(None)).await.unwrap_err();
        assert_eq!(refusal.status(), http::StatusCode::REQUEST_TIMEOUT);
        discard(&mut body, 10).await;
    }

    /// A body of which the first 100 kB have come.
    fn half() -> impl http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Unpin {
        let begin = http_body::Frame::data(Bytes::from(vec![b' '; 100_000]));
        let rest = futures_util::stream::pending();
        let frames = futures_util::stream::iter([Ok(begin)]);
        http_body_util::StreamBody::new(futures_util::StreamExt::chain(frames, rest))
    }

    #[tokio::test(start_paused = true)]
    async fn half_sent_bodies_have_so_much_room_and_small_ones_need_none() {
        const MOST: u64 = 128 << 20;
        let (room, time) = (Room::new(Some(MOST)), Some(Duration::from_secs(60)));
        let mut bodies: Vec<_> = (0..5).map(|_| half()).collect();
        let reading = bodies.iter_mut().map(|body| collect(body, Some(MOST), time, &room));
        let refused = futures_util::future::join_all(reading).await;
        let statuses: Vec<u16> =
            refused.into_iter().map(|read| read.unwrap_err().status().as_u16()).collect();
        assert_eq!(statuses, [408, 408, 408, 408, 429], "four are waited for, the fifth finds no room");
        let all = room.take(4 * MOST).await;
        let mut small = Full::new(Bytes::from(vec![b' '; room::FREE]));
        assert!(collect(&mut small, Some(MOST), time, &room).await.is_ok());
        let mut large = Full::new(Bytes::from(vec![b' '; 100_000]));
        let waits = collect(&mut large, Some(MOST), time, &room);
        let (read, ()) = tokio::join!(waits, async { drop(all) });
        assert_eq!(read.unwrap().len(), 100_000, "it has waited for the others to be gone");
    }
}
