//! Bad input: each gets a code, a text and, where a field is to blame, its path.

use std::fmt::Write;

use super::{super::Method, decode, door};
use crate::model::Fault;

/// A send whose message has these members beside an id and a role.
fn send(members: &str) -> String {
    params("SendMessage", &format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER",{members}}}}}"#))
}

/// A request with these parameters.
fn params(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"call-1","method":"{method}","params":{params}}}"#)
}

/// Bodies by what is wrong with them.
fn table() -> Vec<(&'static str, String)> {
    let message = |text: &str| params("SendMessage", &format!(r#"{{"message":{text}}}"#));
    let deep = format!(r#""parts":[{{"data":{}{}}}]"#, "[".repeat(98), "]".repeat(98));
    let many = |count: usize| format!(r#""parts":[{}]"#, vec![r#"{"text":""}"#; count].join(","));
    vec![
        ("broken JSON", r#"{"jsonrpc":"2.0","id":1,"#.into()),
        ("a lone surrogate in kept JSON", send(r#""parts":[{"data":{"a":"\ud800"}}]"#)),
        ("a lone surrogate in a key", send(r#""parts":[{"text":"x"}],"metadata":{"\udc00":1}"#)),
        ("a batch", format!("[{}]", params("GetTask", r#"{"id":"t"}"#))),
        ("no such method", params("message/send", "{}")),
        ("parameters as a list", params("GetTask", r#"["t"]"#)),
        ("parameters as a text", params("GetTask", r#""t""#)),
        ("no parameters", r#"{"jsonrpc":"2.0","id":"call-1","method":"SendMessage"}"#.into()),
        ("no message", params("SendMessage", "{}")),
        ("message null", message("null")),
        ("message as a list", message(r#"["m",null,null,"ROLE_USER",[{"text":"x"}]]"#)),
        ("no messageId", message(r#"{"role":"ROLE_USER","parts":[{"text":"x"}]}"#)),
        ("empty messageId", message(r#"{"messageId":"","role":"ROLE_USER","parts":[{"text":"x"}]}"#)),
        ("messageId as a number", message(r#"{"messageId":1,"role":"ROLE_USER","parts":[{"text":"x"}]}"#)),
        ("no role", message(r#"{"messageId":"m","parts":[{"text":"x"}]}"#)),
        ("role AGENT", message(r#"{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}"#)),
        ("role of 0.3", message(r#"{"messageId":"m","role":"user","parts":[{"text":"x"}]}"#)),
        ("role unspecified", message(r#"{"messageId":"m","role":0,"parts":[{"text":"x"}]}"#)),
        ("no parts", message(r#"{"messageId":"m","role":"ROLE_USER"}"#)),
        ("empty parts", send(r#""parts":[]"#)),
        ("parts null", send(r#""parts":null"#)),
        ("parts as an object", send(r#""parts":{"text":"x"}"#)),
        ("a part as a list", send(r#""parts":[["x"]]"#)),
        ("a part without content", send(r#""parts":[{"mediaType":"text/plain"}]"#)),
        ("two members of the oneof", send(r#""parts":[{"text":"x"},{"text":"x","data":null}]"#)),
        ("text as a number", send(r#""parts":[{"text":1}]"#)),
        ("bytes that are not base64", send(r#""parts":[{"raw":"§"}]"#)),
        ("10,001 parts", send(&many(10_001))),
        ("100,000 parts", send(&many(100_000))),
        ("nesting of 101 levels", send(&deep)),
        ("metadata as a list", send(r#""parts":[{"text":"x"}],"metadata":[]"#)),
        ("both names of a field", send(r#""parts":[{"text":"x"}],"task_id":"a","taskId":"b""#)),
        ("a doubled field", send(r#""parts":[{"text":"x"}],"contextId":"a","contextId":"a""#)),
        ("a doubled field of a part", send(r#""parts":[{"text":"x","media_type":"a/b","mediaType":"a/b"}]"#)),
        ("a doubled key of metadata", send(r#""parts":[{"text":"x"}],"metadata":{"a":1,"\u0061":1}"#)),
        ("a doubled key in data", send(r#""parts":[{"text":"x"},{"data":[{"a":{"b":1,"b":2}}]}]"#)),
        (
            "a negative historyLength",
            params(
                "SendMessage",
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"historyLength":-1}}"#,
            ),
        ),
        (
            "a wrong type, by its proto name",
            params(
                "SendMessage",
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"return_immediately":"yes"}}"#,
            ),
        ),
        (
            "configuration as a list",
            params(
                "SendMessage",
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":[]}"#,
            ),
        ),
        ("an unknown state", params("ListTasks", r#"{"status":"working"}"#)),
        ("an unknown state's number", params("ListTasks", r#"{"status":9}"#)),
        ("a negative state", params("ListTasks", r#"{"status":-1}"#)),
        ("pageSize 0", params("ListTasks", r#"{"pageSize":0}"#)),
        ("pageSize 101", params("ListTasks", r#"{"pageSize":101}"#)),
        ("pageSize 1.5", params("ListTasks", r#"{"page_size":1.5}"#)),
        ("pageSize over 32 bits", params("ListTasks", r#"{"pageSize":4294967297}"#)),
        ("a time that is none", params("ListTasks", r#"{"statusTimestampAfter":"yesterday"}"#)),
        ("no id", params("GetTask", r#"{"historyLength":1}"#)),
        ("empty id", params("CancelTask", r#"{"id":""}"#)),
        (
            "a webhook of no task",
            params("CreateTaskPushNotificationConfig", r#"{"url":"https://example.com"}"#),
        ),
        ("a webhook without url", params("CreateTaskPushNotificationConfig", r#"{"taskId":"t"}"#)),
        ("a webhook without id", params("GetTaskPushNotificationConfig", r#"{"taskId":"t"}"#)),
    ]
}

#[test]
fn bad_input_is_refused_with_code_text_and_path() {
    let mut told = String::new();
    for (what, body) in table() {
        let refusal = door(body.as_bytes()).expect_err(what);
        writeln!(told, "{what}:\n  {refusal}").unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn no_error_offers_a_value_that_is_refused() {
    for (what, body) in table() {
        let refusal = door(body.as_bytes()).expect_err(what);
        assert!(!refusal.contains("UNSPECIFIED"), "{what}: {refusal}");
        let of_the_role = refusal.contains("\"message.role");
        assert_eq!(of_the_role, refusal.contains("ROLE_USER"), "{what}: {refusal}");
    }
}

#[test]
fn ten_thousand_parts_and_a_hundred_levels_are_taken() {
    let parts = vec![r#"{"text":""}"#; 10_000].join(",");
    assert!(door(send(&format!(r#""parts":[{parts}]"#)).as_bytes()).is_ok());
    let deep = format!(r#""parts":[{{"data":{}{}}}]"#, "[".repeat(96), "]".repeat(96));
    assert!(door(send(&deep).as_bytes()).is_ok());
}

#[test]
fn an_id_that_a_caller_makes_has_512_bytes_at_most() {
    let refused = |field: &str, value: &str| {
        let id = if field == "messageId" { "" } else { r#""messageId":"m","# };
        let message = format!(r#"{id}"role":"ROLE_USER","parts":[{{"text":"x"}}],"{field}":{value}"#);
        match decode(Method::Send, &format!(r#"{{"message":{{{message}}}}}"#)) {
            Ok(_) => None,
            Err(Fault::InvalidParams { path, .. }) => Some(path),
            Err(fault) => panic!("{fault:?}"),
        }
    };
    let id = |length: usize| format!("\"{}\"", "x".repeat(length));
    for field in ["messageId", "contextId"] {
        assert_eq!(refused(field, &id(512)), None);
        assert_eq!(refused(field, &id(513)), Some(format!("message.{field}")));
    }
    let path = refused("referenceTaskIds", &format!(r#"["a",{}]"#, id(513)));
    assert_eq!(path.as_deref(), Some("message.referenceTaskIds[1]"));
    // P-3: no known task, whatever it looks like.
    assert_eq!(refused("taskId", &id(5000)), None);
    assert!(decode(Method::GetTask, &format!(r#"{{"id":{}}}"#, id(5000))).is_ok());
}

#[test]
fn paths_below_metadata_are_the_callers_own() {
    let fault = decode(
        Method::Send,
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{"my_key":{"a":1,"a":1}}}]}}"#,
    )
    .unwrap_err();
    let Fault::InvalidParams { path, .. } = fault else { panic!("{fault:?}") };
    assert_eq!(path, "message.parts[0].metadata.my_key");
}
