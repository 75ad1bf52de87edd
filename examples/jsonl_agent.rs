//! A whole A2A agent in one small program: reads JSON lines on stdin, prints JSON lines on stdout.
//!
//! Serve it with `runtime = "jsonl"` and `command = ["/path/to/jsonl_agent"]`. It counts the words of what it is sent
//! as it goes, remembers its turns in the session, asks when it is sent nothing, and obeys a cancel.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let stdin = std::io::stdin();
    // Read line by line, never to the end: the node keeps stdin open as long as the task lives.
    for line in stdin.lock().lines() {
        let Ok(line) = serde_json::from_str::<Value>(&line?) else { continue };
        match line["type"].as_str() {
            Some("message") => turn(&line)?,
            Some("cancel") => status("TASK_STATE_CANCELED", None)?,
            // A type of a later version.
            _ => {}
        }
    }
    Ok(())
}

/// One turn: a question, or an answer that ends it.
fn turn(line: &Value) -> std::io::Result<()> {
    let text: Vec<&str> = line["message"]["parts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let text = text.join("\n");
    if text.trim().is_empty() {
        return status("TASK_STATE_INPUT_REQUIRED", Some("Send me some text."));
    }
    status("TASK_STATE_WORKING", Some("Counting."))?;
    for (number, word) in text.split_whitespace().enumerate() {
        let artifact =
            json!({"artifactId": "words", "parts": [{"text": format!("{}. {word}\n", number + 1)}]});
        say(&json!({"artifactUpdate": {"artifact": artifact, "append": number > 0}}))?;
    }
    let turns = line["session"].as_str().and_then(|session| session.parse::<u64>().ok()).unwrap_or(0) + 1;
    say(&json!({"session": turns.to_string()}))?;
    status("TASK_STATE_COMPLETED", Some(&format!("Turn {turns} of this conversation.")))
}

/// Where the task stands, with something to say.
fn status(state: &str, text: Option<&str>) -> std::io::Result<()> {
    let mut status = json!({"state": state});
    if let Some(text) = text {
        status["message"] = json!({"parts": [{"text": text}]});
    }
    say(&json!({"statusUpdate": {"status": status}}))
}

/// One line, flushed: the node shows it at once.
fn say(line: &Value) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
