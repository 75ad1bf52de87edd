//! What the configuration says of logs; the daemon sets them up.

use std::path::PathBuf;

use super::around::Surroundings;
use super::draft::Draft;
use super::leaf::{Count, Size, Word};

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// A level, or targets with levels as `info,a2ad::store=debug`; known to be well formed.
    pub filter: String,
    /// How a record looks.
    pub format: Format,
    /// Message text is logged, at debug; warned of at each start.
    pub content: bool,
    /// The audit log: who, what, which task, outcome; no bodies.
    pub audit: bool,
    /// Addresses of successful calls are logged above debug too (O-43).
    pub addresses: bool,
    /// A file for the log; `None`: stderr. Absolute.
    pub file: Option<PathBuf>,
    /// Bytes after which the file is changed for a new one; `None`: never.
    pub max_size: Option<u64>,
    /// Old files that are kept; `None`: all.
    pub keep: Option<usize>,
}

/// How a log record looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pretty on a terminal, JSON else.
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl Word for Format {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("pretty", Self::Pretty), ("json", Self::Json)];
}

/// How the names of the node's own files in its state directory begin.
const OWN_FILES: [&str; 6] = ["node.db", "node.json", "node.lock", "node.ballast", "token", "runs"];

pub(super) fn compose(draft: &mut Draft, around: &Surroundings, state: &std::path::Path) -> Log {
    let filter: String = draft.of("log.level");
    if let Err(e) = filter.parse::<tracing_subscriber::filter::Targets>() {
        draft.fault(
            "log.level",
            format!("`{filter}` is no level and no filter: {e}"),
            "write \"info\" or \"info,a2ad::store=debug\"",
        );
    }
    let content: bool = draft.of("log.content");
    if content {
        draft.warn("log.content", "message text and prompts stand in the log at debug, for whoever reads it");
    }
    // A bare name lies with the state, wherever the file that names it is.
    let name: Option<String> = draft.read("log.file");
    let file = match name {
        Some(name) if !name.contains(['/', '\\', ':']) && !name.starts_with('~') => Some(state.join(name)),
        _ => draft.path("log.file", around),
    };
    let own = |name: &str| OWN_FILES.iter().any(|own| name.starts_with(own));
    let in_state =
        file.as_ref().filter(|file| file.parent() == Some(state)).and_then(|file| file.file_name());
    if in_state.is_some_and(|name| own(&name.to_string_lossy())) {
        draft.fault("log.file", "is a file of the node itself", "choose another name, as \"a2ad.log\"");
    }
    Log {
        filter,
        format: draft.of("log.format"),
        content,
        audit: draft.of("log.audit"),
        addresses: draft.of("log.addresses"),
        file,
        max_size: draft.of::<Size>("log.max_size").0,
        keep: draft.of::<Count>("log.keep").things(),
    }
}
