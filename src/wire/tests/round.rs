//! The law of the codec: what one half writes the other reads as what it was.

use std::borrow::Cow;

use proptest::{collection::vec, prelude::*};

use super::{super::*, models, raw};
use crate::model::Task;

/// Writes a result and reads it again.
fn there_and_back(method: Method, reply: &Single<'_>) -> Result<Single<'static>, crate::model::Fault> {
    let bytes = Dialect::V1.encode_reply(method, reply);
    let text = std::str::from_utf8(&bytes).unwrap();
    Dialect::V1.decode_reply(method, &raw(text))
}

/// What went out with what came back.
fn replies() -> impl Strategy<Value = (Method, Single<'static>)> {
    let task = || models::task().prop_map(|task| Single::Task(Cow::Owned(task)));
    let push = || models::push().prop_map(|config| Single::Push(Cow::Owned(config)));
    prop_oneof![
        task().prop_map(|task| (Method::Send, task)),
        models::answer().prop_map(|message| (Method::Send, Single::Message(Cow::Owned(message)))),
        task().prop_map(|task| (Method::GetTask, task)),
        task().prop_map(|task| (Method::CancelTask, task)),
        (vec(models::task(), 0..3), any::<i32>(), any::<i32>(), "[a-z]{0,4}").prop_map(
            |(tasks, page_size, total_size, token)| {
                let artifacts = tasks.iter().any(|task| !task.artifacts.is_empty());
                let tasks = Cow::Owned(tasks);
                let page = Page { tasks, next_page_token: token.into(), page_size, total_size, artifacts };
                (Method::ListTasks, Single::Page(page))
            }
        ),
        push().prop_map(|config| (Method::CreatePush, config)),
        push().prop_map(|config| (Method::GetPush, config)),
        (vec(models::push(), 0..3), "[a-z]{0,4}").prop_map(|(configs, token)| {
            let page = PushPage { configs: Cow::Owned(configs), next_page_token: token.into() };
            (Method::ListPush, Single::PushPage(page))
        }),
        Just((Method::DeletePush, Single::Null)),
        models::card().prop_map(|card| (Method::GetCard, Single::Card(Cow::Owned(card)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_call_is_read_as_it_was_written(operation in models::operation()) {
        let params = Dialect::V1.encode_call(&operation);
        let method = Method::of(&operation);
        let body = envelope::request(7, Dialect::V1, method, &params).unwrap();
        let call = envelope::read(&body).unwrap();
        let (dialect, method) = Dialect::of(&Version::ALL, ["1.0"], [], &call.method).unwrap();
        prop_assert_eq!(dialect.decode_call(method, call.params).unwrap(), operation);
    }

    #[test]
    fn a_reply_is_read_as_it_was_written((method, reply) in replies()) {
        prop_assert_eq!(there_and_back(method, &reply).unwrap(), reply);
    }

    #[test]
    fn an_event_is_one_line_and_is_read_as_it_was_written(update in models::update()) {
        let bytes = Dialect::V1.encode_update(&update);
        prop_assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'));
        prop_assert_eq!(Dialect::V1.decode_update(&raw(std::str::from_utf8(&bytes).unwrap())).unwrap(), update);
    }

    #[test]
    fn a_stored_task_is_spliced_as_if_it_were_written_anew(task in models::task()) {
        let stored = Single::Stored(serde_json::to_vec(&task).unwrap().into());
        for method in [Method::Send, Method::GetTask, Method::CancelTask] {
            let spliced = Dialect::V1.encode_reply(method, &stored);
            prop_assert_eq!(spliced, Dialect::V1.encode_reply(method, &Single::task(&task)));
        }
    }

    #[test]
    fn artifacts_stand_in_a_page_exactly_if_they_were_asked_for(task in models::task(), artifacts: bool) {
        let tasks: &[Task] = std::slice::from_ref(&task);
        let page = Page { tasks: tasks.into(), next_page_token: "".into(), page_size: 1, total_size: 1, artifacts };
        let bytes = Dialect::V1.encode_reply(Method::ListTasks, &Single::Page(page));
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(json["tasks"][0].get("artifacts").is_some(), artifacts);
    }
}
