//! What a caller can ask for: every binding and dialect becomes one [`Operation`].

use serde::{Deserialize, Serialize};

use super::{ContextId, Message, Metadata, PushConfig, TaskId, TaskState, Timestamp, proto, task};

/// The eleven operations of A2A 1.0.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `SendMessage`.
    Send(Send),
    /// `SendStreamingMessage`.
    Stream(Send),
    /// `GetTask`.
    GetTask(GetTask),
    /// `ListTasks`.
    ListTasks(ListTasks),
    /// `CancelTask`.
    CancelTask(CancelTask),
    /// `SubscribeToTask`.
    Subscribe(Subscribe),
    /// `CreateTaskPushNotificationConfig`.
    CreatePush(PushConfig),
    /// `GetTaskPushNotificationConfig`.
    GetPush(GetPush),
    /// `ListTaskPushNotificationConfigs`.
    ListPush(ListPush),
    /// `DeleteTaskPushNotificationConfig`.
    DeletePush(DeletePush),
    /// `GetExtendedAgentCard`.
    GetCard(GetCard),
}

impl Operation {
    /// The agent that the request names, if it names one (A2A-164).
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::Send(x) | Self::Stream(x) => x.tenant.as_deref(),
            Self::GetTask(x) => x.tenant.as_deref(),
            Self::ListTasks(x) => x.tenant.as_deref(),
            Self::CancelTask(x) => x.tenant.as_deref(),
            Self::Subscribe(x) => x.tenant.as_deref(),
            Self::CreatePush(x) => x.tenant.as_deref(),
            Self::GetPush(x) => x.tenant.as_deref(),
            Self::ListPush(x) => x.tenant.as_deref(),
            Self::DeletePush(x) => x.tenant.as_deref(),
            Self::GetCard(x) => x.tenant.as_deref(),
        }
    }
}

impl Operation {
    /// The same for the agent that an interface names (A2A-119); `None`: for whomever it is sent to.
    #[must_use]
    pub fn for_tenant(mut self, tenant: Option<&str>) -> Self {
        let slot = match &mut self {
            Self::Send(x) | Self::Stream(x) => &mut x.tenant,
            Self::GetTask(x) => &mut x.tenant,
            Self::ListTasks(x) => &mut x.tenant,
            Self::CancelTask(x) => &mut x.tenant,
            Self::Subscribe(x) => &mut x.tenant,
            Self::CreatePush(x) => &mut x.tenant,
            Self::GetPush(x) => &mut x.tenant,
            Self::ListPush(x) => &mut x.tenant,
            Self::DeletePush(x) => &mut x.tenant,
            Self::GetCard(x) => &mut x.tenant,
        };
        *slot = tenant.map(str::to_owned);
        self
    }
}

/// `SendMessageRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Send {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What is said.
    #[serde(deserialize_with = "proto::object")]
    pub message: Message,
    /// How to answer.
    #[serde(
        default,
        deserialize_with = "proto::default_object",
        skip_serializing_if = "SendConfiguration::is_default"
    )]
    pub configuration: SendConfiguration,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// `SendMessageConfiguration`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendConfiguration {
    /// Media types that the caller can show.
    #[serde(
        default,
        alias = "accepted_output_modes",
        deserialize_with = "proto::unset",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    /// A webhook to register with the task.
    #[serde(
        default,
        alias = "task_push_notification_config",
        deserialize_with = "proto::maybe_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_push_notification_config: Option<PushConfig>,
    /// Most messages of the history in the answer (A2A-143).
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "proto::int32",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
    /// Answer once the task is stored, not once its turn has ended.
    #[serde(
        default,
        alias = "return_immediately",
        deserialize_with = "proto::unset",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub return_immediately: bool,
}

impl SendConfiguration {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `GetTaskRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTask {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Which task.
    pub id: TaskId,
    /// Most messages of the history in the answer.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "proto::int32",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
}

/// `ListTasksRequest`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasks {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only this conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Only this state.
    #[serde(default, deserialize_with = "task::filter", skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// 1 to 100; 50 if unset (A2A-82).
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "proto::int32",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<i32>,
    /// `nextPageToken` of the page before.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
    /// Most messages of each history; none if unset (P-31).
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "proto::int32",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
    /// Only tasks whose status is of this time or later.
    #[serde(default, alias = "status_timestamp_after", skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether artifacts come along.
    #[serde(
        default,
        alias = "include_artifacts",
        deserialize_with = "proto::unset",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub include_artifacts: bool,
}

/// `CancelTaskRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelTask {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Which task.
    pub id: TaskId,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// `SubscribeToTaskRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscribe {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Which task.
    pub id: TaskId,
}

/// `GetTaskPushNotificationConfigRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPush {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task it belongs to.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Which config.
    pub id: String,
}

/// `ListTaskPushNotificationConfigsRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPush {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task they belong to.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Most in one page; 0 is unset.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "proto::int32",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<i32>,
    /// `nextPageToken` of the page before.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
}

/// `DeleteTaskPushNotificationConfigRequest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletePush {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task it belongs to.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Which config.
    pub id: String,
}

/// `GetExtendedAgentCardRequest`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetCard {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}
