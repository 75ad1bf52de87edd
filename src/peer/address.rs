//! Where a node is, and what may be shown to it.

use std::{fmt, path::PathBuf};

use reqwest::Url;

use super::Error;

/// A node or an agent of one: `https://HOST[:PORT][/PATH]`, `http://…`, or `unix:/path/of/socket`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: Url,
    socket: Option<PathBuf>,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Address { text: text.to_owned(), why: why.to_owned() };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.starts_with('/') {
                return Err(wrong("the path of a unix socket must be absolute"));
            }
            return Ok(Self::unix(PathBuf::from(path)));
        }
        if !text.contains("://") {
            return Err(wrong("there is no scheme"));
        }
        let base = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("the scheme must be https, http or unix"));
        }
        // A secret in a URL ends up in argv, logs and process lists (O-12); so it is not shown here either.
        if !base.username().is_empty() || base.password().is_some() {
            return Err(Error::Address {
                text: format!("{}://…@{}", base.scheme(), base.host_str().unwrap_or_default()),
                why: "credentials don't belong in a URL; use --token-file".to_owned(),
            });
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(wrong("it may not have a query or fragment"));
        }
        Ok(Self { base, socket: None })
    }

    /// A node behind a unix socket.
    #[must_use]
    pub fn unix(path: PathBuf) -> Self {
        #[expect(clippy::expect_used, reason = "a constant")]
        // invariant: the constant is a URL.
        let base = Url::parse("http://localhost/").expect("a constant URL");
        Self { base, socket: Some(path) }
    }

    /// The URL; that of a unix socket has the host `localhost`.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.base
    }

    /// The unix socket, if it is one.
    #[must_use]
    pub const fn socket(&self) -> Option<&PathBuf> {
        self.socket.as_ref()
    }

    /// The path without slashes at its end; empty at the root.
    #[must_use]
    pub fn path(&self) -> &str {
        self.base.path().trim_end_matches('/')
    }

    /// The path of the node itself: without the agent that the address may name.
    #[must_use]
    pub fn node(&self) -> &str {
        match self.path().rsplit_once("/agents/") {
            Some((node, agent)) if !agent.contains('/') => node,
            _ => self.path(),
        }
    }

    /// A URL of the same origin. `path` begins with a slash.
    #[must_use]
    pub fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(path);
        url
    }

    /// Whether plain text leaves this machine.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.socket.is_none() && self.base.scheme() == "http" && !self.is_loopback()
    }

    /// Whether the host is this machine, by its address or the name `localhost`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(path) => write!(f, "unix:{}", path.display()),
            None => f.write_str(self.base.as_str().trim_end_matches('/')),
        }
    }
}

/// A bearer token. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// Takes a token as it stands in a file or a variable: blanks around it do not count.
    ///
    /// # Errors
    /// What is wrong with it, without a letter of it.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("holds blanks, line breaks or letters that no token has");
        }
        Ok(Self(text.to_owned()))
    }

    /// For the header.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_urls_or_absolute_sockets() {
        for good in ["https://box.example", "http://127.0.0.1:7878/agents/claude", "unix:/run/a2ad/a2ad.sock"]
        {
            assert_eq!(Address::parse(good).unwrap().to_string(), good);
        }
        for bad in
            ["box", "box:7878", "ftp://box", "unix:a2ad.sock", "https://box/?x=1", "https://", "http://b#f"]
        {
            assert!(matches!(Address::parse(bad), Err(Error::Address { .. })), "{bad}");
        }
    }

    #[test]
    fn the_node_is_found_behind_the_path_of_an_agent() {
        for (text, node) in [
            ("http://a/agents/x", ""),
            ("http://a/b/agents/x/", "/b"),
            ("http://a/b", "/b"),
            ("http://a", ""),
        ] {
            assert_eq!(Address::parse(text).unwrap().node(), node, "{text}");
        }
    }

    #[test]
    fn a_secret_in_a_url_is_refused_and_not_repeated() {
        let error = Address::parse("https://ann:hunter2@box.example").unwrap_err().to_string();
        assert!(error.contains("--token-file") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn plain_text_is_exposed_only_beyond_this_machine() {
        for (text, exposed) in [
            ("http://127.0.0.1:1", false),
            ("http://[::1]:1", false),
            ("http://localhost:1", false),
            ("unix:/a", false),
            ("https://box", false),
            ("http://box", true),
            ("http://192.0.2.1", true),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_exposed(), exposed, "{text}");
        }
    }

    #[test]
    fn a_credential_is_never_printed() {
        let credential = Credential::new(" a2ad_secret\n").unwrap();
        assert_eq!(format!("{credential:?}"), "***");
        assert_eq!(credential.bearer(), "Bearer a2ad_secret");
        assert!(Credential::new(" \n").is_err());
        assert!(Credential::new("a b").is_err());
    }
}
