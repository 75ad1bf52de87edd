//! The answers that are one value.

use std::borrow::Cow;

use bytes::Bytes;

use crate::model::{AgentCard, Message, PushConfig, Task};

/// The answer of an operation that is no stream: borrowed when it is written, owned when it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Single<'a> {
    /// A task.
    Task(Cow<'a, Task>),
    /// A task, as the bytes of A2A 1.0 that are stored. Never comes out of a reader.
    Stored(Bytes),
    /// A message, the whole answer of a send.
    Message(Cow<'a, Message>),
    /// A page of tasks.
    Page(Page<'a>),
    /// A card.
    Card(Cow<'a, AgentCard>),
    /// A webhook configuration.
    Push(Cow<'a, PushConfig>),
    /// A page of them.
    PushPage(PushPage<'a>),
    /// Nothing: what was to be deleted is gone.
    Null,
}

/// `ListTasksResponse`.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<'a> {
    /// The tasks.
    pub tasks: Cow<'a, [Task]>,
    /// Empty on the last page.
    pub next_page_token: Cow<'a, str>,
    /// As used for this page.
    pub page_size: i32,
    /// Of all pages.
    pub total_size: i32,
    /// Whether artifacts were asked for: if not, no task has the key, else every one has (A2A-81).
    pub artifacts: bool,
}

/// `ListTaskPushNotificationConfigsResponse`.
#[derive(Clone, Debug, PartialEq)]
pub struct PushPage<'a> {
    /// The configurations.
    pub configs: Cow<'a, [PushConfig]>,
    /// Empty on the last page.
    pub next_page_token: Cow<'a, str>,
}

impl<'a> Single<'a> {
    /// A task to be written.
    #[must_use]
    pub const fn task(task: &'a Task) -> Self {
        Self::Task(Cow::Borrowed(task))
    }

    /// A message to be written.
    #[must_use]
    pub const fn message(message: &'a Message) -> Self {
        Self::Message(Cow::Borrowed(message))
    }

    /// A card to be written.
    #[must_use]
    pub const fn card(card: &'a AgentCard) -> Self {
        Self::Card(Cow::Borrowed(card))
    }
}
