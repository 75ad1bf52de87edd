//! The order of a turn: what each line of the program leads to (J-10, J-13, J-14, J-16, J-22, J-24).
//!
//! Pure: no pipe, no clock.

use super::output::{Artifact, Said};
use crate::model::{
    self, ArtifactId, Ask, Content, FailureClass, Message, Metadata, Outcome, Progress, TaskState,
};

/// A turn of a `jsonl` program.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whether a bare message may be the whole answer: the first turn of a task, `replies = "message"`.
    bare: bool,
    /// A line came that is not `session`.
    begun: bool,
    /// The state in which it waits for the caller, if it does.
    pub(super) waits: Option<TaskState>,
    /// A `cancel` line was written.
    pub(super) canceling: bool,
    newest: Option<ArtifactId>,
}

/// What a line leads to.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing.
    Ignored,
    /// Something for the node; the turn goes on.
    Tell(Progress),
    /// The same, and the turn waits for the caller.
    Suspend(Progress),
    /// The whole answer, without a task.
    Reply(Message),
    /// The turn is over.
    End(Outcome),
}

impl Turn {
    /// The first turn of a run. `bare`: see [`Step::Reply`].
    pub(super) const fn new(bare: bool) -> Self {
        Self { bare, begun: false, waits: None, canceling: false, newest: None }
    }

    /// A `message` line was written after the turn was suspended or over: a turn begins (J-12).
    pub(super) fn begin(&mut self) {
        *self = Self { canceling: self.canceling, ..Self::new(false) };
    }

    /// Takes a line. An error is an impossible order (J-4).
    pub(super) fn take(&mut self, said: Said) -> Result<Step, &'static str> {
        let first = !self.begun;
        self.begun |= !matches!(said, Said::Session(_));
        match said {
            Said::Session(session) => Ok(Step::Tell(Progress::Session(session))),
            Said::Message(message) if first && self.waits.is_none() => {
                Ok(if self.bare { Step::Reply(message) } else { Step::End(completed(Some(message), None)) })
            }
            Said::Message(_) => Err("message: has a place only as the first line of a turn"),
            Said::Artifact { artifact, append, last } => {
                self.waits = None;
                Ok(Step::Tell(self.artifact(artifact, append, last)))
            }
            Said::Status { state, message, metadata } => Ok(self.status(state, message, metadata)),
        }
    }

    fn status(&mut self, state: TaskState, message: Option<Message>, metadata: Option<Metadata>) -> Step {
        let or = |text: &str| message.clone().unwrap_or_else(|| Message::agent(text));
        match state {
            // Ignored (J-9), but the first line of a task that may yet be without one makes it one (J-15).
            TaskState::Submitted if self.waits.is_some() => Step::Ignored,
            TaskState::Submitted => Step::Tell(Progress::Working(None)),
            TaskState::Working => {
                self.waits = None;
                Step::Tell(Progress::Working(message.map(|message| with(message, metadata))))
            }
            TaskState::InputRequired | TaskState::AuthRequired if self.canceling => Step::Ignored,
            TaskState::InputRequired => {
                self.waits = Some(state);
                let message = with(or("The agent waits for an answer."), metadata);
                Step::Suspend(Progress::Ask { kind: kind(&message), message })
            }
            TaskState::AuthRequired => {
                self.waits = Some(state);
                Step::Suspend(Progress::NeedAuth(with(or("The agent waits for a login."), metadata)))
            }
            TaskState::Completed => Step::End(completed(message, metadata)),
            TaskState::Failed => {
                let message = or("The agent reported a failure without a reason.");
                Step::End(Outcome::Failed { message, class: FailureClass::Exit, metadata })
            }
            TaskState::Rejected => {
                Step::End(Outcome::Rejected(with(or("The agent declined without a reason."), metadata)))
            }
            TaskState::Canceled => Step::End(Outcome::Canceled),
        }
    }

    /// Without an id, `append` continues the newest artifact of the turn; else a new one is opened (J-10).
    fn artifact(&mut self, artifact: Artifact, append: bool, last: bool) -> Progress {
        let (id, append) = match (artifact.id(), &self.newest) {
            (Some(id), _) => (id, append),
            (None, Some(newest)) if append => (newest.clone(), true),
            (None, _) => (ArtifactId::fresh(), false),
        };
        self.newest = Some(id.clone());
        let text = |text: String| (!text.is_empty()).then_some(text);
        let artifact = model::Artifact {
            artifact_id: id,
            name: text(artifact.name),
            description: text(artifact.description),
            parts: artifact.parts,
            metadata: artifact.metadata,
            extensions: artifact.extensions,
        };
        Progress::Artifact { artifact, append, last }
    }
}

const fn completed(message: Option<Message>, metadata: Option<Metadata>) -> Outcome {
    Outcome::Completed { message, metadata }
}

/// What is said about a status goes with its message, the one place that everybody sees.
fn with(mut message: Message, metadata: Option<Metadata>) -> Message {
    if let Some(metadata) = metadata {
        message.metadata.get_or_insert_default().merge(metadata);
    }
    message
}

