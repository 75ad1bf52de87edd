//! What ProtoJSON lets pass (A2A-3, A2A-8, A2A-9, A2A-14, A2A-16 to A2A-18).

use super::{super::*, decode, raw};
use crate::model::{Content, Fault, ListTasks, Operation, TaskState, Timestamp, Update};

fn list(params: &str) -> ListTasks {
    match decode(Method::ListTasks, params).unwrap() {
        Operation::ListTasks(list) => list,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_may_be_those_of_the_proto_file() {
    let camel = r#"{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER",
        "parts":[{"text":"x","mediaType":"text/plain"}],"referenceTaskIds":["r"]},
        "configuration":{"acceptedOutputModes":["a/b"],"historyLength":1,"returnImmediately":true,
        "taskPushNotificationConfig":{"url":"u","taskId":"t"}}}"#;
    let snake = r#"{"message":{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_USER",
        "parts":[{"text":"x","media_type":"text/plain"}],"reference_task_ids":["r"]},
        "configuration":{"accepted_output_modes":["a/b"],"history_length":1,"return_immediately":true,
        "task_push_notification_config":{"url":"u","task_id":"t"}}}"#;
    assert_eq!(decode(Method::Send, camel), decode(Method::Send, snake));
    assert!(decode(Method::Send, camel).is_ok());
    assert_eq!(
        list(
            r#"{"context_id":"c","page_size":3,"page_token":"p","history_length":0,"include_artifacts":true,
            "status_timestamp_after":"2025-11-30T22:00:00Z"}"#
        ),
        list(
            r#"{"contextId":"c","pageSize":3,"pageToken":"p","historyLength":0,"includeArtifacts":true,
            "statusTimestampAfter":"2025-11-30T22:00:00Z"}"#
        )
    );
    for method in [Method::GetPush, Method::DeletePush, Method::ListPush] {
        assert_eq!(
            decode(method, r#"{"task_id":"t","id":"i"}"#).unwrap(),
            decode(method, r#"{"taskId":"t","id":"i"}"#).unwrap()
        );
    }
}

#[test]
fn numbers_may_be_texts_and_integral_floats() {
    for number in ["3", "\"3\"", "3.0", "\"3.0\"", "3e0"] {
        assert_eq!(list(&format!(r#"{{"pageSize":{number}}}"#)).page_size, Some(3), "{number}");
    }
}

#[test]
fn enums_may_be_numbers() {
    assert_eq!(list(r#"{"status":3}"#).status, Some(TaskState::Completed));
    assert_eq!(list(r#"{"status":0}"#).status, None);
    assert_eq!(list(r#"{"status":"TASK_STATE_UNSPECIFIED"}"#).status, None);
    let params = r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"x"}]}}"#;
    assert!(decode(Method::Send, params).is_ok());
}

#[test]
fn null_is_unset() {
    let nulls = r#"{"tenant":null,"contextId":null,"status":null,"pageSize":null,"pageToken":null,
        "historyLength":null,"statusTimestampAfter":null,"includeArtifacts":null}"#;
    assert_eq!(list(nulls), ListTasks::default());
    let message = r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]"#;
    let nulls = format!(
        r#"{{"message":{{{message},"contextId":null,"taskId":"","metadata":null,"extensions":null,
            "referenceTaskIds":null}},"configuration":null,"metadata":null}}"#
    );
    assert_eq!(
        decode(Method::Send, &nulls),
        decode(Method::Send, &format!(r#"{{"message":{{{message}}}}}"#))
    );
    let nulls = r#"{"acceptedOutputModes":null,"taskPushNotificationConfig":null,"historyLength":null,
        "returnImmediately":null}"#;
    let nulls = format!(r#"{{"message":{{{message}}},"configuration":{nulls}}}"#);
    assert_eq!(
        decode(Method::Send, &nulls),
        decode(Method::Send, &format!(r#"{{"message":{{{message}}}}}"#))
    );
}

#[test]
fn parameters_may_be_absent_where_nothing_is_required() {
    for method in [Method::GetCard, Method::ListTasks] {
        assert!(Dialect::V1.decode_call(method, None).is_ok());
        assert_eq!(decode(method, "null"), decode(method, "{}"));
    }
    assert_eq!(Dialect::V1.decode_call(Method::GetTask, None), Err(Fault::invalid("id", "is missing")));
}

#[test]
fn unknown_members_are_ignored_wherever_they_stand() {
    let params = r#"{"a":{"b":[1]},"message":{"c":null,"messageId":"m","role":"ROLE_USER",
        "parts":[{"d":"e","text":"x","kind":"text"}]},"configuration":{"blocking":true}}"#;
    assert!(decode(Method::Send, params).is_ok());
    let event =
        r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","new":1},"kind":"task"},"final":false}"#;
    assert!(matches!(Dialect::V1.decode_update(&raw(event)), Ok(Update::Task(_))));
}

#[test]
fn an_unset_member_of_a_oneof_may_be_null() {
    let event =
        r#"{"task":null,"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x","url":null}]}}"#;
    assert!(matches!(Dialect::V1.decode_update(&raw(event)), Ok(Update::Message(_))));
}

#[test]
fn numbers_of_the_caller_keep_every_digit_and_nul_is_data() {
    let params = "{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{\"data\":{\"a\":1.50,\n\"b\":12345678901234567890123}},{\"text\":\"\\u0000\"}],\"metadata\":{\"n\":0.10}}}";
    let operation = decode(Method::Send, params).unwrap();
    let Operation::Send(send) = &operation else { panic!("{operation:?}") };
    assert_eq!(send.message.parts[1].content, Content::Text("\0".into()));
    let written = Dialect::V1.encode_call(&operation);
    assert_eq!(std::str::from_utf8(&written).unwrap(), params.replace('\n', " "));
}

#[test]
fn times_may_have_any_offset() {
    let after = list(r#"{"statusTimestampAfter":"2025-11-30T23:00:00.12+01:00"}"#).status_timestamp_after;
    assert_eq!(after, Some(Timestamp::from_millis(1_764_540_000_120)));
}

#[test]
fn a_page_of_a_peer_may_leave_out_its_defaults() {
    let reply = Dialect::V1.decode_reply(Method::ListTasks, &raw("{}")).unwrap();
    let Single::Page(page) = reply else { panic!("{reply:?}") };
    assert_eq!((page.tasks.len(), &*page.next_page_token, page.page_size), (0, "", 0));
}

#[test]
fn a_peer_that_breaks_the_contract_is_told_where() {
    let told = |method, text: &str| match Dialect::V1.decode_reply(method, &raw(text)) {
        Err(Fault::InvalidAgentResponse(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(Method::GetTask, r#"{"id":"t","status":{}}"#), "status.state: is missing");
    assert!(told(Method::Send, "{}").starts_with("holds none of"));
    let both = r#"{"task":{"id":"t","status":{"state":1}},"message":{"messageId":"m","role":2,"parts":[{"text":""}]}}"#;
    assert!(told(Method::Send, both).starts_with("holds more than one of"));
}
