//! What the node writes to a `jsonl` program: `message` and `cancel` lines (J-5 to J-7).
//!
//! Pure: values in, bytes with their LF out.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Job, Reason};
use crate::model::{Message, Metadata, TaskState};

/// How much history a first line carries (J-7).
const MOST_BYTES: usize = 1024 * 1024;
const MOST_MESSAGES: usize = 200;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageLine<'a> {
    v: u8,
    r#type: &'static str,
    task_id: &'a str,
    context_id: &'a str,
    agent: &'a str,
    session: Option<&'a str>,
    message: &'a Message,
    history: Vec<Box<RawValue>>,
    history_truncated: bool,
    state: TaskState,
    metadata: Cow<'a, Metadata>,
    accepted_output_modes: &'a [String],
    principal: &'a str,
    resumed: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CancelLine<'a> {
    v: u8,
    r#type: &'static str,
    task_id: &'a str,
    reason: &'static str,
}

/// The line that starts a task at a process: with the whole history as far as J-7 lets it.
pub(super) fn first(job: &Job) -> Vec<u8> {
    let (history, left_out) = history(&job.prompt.history);
    message(
        job,
        &job.prompt.message,
        job.session.as_deref(),
        job.prompt.state,
        (history, left_out || job.prompt.truncated),
    )
}

/// A later line to the same process.
pub(super) fn follow_up(job: &Job, said: &Message, session: Option<&str>, state: TaskState) -> Vec<u8> {
    message(job, said, session, state, (Vec::new(), false))
}

fn message(
    job: &Job,
    said: &Message,
    session: Option<&str>,
    state: TaskState,
    (history, history_truncated): (Vec<Box<RawValue>>, bool),
) -> Vec<u8> {
    line(&MessageLine {
        v: 1,
        r#type: "message",
        task_id: job.task.as_str(),
        context_id: job.context.as_str(),
        agent: job.agent.as_str(),
        session: session.filter(|session| !session.is_empty()),
        message: said,
        history,
        history_truncated,
        state,
        metadata: job.prompt.metadata.as_ref().map_or_else(Cow::default, Cow::Borrowed),
        accepted_output_modes: &job.prompt.accepted_output_modes,
        principal: job.prompt.principal.as_str(),
        resumed: job.prompt.resumed,
    })
}

/// The line that asks a turn to end (J-24).
pub(super) fn cancel(job: &Job, reason: Reason) -> Vec<u8> {
    line(&CancelLine { v: 1, r#type: "cancel", task_id: job.task.as_str(), reason: reason.as_str() })
}

/// JSON never holds a raw LF, so a line is one line. Our own values always have a JSON form.
fn line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The first message, then the newest that fit; whether some were left out.
fn history(messages: &[Message]) -> (Vec<Box<RawValue>>, bool) {
    let Some((first, later)) = messages.split_first() else { return (Vec::new(), false) };
    let written =
        |message| serde_json::value::to_raw_value(message).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let first = written(first);
    let mut bytes = first.get().len();
    let mut newest = Vec::new();
    for message in later.iter().rev().take(MOST_MESSAGES - 1) {
        let message = written(message);
        bytes += message.get().len();
        if bytes > MOST_BYTES {
            break;
        }
        newest.push(message);
    }
    let left_out = newest.len() < later.len();
    (std::iter::once(first).chain(newest.into_iter().rev()).collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing;
    use super::*;

    fn read(bytes: &[u8]) -> serde_json::Value {
        assert_eq!(bytes.last(), Some(&b'\n'));
        assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 1);
        serde_json::from_slice(bytes).unwrap()
    }

    fn users(texts: impl Iterator<Item = String>) -> Vec<Message> {
        texts.map(Message::user).collect()
    }

    #[test]
    fn j_06_a_message_line_has_every_member() {
        let line = read(&first(&testing::job(Message::user("a\nb"))));
        let mut names: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "acceptedOutputModes",
                "agent",
                "contextId",
                "history",
                "historyTruncated",
                "message",
                "metadata",
                "principal",
                "resumed",
                "session",
                "state",
                "taskId",
                "type",
                "v",
            ]
        );
        assert_eq!((&line["v"], &line["type"]), (&1.into(), &"message".into()));
        assert_eq!(line["session"], serde_json::Value::Null);
        assert_eq!(line["state"], "TASK_STATE_SUBMITTED");
        assert_eq!(line["principal"], "local");
        assert_eq!(line["message"]["parts"][0]["text"], "a\nb");
    }

    #[test]
    fn j_05_a_cancel_line_says_why() {
        let job = testing::job(Message::user(""));
        for (reason, word) in
            [(Reason::Caller, "caller"), (Reason::Shutdown, "shutdown"), (Reason::Timeout, "timeout")]
        {
            let line = read(&cancel(&job, reason));
            assert_eq!(
                line,
                serde_json::json!({"v": 1, "type": "cancel", "taskId": "task-1", "reason": word})
            );
        }
    }

    #[test]
    fn j_07_history_is_the_first_message_and_the_newest_two_hundred() {
        let (kept, left_out) = history(&users((0..250).map(|n| format!("m{n}"))));
        assert!(left_out);
        assert_eq!(kept.len(), 200);
        assert!(kept[0].get().contains("\"m0\"") && kept[1].get().contains("\"m51\""));
        assert!(kept[199].get().contains("\"m249\""));
        assert!(!history(&users((0..200).map(|n| format!("m{n}")))).1);
    }

    #[test]
    fn j_07_history_keeps_to_a_mebibyte_but_always_has_the_first() {
        let large = "x".repeat(400 * 1024);
        let (kept, left_out) = history(&users((0..5).map(|n| format!("m{n} {large}"))));
        assert!(left_out);
        assert_eq!(kept.len(), 2);
        assert!(kept[0].get().contains("m0 ") && kept[1].get().contains("m4 "));
        let (kept, left_out) = history(&users(std::iter::once("y".repeat(2 * 1024 * 1024))));
        assert_eq!((kept.len(), left_out), (1, false));
    }

    #[test]
    fn j_07_later_lines_carry_no_history() {
        let mut job = testing::job(Message::user("first"));
        job.prompt.history = users((0..3).map(|n| n.to_string()));
        assert_eq!(read(&first(&job))["history"].as_array().unwrap().len(), 3);
        let line = read(&follow_up(&job, &Message::user("more"), Some("s"), TaskState::InputRequired));
        assert_eq!(line["history"], serde_json::json!([]));
        assert_eq!((&line["session"], &line["state"]), (&"s".into(), &"TASK_STATE_INPUT_REQUIRED".into()));
    }
}
