//! Who may do what: one function, asked by every operation.

use crate::{
    model::{AgentName, Caller},
    store::TaskRow,
};

/// What somebody wants to do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Look at it.
    See,
    /// Say something to it.
    Say,
    /// End it.
    Cancel,
    /// Forget it, once it has ended (O-71).
    Delete,
}

/// Whether a caller may. A task belongs to a principal and an agent (P-14); admins see, end and delete all, but speak in
/// nobody's name. Who may not see is told that there is no such task.
pub(super) fn may(caller: &Caller, agent: &AgentName, task: &TaskRow, act: Act) -> bool {
    if !task.born || task.agent != *agent || !caller.may_call.holds(agent) {
        return false;
    }
    let owns = task.scope == caller.principal;
    match act {
        Act::See | Act::Cancel | Act::Delete => owns || caller.is_admin(),
        Act::Say => owns,
    }
}
