//! What the configuration says to `store`: where the state lies, how safely, how long, how much.

use std::path::PathBuf;
use std::time::Duration;

/// `[store]` and the state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The state directory: `node.db` and its companions lie in it. Absolute.
    pub dir: PathBuf,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a task is kept once it has ended; `None`: for ever.
    pub keep_terminal: Option<Duration>,
    /// How long a task waits for an answer before it is CANCELED "nobody answered"; `None`: for ever.
    pub keep_waiting: Option<Duration>,
    /// Free bytes below which new tasks are refused (O-36); 0: off.
    pub min_free: u64,
    /// Bytes that the store may take; `None`: no cap.
    pub max: Option<u64>,
}

/// What an acknowledged change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power.
    Strict,
    /// A crash of the process.
    Relaxed,
}
