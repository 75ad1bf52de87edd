//! HTTP+JSON: the table of paths, and how a request is put together from its three places.

use proptest::prelude::*;

use super::{
    super::{
        percent,
        rest::{self, Lost, Segment, Target},
        *,
    },
    models, raw,
};
use crate::model::{CancelTask, GetTask, ListTasks, TaskState};

/// A path as the router cuts it.
fn cut(path: &str) -> Vec<Segment<'_>> {
    path[1..].split('/').map(|raw| Segment { raw, text: percent::segment(raw).unwrap() }).collect()
}

fn find(verb: &str, path: &str) -> Result<Target, Lost> {
    rest::find(Version::V1, verb, &cut(path))
}

fn target(method: Method, members: &[(&'static str, &str)]) -> Target {
    let members = members.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Target { version: Version::V1, method, members }
}

fn operation(target: &Target, query: &str, body: &str) -> Result<Operation, Fault> {
    rest::operation(Dialect::V1, target, Some(query), body.as_bytes())
}

#[test]
fn each_operation_has_its_verbs_and_its_path() {
    let (of_task, of_config) =
        (target(Method::ListPush, &[("taskId", "t")]), &[("taskId", "t"), ("id", "c")][..]);
    for (verbs, path, wanted) in [
        (&["POST"][..], "/message:send", target(Method::Send, &[])),
        (&["POST"], "/message:stream", target(Method::Stream, &[])),
        (&["GET"], "/tasks", target(Method::ListTasks, &[])),
        (&["GET"], "/tasks/t", target(Method::GetTask, &[("id", "t")])),
        (&["POST"], "/tasks/t:cancel", target(Method::CancelTask, &[("id", "t")])),
        (&["GET", "POST"], "/tasks/t:subscribe", target(Method::Subscribe, &[("id", "t")])),
        (&["POST"], "/tasks/t/pushNotificationConfigs", target(Method::CreatePush, &[("taskId", "t")])),
        (&["GET"], "/tasks/t/pushNotificationConfigs", of_task),
        (&["GET"], "/tasks/t/pushNotificationConfigs/c", target(Method::GetPush, of_config)),
        (&["DELETE"], "/tasks/t/pushNotificationConfigs/c", target(Method::DeletePush, of_config)),
        (&["GET"], "/extendedAgentCard", target(Method::GetCard, &[])),
    ] {
        for verb in verbs {
            assert_eq!(find(verb, path), Ok(wanted.clone()), "{verb} {path}");
        }
    }
}

#[test]
fn a_word_behind_the_last_colon_counts_for_its_verbs_only() {
    let get = |id| Ok(target(Method::GetTask, &[("id", id)]));
    assert_eq!(find("GET", "/tasks/a:cancel"), get("a:cancel"));
    assert_eq!(find("POST", "/tasks/a:b:cancel"), Ok(target(Method::CancelTask, &[("id", "a:b")])));
    assert_eq!(find("GET", "/tasks/a%3Asubscribe"), get("a:subscribe"), "an escaped colon is data");
    assert_eq!(find("POST", "/tasks/a%3Acancel"), Err(Lost::Verb("GET")));
    assert_eq!(find("POST", "/tasks/a%2Fb%3Ac:cancel"), Ok(target(Method::CancelTask, &[("id", "a/b:c")])));
    assert_eq!(find("POST", "/message%3Asend"), Err(Lost::Path));
    assert_eq!(find("GET", "/%74asks"), Ok(target(Method::ListTasks, &[])));
}

#[test]
fn a_wrong_verb_is_told_the_right_ones_and_a_wrong_path_is_none() {
    for (verb, path, allow) in [
        ("GET", "/message:send", "POST"),
        ("POST", "/tasks", "GET"),
        ("HEAD", "/tasks", "GET"),
        ("DELETE", "/tasks/t", "GET"),
        ("PUT", "/tasks/t:cancel", "GET, POST"),
        ("POST", "/tasks/:cancel", "GET"),
        ("PUT", "/tasks/t/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/t/pushNotificationConfigs/c", "GET, DELETE"),
        ("POST", "/extendedAgentCard", "GET"),
    ] {
        assert_eq!(find(verb, path), Err(Lost::Verb(allow)), "{verb} {path}");
    }
    for path in [
        "/",
        "/tasks/",
        "/message",
        "/message:sent",
        "/tasks/t/",
        "/tasks/t/x",
        "/x/tasks",
        "/extendedAgentCard/",
    ] {
        assert_eq!(find("GET", path), Err(Lost::Path), "{path}");
    }
}

#[test]
fn a_query_is_typed_and_named_either_way() {
    let list = |query: &str| match operation(&target(Method::ListTasks, &[]), query, "") {
        Ok(Operation::ListTasks(list)) => Ok(list),
        Ok(other) => panic!("{other:?}"),
        Err(fault) => Err(fault.to_string()),
    };
    let wanted = ListTasks {
        tenant: Some("a".into()),
        context_id: Some("c d+&".into()),
        status: Some(TaskState::Working),
        page_size: Some(7),
        page_token: Some("true".into()),
        history_length: Some(0),
        status_timestamp_after: Some(serde_json::from_str(r#""2026-01-02T03:04:05.120+02:00""#).unwrap()),
        include_artifacts: true,
    };
    for query in [
        "tenant=a&contextId=c+d%2B%26&status=TASK_STATE_WORKING&pageSize=7&pageToken=true&historyLength=0\
         &statusTimestampAfter=2026-01-02T03%3A04%3A05.120%2B02%3A00&includeArtifacts=true",
        "tenant=a&context_id=c%20d%2B%26&status=2&page_size=7&page_token=true&history_length=0\
         &status_timestamp_after=2026-01-02T03:04:05.120+02:00&include_artifacts=true&A2A-Version=1.0&new=1&new=2",
        "&tenant=a&tenant=a&&contextId=c+d%2B%26&status=TASK_STATE_WORKING&pageSize=7.0&pageSize=&pageToken=true\
         &historyLength=0&statusTimestampAfter=2026-01-02T01:04:05.12Z&includeArtifacts=true&includeArtifacts=true",
    ] {
        assert_eq!(list(query).as_ref(), Ok(&wanted), "{query}");
    }
    assert_eq!(list("status=&pageSize=&contextId="), Ok(ListTasks::default()), "what is empty is unset");
    for (query, field) in [
        ("pageSize=101", "pageSize"),
        ("pageSize=x", "pageSize"),
        ("pageSize=1&page_size=2", "pageSize"),
        ("historyLength=-1", "historyLength"),
        ("includeArtifacts=yes", "includeArtifacts"),
        ("status=working", "status"),
        ("status=99", "status"),
        ("statusTimestampAfter=yesterday", "statusTimestampAfter"),
    ] {
        let fault = list(query).unwrap_err();
        assert!(fault.starts_with(&format!("{field}: ")), "{query}: {fault}");
    }
    assert!(list("contextId=%ff").unwrap_err().contains("not UTF-8"));
}

#[test]
fn the_path_wins_over_the_body_and_the_body_over_the_query() {
    let cancel = target(Method::CancelTask, &[("id", "t")]);
    let wanted = |tenant: Option<&str>, metadata: Option<&str>| {
        Ok(Operation::CancelTask(CancelTask {
            tenant: tenant.map(str::to_owned),
            id: "t".into(),
            metadata: metadata.map(|text| serde_json::from_str(text).unwrap()),
        }))
    };
    for body in ["", " \r\n", "{}", "null", r#"{"id":"other"}"#, r#"{"id":7,"i\u0064":{}}"#] {
        assert_eq!(operation(&cancel, "", body), wanted(None, None), "{body}");
    }
    assert_eq!(operation(&cancel, "", r#"{"metadata":{"a":1.50}}"#), wanted(None, Some(r#"{"a":1.50}"#)));
    assert_eq!(operation(&cancel, "tenant=a", r#"{"tenant":"a"}"#), wanted(Some("a"), None));
    assert_eq!(operation(&cancel, "tenant=a", r#"{"tenant":""}"#), wanted(Some("a"), None));
    let two = operation(&cancel, "tenant=a", r#"{"tenant":"b"}"#).unwrap_err();
    assert!(matches!(two, Fault::InvalidParams { path, .. } if path == "tenant"));
    let of_path = cancel.for_tenant("p");
    assert_eq!(operation(&of_path, "tenant=a", r#"{"tenant":"b"}"#), wanted(Some("p"), None));
    let create = target(Method::CreatePush, &[("taskId", "t")]);
    let Ok(Operation::CreatePush(config)) = operation(&create, "", r#"{"task_id":"other","url":"u"}"#) else {
        panic!("a webhook's configuration");
    };
    assert_eq!(config.task_id, Some("t".into()));
}

#[test]
fn a_body_that_can_not_be_read_is_refused() {
    let send = target(Method::Send, &[]);
    let cancel = target(Method::CancelTask, &[("id", "t")]);
    let deep = format!(r#"{{"metadata":{}{}}}"#, r#"{"a":"#.repeat(100), "1".to_owned() + &"}".repeat(100));
    for (body, word) in [
        ("{", "not JSON"),
        (r#"{"id":"t"} x"#, "not JSON"),
        (r#"{"metadata":"\ud800"}"#, "surrogate"),
        ("[]", "body: must be an object"),
        ("7", "body: must be an object"),
        (&deep, "stand in each other"),
    ] {
        for target in [&send, &cancel] {
            let fault = operation(target, "", body).unwrap_err().to_string();
            assert!(fault.contains(word), "{body}: {fault}");
        }
    }
    let fault = rest::operation(Dialect::V1, &send, None, b"\xff").unwrap_err();
    assert!(matches!(fault, Fault::Malformed(_)));
    assert!(operation(&send, "", "").unwrap_err().to_string().contains("message"));
    assert!(operation(&cancel, "", r#"{"metadata":{},"metadata":{}}"#).is_err(), "a key that stands twice");
}

#[test]
fn a_request_is_written_as_a_path_a_query_and_a_body() {
    let of = |operation: Operation| rest::request(Dialect::V1, &operation).unwrap();
    let get = of(Operation::GetTask(GetTask {
        tenant: Some("a b".into()),
        id: "x/y:z".into(),
        history_length: Some(3),
    }));
    assert_eq!((get.path.as_str(), get.query.as_str()), ("/a%20b/tasks/x%2Fy%3Az", "historyLength=3"));
    assert_eq!((get.verbs, get.body), (&["GET"][..], None));
    let cancel = of(Operation::CancelTask(CancelTask { tenant: None, id: "t".into(), metadata: None }));
    assert_eq!((cancel.path.as_str(), cancel.query.as_str()), ("/tasks/t:cancel", ""));
    assert_eq!((cancel.verbs, cancel.body.as_deref()), (&["POST"][..], Some(&b"{}"[..])));
    for id in ["", ".", ".."] {
        let get = Operation::GetTask(GetTask { tenant: None, id: id.into(), history_length: None });
        assert!(rest::request(Dialect::V1, &get).is_err(), "{id:?} is a step, not a task");
    }
}

#[test]
fn what_was_deleted_is_answered_with_an_empty_object() {
    assert_eq!(&rest::reply(Dialect::V1, Method::DeletePush, &Single::Null)[..], b"{}");
    let read = Dialect::V1.decode_reply(Method::DeletePush, &raw("{}"));
    assert_eq!(read, Ok(Single::Null));
}

/// Whether every member that stands in the path can.
fn fits_a_path(operation: &Operation) -> bool {
    rest::request(Dialect::V1, operation).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_call_is_read_from_its_three_places_as_it_was_written(
        operation in models::operation().prop_filter("a step of a path", fits_a_path)
    ) {
        let rest::Request { verbs, path, query, body } = rest::request(Dialect::V1, &operation).unwrap();
        let segments = cut(&path);
        // A tenant stands before all, where the router takes it off.
        let tenant = operation.tenant().map(|tenant| {
            assert_eq!(segments[0].text, tenant);
            tenant.to_owned()
        });
        let below = if tenant.is_some() { &segments[1..] } else { &segments[..] };
        for verb in verbs {
            let found = rest::find(Version::V1, verb, below).unwrap();
            let target = tenant.iter().fold(found, |target, tenant| target.for_tenant(tenant));
            let read = rest::operation(Dialect::V1, &target, Some(&query), body.as_deref().unwrap_or_default());
            prop_assert_eq!(read.as_ref(), Ok(&operation));
        }
    }

    #[test]
    fn no_request_makes_it_panic(
        verb in "GET|POST|DELETE|PUT",
        path in "(/(tasks|message:send|[a-z:]{0,3}|pushNotificationConfigs|%3A)){1,4}",
        query in "[a-zA-Z_=&%+0-9]{0,20}",
        body in "[ -~]{0,20}",
    ) {
        if let Ok(target) = find(&verb, &path) {
            let _ = operation(&target, &query, &body);
        }
    }
}
