//! A question of an agent: shown whole, asked on the terminal, answered in the form the node understands.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde::{Deserialize, Serialize};

use super::terminal::{self, Screen, Style};
use crate::model::{Content, Json, Message, Part, Role, Task, Timestamp};

/// What an agent asks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Question {
    /// What it says in words.
    text: String,
    /// What the node says of it, if it does.
    form: Option<Form>,
}

/// The data part of a question.
#[derive(Debug, Deserialize, PartialEq)]
struct Form {
    kind: String,
    id: String,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    input: Option<Json>,
    #[serde(default)]
    options: Vec<Choice>,
    #[serde(default)]
    deadline: Option<Timestamp>,
}

/// One of the answers that are offered.
#[derive(Debug, Deserialize, PartialEq)]
struct Choice {
    id: String,
    #[serde(default)]
    name: String,
}

/// The data part of an answer.
#[derive(Debug, Serialize)]
struct Reply<'a> {
    kind: &'a str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Question {
    /// Reads the status message of a task that waits.
    #[must_use]
    pub(super) fn of(message: Option<&Message>) -> Self {
        let Some(message) = message else { return Self::default() };
        let form = message.parts.iter().find_map(|part| match &part.content {
            Content::Data(json) => json.read::<Form>().ok(),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
        });
        Self { text: message.text(), form }
    }

    /// The lines to show: words, the tool with all of its input, the options with their numbers.
    #[must_use]
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        let Some(form) = &self.form else { return lines };
        if let Some(tool) = &form.tool {
            lines.push(format!("tool: {tool}"));
        }
        if let Some(input) = &form.input {
            lines.push(format!("input: {}", pretty(input)));
        }
        for (number, choice) in form.options.iter().enumerate() {
            let name = if choice.name.is_empty() { &choice.id } else { &choice.name };
            lines.push(format!("  {}) {name}", number + 1));
        }
        if let Some(deadline) = form.deadline {
            lines.push(format!("until {deadline}"));
        }
        lines
    }

    /// The message that answers it. A number or an option's id or name chooses that option.
    #[must_use]
    pub(super) fn answer(&self, line: &str, task: &Task) -> Message {
        let line = line.trim();
        let mut parts = vec![Part::text(line)];
        if let Some(form) = &self.form {
            let choice = form.chosen(line);
            let text = choice.is_none().then_some(line);
            let reply =
                Reply { kind: &form.kind, id: &form.id, option: choice.map(|choice| &*choice.id), text };
            if let Some(choice) = choice {
                parts = vec![Part::text(if choice.name.is_empty() { &choice.id } else { &choice.name })];
            }
            parts.push(Part::data(&reply));
        }
        Message {
            task_id: Some(task.id.clone()),
            context_id: task.context_id.clone(),
            ..Message::new(Role::User, parts)
        }
    }
}

impl Form {
    fn chosen(&self, line: &str) -> Option<&Choice> {
        if let Ok(number) = line.parse::<usize>() {
            return number.checked_sub(1).and_then(|index| self.options.get(index));
        }
        let same = |word: &str| !word.is_empty() && word.eq_ignore_ascii_case(line);
        self.options.iter().find(|choice| same(&choice.id) || same(&choice.name))
    }
}

fn pretty(json: &Json) -> String {
    let value: Option<serde_json::Value> = json.read().ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.get().to_owned())
}

/// Whether there is somebody to ask.
#[must_use]
pub(super) fn can_ask(screen: Screen) -> bool {
    screen.err && !screen.json && (io::stdin().is_terminal() || terminal_of_process().is_some())
}

/// Shows a question and waits for a line; `None` at the end of input.
pub(super) async fn ask(screen: Screen, question: &Question) -> Option<String> {
    for line in question.lines() {
        for line in line.lines() {
            screen.error(line);
        }
    }
    let prompt = screen.paint_err(Style::Bold, "answer> ");
    let _ = io::stderr().lock().write_all(prompt.as_bytes());
    let (sender, line) = tokio::sync::oneshot::channel();
    // A thread of its own: it may wait for ever, and the runtime must not wait for it.
    std::thread::spawn(move || sender.send(read_line()));
    line.await
        .ok()
        .flatten()
        .map(|line| terminal::escaped(line.trim()).into_owned())
        .filter(|line| !line.is_empty())
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = if io::stdin().is_terminal() {
        io::stdin().lock().read_line(&mut line)
    } else {
        // Standard input was the prompt; the person is still at the terminal.
        io::BufReader::new(terminal_of_process()?).read_line(&mut line)
    };
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

#[cfg(unix)]
fn terminal_of_process() -> Option<std::fs::File> {
    #[expect(clippy::disallowed_methods, reason = "the terminal of this process")]
    std::fs::File::open("/dev/tty").ok()
}

#[cfg(not(unix))]
const fn terminal_of_process() -> Option<std::fs::File> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TaskState, TaskStatus};

    fn permission() -> Question {
        let form = serde_json::json!({"kind": "permission", "id": "q1", "tool": "Bash",
            "input": {"command": "rm -rf build\u{202e}"},
            "options": [{"id": "allow_once", "kind": "allow_once", "name": "Allow"}, {"id": "reject", "name": ""}]});
        let message = Message::new(Role::Agent, vec![Part::text("May I?"), Part::data(&form)]);
        Question::of(Some(&message))
    }

    fn task() -> Task {
        Task {
            id: "t".into(),
            context_id: Some("c".into()),
            status: TaskStatus { state: TaskState::InputRequired, message: None, timestamp: None },
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }

    fn data(message: &Message) -> String {
        match &message.parts[1].content {
            Content::Data(json) => json.get().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_permission_question_is_shown_whole() {
        let lines = permission().lines().join("\n");
        for word in ["May I?", "tool: Bash", "rm -rf build", "1) Allow", "2) reject"] {
            assert!(lines.contains(word), "{word} in {lines}");
        }
    }

    #[test]
    fn a_number_an_id_or_a_name_chooses_an_option() {
        for line in ["1", "allow_once", "ALLOW", " allow "] {
            let answer = permission().answer(line, &task());
            assert_eq!(data(&answer), r#"{"kind":"permission","id":"q1","option":"allow_once"}"#, "{line}");
            assert_eq!(answer.parts[0], Part::text("Allow"));
        }
        let answer = permission().answer("3", &task());
        assert_eq!(data(&answer), r#"{"kind":"permission","id":"q1","text":"3"}"#);
    }

    #[test]
    fn a_question_in_words_is_answered_in_words() {
        let question = Question::of(Some(&Message::agent("Which branch?")));
        let answer = question.answer("main\n", &task());
        assert_eq!(answer.parts, [Part::text("main")]);
        assert_eq!(answer.task_id, Some("t".into()));
        assert_eq!(answer.context_id, Some("c".into()));
    }
}
