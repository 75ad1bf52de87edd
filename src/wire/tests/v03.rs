//! A2A 0.3: the law of its codecs, and what they let pass and refuse.

use std::{borrow::Cow, fmt::Write};

use proptest::{collection::vec, prelude::*};

use super::{super::*, CONTEXT, models, raw};
use crate::model::{
    AgentCard, Artifact, Content, Message, Metadata, Operation, Part, PushConfig, Send, Task, TaskState,
    TaskStatus, Timestamp, Update,
};

const FORMS: [Dialect; 2] = [Dialect::V03Json, Dialect::V03Proto];

/// What is left of a value on its way through a dialect of 0.3: all that it has words for.
struct Carried(Dialect);

impl Carried {
    fn is_proto(&self) -> bool {
        self.0 == Dialect::V03Proto
    }

    /// A text has no name and no media type, data no name and no media type; metadata that was empty beside data that is
    /// no object comes back as none.
    fn part(&self, mut part: Part) -> Part {
        match &part.content {
            Content::Text(_) => (part.filename, part.media_type) = (None, None),
            Content::Data(json) => {
                (part.filename, part.media_type) = (None, None);
                if !json.get().starts_with('{') {
                    part.metadata = part.metadata.filter(|metadata| !metadata.is_empty());
                }
            }
            Content::Raw(_) | Content::Url(_) => {}
        }
        part
    }

    fn parts(&self, parts: Vec<Part>) -> Vec<Part> {
        parts.into_iter().map(|part| self.part(part)).collect()
    }

    /// ProtoJSON has no references to other tasks.
    fn message(&self, mut message: Message) -> Message {
        message.parts = self.parts(message.parts);
        if self.is_proto() {
            message.reference_task_ids.clear();
        }
        message
    }

    fn status(&self, mut status: TaskStatus) -> TaskStatus {
        status.message = status.message.map(|message| self.message(message));
        status
    }

    fn artifact(&self, mut artifact: Artifact) -> Artifact {
        artifact.parts = self.parts(artifact.parts);
        artifact
    }

    fn task(&self, mut task: Task) -> Task {
        task.status = self.status(task.status);
        task.artifacts = task.artifacts.into_iter().map(|artifact| self.artifact(artifact)).collect();
        task.history = task.history.into_iter().map(|message| self.message(message)).collect();
        task
    }

    fn update(&self, update: Update) -> Update {
        match update {
            Update::Task(task) => Update::Task(self.task(task)),
            Update::Message(message) => Update::Message(self.message(message)),
            Update::StatusUpdate(mut update) => {
                update.status = self.status(update.status);
                Update::StatusUpdate(update)
            }
            Update::ArtifactUpdate(mut update) => {
                update.artifact = self.artifact(update.artifact);
                Update::ArtifactUpdate(update)
            }
        }
    }

    /// No tenant.
    fn push(&self, config: PushConfig) -> PushConfig {
        PushConfig { tenant: None, ..config }
    }

    /// The configuration of a send does not name its task. ProtoJSON can't say "no history at all".
    fn send(&self, mut send: Send) -> Send {
        send.tenant = None;
        send.message = self.message(send.message);
        let configuration = &mut send.configuration;
        if let Some(config) = &mut configuration.task_push_notification_config {
            (config.tenant, config.task_id) = (None, None);
        }
        configuration.history_length = self.history(configuration.history_length);
        send
    }

    fn history(&self, length: Option<i32>) -> Option<i32> {
        length.filter(|length| !self.is_proto() || *length != 0)
    }

    /// No tenant; in ProtoJSON no metadata of a cancel, in the other no pages of configurations.
    fn operation(&self, operation: Operation) -> Operation {
        match operation {
            Operation::Send(send) => Operation::Send(self.send(send)),
            Operation::Stream(send) => Operation::Stream(self.send(send)),
            Operation::GetTask(mut get) => {
                (get.tenant, get.history_length) = (None, self.history(get.history_length));
                Operation::GetTask(get)
            }
            Operation::CancelTask(mut cancel) => {
                cancel.tenant = None;
                cancel.metadata = cancel.metadata.filter(|_| !self.is_proto());
                Operation::CancelTask(cancel)
            }
            Operation::Subscribe(mut subscribe) => {
                subscribe.tenant = None;
                Operation::Subscribe(subscribe)
            }
            Operation::CreatePush(config) => Operation::CreatePush(self.push(config)),
            Operation::GetPush(mut get) => {
                get.tenant = None;
                Operation::GetPush(get)
            }
            Operation::DeletePush(mut delete) => {
                delete.tenant = None;
                Operation::DeletePush(delete)
            }
            Operation::ListPush(mut list) => {
                list.tenant = None;
                if !self.is_proto() {
                    (list.page_size, list.page_token) = (None, None);
                }
                list.page_size = list.page_size.filter(|size| *size > 0);
                Operation::ListPush(list)
            }
            Operation::GetCard(mut get) => {
                get.tenant = None;
                Operation::GetCard(get)
            }
            Operation::ListTasks(list) => Operation::ListTasks(list),
        }
    }
}

