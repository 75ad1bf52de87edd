//! Points in time: UTC, to the millisecond.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch. On the wire ISO 8601 with `Z` and three digits (A2A-6, A2A-7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// What the wall clock says. The one place that reads it: below the node, take the time as an argument.
    #[must_use]
    pub fn now() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
        let now = jiff::Timestamp::now();
        Self(now.as_millisecond())
    }

    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// This much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier`; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads ISO 8601 with 0 to 9 digits of a second and any offset (A2A-8). What lies between two milliseconds
    /// becomes the later one, so that "not before" stays true; what lies after the last time that can be written, in the
    /// last two days of the year 9999, becomes that one.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let last = jiff::Timestamp::MAX;
        let read: jiff::Timestamp = match text.parse() {
            Ok(read) => read,
            Err(_) if is_later(text, last) => last,
            Err(error) => return Err(format!("`{text}` is no ISO 8601 time: {error}")),
        };
        let floor = read.as_millisecond();
        let exact = i128::from(floor) * 1_000_000 == read.as_nanosecond();
        let later =
            if exact || read.as_nanosecond() < i128::from(floor) * 1_000_000 { floor } else { floor + 1 };
        // What is written must be a time of whole milliseconds to the library too, which its last one is not.
        Ok(Self(later.min(last.as_second() * 1000)))
    }
}

/// Whether a text is a time, with its offset, of the day on which the last one lies or of a later day.
fn is_later(text: &str, last: jiff::Timestamp) -> bool {
    let Ok(pieces) = jiff::fmt::temporal::Pieces::parse(text) else { return false };
    let day = jiff::tz::Offset::UTC.to_datetime(last).date();
    pieces.time().is_some() && pieces.offset().is_some() && pieces.date() >= day
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        write!(f, "{time:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Cow::<'de, str>::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_three_digits() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_764_540_000_120).to_string(), "2025-11-30T22:00:00.120Z");
    }

    #[test]
    fn times_are_read_with_any_number_of_digits_and_any_offset() {
        let read = |text: &str| Timestamp::parse(text).unwrap().millis();
        assert_eq!(read("1970-01-01T00:00:01Z"), 1000);
        assert_eq!(read("1970-01-01T01:00:00.5+01:00"), 500);
        assert_eq!(read("1970-01-01T00:00:00.000000001Z"), 1);
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn every_time_from_the_year_1_to_9999_is_read() {
        let read = |text: &str| Timestamp::parse(text).unwrap().to_string();
        assert_eq!(read("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00.000Z");
        assert_eq!(read("0001-01-01T00:00:00+14:00"), "0000-12-31T10:00:00.000Z");
        let last = "9999-12-30T22:00:00.000Z";
        for late in [
            last,
            "9999-12-30T22:00:00.999Z",
            "9999-12-30T22:00:00.9999Z",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.999999999-23:59",
            "9999-12-31t23:59:59z",
        ] {
            assert_eq!(read(late), last, "{late}");
        }
        assert_eq!(read("9999-12-31T10:00:00+14:00"), "9999-12-30T20:00:00.000Z");
        for none in ["9999-12-31", "9999-12-31T23:59:59", "9999-13-31T23:59:59Z", "10000-01-01T00:00:00Z"] {
            assert!(Timestamp::parse(none).is_err(), "{none}");
        }
    }
}
