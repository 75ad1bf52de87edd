//! A request on its way to its door: what every door asks of it.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, header, request::Parts};
use hyper::body::{Body as _, Incoming};

use super::{
    auth::{self, Who},
    config::Config,
    connection::Peer,
    gate::{Source, Target},
    limits,
    refusal::Refusal,
    state::{Settings, State},
};
use crate::{
    model::{Fault, unique},
    wire::percent,
};

/// A request, its body not yet read.
pub(super) struct Inbound {
    /// Its `X-Request-Id` (P-9).
    pub(super) id: String,
    /// All but the body.
    pub(super) parts: Parts,
    /// The body.
    pub(super) body: Incoming,
    /// Who is at the other end of the connection.
    pub(super) peer: Peer,
    /// Where it comes from.
    pub(super) source: Source,
    /// Where it was sent.
    pub(super) target: Target,
    /// Under which settings it is answered.
    pub(super) settings: Arc<Settings>,
}

impl Inbound {
    /// The settings of the configuration.
    pub(super) fn config(&self) -> &Config {
        &self.settings.config
    }

    /// Who calls an agent.
    ///
    /// # Errors
    /// There is no valid credential, or too many requests came with it, or without.
    pub(super) fn caller(&self, state: &State) -> Result<Who, Refusal> {
        let who = auth::caller(&self.parts.headers, self.source, self.config(), &state.node);
        self.counted(who)
    }

    /// Who calls as the operator.
    ///
    /// # Errors
    /// There is no valid credential, or it is not an admin's.
    pub(super) fn admin(&self, state: &State) -> Result<Who, Refusal> {
        self.counted(auth::admin(&self.parts.headers, self.source, &state.node))
    }

    /// Who calls what is open to everybody, if they say.
    ///
    /// # Errors
    /// What they say is not valid, or too many requests came with it, or without.
    pub(super) fn anybody(&self, state: &State) -> Result<Option<Who>, Refusal> {
        match auth::shown(&self.parts.headers, self.source, &state.node) {
            Ok(None) => self.counted_address().map(|()| None),
            Ok(Some(who)) => self.counted(Ok(who)).map(Some),
            Err(fault) => self.counted(Err(fault)).map(Some),
        }
    }

    /// Counts a request of nobody known.
    pub(super) fn counted_address(&self) -> Result<(), Refusal> {
        Ok(self.settings.rates.address(self.source.client)?)
    }

    /// Counts a request of whoever it is. A valid credential is never refused for the failures of others (O-20).
    fn counted(&self, who: Result<Who, Fault>) -> Result<Who, Refusal> {
        match who {
            Ok(who) => {
                if self.source.client.is_some() {
                    self.settings.rates.caller(&who.caller)?;
                }
                Ok(who)
            }
            Err(fault) => {
                self.counted_address()?;
                Err(fault.into())
            }
        }
    }

    /// The media type of the body, without parameters, in lower case; `None`: there is none.
    pub(super) fn media_type(&self) -> Option<String> {
        let value = self.parts.headers.get(header::CONTENT_TYPE)?;
        let value = String::from_utf8_lossy(value.as_bytes());
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// Whether the body is JSON as far as it says (P-2); one that is empty need not say.
    pub(super) fn is_json(&self) -> bool {
        match self.media_type() {
            None => self.body.is_end_stream(),
            Some(media_type) => matches!(media_type.as_str(), "application/json" | "application/a2a+json"),
        }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// It is coded, too large, too slow, breaks off, or there is no room for it.
    pub(super) async fn read(&mut self) -> Result<Bytes, Refusal> {
        if has_coding(&self.parts.headers) {
            return Err(Refusal::coded());
        }
        let (most, time) = (self.settings.config.body, self.settings.config.request_timeout);
        limits::collect(&mut self.body, most, time, &self.settings.room).await
    }

    /// Reads what is left of the body, if an HTTP/1 caller would otherwise lose the answer.
    pub(super) async fn discard(&mut self) {
        let waits = self.parts.headers.contains_key(header::EXPECT);
        if self.parts.version < http::Version::HTTP_2 && !waits && !self.body.is_end_stream() {
            // As much again as is taken at most: who sends more is cut off.
            let most = self.settings.config.body.unwrap_or(0).saturating_mul(2);
            limits::discard(&mut self.body, most).await;
        }
    }

    /// All values of a header. One that is no text is a sign that stands for nothing: never as if it were absent.
    pub(super) fn header(&self, name: &str) -> impl Iterator<Item = &str> {
        self.parts.headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or("\u{fffd}"))
    }

    /// All values of a query parameter, decoded.
    pub(super) fn query<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
        values(self.parts.uri.query().unwrap_or_default(), name)
    }
}

/// All values of a query parameter.
fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    query.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        // What is no text stays escaped.
        let word = |word| percent::word(word).unwrap_or(Cow::Borrowed(word));
        (word(key) == name).then(|| word(value))
    })
}

/// Whether a body is compressed, or otherwise not what it is (O-51).
fn has_coding(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The request's id: the caller's, if it can stand in a log, else ours (P-9).
pub(super) fn request_id(headers: &HeaderMap) -> String {
    let said = headers.get("x-request-id").and_then(|value| value.to_str().ok()).filter(|id| {
        (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    });
    said.map_or_else(|| unique::uuid().hyphenated().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_callers_request_id_is_taken_if_it_can_stand_in_a_log() {
        let id = |value: &str| {
            request_id(&HeaderMap::from_iter([(
                "x-request-id".parse().unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )]))
        };
        assert_eq!(id("a.B-9_"), "a.B-9_");
        for bad in ["", "a b", "a\"b", "é", &"x".repeat(129)] {
            assert_ne!(id(bad), bad);
            assert_eq!(id(bad).len(), 36, "a UUID of ours");
        }
    }

    #[test]
    fn query_parameters_are_read_decoded_and_by_their_whole_name() {
        let all = |query, name| values(query, name).map(Cow::into_owned).collect::<Vec<_>>();
        assert_eq!(all("A2A-Version=1.0&x=2", "A2A-Version"), ["1.0"]);
        assert_eq!(all("A2A-Version=1.0&A2A-Version=0.3", "A2A-Version"), ["1.0", "0.3"]);
        assert_eq!(all("a%2Db=c+d%20e%", "a-b"), ["c d e%"]);
        assert_eq!(all("flag&flag2=1", "flag"), [""]);
        assert!(all("", "x").is_empty());
    }

    #[test]
    fn only_bodies_that_are_what_they_are_are_taken() {
        let coded = |value| {
            has_coding(&HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(
            coded("gzip") && coded("identity, gzip") && !coded("identity") && !has_coding(&HeaderMap::new())
        );
    }
}
