//! Who does the work: the trait [`Runtime`] and its kinds. Called by `node`; never sees the store or a socket of a caller.

pub mod child;
pub mod config;
