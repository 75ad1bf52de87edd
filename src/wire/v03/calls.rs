//! Requests. A task is an `id` in JSON-RPC and a `name` in ProtoJSON; both are read in either.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Form,
    message::{ReadMessage, WriteMessage},
    push::{ReadConfig, WriteConfig, WriteTaskConfig},
    words::{config_name, config_of, task_name, task_of},
};
use crate::{
    model::{
        CancelTask, DeletePush, Fault, GetCard, GetPush, GetTask, ListPush, Metadata, Operation, PushConfig,
        Role, Send, SendConfiguration, Subscribe, TaskId, proto,
    },
    wire::{
        Method,
        read::{bytes, filled, not_negative, object, param},
    },
};

pub(in crate::wire) fn decode_call(
    form: Form,
    method: Method,
    params: Option<&RawValue>,
) -> Result<Operation, Fault> {
    let text = object(params)?;
    match method {
        Method::Send => send(form, text).map(Operation::Send),
        Method::Stream => send(form, text).map(Operation::Stream),
        Method::GetTask => {
            let asked = param::<ReadTask>(text)?;
            let history_length = history(form, "historyLength", asked.history_length)?;
            Ok(Operation::GetTask(GetTask { tenant: None, id: asked.id()?, history_length }))
        }
        Method::CancelTask => {
            let mut asked = param::<ReadTask>(text)?;
            let metadata = asked.metadata.take();
            Ok(Operation::CancelTask(CancelTask { tenant: None, id: asked.id()?, metadata }))
        }
        Method::Subscribe => {
            Ok(Operation::Subscribe(Subscribe { tenant: None, id: param::<ReadTask>(text)?.id()? }))
        }
        Method::CreatePush => param::<ReadCreate>(text)?.config().map(Operation::CreatePush),
        Method::GetPush => {
            let (task_id, id) = param::<ReadPush>(text)?.of_task()?;
            // The older form names the task alone; a configuration without an id of its own has the task's.
            let id = id.unwrap_or_else(|| task_id.as_str().to_owned());
            Ok(Operation::GetPush(GetPush { tenant: None, task_id, id }))
        }
        Method::DeletePush => {
            let (task_id, id) = param::<ReadPush>(text)?.of_task()?;
            let id = id.ok_or_else(|| Fault::invalid("pushNotificationConfigId", "is missing"))?;
            Ok(Operation::DeletePush(DeletePush { tenant: None, task_id, id }))
        }
        Method::ListPush => {
            let asked = param::<ReadList>(text)?;
            not_negative("pageSize", asked.page_size)?;
            let (page_size, page_token) =
                (asked.page_size.filter(|size| *size > 0), asked.page_token.clone());
            Ok(Operation::ListPush(ListPush { tenant: None, task_id: asked.task()?, page_size, page_token }))
        }
        Method::GetCard => Ok(Operation::GetCard(GetCard::default())),
        Method::ListTasks => Err(Fault::MethodNotFound("ListTasks".into())),
    }
}

/// `MessageSendParams`, `SendMessageRequest`.
#[derive(Deserialize)]
struct ReadSend {
    // `request` is the field's own name in the proto file.
    #[serde(alias = "request")]
    message: ReadMessage,
    #[serde(default, deserialize_with = "proto::default_object")]
    configuration: ReadConfiguration,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadConfiguration {
    #[serde(default, alias = "accepted_output_modes", deserialize_with = "proto::unset")]
    accepted_output_modes: Vec<String>,
    #[serde(
        default,
        alias = "pushNotification",
        alias = "push_notification",
        alias = "push_notification_config",
        deserialize_with = "proto::maybe_object"
    )]
    push_notification_config: Option<ReadConfig>,
    #[serde(default, alias = "history_length", deserialize_with = "proto::int32")]
    history_length: Option<i32>,
    // Left out it is true (P-22).
    #[serde(default)]
    blocking: Option<bool>,
}

