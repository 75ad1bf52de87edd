//! Answers that may be kept: ETag, Last-Modified, 304 (A2A-130 to A2A-132).

use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::{
    body::{Body, Response},
    refusal,
};
use crate::model::Timestamp;

/// An answer that may be kept.
pub(super) struct Kept {
    /// JSON.
    pub(super) body: Vec<u8>,
    /// Since when it is so.
    pub(super) since: Timestamp,
    /// `Cache-Control`.
    pub(super) control: &'static str,
    /// What else of a request decides it.
    pub(super) vary: &'static str,
}

impl Kept {
    /// The answer, or 304 if the caller has it.
    pub(super) fn response(self, asked: &HeaderMap) -> Response {
        let digest = Sha256::digest(&self.body);
        let tag: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("\"{tag}\"");
        let mut response = if is_fresh(asked, &tag, self.since) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            refusal::json(StatusCode::OK, self.body)
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.control));
        if !self.vary.is_empty() {
            headers.insert(header::VARY, HeaderValue::from_static(self.vary));
        }
        for (name, value) in [(header::ETAG, Some(tag)), (header::LAST_MODIFIED, date(self.since))] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Whether what the caller has is what it would get. `If-None-Match` decides alone where it is sent (RFC 9110 section
/// 13.2.2).
fn is_fresh(asked: &HeaderMap, tag: &str, since: Timestamp) -> bool {
    let mut tags = asked.get_all(header::IF_NONE_MATCH).iter().peekable();
    if tags.peek().is_some() {
        return tags.filter_map(|list| list.to_str().ok()).any(|list| matches(list, tag));
    }
    asked
        .get(header::IF_MODIFIED_SINCE)
        .and_then(|value| read_date(value.to_str().ok()?))
        .is_some_and(|seen| since.millis().div_euclid(1000) <= seen.millis().div_euclid(1000))
}

/// Whether a list of tags holds one, compared weakly.
fn matches(list: &str, tag: &str) -> bool {
    // None of our tags holds a comma, so a foreign one that does and falls apart here matches nothing.
    list.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// A time as HTTP writes it; `None` for years that it has no room for.
fn date(time: Timestamp) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time.millis()).ok()?;
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok()
}

fn read_date(text: &str) -> Option<Timestamp> {
    let time = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: Timestamp = Timestamp::from_millis(1_764_540_000_120);

    fn ask(headers: &[(header::HeaderName, &str)]) -> Response {
        let asked = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        Kept { body: b"{}".to_vec(), since: SINCE, control: "max-age=60", vary: "Host" }.response(&asked)
    }

    #[test]
    fn an_answer_says_how_long_it_holds_and_since_when() {
        let response = ask(&[]);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CACHE_CONTROL], "max-age=60");
        assert_eq!(response.headers()[header::LAST_MODIFIED], "Sun, 30 Nov 2025 22:00:00 GMT");
        assert_eq!(response.headers()[header::VARY], "Host");
    }

    #[test]
    fn who_has_the_answer_is_told_so() {
        let tag = ask(&[]).headers()[header::ETAG].to_str().unwrap().to_owned();
        for list in
            [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".into(), format!("\"a,b\",W/{tag}")]
        {
            let response = ask(&[(header::IF_NONE_MATCH, &list)]);
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{list}");
            assert_eq!(response.headers()[header::ETAG], tag.as_str());
        }
        assert_eq!(ask(&[(header::IF_NONE_MATCH, "\"other\"")]).status(), StatusCode::OK);
    }

    #[test]
    fn a_date_counts_where_no_tag_was_sent() {
        let at = |date: &str| ask(&[(header::IF_MODIFIED_SINCE, date)]).status();
        assert_eq!(at("Sun, 30 Nov 2025 22:00:00 GMT"), StatusCode::NOT_MODIFIED);
        assert_eq!(at("Sun, 30 Nov 2025 21:59:59 GMT"), StatusCode::OK);
        assert_eq!(at("yesterday"), StatusCode::OK);
        let both = [
            (header::IF_NONE_MATCH, "\"other\""),
            (header::IF_MODIFIED_SINCE, "Sun, 30 Nov 2025 22:00:00 GMT"),
        ];
        assert_eq!(ask(&both).status(), StatusCode::OK, "the tag decides alone");
    }
}
