//! What of a task an answer shows (A2A 1.0 section 3.2.4, P-31).

use crate::model::Task;

/// Messages shown where the caller sets no limit.
pub const DEFAULT_HISTORY: usize = 100;

/// Leaves the newest `history` messages and, without `artifacts`, no artifact.
#[must_use]
pub fn cut(mut task: Task, history: usize, artifacts: bool) -> Task {
    let surplus = task.history.len().saturating_sub(history);
    task.history.drain(..surplus);
    if !artifacts {
        task.artifacts.clear();
    }
    task
}