fn send(form: Form, text: &str) -> Result<Send, Fault> {
    let read: ReadSend = param(text)?;
    let (message, configuration) = (read.message.0, read.configuration);
    if message.role != Role::User {
        return Err(Fault::invalid("message.role", "must be user: only an agent speaks as agent"));
    }
    let push = configuration.push_notification_config.map(|config| config.of(None));
    if let Some(config) = &push {
        filled("configuration.pushNotificationConfig.url", &config.url)?;
    }
    Ok(Send {
        tenant: None,
        message,
        configuration: SendConfiguration {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: push,
            history_length: history(form, "configuration.historyLength", configuration.history_length)?,
            return_immediately: configuration.blocking == Some(false),
        },
        metadata: read.metadata,
    })
}

/// How much history is wanted: 0 is none in JSON, and in ProtoJSON "not set", which is what the proto file makes of it.
fn history(form: Form, path: &str, length: Option<i32>) -> Result<Option<i32>, Fault> {
    not_negative(path, length)?;
    Ok(length.filter(|length| form == Form::Json || *length != 0))
}

/// `TaskQueryParams`, `TaskIdParams`, `GetTaskRequest` and the like.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadTask {
    #[serde(default, deserialize_with = "proto::filled")]
    id: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    name: Option<String>,
    #[serde(default, alias = "history_length", deserialize_with = "proto::int32")]
    history_length: Option<i32>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

impl ReadTask {
    fn id(self) -> Result<TaskId, Fault> {
        task(self.id, self.name.as_deref())
    }
}

/// The task of an id, or of a name.
fn task(id: Option<String>, name: Option<&str>) -> Result<TaskId, Fault> {
    let named = || name.map(|name| task_of(name).to_owned());
    id.or_else(named)
        .filter(|id| !id.is_empty())
        .map(TaskId::from)
        .ok_or_else(|| Fault::invalid("id", "is missing"))
}

/// `TaskPushNotificationConfig`, and the request that wraps it in ProtoJSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadCreate {
    #[serde(default, alias = "task_id", deserialize_with = "proto::filled")]
    task_id: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    parent: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    name: Option<String>,
    #[serde(default, alias = "config_id", deserialize_with = "proto::filled")]
    config_id: Option<String>,
    #[serde(default, alias = "push_notification_config", deserialize_with = "proto::maybe_object")]
    push_notification_config: Option<ReadConfig>,
    #[serde(default, deserialize_with = "proto::maybe_object")]
    config: Option<Inner>,
}

/// What `CreateTaskPushNotificationConfigRequest` wraps.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inner {
    #[serde(alias = "push_notification_config", deserialize_with = "proto::object")]
    push_notification_config: ReadConfig,
}

impl ReadCreate {
    fn config(self) -> Result<PushConfig, Fault> {
        let named = self.name.as_deref().and_then(config_of);
        let parent = self.parent.as_deref().or_else(|| named.map(|(task, _)| task));
        let id = self.config_id.or_else(|| named.map(|(_, id)| id.to_owned()));
        let task = task(self.task_id, parent).map_err(|_| Fault::invalid("taskId", "is missing"))?;
        let inner =
            self.push_notification_config.or_else(|| self.config.map(|inner| inner.push_notification_config));
        let mut config =
            inner.ok_or_else(|| Fault::invalid("pushNotificationConfig", "is missing"))?.of(Some(task));
        filled("pushNotificationConfig.url", &config.url)?;
        config.id = config.id.or(id);
        Ok(config)
    }
}

/// `GetTaskPushNotificationConfigParams` and its sibling: here `id` is the task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadPush {
    #[serde(default, deserialize_with = "proto::filled")]
    id: Option<String>,
    #[serde(default, alias = "push_notification_config_id", deserialize_with = "proto::filled")]
    push_notification_config_id: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    name: Option<String>,
}

impl ReadPush {
    fn of_task(self) -> Result<(TaskId, Option<String>), Fault> {
        match self.name.as_deref().and_then(config_of) {
            Some((task, config)) if self.id.is_none() => Ok((task.into(), Some(config.to_owned()))),
            _ => Ok((task(self.id, None)?, self.push_notification_config_id)),
        }
    }
}

