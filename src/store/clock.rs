//! Time as the node tells it: never backward, also over restarts (O-45).

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Timestamp;

/// No clock that is right shows an earlier time: this source is younger.
const BUILT: Timestamp = Timestamp::from_millis(1_777_593_600_000);

/// A jump beyond this makes retention wait: the clock may be wrong, and what is deleted is gone.
const JUMP: Duration = Duration::from_secs(24 * 60 * 60);

/// How long it waits, so that the clock can be put right.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// The node's clock.
pub(super) struct Clock {
    last: AtomicI64,
    early: bool,
    pace: Mutex<Pace>,
}

/// Wall clock and steady clock, looked at together.
struct Pace {
    wall: Timestamp,
    at: Instant,
    paused_until: Option<Instant>,
}

impl Clock {
    /// `stored`: the newest time in the store.
    pub(super) fn new(wall: Timestamp, stored: Option<Timestamp>, at: Instant) -> Self {
        let stood = stored.is_some_and(|stored| wall.since(stored) > JUMP);
        Self {
            last: AtomicI64::new(stored.unwrap_or(wall).max(wall).millis()),
            early: wall < BUILT,
            pace: Mutex::new(Pace { wall, at, paused_until: stood.then(|| at + PAUSE) }),
        }
    }

    /// Not before any time that was told or stored.
    pub(super) fn now(&self, wall: Timestamp) -> Timestamp {
        let last = self.last.fetch_max(wall.millis(), Ordering::Relaxed);
        Timestamp::from_millis(last.max(wall.millis()))
    }

    /// Whether the clock was wrong for certain when the store was opened.
    pub(super) const fn is_early(&self) -> bool {
        self.early
    }

    /// Whether the wall clock jumped ahead lately.
    pub(super) fn has_jumped(&self, wall: Timestamp, at: Instant) -> bool {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let due = pace.wall.after(at.saturating_duration_since(pace.at));
        if wall.since(due) > JUMP {
            pace.paused_until = Some(at + PAUSE);
        }
        (pace.wall, pace.at) = (wall, at);
        pace.paused_until.is_some_and(|until| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn time_stands_still_while_the_wall_clock_is_behind() {
        let stored = BUILT.after(DAY);
        let clock = Clock::new(BUILT, Some(stored), Instant::now());
        assert_eq!(clock.now(BUILT), stored);
        let later = stored.after(Duration::from_millis(1));
        assert_eq!(clock.now(later), later);
        assert_eq!(clock.now(stored), later);
    }

    #[test]
    fn a_clock_before_the_build_is_told() {
        let at = Instant::now();
        assert!(Clock::new(Timestamp::from_millis(0), None, at).is_early());
        assert!(!Clock::new(BUILT, None, at).is_early());
    }

    #[test]
    fn a_jump_of_more_than_a_day_is_told_for_an_hour() {
        let at = Instant::now();
        let clock = Clock::new(BUILT, None, at);
        let minute = Duration::from_secs(60);
        assert!(!clock.has_jumped(BUILT.after(DAY), at + minute));
        let ahead = BUILT.after(DAY * 3);
        assert!(clock.has_jumped(ahead, at + minute * 2));
        assert!(clock.has_jumped(ahead.after(minute), at + minute * 3));
        assert!(!clock.has_jumped(ahead.after(PAUSE), at + minute * 2 + PAUSE));
    }

    #[test]
    fn a_node_that_was_off_for_days_waits_too() {
        let at = Instant::now();
        let clock = Clock::new(BUILT.after(DAY * 2), Some(BUILT), at);
        assert!(clock.has_jumped(BUILT.after(DAY * 2), at));
        assert!(!clock.has_jumped(BUILT.after(DAY * 2 + PAUSE), at + PAUSE));
    }
}
