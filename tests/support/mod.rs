//! What tests stand on: a node, a plain HTTP client, an agent that the test plays itself.

#[cfg(unix)]
pub(crate) mod home;
pub(crate) mod http;
pub(crate) mod node;
pub(crate) mod stage;
