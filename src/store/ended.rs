//! Rows of tasks that have ended, kept for those who ask again: nothing changes in them but that they are deleted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rows::{StreamId, TaskRow};
use crate::model::TaskId;

/// How many rows are kept.
const KEPT: usize = 2048;

/// Bytes of the largest task that is kept.
const LARGEST: usize = 4096;

/// The rows, the oldest first to go.
#[derive(Default)]
pub(super) struct Ended(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    kept: HashMap<TaskId, TaskRow>,
    order: VecDeque<TaskId>,
    /// How often something was deleted.
    deletions: u64,
}

impl Ended {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A row that is kept; or how often something was deleted before it is looked for elsewhere.
    pub(super) fn get(&self, id: &TaskId) -> Result<TaskRow, u64> {
        let rows = self.rows();
        rows.kept.get(id).cloned().ok_or(rows.deletions)
    }

    /// Keeps a row that was read since `deletions` were counted, if it can't change any more.
    pub(super) fn keep(&self, row: &TaskRow, deletions: u64) {
        let whole = row.snapshot.as_ref().filter(|snapshot| snapshot.seq == row.seq);
        if !row.born || !row.state.is_terminal() || whole.is_none_or(|whole| whole.json.len() > LARGEST) {
            return;
        }
        let mut rows = self.rows();
        // It may be this one that was deleted since it was read.
        if rows.deletions != deletions || rows.kept.insert(row.id.clone(), row.clone()).is_some() {
            return;
        }
        rows.order.push_back(row.id.clone());
        if rows.order.len() > KEPT
            && let Some(oldest) = rows.order.pop_front()
        {
            rows.kept.remove(&oldest);
        }
    }

    /// Forgets what was deleted.
    pub(super) fn forget(&self, deleted: &[StreamId]) {
        if deleted.is_empty() {
            return;
        }
        let mut rows = self.rows();
        rows.deletions += 1;
        for id in deleted {
            if rows.kept.remove(id).is_some() {
                rows.order.retain(|kept| kept != id);
            }
        }
    }
}
