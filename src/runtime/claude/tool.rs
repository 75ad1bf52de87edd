//! What a reader is told of a tool at work, and what the model is told when it may not use one.
//!
//! Pure.

use serde_json::{Value, json};

use crate::model::{Message, Part, Role};

/// Longest text of an input that is shown.
const SHOWN: usize = 200;

/// Largest input that goes along whole.
const WHOLE: usize = 2048;

/// What a tool works on, in the order of what tells most.
const SUBJECTS: [&str; 8] =
    ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];

/// A tool begins: a line for people, and data for programs.
pub(super) fn started(id: &str, name: &str, input: &Value) -> Message {
    let subject = SUBJECTS.iter().find_map(|key| input.get(key)?.as_str());
    let line = match subject {
        Some(subject) => format!("{name}: {}", short(subject)),
        None => name.to_owned(),
    };
    let mut data = json!({"kind": "tool", "id": id, "tool": name, "status": "started"});
    if input.to_string().len() <= WHOLE {
        data["input"] = input.clone();
    }
    Message::new(Role::Agent, vec![Part::text(line), Part::data(&data)])
}

/// The first line of a text, as far as it can be shown.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.trim_end().len() { format!("{shown}…") } else { shown }
}

/// Why a tool is denied, for the model.
pub(super) const fn denial(name: &str) -> &'static str {
    if is_question(name) {
        "Nobody can answer while this turn runs. Decide by yourself, or end your turn with the question as your \
         answer: the user can then reply."
    } else {
        "Denied by the policy of this node: nobody can be asked for permission. Do not try another way to do the \
         same. Go on without it, or end your turn and say what you would have needed."
    }
}

const fn is_question(name: &str) -> bool {
    matches!(name.as_bytes(), b"AskUserQuestion")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_shown_with_what_it_works_on() {
        let line = |input: Value| started("t", "Bash", &input).parts[0].plain().unwrap().to_owned();
        assert_eq!(line(json!({"command": "ls -l", "description": "Lists"})), "Bash: ls -l");
        assert_eq!(line(json!({"command": "one\ntwo"})), "Bash: one…");
        assert_eq!(line(json!({"n": 1})), "Bash");
        assert_eq!(line(json!({"command": "x".repeat(500)})).chars().count(), "Bash: ".len() + SHOWN + 1);
    }

    #[test]
    fn a_large_input_does_not_go_along() {
        let data = |input: Value| serde_json::to_value(&started("t", "Write", &input).parts[1]).unwrap();
        assert_eq!(data(json!({"file_path": "a"}))["data"]["input"]["file_path"], "a");
        let large = data(json!({"file_path": "a", "content": "x".repeat(5000)}));
        assert_eq!(large["data"]["input"], Value::Null);
        assert_eq!(large["data"]["tool"], "Write");
    }

    #[test]
    fn a_question_is_denied_in_other_words_than_a_permission() {
        assert!(denial("AskUserQuestion").contains("end your turn with the question"));
        assert!(denial("Bash").contains("nobody can be asked for permission"));
    }
}
