//! Words that 0.3 spells in its own way: states, roles, kinds, times.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::Error};

use super::Form;
use crate::model::{Role, TaskState, Timestamp};

/// The states of a task, as the JSON schema and as the proto file of 0.3 spell them.
const STATES: [(TaskState, &str, &str); 8] = [
    (TaskState::Submitted, "submitted", "TASK_STATE_SUBMITTED"),
    (TaskState::Working, "working", "TASK_STATE_WORKING"),
    (TaskState::Completed, "completed", "TASK_STATE_COMPLETED"),
    (TaskState::Failed, "failed", "TASK_STATE_FAILED"),
    // Two Ls, unlike 1.0.
    (TaskState::Canceled, "canceled", "TASK_STATE_CANCELLED"),
    (TaskState::InputRequired, "input-required", "TASK_STATE_INPUT_REQUIRED"),
    (TaskState::Rejected, "rejected", "TASK_STATE_REJECTED"),
    (TaskState::AuthRequired, "auth-required", "TASK_STATE_AUTH_REQUIRED"),
];

/// A state, as it is written.
pub(super) fn state(form: Form, state: TaskState) -> &'static str {
    let row = STATES.iter().find(|(known, ..)| *known == state);
    row.map_or("unknown", |(_, json, proto)| match form {
        Form::Json => *json,
        Form::Proto => *proto,
    })
}

/// A state in any spelling, that of 1.0 included. `unknown` is none: there is nothing that a reader could do with it.
pub(super) fn read_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskState, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    STATES
        .iter()
        .find(|(known, json, proto)| *json == text || *proto == text || known.as_str() == text)
        .map(|(known, ..)| *known)
        .ok_or_else(|| D::Error::custom(format_args!("`{text}` is no state of a task")))
}

/// A role, as it is written.
pub(super) const fn role(form: Form, role: Role) -> &'static str {
    match (form, role) {
        (Form::Json, Role::User) => "user",
        (Form::Json, Role::Agent) => "agent",
        (Form::Proto, Role::User) => "ROLE_USER",
        (Form::Proto, Role::Agent) => "ROLE_AGENT",
    }
}

/// A role in either spelling.
pub(super) fn read_role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    match &*Cow::<'de, str>::deserialize(deserializer)? {
        "user" | "ROLE_USER" => Ok(Role::User),
        "agent" | "ROLE_AGENT" => Ok(Role::Agent),
        other => Err(D::Error::custom(format_args!("`{other}` is no role: use user or agent"))),
    }
}

/// A time. One without a zone is of UTC, as servers of 0.3 write it.
pub(super) fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<Cow<'de, str>>::deserialize(deserializer)?.filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    Timestamp::parse(&text)
        .or_else(|why| Timestamp::parse(&format!("{text}Z")).map_err(|_| why))
        .map(Some)
        .map_err(D::Error::custom)
}

/// Refuses a `kind` that tells of something else. One that is left out tells nothing.
pub(super) fn is_kind<E: Error>(found: Option<&str>, wanted: &str) -> Result<(), E> {
    match found {
        Some(found) if !found.is_empty() && found != wanted => {
            Err(E::custom(format_args!("its kind is `{found}` where `{wanted}` belongs")))
        }
        Some(_) | None => Ok(()),
    }
}

/// The name of a task as a resource: `tasks/{id}`.
pub(super) fn task_name(id: &str) -> String {
    format!("tasks/{id}")
}

/// The id in the name of a task; a text that is no name is the id itself.
pub(super) fn task_of(name: &str) -> &str {
    name.strip_prefix("tasks/").unwrap_or(name)
}

/// What stands between task and configuration in the name of a configuration.
const CONFIGS: &str = "/pushNotificationConfigs/";

/// The name of a webhook configuration as a resource.
pub(super) fn config_name(task: &str, config: &str) -> String {
    format!("tasks/{task}{CONFIGS}{config}")
}

/// Task and, if it is that of one, configuration in the name of a resource.
pub(in crate::wire) fn parts_of_name(name: &str) -> (&str, Option<&str>) {
    match config_of(name) {
        Some((task, config)) => (task, Some(config)),
        None => (task_of(name), None),
    }
}

/// Task and configuration in the name of a configuration.
pub(super) fn config_of(name: &str) -> Option<(&str, &str)> {
    let (task, config) = name.rsplit_once(CONFIGS)?;
    Some((task_of(task), config))
}
