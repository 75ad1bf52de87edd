//! store.

pub mod config;
