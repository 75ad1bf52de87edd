//! The envelope of JSON-RPC (A2A-178 to A2A-181, P-4).

use proptest::prelude::*;

use super::{super::envelope::*, CONTEXT};
use crate::model::Fault;

fn echo(id: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"t"}}}}"#);
    let call = read(body.as_bytes()).unwrap();
    assert_eq!(call.method, "GetTask");
    assert_eq!(call.params.unwrap().get(), r#"{"id":"t"}"#);
    let id = call.id.unwrap();
    let owned = id.clone().into_owned();
    assert_eq!(answer(&id, b"1"), answer(&owned, b"1"));
    String::from_utf8(answer(&owned, b"1").to_vec()).unwrap()
}

#[test]
fn a_request_is_read_without_a_copy() {
    let body = br#"{"jsonrpc":"2.0","id":"a","method":"GetTask","params":{"id":"t"}}"#;
    let call = read(body).unwrap();
    assert!(matches!(call.method, std::borrow::Cow::Borrowed(_)));
    assert!(matches!(call.id, Some(Id::Common(jsonrpsee_types::Id::Str(std::borrow::Cow::Borrowed("a"))))));
    assert!(body.as_ptr_range().contains(&call.params.unwrap().get().as_ptr()));
}

fn refused(body: &str) -> (String, i32) {
    let refused = read(body.as_bytes()).unwrap_err();
    let bytes = refusal(&refused.id, &refused.fault, &CONTEXT);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    (json["id"].to_string(), super::super::fault::row(&refused.fault).code)
}

#[test]
fn every_number_text_and_null_is_echoed_exactly() {
    for id in [
        "1",
        "0",
        "-1",
        "1.0",
        "1e3",
        "-0",
        "0.10",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"1\"",
        "\"\u{e4}\\n\\u0000\\\"\"",
        "null",
    ] {
        assert_eq!(echo(id), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    }
}

#[test]
fn an_id_of_another_kind_is_refused() {
    for id in ["true", "{}", "[1]"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        assert_eq!(refused(&body), ("null".into(), -32600), "{id}");
    }
}

#[test]
fn a_request_without_id_is_a_notification() {
    let call = read(br#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}"#).unwrap();
    assert_eq!(call.id, None);
    assert_eq!(call.params.unwrap().get(), r#"{"id":"t"}"#);
    assert!(read(br#"{"jsonrpc":"2.0","id":null,"method":"GetTask"}"#).unwrap().id.is_some());
}

#[test]
fn batches_are_one_error() {
    for body in ["[]", r#" [{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, r#"["2.0",1,"GetTask",{}]"#] {
        assert_eq!(refused(body), ("null".into(), -32600), "{body}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for body in [
        "",
        " ",
        "{",
        "nonsense",
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"} x"#,
        "[{",
        "{'a':1}",
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"a":}}"#,
        "\u{feff}{}",
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"a":"\ud800"}}"#,
    ] {
        assert_eq!(refused(body), ("null".into(), -32700), "{body}");
    }
    assert!(matches!(read(b"{\"a\":\"\xff\"}").unwrap_err().fault, Fault::Malformed(_)));
}

#[test]
fn what_is_json_but_no_request_is_told_so_with_its_id() {
    for body in [
        r#"{"id":5,"method":"GetTask"}"#,
        r#"{"jsonrpc":"1.0","id":5,"method":"GetTask"}"#,
        r#"{"jsonrpc":2.0,"id":5,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":5}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":null}"#,
    ] {
        assert_eq!(refused(body), ("5".into(), -32600), "{body}");
    }
    for body in ["1", "\"x\"", "null", "{}", r#"{"method":"GetTask"}"#] {
        assert_eq!(refused(body), ("null".into(), -32600), "{body}");
    }
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{},"params":{}}"#,
    ] {
        assert_eq!(refused(body), ("null".into(), -32600), "{body}");
    }
}

#[test]
fn params_keep_their_bytes_and_null_is_absence() {
    let call = read(br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{ "a" : 1.50}}"#).unwrap();
    assert_eq!(call.params.unwrap().get(), r#"{ "a" : 1.50}"#);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#,
        r#"{"jsonrpc":"2.0","id":-1,"method":"x","params":null}"#,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
    ] {
        assert!(read(body.as_bytes()).unwrap().params.is_none());
    }
}

#[test]
fn parameters_may_be_a_hundred_levels_deep_and_no_deeper() {
    let body = |levels: usize| {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"x","params":{{"a":{open}{close}}}}}"#)
    };
    assert!(read(body(100).as_bytes()).is_ok());
    assert_eq!(refused(&body(101)), ("9".into(), -32602));
    assert_eq!(refused(&body(100_000)), ("9".into(), -32602));
}

#[test]
fn answers_of_peers_are_read_leniently() {
    let result = |text| read_answer(text).unwrap().unwrap().get().to_owned();
    assert_eq!(result(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#), r#"{"a":1}"#);
    assert_eq!(result(r#"{"result":null,"error":null,"extra":1}"#), "null");
    let error = |text| read_answer(text).unwrap().unwrap_err();
    let odd = error(r#"{"id":1,"result":null,"error":{"code":-32001,"data":{"any":"shape"},"more":1}}"#);
    assert_eq!((odd.code, odd.message.as_str(), odd.reason), (-32001, "", None));
    let odd = error(
        r#"{"error":{"code":1,"message":"m","data":[{"@type":"x"},{"reason":"R","metadata":{"a":"b"}}]}}"#,
    );
    assert_eq!((odd.reason.as_deref(), odd.request), (Some("R"), None));
    assert!(matches!(read_answer("{}"), Err(Fault::InvalidAgentResponse(_))));
    assert!(matches!(read_answer("<html>"), Err(Fault::InvalidAgentResponse(_))));
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body: Vec<u8>) {
        let _ = read(&body);
    }

    #[test]
    fn any_text_is_echoed_as_an_id(text: String) {
        let id = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(echo(&id), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    }
}
