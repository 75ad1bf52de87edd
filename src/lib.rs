//! a2ad: one small binary that turns the agent programs of a machine into agents that anyone can dial over A2A.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod doors;
pub mod lifecycle;
pub mod model;
pub mod node;
pub mod peer;
pub mod runtime;
pub mod store;
pub mod wire;
