use super::*;
use crate::model::{ArtifactUpdate, StatusUpdate};

fn artifact(id: &str, text: &str, append: bool) -> Update {
    Update::ArtifactUpdate(ArtifactUpdate {
        task_id: "t".into(),
        context_id: "c".into(),
        artifact: Artifact::text(id.into(), text),
        append,
        last_chunk: false,
        metadata: None,
    })
}

fn status(state: TaskState, text: Option<&str>) -> TaskStatus {
    TaskStatus { state, message: text.map(Message::agent), timestamp: None }
}

fn update(state: TaskState, text: Option<&str>) -> Update {
    Update::StatusUpdate(StatusUpdate {
        task_id: "t".into(),
        context_id: "c".into(),
        status: status(state, text),
        metadata: None,
    })
}

fn task(state: TaskState, artifacts: &[(&str, &[&str])]) -> Update {
    let artifacts = artifacts.iter().map(|(id, texts)| Artifact {
        parts: texts.iter().map(|text| Part::text(*text)).collect(),
        ..Artifact::text((*id).into(), "")
    });
    Update::Task(Task {
        id: "t".into(),
        context_id: None,
        status: status(state, None),
        artifacts: artifacts.collect(),
        history: Vec::new(),
        metadata: None,
    })
}

/// What lands on standard output.
fn printed(updates: &[Update]) -> String {
    let mut answer = Answer::default();
    let pieces = updates.iter().flat_map(|update| answer.take(update));
    pieces.filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None }).collect()
}

#[test]
fn deltas_are_printed_as_they_come() {
    let updates =
        [artifact("a", "Hel", false), artifact("a", "lo", true), update(TaskState::Completed, None)];
    assert_eq!(printed(&updates), "Hello");
}

#[test]
fn a_resumed_stream_prints_only_what_is_new() {
    let updates = [
        artifact("a", "Hel", false),
        task(TaskState::Working, &[("a", &["H", "el"])]),
        task(TaskState::Working, &[("a", &["Hello"])]),
        artifact("a", "!", true),
        task(TaskState::Completed, &[("a", &["Hello", "!"])]),
    ];
    assert_eq!(printed(&updates), "Hello!");
}

#[test]
fn what_a_task_said_before_is_not_said_again() {
    let before = task(TaskState::InputRequired, &[("a", &["asked"])]);
    let Update::Task(before) = before else { unreachable!() };
    let mut answer = Answer::default();
    answer.known(&before);
    let after = [task(TaskState::Working, &[("a", &["asked"])]), artifact("b", "answered", false)];
    let pieces: Vec<Piece> = after.iter().flat_map(|update| answer.take(update)).collect();
    assert_eq!(pieces, [Piece::Text("answered".into())]);
}

#[test]
fn an_artifact_that_is_replaced_is_printed_anew() {
    let updates = [artifact("a", "draft", false), artifact("a", "final", false)];
    assert_eq!(printed(&updates), "draftfinal");
    assert_eq!(printed(&[artifact("a", "one", false), artifact("a", "one", false)]), "one");
}

#[test]
fn artifacts_begin_on_lines_of_their_own() {
    assert_eq!(
        printed(&[artifact("a", "x", false), artifact("b", "y\n", false), artifact("c", "z", false)]),
        "x\ny\nz"
    );
}

#[test]
fn closing_words_are_the_answer_unless_they_say_it_again() {
    assert_eq!(printed(&[update(TaskState::Completed, Some("done"))]), "done");
    for said in ["done", "done\n"] {
        assert_eq!(printed(&[artifact("a", said, false), update(TaskState::Completed, Some("done"))]), said);
    }
    let other = [artifact("a", "text", false), update(TaskState::Completed, Some("done"))];
    assert_eq!(printed(&other), "text\ndone");
}

#[test]
fn words_of_a_failure_are_no_answer() {
    let mut answer = Answer::default();
    assert_eq!(answer.take(&update(TaskState::Failed, Some("no such model"))), []);
    assert_eq!(answer.message().unwrap().text(), "no such model");
    assert_eq!(
        answer.take(&update(TaskState::Working, Some("thinking"))),
        [Piece::Progress("thinking".into())]
    );
}

#[test]
fn data_is_a_line_of_json_and_a_file_is_a_note() {
    let mut answer = Answer::default();
    let mut file = Part::of(Content::Raw(vec![0; 2048].into()));
    file.filename = Some("a.bin".into());
    let message = Message::new(crate::model::Role::Agent, vec![Part::data(&[1, 2]), file]);
    let pieces = answer.take(&Update::Message(message));
    let note = "file: a.bin (application/octet-stream, 2 KiB)";
    assert_eq!(pieces, [Piece::Text("[1,2]\n".into()), Piece::Note(note.into())]);
}
