//! What is remembered of a conversation with the CLI, and what it has cost.
//!
//! Pure. The node keeps it as an opaque text, per agent, principal and context.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::wire::Ended;

/// A conversation of the CLI: where it was begun, for its store is keyed by that directory (UR-39), and the cost it
/// had reported when it was last heard of, for the CLI adds up over the whole conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) cost: f64,
}

impl Session {
    pub(super) fn new(id: String, workspace: &Path) -> Self {
        Self { id, cwd: workspace.to_string_lossy().into_owned(), cost: 0.0 }
    }

    /// What the node kept, if the conversation can go on in this workspace. An id is an argument of the CLI, so only
    /// a UUID is one.
    pub(super) fn read(text: &str, workspace: &Path) -> Option<Self> {
        let session: Self = serde_json::from_str(text).ok()?;
        let fits = session.cwd == workspace.to_string_lossy() && uuid::Uuid::parse_str(&session.id).is_ok();
        fits.then_some(session)
    }

    /// The text that the node keeps.
    pub(super) fn text(&self) -> String {
        // Plain members have a JSON form; an empty text would forget the conversation, which is the truth then.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// `a2ad/usage` of a run: over all its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
}

impl Usage {
    /// Adds a turn, and notes in the session how far it has been counted.
    pub(super) fn add(&mut self, ended: &Ended, session: &mut Session) {
        let tokens = &ended.usage;
        self.input_tokens +=
            tokens.input_tokens + tokens.cache_creation_input_tokens + tokens.cache_read_input_tokens;
        self.output_tokens += tokens.output_tokens;
        // Less than before: a conversation that began anew under the same id.
        let grown = ended.total_cost_usd - session.cost;
        let cost = if grown < 0.0 { ended.total_cost_usd } else { grown };
        self.cost_usd = micro(self.cost_usd + cost);
        session.cost = ended.total_cost_usd;
    }
}

/// To millionths: what is finer is the noise of subtracting.
fn micro(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_growth_of_the_conversations_total() {
        let mut session = Session::new("x".into(), Path::new("/w"));
        let (mut first, mut second) = (Usage::default(), Usage::default());
        let ended = |total: f64| Ended { total_cost_usd: total, ..Ended::default() };
        first.add(&ended(0.049_336), &mut session);
        second.add(&ended(0.098_788), &mut session);
        assert_eq!((first.cost_usd, second.cost_usd), (0.049_336, 0.049_452));
        second.add(&ended(0.01), &mut session);
        assert_eq!(second.cost_usd, 0.059_452);
    }

    #[test]
    fn ur_39_a_conversation_is_resumed_only_where_it_was_begun() {
        let id = "11111111-2222-4333-8444-555555555555";
        let session = Session::new(id.into(), Path::new("/srv/a"));
        assert_eq!(Session::read(&session.text(), Path::new("/srv/a")), Some(session.clone()));
        assert_eq!(Session::read(&session.text(), Path::new("/srv/b")), None);
        assert_eq!(Session::read(id, Path::new("/srv/a")), None);
        let flag = Session { id: "--dangerously-skip-permissions".into(), ..session };
        assert_eq!(Session::read(&flag.text(), Path::new("/srv/a")), None);
    }
}