/// `ListTaskPushNotificationConfigParams` and its request in ProtoJSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadList {
    #[serde(default, deserialize_with = "proto::filled")]
    id: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    parent: Option<String>,
    #[serde(default, alias = "page_size", deserialize_with = "proto::int32")]
    page_size: Option<i32>,
    #[serde(default, alias = "page_token", deserialize_with = "proto::filled")]
    page_token: Option<String>,
}

impl ReadList {
    fn task(self) -> Result<TaskId, Fault> {
        task(self.id, self.parent.as_deref())
    }
}

pub(in crate::wire) fn encode_call(form: Form, operation: &Operation) -> Bytes {
    match operation {
        Operation::Send(send) | Operation::Stream(send) => bytes(&WriteSend::of(form, send)),
        Operation::GetTask(get) => {
            bytes(&WriteTask { history_length: get.history_length, ..WriteTask::of(form, &get.id) })
        }
        Operation::CancelTask(cancel) => {
            let metadata = cancel.metadata.as_ref().filter(|_| form == Form::Json);
            bytes(&WriteTask { metadata, ..WriteTask::of(form, &cancel.id) })
        }
        Operation::Subscribe(subscribe) => bytes(&WriteTask::of(form, &subscribe.id)),
        Operation::CreatePush(config) => match form {
            Form::Json => bytes(&WriteTaskConfig::of(form, config)),
            Form::Proto => bytes(&WriteCreate {
                parent: task_name(config.task_id.as_ref().map_or("", TaskId::as_str)),
                config_id: config.id.as_deref().unwrap_or_default(),
                config: WriteTaskConfig::of(form, config),
            }),
        },
        Operation::GetPush(get) => bytes(&WritePush::of(form, &get.task_id, &get.id)),
        Operation::DeletePush(delete) => bytes(&WritePush::of(form, &delete.task_id, &delete.id)),
        Operation::ListPush(list) => match form {
            Form::Json => bytes(&WriteTask::of(form, &list.task_id)),
            Form::Proto => bytes(&WriteList {
                parent: task_name(list.task_id.as_str()),
                page_size: list.page_size,
                page_token: list.page_token.as_deref(),
            }),
        },
        // 0.3 has no list; who asks is told so before anything is written.
        Operation::GetCard(_) | Operation::ListTasks(_) => Bytes::from_static(b"{}"),
    }
}

#[derive(Serialize)]
struct WriteSend<'a> {
    message: WriteMessage<'a>,
    configuration: WriteConfiguration<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteConfiguration<'a> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    accepted_output_modes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<WriteConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<WriteConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    // Servers of 0.3 differ on what its absence means, so it is always there.
    blocking: bool,
}

impl<'a> WriteSend<'a> {
    fn of(form: Form, send: &'a Send) -> Self {
        let configuration = &send.configuration;
        let push = configuration.task_push_notification_config.as_ref().map(WriteConfig::of);
        let (push_notification_config, push_notification) = match form {
            Form::Json => (push, None),
            Form::Proto => (None, push),
        };
        Self {
            message: WriteMessage::of(form, &send.message),
            configuration: WriteConfiguration {
                accepted_output_modes: &configuration.accepted_output_modes,
                push_notification_config,
                push_notification,
                history_length: configuration.history_length,
                blocking: !configuration.return_immediately,
            },
            metadata: send.metadata.as_ref(),
        }
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteTask<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

impl<'a> WriteTask<'a> {
    fn of(form: Form, id: &'a TaskId) -> Self {
        match form {
            Form::Json => Self { id: Some(id.as_str()), ..Self::default() },
            Form::Proto => Self { name: Some(task_name(id.as_str())), ..Self::default() },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteCreate<'a> {
    parent: String,
    config_id: &'a str,
    config: WriteTaskConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WritePush<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl<'a> WritePush<'a> {
    fn of(form: Form, task: &'a TaskId, config: &'a str) -> Self {
        match form {
            Form::Json => {
                Self { id: Some(task.as_str()), push_notification_config_id: Some(config), name: None }
            }
            Form::Proto => Self {
                id: None,
                push_notification_config_id: None,
                name: Some(config_name(task.as_str(), config)),
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteList<'a> {
    parent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<&'a str>,
}
