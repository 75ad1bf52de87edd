//! Webhook configurations. Decoded and routed; what they ask for is not built yet (P-19).

use serde::{Deserialize, Serialize};

use super::{TaskId, proto};

/// The flat `TaskPushNotificationConfig` (A2A-92).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfig {
    /// Routing.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The config; made by the server if left out.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The task; empty inside a send (A2A-35).
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "proto::filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// Where to POST.
    pub url: String,
    /// Sent along as `X-A2A-Notification-Token`.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Sent along as `Authorization`.
    #[serde(default, deserialize_with = "proto::maybe_object", skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// How to authenticate at a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    /// An IANA scheme name.
    pub scheme: String,
    /// In the form the scheme asks for.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}
