//! Lines of a program, right and wrong.

use super::*;
use crate::model::Content;

fn said(line: &str) -> Said {
    read(line.as_bytes()).unwrap().said.unwrap()
}

fn wrong(line: &str) -> String {
    read(line.as_bytes()).unwrap().said.unwrap_err()
}

#[test]
fn j_02_a_line_that_is_no_object_or_has_no_known_member_is_skipped() {
    for line in [
        "",
        "hello",
        "[]",
        "12",
        "null",
        "{}",
        r#"{"other":1}"#,
        r#"{"taskId":"t"}"#,
        r#"{"a":"#,
        r#"{"session":null}"#,
    ] {
        assert!(read(line.as_bytes()).is_none(), "{line}");
    }
    assert!(read(b"{\"session\":\"\xff\"}").is_none());
}

#[test]
fn j_02_unknown_members_are_ignored() {
    assert_eq!(said(r#"{"session":"s","more":{"a":[1]}}"#), Said::Session("s".into()));
    assert!(matches!(
        said(r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","x":1},"y":2}}"#),
        Said::Status { .. }
    ));
}

#[test]
fn j_03_what_is_wrong_is_said_with_its_path() {
    let cases = [
        (r#"{"statusUpdate":{"status":{"state":"TASK_STATE_DONE"}}}"#, "statusUpdate.status.state: "),
        (r#"{"statusUpdate":{}}"#, "statusUpdate: missing field `status`"),
        (
            r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"parts":[]}}}}"#,
            "statusUpdate.status.message.parts: needs",
        ),
        (r#"{"message":{"parts":[]}}"#, "message.parts: needs"),
        (r#"{"message":{"role":"ROLE_ROBOT","parts":[{"text":"a"}]}}"#, "message.role: "),
        (
            r#"{"message":{"parts":[{"text":"a"},{"text":"a","url":"b"}]}}"#,
            "message.parts[1]: holds more than one",
        ),
        (r#"{"message":{"parts":[{"text":"\ud800"}]}}"#, "message.parts[0]"),
        (r#"{"artifactUpdate":{"artifact":{"parts":[]}}}"#, "artifactUpdate.artifact.parts: needs"),
        (
            r#"{"artifactUpdate":{"append":"yes","artifact":{"parts":[{"text":"a"}]}}}"#,
            "artifactUpdate.append: ",
        ),
        (r#"{"session":5}"#, "session: "),
    ];
    for (line, start) in cases {
        let why = wrong(line);
        assert!(why.starts_with(start), "{line}: {why}");
        assert!(!why.contains("column"), "{why}");
    }
}

#[test]
fn j_08_two_members_in_a_line_are_wrong_and_so_is_one_that_stands_twice() {
    assert!(wrong(r#"{"session":"s","message":{"parts":[{"text":"a"}]}}"#).contains("more than one"));
    assert!(wrong(r#"{"session":"s","session":"t"}"#).contains("duplicate"));
}

#[test]
fn j_08_the_task_id_may_stand_beside_or_inside() {
    let task = |line: &str| read(line.as_bytes()).unwrap().task;
    assert_eq!(task(r#"{"taskId":"t","session":"s"}"#).as_deref(), Some("t"));
    assert_eq!(task(r#"{"message":{"taskId":"t","parts":[{"text":"a"}]}}"#).as_deref(), Some("t"));
    assert_eq!(
        task(r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_NONE"}}}"#).as_deref(),
        Some("t")
    );
    assert_eq!(task(r#"{"session":"s"}"#), None);
}

#[test]
fn j_09_the_program_is_the_agent_and_cannot_stamp_for_the_node() {
    let line = r#"{"message":{"role":"ROLE_USER","taskId":"x","parts":[{"text":"a"}],
        "metadata":{"a2ad/replayed":true,"mine":1.50}}}"#;
    let Said::Message(message) = said(line) else { panic!() };
    assert_eq!((message.role, message.task_id), (Role::Agent, None));
    assert!(!message.message_id.as_str().is_empty());
    assert_eq!(serde_json::to_string(&message.metadata).unwrap(), r#"{"mine":1.50}"#);
}

#[test]
fn snake_case_and_numbers_of_enums_are_taken_as_proto_json_has_them() {
    let line =
        r#"{"artifact_update":{"artifact":{"artifact_id":"a","parts":[{"data":null}]},"last_chunk":true}}"#;
    let Said::Artifact { artifact, append: false, last: true } = said(line) else { panic!() };
    assert_eq!(artifact.id(), Some("a".into()));
    assert!(matches!(artifact.parts[0].content, Content::Data(_)));
    let line = r#"{"statusUpdate":{"status":{"state":3}}}"#;
    assert!(matches!(
        said(line),
        Said::Status { state: TaskState::Completed, message: None, metadata: None }
    ));
}

#[test]
fn ur_30_terminal_control_around_a_line_is_no_part_of_it() {
    assert_eq!(said("\x1b[?2004h{\"session\":\"s\"}\x1b]0;title {\x07"), Said::Session("s".into()));
    assert!(read(b"\x1b[?2004h\x1b]0;title {\x07").is_none());
}

#[test]
fn usage_of_a_turn_is_the_programs_to_tell() {
    let line = r#"{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"},
        "metadata":{"a2ad/usage":{"inputTokens":1},"a2ad/failure":{},"mine":2}}}"#;
    let Said::Status { metadata: Some(metadata), .. } = said(line) else { panic!() };
    assert_eq!(serde_json::to_string(&metadata).unwrap(), r#"{"a2ad/usage":{"inputTokens":1},"mine":2}"#);
}
