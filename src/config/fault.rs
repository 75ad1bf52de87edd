//! What can be wrong with a configuration, and where: [`Fault`]s stop a start, [`Warning`]s do not.

use std::path::PathBuf;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A place in the file; line and column count from 1.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// Line.
        line: usize,
        /// Column, in characters.
        column: usize,
    },
    /// An environment variable, by name.
    Env(String),
    /// A flag of the command line.
    Flag(&'static str),
    /// An agent program found on PATH, when no agent is configured.
    Found,
    /// Built in, or made from what the machine says.
    Default,
}

impl std::fmt::Display for Origin {
    /// `default`, `found`, `FILE:LINE`, `env NAME` or the flag: the words of `config show`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Found => f.write_str("found"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One thing that is wrong, in one line: where, what, why, what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where it stands.
    pub origin: Origin,
    /// The key, dotted from the root; `None` where the text is no TOML.
    pub key: Option<String>,
    /// What is wrong with it. Never holds the value of a secret.
    pub why: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// The line in the file, from 1; 0 for faults that are not in a file.
    pub const fn line(&self) -> usize {
        match self.origin {
            Origin::File { line, .. } => line,
            _ => 0,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::File { path, line: 0, .. } => write!(f, "{}: ", path.display())?,
            Origin::File { path, line, column } => write!(f, "{}:{line}:{column}: ", path.display())?,
            Origin::Env(name) => write!(f, "{name}: ")?,
            Origin::Flag(flag) => write!(f, "{flag}: ")?,
            Origin::Found | Origin::Default => {}
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.why)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Something the operator should know; the node starts all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// Where it stands.
    pub origin: Origin,
    /// The key, dotted from the root, or the name of the variable.
    pub key: String,
    /// What there is to know.
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::File { .. } => write!(f, "{}: {}: {}", self.origin, self.key, self.text),
            Origin::Env(name) if *name != self.key => write!(f, "{name}: {}: {}", self.key, self.text),
            _ => write!(f, "{}: {}", self.key, self.text),
        }
    }
}

/// A configuration that cannot be used: every fault it has, in the order of the file. Exit code 78.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Never empty.
    pub faults: Vec<Fault>,
}

impl Error {
    /// Faults in the order a person reads the file, each once.
    pub(super) fn of(mut faults: Vec<Fault>) -> Self {
        faults.sort();
        faults.dedup();
        Self { faults }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
