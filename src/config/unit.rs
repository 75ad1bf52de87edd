//! Durations and sizes as people write them: `500ms 10s 5m 2h 30d`, `64KiB 8MiB`, `0` for off.

use std::time::Duration;

/// Why a text is not what it should be, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
pub struct Bad {
    /// What is wrong.
    pub why: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Bad {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), hint: None }
    }

    pub(super) fn hint(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why: why.into(), hint: Some(hint.into()) }
    }
}

const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: &[(&str, u64)] =
    &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// A duration: a whole number and one of `ms s m h d`; `0` is zero.
///
/// # Errors
/// [`Bad`] with the nearest right form as the hint.
pub fn duration(text: &str) -> Result<Duration, Bad> {
    let (number, unit) = split(text);
    let like = match unit {
        "" => Some("s"),
        "sec" | "secs" | "second" | "seconds" | "S" => Some("s"),
        "min" | "mins" | "minute" | "minutes" | "M" => Some("m"),
        "hr" | "hrs" | "hour" | "hours" | "H" => Some("h"),
        "day" | "days" | "D" => Some("d"),
        _ => None,
    };
    measure(number, unit, TIMES)
        .map(Duration::from_millis)
        .ok_or_else(|| wrong(text, number, like, "a duration such as 500ms, 10s, 5m, 2h or 30d"))
}

/// A size in bytes: a whole number and one of `B KiB MiB GiB TiB`; `0` is zero.
///
/// # Errors
/// [`Bad`] with the nearest right form as the hint (`8M` is refused, the hint is `8MiB`; O-87).
pub fn size(text: &str) -> Result<u64, Bad> {
    let (number, unit) = split(text);
    let like = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some("B"),
        "k" | "kb" | "kib" => Some("KiB"),
        "m" | "mb" | "mib" => Some("MiB"),
        "g" | "gb" | "gib" => Some("GiB"),
        "t" | "tb" | "tib" => Some("TiB"),
        _ => None,
    };
    measure(number, unit, SIZES).ok_or_else(|| wrong(text, number, like, "a size such as 64KiB or 8MiB"))
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

fn measure(number: &str, unit: &str, units: &[(&str, u64)]) -> Option<u64> {
    let count: u64 = number.parse().ok()?;
    if unit.is_empty() && count == 0 {
        return Some(0);
    }
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    // What fits i64 milliseconds or bytes; more is a slip of the finger, not a wish.
    count.checked_mul(*factor).filter(|whole| *whole <= i64::MAX as u64)
}

fn wrong(text: &str, number: &str, like: Option<&str>, kind: &str) -> Bad {
    let why = format!("`{text}` is not {kind}");
    match like {
        Some(unit) if !number.is_empty() && measure(number, "", &[]).is_none() && number.len() < 16 => {
            Bad::hint(why, format!("write `{number}{unit}`"))
        }
        _ => Bad::new(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("10s").unwrap(), Duration::from_secs(10));
        assert_eq!(duration("5m").unwrap(), Duration::from_secs(300));
        assert_eq!(duration("2h").unwrap(), Duration::from_secs(7200));
        assert_eq!(duration("30d").unwrap(), Duration::from_secs(30 * 86_400));
        assert_eq!(duration("0").unwrap(), Duration::ZERO);
        assert_eq!(duration("10").unwrap_err().hint.unwrap(), "write `10s`");
        assert_eq!(duration("10min").unwrap_err().hint.unwrap(), "write `10m`");
        for text in ["", "s", "-1s", "1.5h", "1h30m", "99999999999999999999d", "9223372036854775807d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_binary_and_say_so() {
        assert_eq!(size("64KiB").unwrap(), 65_536);
        assert_eq!(size("8MiB").unwrap(), 8 << 20);
        assert_eq!(size("512B").unwrap(), 512);
        assert_eq!(size("0").unwrap(), 0);
        for (text, hint) in
            [("8M", "8MiB"), ("8MB", "8MiB"), ("8mib", "8MiB"), ("64k", "64KiB"), ("100", "100B")]
        {
            assert_eq!(size(text).unwrap_err().hint.unwrap(), format!("write `{hint}`"));
        }
        for text in ["", "MiB", "-1KiB", "1.5GiB", "99999999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_refusal_reads_as_one_line() {
        assert_eq!(
            size("8M").unwrap_err().to_string(),
            "`8M` is not a size such as 64KiB or 8MiB; write `8MiB`"
        );
    }
}
