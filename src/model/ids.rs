//! Identifiers. All but agent names are opaque strings, cheap to clone.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};

/// Position of an entry in the journal of one task, from 1; 0 is "before the first". Also the SSE `id:` (P-26).
pub type Seq = u64;

/// The session of a runtime that belongs to a context, as the runtime names it.
pub type Session = String;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A fresh UUIDv7.
            #[must_use]
            pub fn fresh() -> Self {
                let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                Self(Arc::from(&*super::unique::uuid().hyphenated().encode_lower(&mut text)))
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            /// An empty string is the ProtoJSON default, so it is "missing" and refused.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Arc::<str>::deserialize(deserializer).and_then(|text| match &*text {
                    "" => Err(serde::de::Error::custom("must not be empty")),
                    _ => Ok(Self(text)),
                })
            }
        }
    )+};
}

ids! {
    /// A task, made by the server (A2A 1.0 section 3.4.2). Any text is a possible question: an unknown one is
    /// `TaskNotFound`, whatever it looks like (P-3).
    TaskId,
    /// A conversation: the caller's or ours.
    ContextId,
    /// A message, made by its author.
    MessageId,
    /// An artifact, unique within its task.
    ArtifactId,
}

/// The name of an agent: also a URL segment and a tenant (P-10).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AgentName(Arc<str>);

/// Words that are paths of the node and so name no agent (P-10).
const RESERVED: [&str; 30] = [
    "a2a",
    "admin",
    "agent-card",
    "agents",
    "all",
    "api",
    "assets",
    "card",
    "console",
    "extendedagentcard",
    "files",
    "healthz",
    "inbox",
    "invitations",
    "jwks",
    "lf",
    "mcp",
    "me",
    "message",
    "metrics",
    "node",
    "ops",
    "readyz",
    "rooms",
    "static",
    "tasks",
    "v03",
    "v1",
    "v2",
    "well-known",
];

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Letters, length or first letter are off.
    #[error("`{0}` is no name: use 1 to 63 of a-z, 0-9, `_` and `-`, beginning with a letter or digit")]
    Letters(String),
    /// A path of the node has this name.
    #[error("`{0}` is reserved: it is a path of the node; choose another name")]
    Reserved(String),
}

impl AgentName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text has the letters of a name: `[a-z0-9][a-z0-9_-]{0,62}`.
fn spelled(text: &str) -> bool {
    let mut bytes = text.bytes();
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 63 && bytes.next().is_some_and(letter) && bytes.all(|b| letter(b) || b == b'_' || b == b'-')
}

impl FromStr for AgentName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if !spelled(text) {
            return Err(BadName::Letters(text.into()));
        }
        if RESERVED.contains(&text) {
            return Err(BadName::Reserved(text.into()));
        }
        Ok(Self(Arc::from(text)))
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_words_that_are_no_path_of_the_node() {
        for good in ["a", "claude", "9lives", "my-agent_2", &"x".repeat(63)] {
            assert!(good.parse::<AgentName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "_a", "Claude", "a.b", "a/b", "ä", "tasks", "v1", "me", &"x".repeat(64)] {
            assert!(bad.parse::<AgentName>().is_err(), "{bad}");
        }
    }
}
