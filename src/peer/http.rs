//! One connection pool to one origin. The credential goes to that origin and nowhere else (O-12, O-29).

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use bytes::{Bytes, BytesMut};
use reqwest::{Method, RequestBuilder, Response, Url, header, redirect};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Address, Credential, Error, Refusal};
use crate::wire::Version;

/// Bytes of one answer; a task may hold 256 MiB.
const MOST_ANSWER: usize = 384 << 20;

/// What is waited for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Looks up a credential anew: that of a node on this machine changes with every start of it.
type Renewal = Arc<dyn Fn() -> Option<Credential> + Send + Sync>;

/// An HTTP client bound to an origin.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    address: Address,
    credential: Arc<ArcSwapOption<Credential>>,
    renewal: Option<Renewal>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Http").field(&self.address).finish()
    }
}

impl Http {
    /// Makes the client; nothing is dialed yet.
    ///
    /// # Errors
    /// [`Error::Client`].
    pub fn new(address: Address, credential: Option<Credential>) -> Result<Self, Error> {
        // Fails when there is one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("a2ad/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .tcp_keepalive(Duration::from_secs(30));
        if address.url().scheme() == "http" {
            // Certificates are read from disk for https only.
            builder = builder.tls_certs_only([]);
        }
        if address.is_loopback() {
            builder = builder.no_proxy();
        }
        #[cfg(unix)]
        if let Some(path) = address.socket() {
            builder = builder.unix_socket(path.clone());
        }
        let client = builder
            .build()
            .map_err(|error| Error::Client { url: address.to_string(), why: innermost(&error) })?;
        let credential = Arc::new(ArcSwapOption::from_pointee(credential));
        Ok(Self { client, address, credential, renewal: None })
    }

    /// With a way to look up the credential anew once it is refused.
    #[must_use]
    pub fn renewed_by(self, look: impl Fn() -> Option<Credential> + Send + Sync + 'static) -> Self {
        Self { renewal: Some(Arc::new(look)), ..self }
    }

    /// Looks up the credential anew; whether there is another one now.
    pub(super) fn renew(&self) -> bool {
        let Some(fresh) = self.renewal.as_ref().and_then(|look| look()) else { return false };
        let old = self.credential.swap(Some(Arc::new(fresh.clone())));
        old.as_deref() != Some(&fresh)
    }

    /// Where it dials.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// A request. The credential comes along if, and only if, the origin is the one it was given for.
    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.request_in(Version::V1, method, url)
    }

    /// The same in a version of A2A.
    pub fn request_in(&self, version: Version, method: Method, url: Url) -> RequestBuilder {
        let ours = url.origin() == self.address.url().origin();
        let request = self.client.request(method, url).header("A2A-Version", version.as_str());
        match &*self.credential.load() {
            Some(credential) if ours => request.header(header::AUTHORIZATION, credential.bearer()),
            _ => request,
        }
    }

    /// The same without a credential, for cards that are public.
    pub fn open_request(&self, url: Url) -> RequestBuilder {
        self.client.get(url).header("A2A-Version", "1.0").header(header::ACCEPT, "application/json")
    }

    /// Sends it and waits for the head of the answer. `patience` covers the body too.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub async fn send(&self, request: RequestBuilder, patience: Option<Duration>) -> Result<Response, Error> {
        let request = match patience {
            Some(patience) => request.timeout(patience),
            None => request,
        };
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        tracing::debug!(
            status = response.status().as_u16(),
            path = response.url().path(),
            request_id = request_id(&response).unwrap_or_default(),
            "answered"
        );
        Ok(response)
    }

    /// The whole body, if it is not larger than is taken.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::TooLarge`].
    pub async fn body(&self, response: Response) -> Result<Bytes, Error> {
        self.body_within(response, MOST_ANSWER).await
    }

    /// The whole body, if it holds at most this many bytes.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::TooLarge`].
    pub async fn body_within(&self, mut response: Response, most: usize) -> Result<Bytes, Error> {
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > most {
                return Err(Error::TooLarge { url: self.address.to_string(), most });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// The refusal in an answer that is none of 2xx.
    pub async fn refusal(&self, response: Response) -> Error {
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let request_id = request_id(&response);
        let place =
            response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = match self.body_within(response, 1 << 20).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        let told = serde_json::from_slice::<Envelope<'_>>(&body).ok().and_then(|envelope| envelope.error);
        let mut refusal = told.map(refusal).unwrap_or_default();
        if refusal.message.is_empty() {
            refusal.message = match place {
                Some(place) if (300..400).contains(&status) => {
                    format!("{} redirects to {place}; dial that address instead", self.address)
                }
                _ => format!("{} answered with HTTP status {status}", self.address),
            };
        }
        Error::Refused(Box::new(Refusal { status, retry_after, request_id, ..refusal }))
    }

    /// What a failed request means.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Error {
        let why = if error.is_timeout() { "no answer in time".to_owned() } else { innermost(error) };
        Error::Unreachable { url: self.address.to_string(), why }
    }

    /// An answer that is none.
    pub(super) fn nonsense(&self, why: impl std::fmt::Display) -> Error {
        Error::Answer { url: self.address.to_string(), why: why.to_string() }
    }
}

