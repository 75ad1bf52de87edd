//! Any value of the model, for property tests.

use std::collections::BTreeMap;

use proptest::{collection::vec, option::of, prelude::*};

use crate::model::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill, Artifact,
    ArtifactUpdate, AuthenticationInfo, CancelTask, Content, DeletePush, GetCard, GetPush, GetTask, Json,
    ListPush, ListTasks, Message, Metadata, Operation, Part, PushConfig, Role, SecurityRequirement, Send,
    SendConfiguration, StatusUpdate, StringList, Subscribe, Task, TaskState, TaskStatus, Timestamp, Update,
};

/// A text, at times with what breaks careless readers.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]{1,6}", "[ -~\\n\\r\\t\u{0}\u{e4}\u{2028}\u{1f600}\"\\\\]{0,12}"]
}

/// A text that is not empty.
fn some() -> impl Strategy<Value = String> {
    text().prop_map(|text| if text.is_empty() { "x".into() } else { text })
}

fn json() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1.50".to_owned()),
        Just("-12345678901234567890123".to_owned()),
        Just("true".to_owned()),
        text().prop_map(|text| Json::of(&text).get().to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|members| {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{}:{value}", Json::of(key).get())).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
    .prop_map(|text| serde_json::from_str(&text).unwrap())
    .boxed()
}

fn metadata() -> BoxedStrategy<Metadata> {
    prop::collection::btree_map(text(), json(), 0..3)
        .prop_map(|members| {
            let mut metadata = Metadata::default();
            for (key, value) in members {
                metadata.set(&key, &value);
            }
            metadata
        })
        .boxed()
}

fn part() -> BoxedStrategy<Part> {
    let content = prop_oneof![
        text().prop_map(Content::Text),
        vec(any::<u8>(), 0..9).prop_map(|bytes| Content::Raw(bytes.into())),
        text().prop_map(Content::Url),
        json().prop_map(Content::Data),
    ];
    (content, of(some()), of(some()), of(metadata()))
        .prop_map(|(content, filename, media_type, metadata)| Part {
            content,
            filename,
            media_type,
            metadata,
        })
        .boxed()
}

fn message(role: impl Strategy<Value = Role>) -> impl Strategy<Value = Message> {
    let ids = (some(), of(some()), of(some()));
    let rest = (vec(part(), 1..4), of(metadata()), vec(text(), 0..3), vec(some(), 0..3));
    (ids, role, rest).prop_map(|((id, context, task), role, (parts, metadata, extensions, references))| {
        Message {
            message_id: id.into(),
            context_id: context.map(Into::into),
            task_id: task.map(Into::into),
            role,
            parts,
            metadata,
            extensions,
            reference_task_ids: references.into_iter().map(Into::into).collect(),
        }
    })
}

fn any_message() -> BoxedStrategy<Message> {
    message(prop_oneof![Just(Role::User), Just(Role::Agent)]).boxed()
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_102_444_800_000_i64).prop_map(Timestamp::from_millis)
}

fn state() -> impl Strategy<Value = TaskState> {
    prop::sample::select(&TaskState::ALL[..])
}

fn status() -> BoxedStrategy<TaskStatus> {
    (state(), of(any_message()), of(time()))
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
        .boxed()
}

fn artifact() -> BoxedStrategy<Artifact> {
    (some(), of(some()), of(some()), vec(part(), 1..3), of(metadata()), vec(text(), 0..2))
        .prop_map(|(id, name, description, parts, metadata, extensions)| Artifact {
            artifact_id: id.into(),
            name,
            description,
            parts,
            metadata,
            extensions,
        })
        .boxed()
}

/// Any task.
pub(super) fn task() -> BoxedStrategy<Task> {
    (some(), of(some()), status(), vec(artifact(), 0..2), vec(any_message(), 0..3), of(metadata()))
        .prop_map(|(id, context, status, artifacts, history, metadata)| Task {
            id: id.into(),
            context_id: context.map(Into::into),
            status,
            artifacts,
            history,
            metadata,
        })
        .boxed()
}

/// Any message of an agent.
pub(super) fn answer() -> BoxedStrategy<Message> {
    message(Just(Role::Agent)).boxed()
}

/// Any event of a stream.
pub(super) fn update() -> BoxedStrategy<Update> {
    let ids = || (some(), some());
    prop_oneof![
        task().prop_map(Update::Task),
        any_message().prop_map(Update::Message),
        (ids(), status(), of(metadata())).prop_map(|((task, context), status, metadata)| {
            Update::StatusUpdate(StatusUpdate {
                task_id: task.into(),
                context_id: context.into(),
                status,
                metadata,
            })
        }),
        (ids(), artifact(), any::<bool>(), any::<bool>(), of(metadata())).prop_map(
            |((task, context), artifact, append, last_chunk, metadata)| {
                Update::ArtifactUpdate(ArtifactUpdate {
                    task_id: task.into(),
                    context_id: context.into(),
                    artifact,
                    append,
                    last_chunk,
                    metadata,
                })
            }
        ),
    ]
    .boxed()
}