/// A permission is answered by a person (O-5), all else by whoever may speak.
fn kind(message: &Message) -> Ask {
    #[derive(serde::Deserialize)]
    struct Question {
        kind: String,
    }
    let permission = message.parts.iter().any(|part| match &part.content {
        Content::Data(json) => json.read::<Question>().is_ok_and(|question| question.kind == "permission"),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => false,
    });
    if permission { Ask::Approval } else { Ask::Question }
}

#[cfg(test)]
mod tests {
    use super::super::output::read;
    use super::*;

    fn take(turn: &mut Turn, line: &str) -> Result<Step, &'static str> {
        turn.take(read(line.as_bytes()).unwrap().said.unwrap())
    }

    fn status(state: &str) -> String {
        format!(r#"{{"statusUpdate":{{"status":{{"state":"TASK_STATE_{state}"}}}}}}"#)
    }

    fn artifact(turn: &mut Turn, members: &str) -> (String, bool) {
        let line = format!(r#"{{"artifactUpdate":{{"artifact":{{"parts":[{{"text":"a"}}]{members}}}"#);
        let line = if members.contains('}') { format!("{line}}}") } else { format!("{line}}}}}") };
        match take(turn, &line).unwrap() {
            Step::Tell(Progress::Artifact { artifact, append, .. }) => {
                (artifact.artifact_id.to_string(), append)
            }
            other => panic!("{other:?}"),
        }
    }

    const MESSAGE: &str = r#"{"message":{"parts":[{"text":"hi"}]}}"#;
    const SESSION: &str = r#"{"session":"s"}"#;

    #[test]
    fn j_10_an_artifact_without_an_id_continues_the_newest_or_opens_one() {
        let mut turn = Turn::new(false);
        let (opened, append) = artifact(&mut turn, r#"},"append":true"#);
        assert!(!append);
        assert_eq!(artifact(&mut turn, r#"},"append":true"#), (opened.clone(), true));
        let (second, append) = artifact(&mut turn, "");
        assert!(second != opened && !append);
        assert_eq!(artifact(&mut turn, r#","artifactId":"mine"},"append":true"#), ("mine".into(), true));
        assert_eq!(artifact(&mut turn, r#"},"append":true"#), ("mine".into(), true));
        turn.begin();
        assert!(!artifact(&mut turn, r#"},"append":true"#).1, "the next turn has no artifact yet");
    }

    #[test]
    fn j_14_a_message_as_the_first_line_completes_and_later_has_no_place() {
        let mut turn = Turn::new(false);
        take(&mut turn, SESSION).unwrap();
        assert!(matches!(
            take(&mut turn, MESSAGE),
            Ok(Step::End(Outcome::Completed { message: Some(_), .. }))
        ));
        let mut turn = Turn::new(false);
        take(&mut turn, &status("WORKING")).unwrap();
        take(&mut turn, MESSAGE).unwrap_err();
    }

    #[test]
    fn j_16_a_message_while_unborn_is_the_whole_answer() {
        let mut turn = Turn::new(true);
        take(&mut turn, SESSION).unwrap();
        assert!(matches!(take(&mut turn, MESSAGE), Ok(Step::Reply(_))));
        let mut turn = Turn::new(true);
        assert_eq!(take(&mut turn, &status("SUBMITTED")), Ok(Step::Tell(Progress::Working(None))));
        take(&mut turn, MESSAGE).unwrap_err();
        turn.begin();
        assert!(matches!(take(&mut turn, MESSAGE), Ok(Step::End(_))), "the next turn has a task");
    }

    #[test]
    fn j_22_a_suspended_turn_goes_on_with_work_but_not_with_a_session_or_submitted() {
        let mut turn = Turn::new(false);
        assert!(matches!(
            take(&mut turn, &status("INPUT_REQUIRED")),
            Ok(Step::Suspend(Progress::Ask { .. }))
        ));
        take(&mut turn, SESSION).unwrap();
        assert_eq!(take(&mut turn, &status("SUBMITTED")), Ok(Step::Ignored));
        assert!(turn.waits.is_some());
        take(&mut turn, &status("WORKING")).unwrap();
        assert!(turn.waits.is_none());
        assert!(matches!(
            take(&mut turn, &status("AUTH_REQUIRED")),
            Ok(Step::Suspend(Progress::NeedAuth(_)))
        ));
        artifact(&mut turn, "");
        assert!(turn.waits.is_none());
    }

    #[test]
    fn j_24_a_question_after_a_cancel_line_is_ignored() {
        let mut turn = Turn::new(false);
        turn.canceling = true;
        assert_eq!(take(&mut turn, &status("INPUT_REQUIRED")), Ok(Step::Ignored));
        assert_eq!(take(&mut turn, &status("CANCELED")), Ok(Step::End(Outcome::Canceled)));
    }

    #[test]
    fn o_05_a_permission_is_told_from_a_question() {
        let ask = |data: &str| {
            let line = format!(
                r#"{{"statusUpdate":{{"status":{{"state":"TASK_STATE_INPUT_REQUIRED","message":{{"parts":[{{"data":{data}}}]}}}}}}}}"#
            );
            match take(&mut Turn::new(false), &line) {
                Ok(Step::Suspend(Progress::Ask { kind, .. })) => kind,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(ask(r#"{"kind":"permission","id":"1"}"#), Ask::Approval);
        assert_eq!(ask(r#"{"kind":"question","id":"1"}"#), Ask::Question);
    }
}
