//! What can go wrong on the way to another node and back.

use std::{fmt, time::Duration};

use crate::model::TaskId;

/// Every variant names the culprit: the address, the network, the other side, or the stream in between.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no address.
    #[error("`{text}` is no address of a node: {why}; give a URL such as https://box.example")]
    Address {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The client itself could not be made: usually no certificate store.
    #[error("{url} can't be dialed: {why}; on a system without CA certificates set SSL_CERT_FILE")]
    Client {
        /// The address.
        url: String,
        /// What the TLS library says.
        why: String,
    },
    /// No connection, or none that carried an answer.
    #[error("{url} can't be reached: {why}")]
    Unreachable {
        /// The address.
        url: String,
        /// The innermost cause.
        why: String,
    },
    /// The other side understood and said no.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// There is no card where one should be.
    #[error("{url} has no A2A AgentCard: {why}")]
    NoCard {
        /// Where it was looked for.
        url: String,
        /// What was there instead.
        why: String,
    },
    /// A card that offers nothing we may dial.
    #[error(
        "the AgentCard at {url} offers no interface of A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON here: {why}"
    )]
    NoInterface {
        /// The card.
        url: String,
        /// What it offers.
        why: String,
    },
    /// The version that the other side speaks has no such operation.
    #[error("{url} speaks A2A {version}, which has no {what}")]
    Unspoken {
        /// The address.
        url: String,
        /// What it speaks.
        version: &'static str,
        /// The operation, as 1.0 calls it.
        what: &'static str,
    },
    /// What came is not A2A.
    #[error("{url} answered something that is not A2A: {why}")]
    Answer {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// More came than is taken.
    #[error("{url} answered more than {} MiB at once", most >> 20)]
    TooLarge {
        /// The address.
        url: String,
        /// Bytes that are taken.
        most: usize,
    },
    /// A stream broke. It may be resumed.
    #[error("the stream from {url} broke off: {why}")]
    Cut {
        /// The address.
        url: String,
        /// The innermost cause.
        why: String,
    },
    /// A stream broke and did not come back.
    #[error("the stream was lost and could not be resumed: {why}")]
    Lost {
        /// The task that it was about, once known.
        task: Option<TaskId>,
        /// What stood in the way, the last time.
        why: String,
    },
}

impl Error {
    /// Whether the same may work a moment later: the network, a node that restarts or is busy.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } => true,
            Self::Refused(refusal) => matches!(refusal.status, 429 | 502 | 503 | 504),
            Self::Address { .. }
            | Self::Client { .. }
            | Self::NoCard { .. }
            | Self::NoInterface { .. }
            | Self::Unspoken { .. }
            | Self::Answer { .. }
            | Self::TooLarge { .. }
            | Self::Lost { .. } => false,
        }
    }

    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// An error as the other side told it, whichever envelope it came in (A2A 1.0 sections 9.5 and 11.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC code, or the HTTP status again in the REST envelope; 0 if there was none.
    pub code: i64,
    /// `reason` of the `ErrorInfo`, as `TASK_NOT_FOUND`.
    pub reason: Option<String>,
    /// For people. It came from outside: escape before showing.
    pub message: String,
    /// Parameters that are wrong, with what is wrong with them.
    pub fields: Vec<(String, String)>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The request's name in the other side's log.
    pub request_id: Option<String>,
}

impl Refusal {
    /// Whether it is the given error of the specification, by reason or by code: never by the HTTP status alone.
    #[must_use]
    pub fn is(&self, reason: &str, code: i64) -> bool {
        match &self.reason {
            Some(told) => told == reason,
            None => self.code == code,
        }
    }

    /// No credential, or a bad one.
    #[must_use]
    pub fn is_unauthenticated(&self) -> bool {
        self.status == 401 || self.reason.as_deref() == Some("UNAUTHENTICATED")
    }

    /// A good credential that is not enough.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status == 403 || self.reason.as_deref() == Some("PERMISSION_DENIED")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), self.code) {
            ("", 0) => write!(f, "refused with HTTP status {}", self.status)?,
            ("", code) => write!(f, "refused with error {code}")?,
            (message, _) => f.write_str(message)?,
        }
        for (field, why) in self.fields.iter().filter(|(_, why)| !self.message.contains(why.as_str())) {
            write!(f, "; {field}: {why}")?;
        }
        if let Some(wait) = self.retry_after.filter(|_| !self.message.contains("try again")) {
            write!(f, "; try again in {} s", wait.as_secs().max(1))?;
        }
        Ok(())
    }
}
