//! Operations and answers as A2A 1.0 has them in JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::{Message, Operation, Task, Update};

/// An answer that is one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Single {
    /// A task, bare or as the answer to a send.
    Task(Task),
    /// A bare message.
    Message(Message),
    /// A page of tasks.
    Page(Page),
    /// Anything else.
    Other(String),
}

/// A page of `ListTasks`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    #[serde(alias = "next_page_token")]
    pub next_page_token: String,
    /// Of all pages.
    #[serde(alias = "total_size")]
    pub total_size: i64,
}

pub(super) const fn method(operation: &Operation) -> &'static str {
    match operation {
        Operation::Send(_) => "SendMessage",
        Operation::Stream(_) => "SendStreamingMessage",
        Operation::GetTask(_) => "GetTask",
        Operation::ListTasks(_) => "ListTasks",
        Operation::CancelTask(_) => "CancelTask",
        Operation::Subscribe(_) => "SubscribeToTask",
        Operation::CreatePush(_) => "CreateTaskPushNotificationConfig",
        Operation::GetPush(_) => "GetTaskPushNotificationConfig",
        Operation::ListPush(_) => "ListTaskPushNotificationConfigs",
        Operation::DeletePush(_) => "DeleteTaskPushNotificationConfig",
        Operation::GetCard(_) => "GetExtendedAgentCard",
    }
}

pub(super) fn encode(operation: &Operation) -> serde_json::Result<Vec<u8>> {
    match operation {
        Operation::Send(x) | Operation::Stream(x) => serde_json::to_vec(x),
        Operation::GetTask(x) => serde_json::to_vec(x),
        Operation::ListTasks(x) => serde_json::to_vec(x),
        Operation::CancelTask(x) => serde_json::to_vec(x),
        Operation::Subscribe(x) => serde_json::to_vec(x),
        Operation::CreatePush(x) => serde_json::to_vec(x),
        Operation::GetPush(x) => serde_json::to_vec(x),
        Operation::ListPush(x) => serde_json::to_vec(x),
        Operation::DeletePush(x) => serde_json::to_vec(x),
        Operation::GetCard(x) => serde_json::to_vec(x),
    }
}

pub(super) fn decode(operation: &Operation, result: &RawValue) -> serde_json::Result<Single> {
    match operation {
        Operation::Send(_) | Operation::Stream(_) => match update(result)? {
            Update::Message(message) => Ok(Single::Message(message)),
            Update::Task(task) => Ok(Single::Task(task)),
            Update::StatusUpdate(_) | Update::ArtifactUpdate(_) => {
                Err(serde::de::Error::custom("the answer to a send is neither a task nor a message"))
            }
        },
        Operation::GetTask(_) | Operation::CancelTask(_) => {
            serde_json::from_str(result.get()).map(Single::Task)
        }
        Operation::ListTasks(_) => serde_json::from_str(result.get()).map(Single::Page),
        _ => Ok(Single::Other(result.get().to_owned())),
    }
}

pub(super) fn update(result: &RawValue) -> serde_json::Result<Update> {
    serde_json::from_str(result.get())
}
