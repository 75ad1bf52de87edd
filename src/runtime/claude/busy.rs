//! Which conversations have a process: two at one would spoil its file (UR-45). A run that ends tells its outcome
//! before its process has left; the next run of the conversation waits here for that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// The conversations that are in use.
#[derive(Debug, Default)]
pub(super) struct Busy(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Busy {
    /// Waits until nobody else has the conversation, and has it until the guard is dropped.
    pub(super) async fn hold(&self, id: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(id.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}