/// Any webhook configuration.
pub(super) fn push() -> BoxedStrategy<PushConfig> {
    let authentication =
        (text(), of(some())).prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials });
    (of(some()), of(some()), some(), some(), of(some()), of(authentication))
        .prop_map(|(tenant, id, task, url, token, authentication)| PushConfig {
            tenant,
            id,
            task_id: Some(task.into()),
            url,
            token,
            authentication,
        })
        .boxed()
}

fn send() -> BoxedStrategy<Send> {
    let configuration = (vec(text(), 0..3), of(push()), of(0..=i32::MAX), any::<bool>()).prop_map(
        |(modes, push, history_length, return_immediately)| SendConfiguration {
            accepted_output_modes: modes,
            task_push_notification_config: push,
            history_length,
            return_immediately,
        },
    );
    (of(some()), message(Just(Role::User)), configuration, of(metadata()))
        .prop_map(|(tenant, message, configuration, metadata)| Send {
            tenant,
            message,
            configuration,
            metadata,
        })
        .boxed()
}

fn list() -> BoxedStrategy<ListTasks> {
    let filters = (of(some()), of(state()), of(time()));
    let page = (of(1..=100_i32), of(some()), of(0..=i32::MAX), any::<bool>());
    (of(some()), filters, page)
        .prop_map(
            |(
                tenant,
                (context, status, after),
                (page_size, page_token, history_length, include_artifacts),
            )| {
                ListTasks {
                    tenant,
                    context_id: context.map(Into::into),
                    status,
                    page_size,
                    page_token,
                    history_length,
                    status_timestamp_after: after,
                    include_artifacts,
                }
            },
        )
        .boxed()
}

/// Any request that a node accepts.
pub(super) fn operation() -> BoxedStrategy<Operation> {
    let one = || (of(some()), some(), some());
    prop_oneof![
        send().prop_map(Operation::Send),
        send().prop_map(Operation::Stream),
        (of(some()), some(), of(0..=i32::MAX)).prop_map(|(tenant, id, history_length)| {
            Operation::GetTask(GetTask { tenant, id: id.into(), history_length })
        }),
        list().prop_map(Operation::ListTasks),
        (of(some()), some(), of(metadata())).prop_map(|(tenant, id, metadata)| {
            Operation::CancelTask(CancelTask { tenant, id: id.into(), metadata })
        }),
        (of(some()), some())
            .prop_map(|(tenant, id)| Operation::Subscribe(Subscribe { tenant, id: id.into() })),
        push().prop_map(Operation::CreatePush),
        one().prop_map(|(tenant, task, id)| {
            Operation::GetPush(GetPush { tenant, task_id: task.into(), id })
        }),
        (one(), of(0..=i32::MAX)).prop_map(|((tenant, task, token), page_size)| {
            Operation::ListPush(ListPush { tenant, task_id: task.into(), page_size, page_token: Some(token) })
        }),
        one().prop_map(|(tenant, task, id)| {
            Operation::DeletePush(DeletePush { tenant, task_id: task.into(), id })
        }),
        of(some()).prop_map(|tenant| Operation::GetCard(GetCard { tenant })),
    ]
    .boxed()
}

/// Any card.
pub(super) fn card() -> BoxedStrategy<AgentCard> {
    let interface = (text(), text(), of(some()), text()).prop_map(|(url, binding, tenant, version)| {
        AgentInterface { url, protocol_binding: binding, tenant, protocol_version: version }
    });
    let extension = (text(), of(some()), any::<bool>(), of(metadata())).prop_map(
        |(uri, description, required, params)| AgentExtension { uri, description, required, params },
    );
    let capabilities = (of(any::<bool>()), of(any::<bool>()), vec(extension, 0..2), of(any::<bool>()))
        .prop_map(|(streaming, push_notifications, extensions, extended_agent_card)| AgentCapabilities {
            streaming,
            push_notifications,
            extensions,
            extended_agent_card,
        });
    let skill = (text(), vec(text(), 0..2), vec(text(), 0..2)).prop_map(|(name, tags, modes)| AgentSkill {
        id: name.clone(),
        description: name.clone(),
        name,
        examples: tags.clone(),
        tags,
        input_modes: modes.clone(),
        output_modes: modes,
    });
    let requirement = prop::collection::btree_map(text(), vec(text(), 0..2), 0..2).prop_map(|schemes| {
        let schemes: BTreeMap<_, _> =
            schemes.into_iter().map(|(name, list)| (name, StringList { list })).collect();
        SecurityRequirement { schemes }
    });
    let provider = (text(), text()).prop_map(|(url, organization)| AgentProvider { url, organization });
    let names = (text(), text(), text(), of(text()), of(provider));
    let schemes = (prop::collection::btree_map(text(), json(), 0..2), vec(requirement, 0..2));
    (names, vec(interface, 0..2), capabilities, schemes, vec(skill, 0..2))
        .prop_map(
            |(
                (name, description, version, url, provider),
                interfaces,
                capabilities,
                (schemes, requirements),
                skills,
            )| {
                AgentCard {
                    default_input_modes: vec![name.clone()],
                    default_output_modes: vec![version.clone()],
                    name,
                    description,
                    supported_interfaces: interfaces,
                    provider,
                    version,
                    documentation_url: url.clone(),
                    capabilities,
                    security_schemes: schemes,
                    security_requirements: requirements,
                    skills,
                    signatures: Vec::new(),
                    icon_url: url,
                }
            },
        )
        .boxed()
}
