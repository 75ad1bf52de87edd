//! The golden bodies of `proto-fixtures/a2a`, read and written by both halves.

#![expect(clippy::disallowed_methods, reason = "the golden bodies are files of this repository")]

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use super::{super::*, CONTEXT, compact, raw};
use crate::model::Fault;

/// The folders of the dialects.
const FOLDERS: [(&str, Dialect); 3] =
    [("v1", Dialect::V1), ("v03", Dialect::V03Json), ("v03-proto", Dialect::V03Proto)];

/// Files with an ending, as the name before it and the text, in the order of their names.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "proto-fixtures", "a2a", folder].iter().collect();
    let mut files: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(ending)?.to_owned();
            Some((name, fs::read_to_string(&path).unwrap()))
        })
        .collect();
    files.sort();
    files
}

/// The operation that a file is about: `SendMessage.full` is a case of `SendMessage`.
fn method(name: &str) -> Method {
    Method::of_v1(name.split('.').next().unwrap()).unwrap_or_else(|| panic!("{name}: no such operation"))
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn requests_are_read_and_written_as_they_stand_there() {
    for (folder, dialect) in FOLDERS {
        for (name, body) in files(folder, ".request.json") {
            let body = compact(&body);
            let operation = dialect
                .decode_call(method(&name), Some(&raw(&body)))
                .unwrap_or_else(|fault| panic!("{folder}/{name}: {fault}"));
            assert_eq!(text(&dialect.encode_call(&operation)), body, "{folder}/{name}");
        }
    }
}

#[test]
fn replies_are_read_and_written_as_they_stand_there() {
    for (folder, dialect) in FOLDERS {
        for (name, body) in files(folder, ".reply.json") {
            let body = compact(&body);
            let reply = dialect
                .decode_reply(method(&name), &raw(&body))
                .unwrap_or_else(|fault| panic!("{folder}/{name}: {fault}"));
            assert_eq!(text(&dialect.encode_reply(method(&name), &reply)), body, "{folder}/{name}");
        }
    }
}

#[test]
fn events_are_read_and_written_as_they_stand_there() {
    for (folder, dialect) in FOLDERS {
        for (name, body) in files(folder, ".event.json") {
            let body = compact(&body);
            let update =
                dialect.decode_update(&raw(&body)).unwrap_or_else(|fault| panic!("{folder}/{name}: {fault}"));
            assert_eq!(text(&dialect.encode_update(&update)), body, "{folder}/{name}");
        }
    }
}

#[test]
fn streams_are_read_and_written_as_they_stand_there() {
    for (folder, dialect) in [FOLDERS[0], FOLDERS[1]] {
        for (name, body) in files(folder, ".sse") {
            let lines: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            assert!(!lines.is_empty(), "{name}");
            for line in lines {
                let id = serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].take();
                let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"SubscribeToTask"}}"#);
                let id = envelope::read(call.as_bytes()).unwrap().id.unwrap();
                let event = envelope::read_answer(line).unwrap().unwrap();
                let update =
                    dialect.decode_update(event).unwrap_or_else(|fault| panic!("{folder}/{name}: {fault}"));
                let written = envelope::answer(&id, &dialect.encode_update(&update));
                assert_eq!(text(&written), line, "{folder}/{name}");
            }
        }
    }
}

#[test]
fn every_operation_has_a_request_and_an_answer() {
    for (folder, dialect) in FOLDERS {
        let of =
            |ending| -> Vec<Method> { files(folder, ending).iter().map(|(name, _)| method(name)).collect() };
        let (requests, replies, events, streams) =
            (of(".request.json"), of(".reply.json"), of(".event.json"), of(".sse"));
        for row in METHODS.iter().filter(|row| row.method.name(dialect).is_some()) {
            let what = format!("{folder}: {:?}", row.method);
            assert!(requests.contains(&row.method), "{what}");
            if row.streams {
                assert!(events.contains(&row.method), "{what}");
                assert!(streams.contains(&row.method) || dialect == Dialect::V03Proto, "{what}");
            } else {
                assert!(replies.contains(&row.method), "{what}");
            }
        }
    }
}

/// The golden requests of a dialect as HTTP+JSON has them.
fn rest_requests(folder: &str, dialect: Dialect) -> BTreeMap<String, serde_json::Value> {
    files(folder, ".request.json")
        .into_iter()
        .map(|(name, body)| {
            let operation = dialect.decode_call(method(&name), Some(&raw(&compact(&body)))).unwrap();
            let rest::Request { verbs, path, query, body } = rest::request(dialect, &operation).unwrap();
            let body: Option<serde_json::Value> = body.map(|body| serde_json::from_slice(&body).unwrap());
            let written = serde_json::json!({ "verbs": verbs, "path": path, "query": query, "body": body });
            (name, written)
        })
        .collect()
}

#[test]
fn requests_have_their_verb_path_query_and_body_in_http_json() {
    insta::assert_json_snapshot!(rest_requests("v1", Dialect::V1));
}

