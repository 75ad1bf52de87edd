//! From the events of a stream to what is printed: pure.
//!
//! A stream may be resumed, and then begins with the whole task again; what was printed is not printed twice.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::clock;
use crate::model::{
    Artifact, ArtifactId, Content, Message, Metadata, Part, Task, TaskState, TaskStatus, Update,
};

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The answer's text, for standard output.
    Text(String),
    /// What the agent is at, for whoever waits.
    Progress(String),
    /// A line about the answer, for standard error.
    Note(String),
}

/// What is known of an answer while it comes.
#[derive(Debug, Default)]
pub(super) struct Answer {
    artifacts: HashMap<ArtifactId, Printed>,
    newest: Option<ArtifactId>,
    line_open: bool,
    text: bool,
    state: Option<TaskState>,
    message: Option<Message>,
    usage: Option<String>,
}

/// How much of an artifact was printed.
#[derive(Debug, Default)]
struct Printed {
    bytes: usize,
    digest: Sha256,
    others: usize,
}

impl Answer {
    /// Takes an event; gives what is new in it.
    pub(super) fn take(&mut self, update: &Update) -> Vec<Piece> {
        let mut pieces = Vec::new();
        match update {
            Update::Task(task) => self.task(task, &mut pieces),
            Update::Message(message) => self.parts(&message.parts, &mut pieces),
            Update::StatusUpdate(update) => {
                self.status(&update.status, update.metadata.as_ref(), &mut pieces)
            }
            Update::ArtifactUpdate(update) if update.append => self.more(&update.artifact, &mut pieces),
            Update::ArtifactUpdate(update) => self.whole(&update.artifact, &mut pieces),
        }
        pieces
    }

    /// Takes what a task has said before as printed.
    pub(super) fn known(&mut self, task: &Task) {
        self.task(task, &mut Vec::new());
        self.line_open = false;
        self.text = false;
    }

    /// Where the task stands; `None` before the first event, and for an answer without a task.
    pub(super) const fn state(&self) -> Option<TaskState> {
        self.state
    }

    /// The newest status message.
    pub(super) const fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Whether any text was printed.
    pub(super) const fn has_text(&self) -> bool {
        self.text
    }

    /// What the turn used, in words, if the node said it.
    pub(super) fn usage(&self) -> Option<&str> {
        self.usage.as_deref()
    }

    fn task(&mut self, task: &Task, pieces: &mut Vec<Piece>) {
        for artifact in &task.artifacts {
            self.whole(artifact, pieces);
        }
        self.status(&task.status, task.metadata.as_ref(), pieces);
    }

    fn status(&mut self, status: &TaskStatus, metadata: Option<&Metadata>, pieces: &mut Vec<Piece>) {
        self.state = Some(status.state);
        if let Some(usage) = metadata.and_then(usage) {
            self.usage = Some(usage);
        }
        self.message.clone_from(&status.message);
        let Some(message) = &status.message else { return };
        match status.state {
            TaskState::Submitted | TaskState::Working => {
                let text = message.text();
                if !text.is_empty() {
                    pieces.push(Piece::Progress(text));
                }
            }
            // The closing words are the answer, unless they only say again what an artifact has said.
            TaskState::Completed if !self.was_printed(&message.text()) => {
                let parts = message.parts.clone();
                self.parts(&parts, pieces);
            }
            _ => {}
        }
    }

    /// Whether the newest artifact is this text, give or take a line break at its end.
    fn was_printed(&self, text: &str) -> bool {
        let Some(printed) = self.newest.as_ref().and_then(|id| self.artifacts.get(id)) else { return false };
        let digest = printed.digest.clone().finalize();
        let text = text.trim_end();
        ["", "\n"].iter().any(|end| Sha256::new().chain_update(text).chain_update(end).finalize() == digest)
    }

    /// More of an artifact.
    fn more(&mut self, artifact: &Artifact, pieces: &mut Vec<Piece>) {
        self.turn_to(artifact, pieces);
        for part in &artifact.parts {
            if let Content::Text(text) = &part.content {
                self.print(&artifact.artifact_id, text, pieces);
            } else {
                self.other(&artifact.artifact_id, part, artifact, pieces);
            }
        }
    }

