//! Numbers that nobody else has: UUIDv7, each greater than the one before.
//!
//! The same as `Uuid::now_v7`, but for the price: chance is fetched from the system for many at once. What is to be
//! secret is made by [`secret`](super::secret).

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

use uuid::Uuid;

use super::Timestamp;

/// Bytes of chance in one identifier.
const BYTES: usize = 8;

/// How many identifiers the system is asked for at once.
const AT_ONCE: usize = 64;

/// Chance that is left, and how many bytes of it.
struct Chance {
    bytes: [u8; BYTES * AT_ONCE],
    left: usize,
}

thread_local! {
    static CHANCE: RefCell<Chance> = const { RefCell::new(Chance { bytes: [0; BYTES * AT_ONCE], left: 0 }) };
}

/// The newest: milliseconds and a counter of twelve bits (RFC 9562 section 6.2, method 3).
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// A fresh UUIDv7.
#[must_use]
pub fn uuid() -> Uuid {
    let Some(chance) = CHANCE.with_borrow_mut(Chance::take) else { return Uuid::now_v7() };
    let now = u64::try_from(Timestamp::now().millis()).unwrap_or(0) << 12;
    let next = |newest: u64| now.max(newest + 1);
    let before = NEWEST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |newest| Some(next(newest)));
    let stamp = next(before.unwrap_or_else(|newest| newest));
    let [.., high, low] = stamp.to_be_bytes();
    let mut rest = [0; 10];
    rest[0] = high;
    rest[1] = low;
    rest[2..].copy_from_slice(&chance);
    uuid::Builder::from_unix_timestamp_millis(stamp >> 12, &rest).into_uuid()
}

impl Chance {
    /// Some, for once; `None`: the system gives none.
    fn take(&mut self) -> Option<[u8; BYTES]> {
        if self.left < BYTES {
            getrandom::fill(&mut self.bytes).ok()?;
            self.left = self.bytes.len();
        }
        self.left -= BYTES;
        self.bytes[self.left..].first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_uuid_of_version_7_and_greater_than_the_one_before() {
        let mut before = uuid();
        for _ in 0..10_000 {
            let next = uuid();
            assert!(next > before, "{next} after {before}");
            assert_eq!((next.get_version_num(), next.get_variant()), (7, uuid::Variant::RFC4122));
            before = next;
        }
        let (seconds, _) = before.get_timestamp().unwrap().to_unix();
        let now = u64::try_from(Timestamp::now().millis()).unwrap() / 1000;
        assert!(seconds.abs_diff(now) < 60, "{seconds} is not now, {now}");
    }

    #[test]
    fn threads_never_make_the_same() {
        let make = || (0..5_000).map(|_| uuid()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
        let made: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let distinct: std::collections::HashSet<_> = made.iter().collect();
        assert_eq!(distinct.len(), made.len());
    }
}