#[test]
fn requests_of_0_3_have_theirs_below_v1() {
    insta::assert_json_snapshot!(rest_requests("v03-proto", Dialect::V03Proto));
}

/// One of each fault.
fn faults() -> Vec<Fault> {
    let retry_after = Duration::from_millis(1500);
    vec![
        Fault::TaskNotFound("t-1".into()),
        Fault::TaskNotCancelable("t-1".into()),
        Fault::PushNotSupported,
        Fault::Unsupported("this agent does not stream".into()),
        Fault::ContentType { media_type: "video/mp4".into(), takes: "text/plain".into() },
        Fault::InvalidAgentResponse("no status".into()),
        Fault::NoExtendedCard,
        Fault::ExtensionRequired("https://example.com/ext/v1".into()),
        Fault::VersionNotSupported {
            why: "A2A version `0.5` is not served: send the header A2A-Version: 1.0".into(),
            served: "1.0,0.3".into(),
        },
        Fault::Malformed("expected `,` or `}` at line 1 column 9".into()),
        Fault::InvalidRequest("batches are not served: send one request at a time".into()),
        Fault::MethodNotFound("message/send".into()),
        Fault::invalid("message.parts[0]", "needs one of text, raw, url, data"),
        Fault::Internal("4f1c".into()),
        Fault::Unauthenticated { sent: true },
        Fault::Forbidden("this credential does not cover the agent claude".into()),
        Fault::NoAgent("nobody".into()),
        Fault::TooLarge("the body is larger than 8 MiB".into()),
        Fault::Busy { why: "60 requests a minute are served".into(), retry_after },
        Fault::Draining { retry_after },
        Fault::NoSpace("under 512 MiB are free".into()),
    ]
}

#[test]
fn every_fault_is_told_as_it_stands_there_and_understood_by_a_peer() {
    let mut golden = files("v1/errors", ".json");
    for fault in faults() {
        let row = fault::row(&fault);
        let body = envelope::refusal(&envelope::Id::NULL, &fault, &CONTEXT);
        let place = golden.iter().position(|(name, _)| name == row.reason);
        let (name, file) = golden.remove(place.unwrap_or_else(|| panic!("{}: {}", row.reason, text(&body))));
        assert_eq!(text(&body), compact(&file), "{name}");
        for body in [body, fault::rest_body(&fault, &CONTEXT)] {
            let error = envelope::read_answer(text(&body)).unwrap().unwrap_err();
            assert_eq!(error.message, fault.to_string());
            assert_eq!(error.reason.as_deref(), Some(row.reason));
            assert_eq!(error.request.as_deref(), Some("req-1"));
        }
    }
    assert_eq!(golden, [], "files without a fault");
}

#[test]
fn faults_have_their_bodies_and_statuses_in_http_json() {
    let bodies: Vec<serde_json::Value> = faults()
        .iter()
        .map(|fault| serde_json::from_slice(&fault::rest_body(fault, &CONTEXT)).unwrap())
        .collect();
    insta::assert_json_snapshot!(bodies);
}

#[test]
fn what_reaches_no_operation_has_a_body_too() {
    let bodies: Vec<serde_json::Value> = [400, 404, 405, 408, 415, 421, 503]
        .into_iter()
        .map(|http| serde_json::from_slice(&fault::plain_body(http, "why and what to do", &CONTEXT)).unwrap())
        .collect();
    insta::assert_json_snapshot!(bodies);
}

#[test]
fn what_is_answered_outside_the_envelope_has_its_status_and_headers() {
    let outside: Vec<(u16, Option<u64>, Option<&str>)> = faults()
        .iter()
        .filter(|fault| fault::rpc_status(fault) != 200)
        .map(|fault| (fault::rpc_status(fault), fault::retry_after(fault), fault::challenge(fault)))
        .collect();
    let invalid = r#"Bearer realm="a2ad", error="invalid_token""#;
    assert_eq!(
        outside,
        [
            (401, None, Some(invalid)),
            (403, None, None),
            (404, None, None),
            (413, None, None),
            (429, Some(2), None),
            (503, Some(2), None),
            (507, None, None)
        ]
    );
    assert_eq!(fault::challenge(&Fault::Unauthenticated { sent: false }), Some(r#"Bearer realm="a2ad""#));
}

#[test]
fn errors_repeat_only_the_beginning_of_what_was_sent() {
    let long = "x".repeat(1 << 20);
    let faults = [
        Fault::TaskNotFound(long.as_str().into()),
        Fault::invalid(long.as_str(), long.as_str()),
        Dialect::of(&Version::ALL, ["1.0"], [], &long).unwrap_err(),
        Dialect::of(&Version::ALL, [long.as_str()], [], "GetTask").unwrap_err(),
        super::decode(Method::ListTasks, &format!(r#"{{"status":"{long}"}}"#)).unwrap_err(),
    ];
    for fault in faults {
        assert!(envelope::refusal(&envelope::Id::NULL, &fault, &CONTEXT).len() < 5000);
    }
}