    /// An artifact as a whole: what follows what was printed is new, and if it does not follow, all of it is.
    fn whole(&mut self, artifact: &Artifact, pieces: &mut Vec<Piece>) {
        let mut text = String::new();
        for part in &artifact.parts {
            if let Content::Text(piece) = &part.content {
                text.push_str(piece);
            }
        }
        let printed = self.artifacts.entry(artifact.artifact_id.clone()).or_default();
        let follows = text
            .as_bytes()
            .get(..printed.bytes)
            .is_some_and(|start| Sha256::digest(start) == printed.digest.clone().finalize());
        if !follows {
            *printed = Printed { others: printed.others, ..Printed::default() };
        }
        let (from, seen) = (printed.bytes, printed.others);
        let rest = text.get(from..).unwrap_or_default();
        let others: Vec<&Part> = artifact
            .parts
            .iter()
            .filter(|part| !matches!(part.content, Content::Text(_)))
            .skip(seen)
            .collect();
        if rest.is_empty() && others.is_empty() {
            return;
        }
        self.turn_to(artifact, pieces);
        self.print(&artifact.artifact_id, rest, pieces);
        for part in others {
            self.other(&artifact.artifact_id, part, artifact, pieces);
        }
    }

    /// Another artifact than the one before begins on a line of its own.
    fn turn_to(&mut self, artifact: &Artifact, pieces: &mut Vec<Piece>) {
        if self.newest.as_ref() != Some(&artifact.artifact_id) {
            self.end_line(pieces);
            self.newest = Some(artifact.artifact_id.clone());
        }
        self.artifacts.entry(artifact.artifact_id.clone()).or_default();
    }

    fn print(&mut self, id: &ArtifactId, text: &str, pieces: &mut Vec<Piece>) {
        if let Some(printed) = self.artifacts.get_mut(id) {
            printed.bytes += text.len();
            printed.digest.update(text);
        }
        self.say(text, pieces);
    }

    fn other(&mut self, id: &ArtifactId, part: &Part, artifact: &Artifact, pieces: &mut Vec<Piece>) {
        if let Some(printed) = self.artifacts.get_mut(id) {
            printed.others += 1;
        }
        self.part(part, artifact.name.as_deref(), pieces);
    }

    /// The parts of a message that is the answer.
    fn parts(&mut self, parts: &[Part], pieces: &mut Vec<Piece>) {
        self.end_line(pieces);
        for part in parts {
            self.part(part, None, pieces);
        }
    }

    fn part(&mut self, part: &Part, name: Option<&str>, pieces: &mut Vec<Piece>) {
        let name = part.filename.as_deref().or(name).unwrap_or("a file");
        let kind = part.media_type.as_deref().unwrap_or("application/octet-stream");
        match &part.content {
            Content::Text(text) => self.say(text, pieces),
            Content::Data(json) => {
                self.end_line(pieces);
                self.say(&format!("{}\n", json.get()), pieces);
            }
            Content::Raw(bytes) => {
                let size = clock::size(bytes.len() as u64);
                pieces.push(Piece::Note(format!("file: {name} ({kind}, {size})")));
            }
            Content::Url(url) => pieces.push(Piece::Note(format!("link: {name} ({kind}) {url}"))),
        }
    }

    fn say(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        self.text = true;
        self.line_open = !text.ends_with('\n');
        pieces.push(Piece::Text(text.to_owned()));
    }

    fn end_line(&mut self, pieces: &mut Vec<Piece>) {
        if std::mem::take(&mut self.line_open) {
            pieces.push(Piece::Text("\n".to_owned()));
        }
    }
}

/// `a2ad/usage` in words.
fn usage(metadata: &Metadata) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Usage {
        input_tokens: u64,
        output_tokens: u64,
        cost_usd: f64,
    }
    let usage: Usage = metadata.get("a2ad/usage")?.read().ok()?;
    let cost = if usage.cost_usd > 0.0 { format!(", ${:.4}", usage.cost_usd) } else { String::new() };
    Some(format!("{} tokens in, {} out{cost}", usage.input_tokens, usage.output_tokens))
}

#[cfg(test)]
mod tests;
