//! The targets of log records that stand for themselves because a key of the configuration opens them (O-43). They have
//! one level each, and whoever writes such a record writes nothing of the kind under another target.

/// Message text, at debug: `log.content`.
pub const CONTENT: &str = "a2ad::content";

/// Addresses of callers whose request went well, at info: `log.addresses`.
pub const ADDRESSES: &str = "a2ad::addresses";