fn form() -> impl Strategy<Value = Dialect> {
    prop::sample::select(&FORMS[..])
}

/// An id that can be part of a resource's name, and other texts.
fn operation() -> impl Strategy<Value = Operation> {
    models::operation()
        .prop_filter("0.3 has no list", |operation| !matches!(operation, Operation::ListTasks(_)))
}

/// A card that 0.3 has all words for: one interface that speaks it, no security, nothing signed.
fn card() -> impl Strategy<Value = AgentCard> {
    (models::card(), "[a-z]{1,8}").prop_map(|(mut card, url)| {
        card.supported_interfaces = vec![crate::model::AgentInterface {
            url,
            protocol_binding: "JSONRPC".into(),
            tenant: None,
            protocol_version: "0.3".into(),
        }];
        card.security_schemes.clear();
        card
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_call_is_read_as_it_was_written(operation in operation(), form in form()) {
        let params = form.encode_call(&operation);
        let method = Method::of(&operation);
        let body = envelope::request(7, form, method, &params).unwrap();
        let call = envelope::read(&body).unwrap();
        let chosen = Dialect::of(&Version::ALL, [], [], &call.method).unwrap();
        prop_assert_eq!(chosen, (Dialect::V03Json, method));
        let read = form.decode_call(method, call.params).unwrap();
        prop_assert_eq!(read, Carried(form).operation(operation));
    }

    #[test]
    fn a_call_over_http_json_is_read_as_it_was_written(operation in operation()) {
        let Ok(request) = rest::request(Dialect::V03Proto, &operation) else { return Ok(()) };
        let below = request.path.strip_prefix("/v1/").unwrap();
        let cut = |raw| rest::Segment { raw, text: percent::segment(raw).unwrap() };
        let segments: Vec<rest::Segment<'_>> = below.split('/').map(cut).collect();
        for verb in request.verbs {
            let target = rest::find(Version::V03, verb, &segments).unwrap();
            let body = request.body.clone().unwrap_or_default();
            let read = rest::operation(Dialect::V03Proto, &target, Some(&request.query), &body).unwrap();
            prop_assert_eq!(read, Carried(Dialect::V03Proto).operation(operation.clone()));
        }
    }

    #[test]
    fn a_reply_is_read_as_it_was_written(task in models::task(), message in models::answer(), form in form()) {
        let carried = Carried(form);
        let there_and_back = |method, reply: &Single<'_>| {
            let bytes = form.encode_reply(method, reply);
            form.decode_reply(method, &raw(std::str::from_utf8(&bytes).unwrap())).unwrap()
        };
        let wanted = Single::Task(Cow::Owned(carried.task(task.clone())));
        let stored = Single::Stored(serde_json::to_vec(&task).unwrap().into());
        for method in [Method::Send, Method::GetTask, Method::CancelTask] {
            prop_assert_eq!(&there_and_back(method, &Single::task(&task)), &wanted);
            prop_assert_eq!(&there_and_back(method, &stored), &wanted);
        }
        let wanted = Single::Message(Cow::Owned(carried.message(message.clone())));
        prop_assert_eq!(there_and_back(Method::Send, &Single::message(&message)), wanted);
        prop_assert_eq!(there_and_back(Method::DeletePush, &Single::Null), Single::Null);
    }

    #[test]
    fn configurations_are_read_as_they_were_written(configs in vec(models::push(), 0..3), form in form()) {
        let carried: Vec<PushConfig> =
            configs.iter().map(|config| Carried(form).push(config.clone())).collect();
        let page = PushPage { configs: Cow::Borrowed(&configs), next_page_token: "".into() };
        let bytes = form.encode_reply(Method::ListPush, &Single::PushPage(page));
        let read = form.decode_reply(Method::ListPush, &raw(std::str::from_utf8(&bytes).unwrap())).unwrap();
        let Single::PushPage(page) = read else { panic!("{read:?}") };
        prop_assert_eq!(&*page.configs, &carried[..]);
        for (config, wanted) in configs.iter().zip(carried) {
            let bytes = form.encode_reply(Method::GetPush, &Single::Push(Cow::Borrowed(config)));
            let read = form.decode_reply(Method::GetPush, &raw(std::str::from_utf8(&bytes).unwrap())).unwrap();
            prop_assert_eq!(read, Single::Push(Cow::Owned(wanted)));
        }
    }

    #[test]
    fn an_event_is_one_line_and_is_read_as_it_was_written(update in models::update(), form in form()) {
        let bytes = form.encode_update(&update);
        prop_assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'));
        let read = form.decode_update(&raw(std::str::from_utf8(&bytes).unwrap())).unwrap();
        prop_assert_eq!(read, Carried(form).update(update));
    }

    #[test]
    fn either_form_is_read_where_the_other_is_usual(operation in operation(), update in models::update()) {
        let (Operation::Send(_) | Operation::Stream(_)) = &operation else { return Ok(()) };
        for (written, read) in [(FORMS[0], FORMS[1]), (FORMS[1], FORMS[0])] {
            let text = String::from_utf8(written.encode_call(&operation).to_vec()).unwrap();
            let both = Carried(read).operation(Carried(written).operation(operation.clone()));
            let back = read.decode_call(Method::of(&operation), Some(&raw(&text))).unwrap();
            prop_assert_eq!(Carried(read).operation(back), both);
        }
        let text = String::from_utf8(FORMS[0].encode_update(&update).to_vec()).unwrap();
        let read = FORMS[1].decode_update(&raw(&text)).unwrap();
        prop_assert_eq!(read, Carried(FORMS[0]).update(update));
    }

    #[test]
    fn a_card_is_read_as_it_was_written(card in card(), form in form()) {
        let bytes = form.encode_reply(Method::GetCard, &Single::card(&card));
        let read = form.decode_reply(Method::GetCard, &raw(std::str::from_utf8(&bytes).unwrap())).unwrap();
        prop_assert_eq!(read, Single::Card(Cow::Owned(card)));
    }

    #[test]
    fn a_hybrid_card_is_a_card_of_1_0_with_more(card in models::card()) {
        let bytes = hybrid_card(&card);
        let read: AgentCard = serde_json::from_slice(&bytes).unwrap();
        let strip = |mut card: AgentCard| { card.security_schemes.clear(); card };
        prop_assert_eq!(strip(read), strip(card));
    }

    #[test]
    fn final_is_what_the_state_says(update in models::update(), form in form()) {
        let Update::StatusUpdate(update) = update else { return Ok(()) };
        let state = update.status.state;
        let bytes = form.encode_update(&Update::StatusUpdate(update));
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let event = json.get("statusUpdate").unwrap_or(&json);
        prop_assert_eq!(event["final"].as_bool(), Some(state.is_terminal() || state == TaskState::InputRequired));
    }
}

fn call(method: Method, params: &str) -> Result<Operation, Fault> {
    Dialect::V03Json.decode_call(method, Some(&raw(params)))
}

fn sent(params: &str) -> Send {
    match call(Method::Send, params).unwrap() {
        Operation::Send(send) => send,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_does_not_say_whether_it_waits_waits() {
    let message = r#""message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}"#;
    for (configuration, returns) in [
        ("", false),
        (r#","configuration":null"#, false),
        (r#","configuration":{}"#, false),
        (r#","configuration":{"blocking":null}"#, false),
        (r#","configuration":{"blocking":true}"#, false),
        (r#","configuration":{"blocking":false}"#, true),
    ] {
        let send = sent(&format!("{{{message}{configuration}}}"));
        assert_eq!(send.configuration.return_immediately, returns, "{configuration}");
    }
}

#[test]
fn no_history_is_none_in_json_and_unsaid_in_proto_json() {
    let params = raw(r#"{"id":"t","historyLength":0}"#);
    for (form, wanted) in [(Dialect::V03Json, Some(0)), (Dialect::V03Proto, None)] {
        let read = form.decode_call(Method::GetTask, Some(&params)).unwrap();
        let Operation::GetTask(get) = read else { panic!("{read:?}") };
        assert_eq!(get.history_length, wanted);
    }
}

#[test]
fn ur_54_parts_are_read_with_and_without_kind_and_by_either_name() {
    let wanted = sent(
        r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"},
        {"kind":"file","file":{"bytes":"aGk=","mimeType":"a/b","name":"n"}},{"kind":"file","file":{"uri":"u"}},
        {"kind":"data","data":{"a":1}}]}}"#,
    );
    let json = sent(
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},
        {"file":{"fileWithBytes":"aGk=","mimeType":"a/b","name":"n"}},{"file":{"fileWithUri":"u"}},{"data":{"a":1}}]}}"#,
    );
    let proto = sent(
        r#"{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"x"},
        {"file":{"file_with_bytes":"aGk=","mime_type":"a/b","name":"n"}},{"file":{"file_with_uri":"u"}},
        {"data":{"data":{"a":1}}}]}}"#,
    );
    assert_eq!(json, wanted);
    assert_eq!(proto, wanted);
}

