//! Webhook configurations: nested where those of 1.0 are flat, with a list of schemes of which one counts.

use serde::{Deserialize, Serialize};

use super::{
    Form,
    words::{config_name, config_of},
};
use crate::model::{AuthenticationInfo, PushConfig, TaskId, proto};

/// `PushNotificationConfig`: without its task.
#[derive(Deserialize)]
pub(super) struct ReadConfig {
    #[serde(default, deserialize_with = "proto::filled")]
    id: Option<String>,
    url: String,
    #[serde(default, deserialize_with = "proto::filled")]
    token: Option<String>,
    #[serde(default, deserialize_with = "proto::maybe_object")]
    authentication: Option<ReadAuthentication>,
}

#[derive(Deserialize)]
struct ReadAuthentication {
    #[serde(default, deserialize_with = "proto::unset")]
    schemes: Vec<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    credentials: Option<String>,
}

impl ReadConfig {
    /// The same with its task. Of several schemes the first counts.
    pub(super) fn of(self, task: Option<TaskId>) -> PushConfig {
        let authentication = self.authentication.map(|authentication| AuthenticationInfo {
            scheme: authentication.schemes.into_iter().next().unwrap_or_default(),
            credentials: authentication.credentials,
        });
        PushConfig {
            tenant: None,
            id: self.id,
            task_id: task,
            url: self.url,
            token: self.token,
            authentication,
        }
    }
}

/// `TaskPushNotificationConfig`, by task id or as a named resource.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadTaskConfig {
    #[serde(default, alias = "task_id", deserialize_with = "proto::filled")]
    task_id: Option<TaskId>,
    #[serde(default)]
    name: String,
    #[serde(alias = "push_notification_config", deserialize_with = "proto::object")]
    push_notification_config: ReadConfig,
}

impl From<ReadTaskConfig> for PushConfig {
    fn from(config: ReadTaskConfig) -> Self {
        let named = config_of(&config.name);
        let task = config.task_id.or_else(|| named.map(|(task, _)| task.into()));
        let mut read = config.push_notification_config.of(task);
        read.id = read.id.or_else(|| named.and_then(|(_, id)| (!id.is_empty()).then(|| id.to_owned())));
        read
    }
}

#[derive(Serialize)]
pub(super) struct WriteConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<WriteAuthentication<'a>>,
}

#[derive(Serialize)]
struct WriteAuthentication<'a> {
    schemes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a str>,
}

impl<'a> WriteConfig<'a> {
    pub(super) fn of(config: &'a PushConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|authentication| WriteAuthentication {
            schemes: Some(&*authentication.scheme).filter(|scheme| !scheme.is_empty()).into_iter().collect(),
            credentials: authentication.credentials.as_deref(),
        });
        Self { id: config.id.as_deref(), url: &config.url, token: config.token.as_deref(), authentication }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteTaskConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    push_notification_config: WriteConfig<'a>,
}

impl<'a> WriteTaskConfig<'a> {
    pub(super) fn of(form: Form, config: &'a PushConfig) -> Self {
        let task = config.task_id.as_ref().map_or("", TaskId::as_str);
        let id = config.id.as_deref().unwrap_or_default();
        let (task_id, name) = match form {
            Form::Json => (Some(task), None),
            Form::Proto => (None, Some(config_name(task, id))),
        };
        Self { task_id, name, push_notification_config: WriteConfig::of(config) }
    }
}
