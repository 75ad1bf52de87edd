//! Names that the operator chooses: of agents, tokens, peers, runtimes, instances.

use crate::model::{AgentName, BadName};

/// Whether a text has the letters of a name.
///
/// # Errors
/// What is wrong, and the rule.
pub(super) fn check(text: &str) -> Result<(), String> {
    match text.parse::<AgentName>() {
        // Only agents share their names with the paths of the node (P-10).
        Ok(_) | Err(BadName::Reserved(_)) => Ok(()),
        Err(why @ BadName::Letters(_)) => Err(why.to_string()),
    }
}