#[test]
fn results_without_kind_are_known_by_what_they_hold() {
    let read = |text: &str| Dialect::V03Json.decode_update(&raw(text)).unwrap();
    let task =
        r#"{"id":"t","contextId":"c","status":{"state":"working","timestamp":"2025-04-02T16:59:25.331844"}}"#;
    let Update::Task(task) = read(task) else { panic!() };
    assert_eq!(task.status.timestamp, Some(Timestamp::parse("2025-04-02T16:59:25.331844Z").unwrap()));
    let status = r#"{"taskId":"t","contextId":"c","final":true,"status":{"state":"completed"}}"#;
    assert!(matches!(read(status), Update::StatusUpdate(_)));
    let artifact = r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}"#;
    assert!(matches!(read(artifact), Update::ArtifactUpdate(_)));
    let message = r#"{"messageId":"m","role":"agent","parts":[{"text":"x"}],"taskId":"t"}"#;
    assert!(matches!(read(message), Update::Message(_)));
}

#[test]
fn a_peer_that_breaks_the_contract_is_told_where() {
    let told = |text: &str| match Dialect::V03Json.decode_update(&raw(text)) {
        Err(Fault::InvalidAgentResponse(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(r#"{"kind":"task","id":"t","status":{}}"#), "status.state: is missing");
    assert_eq!(
        told(r#"{"kind":"task","id":"t","status":{"state":"unknown"}}"#),
        "status.state: `unknown` is no state of a task"
    );
    assert_eq!(told(r#"{"kind":"news"}"#), "kind: `news` is no kind of result or event");
    assert_eq!(told("{}"), "is no task, message, status-update or artifact-update");
    assert_eq!(
        told(r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"file","file":{}}]}"#),
        "parts[0]: file: needs one of bytes, uri"
    );
}

#[test]
fn data_that_is_no_object_goes_wrapped_and_comes_back_bare() {
    let mut metadata = Metadata::default();
    metadata.set("k", &1);
    let part = Part { metadata: Some(metadata), ..Part::data(&[1, 2]) };
    let message = Message { parts: vec![part], ..Message::agent("") };
    let bytes = Dialect::V03Json.encode_update(&Update::Message(message.clone()));
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(text.contains(r#""data":{"value":[1,2]},"metadata":{"data_part_compat":true,"k":1}"#), "{text}");
    assert_eq!(Dialect::V03Json.decode_update(&raw(text)).unwrap(), Update::Message(message));
}

#[test]
fn a_configuration_without_an_id_is_that_of_the_task() {
    let read = call(Method::GetPush, r#"{"id":"t"}"#).unwrap();
    let Operation::GetPush(get) = read else { panic!("{read:?}") };
    assert_eq!((get.task_id.as_str(), &*get.id), ("t", "t"));
}

#[test]
fn a_hybrid_card_shows_each_reader_its_own() {
    let card: AgentCard = serde_json::from_str(
        r#"{"name":"n","description":"d","version":"1","supportedInterfaces":[
        {"url":"https://h/a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
        {"url":"https://h/b","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
        {"url":"https://h","protocolBinding":"HTTP+JSON","protocolVersion":"0.3"}],
        "capabilities":{"streaming":true,"extendedAgentCard":false},
        "securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"Bearer"}},"d":{"oauth2SecurityScheme":{"flows":
        {"deviceCode":{"scopes":{}},"authorizationCode":{"pkceRequired":true,"scopes":{}}}}}},
        "securityRequirements":[{"schemes":{"b":{"list":["x"]}}}],"skills":[]}"#,
    )
    .unwrap();
    insta::assert_json_snapshot!(serde_json::from_slice::<serde_json::Value>(&hybrid_card(&card)).unwrap());
    let pure = Dialect::V03Json.encode_reply(Method::GetCard, &Single::card(&card));
    insta::assert_json_snapshot!(serde_json::from_slice::<serde_json::Value>(&pure).unwrap());
    let only_new = AgentCard { supported_interfaces: card.supported_interfaces[..1].to_vec(), ..card };
    let text = String::from_utf8(hybrid_card(&only_new).to_vec()).unwrap();
    assert!(!text.contains("preferredTransport") && !text.contains("0.3"), "{text}");
}

/// Bodies by what is wrong with them.
fn table() -> Vec<(&'static str, &'static str, String)> {
    let send = |members: &str| {
        (
            "message/send",
            format!(r#"{{"message":{{"kind":"message","messageId":"m","role":"user",{members}}}}}"#),
        )
    };
    let part = |part: &str| send(&format!(r#""parts":[{{"kind":"text","text":"x"}},{part}]"#));
    let params = |method: &'static str, params: &str| (method, params.to_owned());
    let whole = r#""message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}"#;
    let rows = vec![
        ("a list of tasks", params("tasks/list", "{}")),
        ("a method of 1.0", params("SendMessage", "{}")),
        ("parameters as a list", params("tasks/get", "[]")),
        ("no message", params("message/send", "{}")),
        (
            "another kind",
            params(
                "message/send",
                r#"{"message":{"kind":"task","messageId":"m","role":"user","parts":[{"text":"x"}]}}"#,
            ),
        ),
        ("no messageId", params("message/send", r#"{"message":{"role":"user","parts":[{"text":"x"}]}}"#)),
        ("no role", params("message/send", r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#)),
        (
            "role agent",
            params("message/send", r#"{"message":{"messageId":"m","role":"agent","parts":[{"text":"x"}]}}"#),
        ),
        (
            "no such role",
            params("message/send", r#"{"message":{"messageId":"m","role":"king","parts":[{"text":"x"}]}}"#),
        ),
        ("no parts", params("message/send", r#"{"message":{"messageId":"m","role":"user"}}"#)),
        ("empty parts", send(r#""parts":[]"#)),
        ("parts by both names", send(r#""parts":[{"text":"x"}],"content":[{"text":"x"}]"#)),
        ("a part without content", part(r#"{"kind":"text"}"#)),
        ("a part of another kind", part(r#"{"kind":"file","text":"x"}"#)),
        ("two contents", part(r#"{"text":"x","data":{}}"#)),
        ("a file without content", part(r#"{"kind":"file","file":{"name":"n"}}"#)),
        ("a file with both contents", part(r#"{"kind":"file","file":{"uri":"u","bytes":"aGk="}}"#)),
        ("bytes that are not base64", part(r#"{"kind":"file","file":{"bytes":"§"}}"#)),
        ("a file as a text", part(r#"{"kind":"file","file":"x"}"#)),
        ("data that is no object", part(r#"{"kind":"data","data":[1]}"#)),
        ("both names of bytes", part(r#"{"kind":"file","file":{"bytes":"","fileWithBytes":""}}"#)),
        ("a doubled key in data", part(r#"{"kind":"data","data":{"a":{"b":1,"b":2}}}"#)),
        (
            "blocking as a text",
            params("message/send", &format!(r#"{{{whole},"configuration":{{"blocking":"yes"}}}}"#)),
        ),
        (
            "a negative historyLength",
            params("message/send", &format!(r#"{{{whole},"configuration":{{"historyLength":-1}}}}"#)),
        ),
        (
            "a webhook without url",
            params(
                "message/send",
                &format!(r#"{{{whole},"configuration":{{"pushNotificationConfig":{{"token":"t"}}}}}}"#),
            ),
        ),
        ("no id", params("tasks/get", r#"{"historyLength":1}"#)),
        ("empty id", params("tasks/cancel", r#"{"id":""}"#)),
        ("a negative length", params("tasks/get", r#"{"id":"t","historyLength":-1}"#)),
        ("no task to follow", params("tasks/resubscribe", "{}")),
        (
            "a webhook of no task",
            params("tasks/pushNotificationConfig/set", r#"{"pushNotificationConfig":{"url":"u"}}"#),
        ),
        ("no webhook", params("tasks/pushNotificationConfig/set", r#"{"taskId":"t"}"#)),
        (
            "an empty url",
            params(
                "tasks/pushNotificationConfig/set",
                r#"{"taskId":"t","pushNotificationConfig":{"url":""}}"#,
            ),
        ),
        ("no webhook to delete", params("tasks/pushNotificationConfig/delete", r#"{"id":"t"}"#)),
        ("no task of webhooks", params("tasks/pushNotificationConfig/list", "{}")),
    ];
    rows.into_iter().map(|(what, (method, params))| (what, method, params)).collect()
}

#[test]
fn bad_input_is_refused_with_code_text_and_path() {
    let mut told = String::new();
    for (what, method, params) in table() {
        let fault = Dialect::of(&Version::ALL, [], [], method)
            .and_then(|(dialect, method)| dialect.decode_call(method, Some(&raw(&params))))
            .expect_err(what);
        let error = fault::error_object(&fault, &CONTEXT);
        writeln!(told, "{what}:\n  {} {}", error.code(), error.message()).unwrap();
    }
    insta::assert_snapshot!(told);
}
