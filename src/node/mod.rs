//! node.

pub mod config;
