//! Room for bodies that are being read: so many bytes for all callers together, however many connections there are.
//!
//! What most requests bring needs none. A body that turns out larger takes room for the whole of itself, once: nobody who
//! has room waits for more, so no two bodies can wait for each other.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes of a body that need no room; as much lies in the buffers of its connection.
pub(super) const FREE: usize = 64 << 10;
/// Bytes for all bodies together, or four of the largest, if these are more.
const ALL: u64 = 128 << 20;
/// Bytes that are given out at a time.
const UNIT: u64 = 1 << 10;

/// The room of a node.
pub(super) struct Room(Option<Semaphore>);

/// Room that is taken; dropping it gives it back.
pub(super) struct Held<'a>(#[expect(dead_code, reason = "held for its drop")] Option<SemaphorePermit<'a>>);

impl Room {
    /// `most`: bytes of one body; `None`: no limit, on all together neither.
    pub(super) fn new(most: Option<u64>) -> Self {
        Self(most.map(|most| {
            let all = u64::from(units(ALL)).max(4 * u64::from(units(most)));
            Semaphore::new(usize::try_from(all).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS))
        }))
    }

    /// Waits for room for so many bytes, at most those of one body.
    pub(super) async fn take(&self, bytes: u64) -> Held<'_> {
        Held(match &self.0 {
            None => None,
            // Only a semaphore that is closed gives none, and this one never is.
            Some(room) => room.acquire_many(units(bytes)).await.ok(),
        })
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn there_is_room_for_many_bodies_and_for_the_largest_at_any_rate() {
        for (most, bodies) in [(8 << 20, 16), (1 << 30, 4), (u64::MAX, 4)] {
            let room = Room::new(Some(most));
            let held: Vec<_> = (0..bodies).map(|_| room.take(most).now_or_never().unwrap()).collect();
            assert!(room.take(1).now_or_never().is_none(), "{most}");
            drop(held);
            assert!(room.take(most).now_or_never().is_some(), "{most}");
        }
        assert!(Room::new(None).take(u64::MAX).now_or_never().is_some());
    }
}