/// The answer of either envelope, read as leniently as can be: peers in the wild send `"error": null` beside a
/// result, leave the id out, and add members.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    code: serde_json::Value,
    message: serde_json::Value,
    data: serde_json::Value,
    details: serde_json::Value,
}

/// The error object of JSON-RPC or REST, whatever it looks like. A bare text is taken as the message.
pub(super) fn refusal(raw: &RawValue) -> Refusal {
    let told: Told = serde_json::from_str(raw.get()).unwrap_or_else(|_| Told {
        message: serde_json::from_str(raw.get()).unwrap_or_default(),
        ..Told::default()
    });
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut refusal = Refusal {
        code: told.code.as_i64().unwrap_or_default(),
        message: text(&told.message),
        ..Refusal::default()
    };
    let details = [&told.data, &told.details].into_iter().filter_map(|value| value.as_array()).flatten();
    for detail in details {
        if let Some(reason) = detail["reason"].as_str() {
            refusal.reason.get_or_insert_with(|| reason.to_owned());
        }
        for violation in detail["fieldViolations"].as_array().into_iter().flatten() {
            refusal.fields.push((text(&violation["field"]), text(&violation["description"])));
        }
    }
    refusal
}

fn request_id(response: &Response) -> Option<String> {
    Some(response.headers().get("x-request-id")?.to_str().ok()?.to_owned())
}

/// The last cause of a chain: the others say in general what this one says exactly.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Refusal {
        let envelope: Envelope<'_> = serde_json::from_str(text).unwrap();
        refusal(envelope.error.unwrap())
    }

    #[test]
    fn errors_of_both_envelopes_are_read() {
        let rpc = read(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone","extra":1,
            "data":[{"@type":"x","reason":"TASK_NOT_FOUND","metadata":{"a":[1]}}]}}"#,
        );
        assert!(rpc.is("TASK_NOT_FOUND", -32001));
        let rest = read(
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad","details":[{"fieldViolations":
            [{"field":"message.parts","description":"needs at least one part"}]}]}}"#,
        );
        assert_eq!(rest.to_string(), "bad; message.parts: needs at least one part");
    }

    #[test]
    fn errors_that_break_every_rule_still_say_something() {
        assert_eq!(read(r#"{"error":"no"}"#).message, "no");
        assert_eq!(read(r#"{"error":{"code":"x","message":7}}"#), Refusal::default());
        assert_eq!(read(r#"{"error":{"code":-32603}}"#).to_string(), "refused with error -32603");
    }

    #[test]
    fn a_null_beside_the_other_is_absence() {
        let envelope: Envelope<'_> = serde_json::from_str(r#"{"result":{"id":1},"error":null}"#).unwrap();
        assert!(envelope.error.is_none() && envelope.result.is_some());
        let envelope: Envelope<'_> = serde_json::from_str(r#"{"result":null}"#).unwrap();
        assert!(envelope.error.is_none() && envelope.result.is_none());
    }

    #[test]
    fn the_credential_goes_to_its_own_origin_only() {
        let address = Address::parse("http://127.0.0.1:7878").unwrap();
        let http = Http::new(address, Some(Credential::new("a2ad_x").unwrap())).unwrap();
        let sent = |url: &str| {
            let request = http.request(Method::POST, url.parse().unwrap()).build().unwrap();
            request.headers().contains_key(header::AUTHORIZATION)
        };
        assert!(sent("http://127.0.0.1:7878/agents/claude"));
        for other in ["http://127.0.0.1:7879/", "https://127.0.0.1:7878/", "http://localhost:7878/"] {
            assert!(!sent(other), "{other}");
        }
    }
}
