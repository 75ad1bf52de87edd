//! What a turn starts from, made when it starts and not when it was asked for.

use crate::{
    lifecycle::{Event, Fact},
    model::{Message, Role, Task},
};

/// Most messages of a history that a program is given (J-7).
const MOST_MESSAGES: usize = 200;
/// Most bytes of it.
const MOST_BYTES: usize = 1024 * 1024;

/// Earlier messages of a task: the first user message always, then the newest that fit. `unread` of the newest user
/// messages are not part of it. The flag says whether some were left out.
pub(super) fn history(task: &Task, unread: usize) -> (Vec<Message>, bool) {
    let end = task.history.len().saturating_sub(unread);
    let earlier = task.history.get(..end).unwrap_or_default();
    let Some(first) = earlier.iter().position(|message| message.role == Role::User) else {
        return (earlier.to_vec(), false);
    };
    let mut bytes = earlier[first].size();
    let mut kept: Vec<Message> = Vec::new();
    for message in earlier[first + 1..].iter().rev() {
        bytes += message.size();
        if kept.len() + 1 >= MOST_MESSAGES || bytes > MOST_BYTES {
            break;
        }
        kept.push(message.clone());
    }
    kept.push(earlier[first].clone());
    kept.reverse();
    let truncated = kept.len() < earlier.len();
    (kept, truncated)
}

/// The messages that no run has been given yet, as a journal tells: those after the last sign of a run.
pub(super) fn unread(events: &[Event]) -> Vec<Message> {
    let mut unread = Vec::new();
    let mut last = None;
    for event in events {
        match &event.fact {
            Fact::Opened { message, .. } | Fact::Said(message) => {
                last = Some(message.clone());
                unread.push(message.clone());
            }
            Fact::Requeued { .. } => {}
            Fact::Working(_)
            | Fact::Wrote { .. }
            | Fact::Asked { .. }
            | Fact::NeedsAuth(_)
            | Fact::Replied(_)
            | Fact::Completed { .. }
            | Fact::Failed { .. }
            | Fact::Canceled { .. }
            | Fact::Rejected(_) => unread.clear(),
        }
    }
    if unread.is_empty() {
        unread.extend(last);
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TaskState, TaskStatus};

    fn task(messages: usize) -> Task {
        Task {
            id: "t".into(),
            context_id: Some("c".into()),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: Vec::new(),
            history: (0..messages).map(|n| Message::user(n.to_string())).collect(),
            metadata: None,
        }
    }

    #[test]
    fn j_07_the_first_message_stays_and_then_the_newest() {
        let (kept, truncated) = history(&task(300), 1);
        let texts: Vec<String> = kept.iter().map(Message::text).collect();
        assert_eq!((texts.len(), truncated), (MOST_MESSAGES, true));
        assert_eq!((texts[0].as_str(), texts[1].as_str(), texts[199].as_str()), ("0", "100", "298"));
    }

    #[test]
    fn a_short_history_is_whole() {
        let (kept, truncated) = history(&task(3), 1);
        assert_eq!((kept.len(), truncated), (2, false));
        assert_eq!(history(&task(1), 1), (Vec::new(), false));
    }
}
