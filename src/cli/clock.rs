//! Times and spans as a person types and reads them.

use std::time::Duration;

use super::exit::Failure;
use crate::config::unit;
use crate::model::Timestamp;

/// `10s`, `5m`, `2h`, `30d`; for clap.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    unit::duration(text).map_err(|bad| bad.to_string())
}

/// A span before now, or a day or time in UTC: `2h`, `2026-11-30`, `2026-11-30T12:00:00Z`.
pub(super) fn since(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    if let Ok(span) = unit::duration(text) {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        return Ok(Timestamp::from_millis(now.millis().saturating_sub(span)));
    }
    let midnight = format!("{text}T00:00:00Z");
    Timestamp::parse(text).or_else(|_| Timestamp::parse(&midnight)).map_err(|_| {
        Failure::usage(format!("`{text}` is no time: use 2h, 2026-11-30 or 2026-11-30T12:00:00Z"))
    })
}

/// How long ago, in one unit or two: `8 s`, `3 min`, `2 h 5 min`, `4 d`.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    span(now.since(then))
}

/// A span for people.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// So many of something: `1 task`, `2 tasks`.
pub(super) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A size for people: `812 B`, `14 KiB`, `3.2 MiB`.
pub(super) fn size(bytes: u64) -> String {
    let mut scaled = bytes;
    let mut rest = 0;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if scaled < 1024 || unit == "GiB" {
            let tenth = rest * 10 / 1024;
            return if scaled < 10 && unit != "B" && tenth > 0 {
                format!("{scaled}.{tenth} {unit}")
            } else {
                format!("{scaled} {unit}")
            };
        }
        rest = scaled % 1024;
        scaled /= 1024;
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_span_before_now_or_a_day_or_an_instant() {
        let now = Timestamp::parse("2026-11-30T12:00:00Z").unwrap();
        let read = |text| since(text, now).unwrap().to_string();
        assert_eq!(read("2h"), "2026-11-30T10:00:00.000Z");
        assert_eq!(read("2026-11-29"), "2026-11-29T00:00:00.000Z");
        assert_eq!(read("2026-11-29T08:00:00+01:00"), "2026-11-29T07:00:00.000Z");
        assert!(since("yesterday", now).is_err());
    }

    #[test]
    fn spans_and_sizes_are_short() {
        let spans = [0, 59, 60, 3599, 3600, 90_000].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(spans, ["0 s", "59 s", "1 min", "59 min", "1 h 0 min", "1 d"]);
        let sizes = [0, 1023, 1024, 1536, 10 << 20, 5 << 40].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "10 MiB", "5120 GiB"]);
    }
}
