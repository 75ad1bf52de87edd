//! The one table of operations: what each is called in every dialect, where it lies in HTTP+JSON, and whether it streams.

use super::{Dialect, Version};
use crate::model::Operation;

/// The operations of A2A 1.0 section 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of Operation's variants")]
pub enum Method {
    Send,
    Stream,
    GetTask,
    ListTasks,
    CancelTask,
    Subscribe,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    GetCard,
}

/// A row of the table. Every name is optional: an operation need not exist in every dialect.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Which operation.
    pub method: Method,
    /// `method` in JSON-RPC of A2A 1.0 (section 9.4).
    pub v1: Option<&'static str>,
    /// Where it lies in HTTP+JSON of A2A 1.0 (section 11.3).
    pub rest: Option<Place>,
    /// `method` in JSON-RPC of A2A 0.3.
    pub v03: Option<&'static str>,
    /// Where it lies in HTTP+JSON of A2A 0.3, below `/v1`.
    pub rest03: Option<Place>,
    /// Whether the answer is a stream of events.
    pub streams: bool,
}

/// Where an operation lies in HTTP+JSON.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its HTTP methods, in the order in which a client tries them.
    pub verbs: &'static [&'static str],
    /// Its path below the interface. What stands in braces is a member of the request, one whole segment, or one up to
    /// the word behind its last `:`.
    pub path: &'static str,
    /// Where the other members stand.
    pub rest: Rest,
}

/// Where the members of a request stand that are not in its path.
#[derive(Clone, Copy, Debug)]
pub enum Rest {
    /// In the body.
    Body,
    /// In the query: these.
    Query(&'static [(&'static str, Kind)]),
}

/// How a member is written in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, or a number: its reader takes both.
    Text,
    /// `true` or `false`.
    Flag,
    /// A member of an enum, by name or number.
    Choice,
    /// RFC 3339.
    Time,
}

/// All operations, in the order of [`Method`].
pub const METHODS: [Names; 11] = [
    one(Method::Send, "SendMessage", post("/message:send")).old("message/send", post("/message:send")),
    many(Method::Stream, "SendStreamingMessage", post("/message:stream"))
        .old("message/stream", post("/message:stream")),
    one(Method::GetTask, "GetTask", get("/tasks/{id}", &LENGTH))
        .old("tasks/get", get("/tasks/{id}", &LENGTH)),
    one(
        Method::ListTasks,
        "ListTasks",
        get(
            "/tasks",
            &[
                ("contextId", Kind::Text),
                ("status", Kind::Choice),
                ("pageSize", Kind::Text),
                ("pageToken", Kind::Text),
                ("historyLength", Kind::Text),
                ("statusTimestampAfter", Kind::Time),
                ("includeArtifacts", Kind::Flag),
            ],
        ),
    ),
    one(Method::CancelTask, "CancelTask", post("/tasks/{id}:cancel"))
        .old("tasks/cancel", post("/tasks/{id}:cancel")),
    many(Method::Subscribe, "SubscribeToTask", SUBSCRIBE).old("tasks/resubscribe", SUBSCRIBE),
    one(
        Method::CreatePush,
        "CreateTaskPushNotificationConfig",
        post("/tasks/{taskId}/pushNotificationConfigs"),
    )
    .old("tasks/pushNotificationConfig/set", post("/tasks/{taskId}/pushNotificationConfigs")),
    one(
        Method::GetPush,
        "GetTaskPushNotificationConfig",
        get("/tasks/{taskId}/pushNotificationConfigs/{id}", &[]),
    )
    .old("tasks/pushNotificationConfig/get", get(OLD_CONFIG, &[])),
    // Plural, unlike its three siblings.
    one(
        Method::ListPush,
        "ListTaskPushNotificationConfigs",
        get("/tasks/{taskId}/pushNotificationConfigs", &PAGE),
    )
    .old("tasks/pushNotificationConfig/list", get("/tasks/{id}/pushNotificationConfigs", &PAGE)),
    one(
        Method::DeletePush,
        "DeleteTaskPushNotificationConfig",
        delete("/tasks/{taskId}/pushNotificationConfigs/{id}"),
    )
    .old("tasks/pushNotificationConfig/delete", delete(OLD_CONFIG)),
    one(Method::GetCard, "GetExtendedAgentCard", get("/extendedAgentCard", &[]))
        .old("agent/getAuthenticatedExtendedCard", get("/card", &[])),
];

/// The query of a task.
const LENGTH: [(&str, Kind); 1] = [("historyLength", Kind::Text)];

/// The query of a page.
const PAGE: [(&str, Kind); 2] = [("pageSize", Kind::Text), ("pageToken", Kind::Text)];

/// The prose of the specification says POST, its proto GET: both are served, and POST is what clients send.
const SUBSCRIBE: Place =
    Place { verbs: &["POST", "GET"], path: "/tasks/{id}:subscribe", rest: Rest::Query(&[]) };

/// A webhook configuration, whose request in 0.3 calls the task `id`.
const OLD_CONFIG: &str = "/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}";

/// An operation with one answer.
const fn one(method: Method, v1: &'static str, rest: Place) -> Names {
    Names { method, v1: Some(v1), rest: Some(rest), v03: None, rest03: None, streams: false }
}

/// An operation with a stream of answers.
const fn many(method: Method, v1: &'static str, rest: Place) -> Names {
    Names { streams: true, ..one(method, v1, rest) }
}

impl Names {
    /// The same with its name and place in 0.3.
    const fn old(self, v03: &'static str, rest03: Place) -> Self {
        Self { v03: Some(v03), rest03: Some(rest03), ..self }
    }
}

/// What is sent.
const fn post(path: &'static str) -> Place {
    Place { verbs: &["POST"], path, rest: Rest::Body }
}

/// What is fetched.
const fn get(path: &'static str, query: &'static [(&'static str, Kind)]) -> Place {
    Place { verbs: &["GET"], path, rest: Rest::Query(query) }
}

/// What is taken away.
const fn delete(path: &'static str) -> Place {
    Place { verbs: &["DELETE"], path, rest: Rest::Query(&[]) }
}

impl Method {
    /// The operation of a name in JSON-RPC of A2A 1.0.
    #[must_use]
    pub fn of_v1(name: &str) -> Option<Self> {
        METHODS.iter().find(|row| row.v1 == Some(name)).map(|row| row.method)
    }

    /// The operation of a name in JSON-RPC of A2A 0.3.
    #[must_use]
    pub fn of_v03(name: &str) -> Option<Self> {
        METHODS.iter().find(|row| row.v03 == Some(name)).map(|row| row.method)
    }

    /// Its name in JSON-RPC of a dialect; `None` where the dialect has no such operation.
    #[must_use]
    pub const fn name(self, dialect: Dialect) -> Option<&'static str> {
        match dialect.version() {
            Version::V1 => self.names().v1,
            Version::V03 => self.names().v03,
        }
    }

    /// Where it lies in HTTP+JSON of a version, if it does.
    #[must_use]
    pub const fn place(self, version: Version) -> Option<&'static Place> {
        match version {
            Version::V1 => self.names().rest.as_ref(),
            Version::V03 => self.names().rest03.as_ref(),
        }
    }

    /// Its row.
    #[must_use]
    pub const fn names(self) -> &'static Names {
        &METHODS[self as usize]
    }

    /// Whether its answer is a stream of events.
    #[must_use]
    pub const fn streams(self) -> bool {
        self.names().streams
    }

    /// What an operation is called.
    #[must_use]
    pub const fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Send(_) => Self::Send,
            Operation::Stream(_) => Self::Stream,
            Operation::GetTask(_) => Self::GetTask,
            Operation::ListTasks(_) => Self::ListTasks,
            Operation::CancelTask(_) => Self::CancelTask,
            Operation::Subscribe(_) => Self::Subscribe,
            Operation::CreatePush(_) => Self::CreatePush,
            Operation::GetPush(_) => Self::GetPush,
            Operation::ListPush(_) => Self::ListPush,
            Operation::DeletePush(_) => Self::DeletePush,
            Operation::GetCard(_) => Self::GetCard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_methods_and_names_are_unique() {
        for (place, row) in METHODS.iter().enumerate() {
            assert_eq!(row.method as usize, place);
            let name = row.v1.unwrap();
            assert_eq!(Method::of_v1(name), Some(row.method));
            assert_eq!(row.v03.is_none(), row.method == Method::ListTasks);
            if let Some(name) = row.v03 {
                assert_eq!(Method::of_v03(name), Some(row.method));
            }
        }
        assert_eq!(Method::of_v1("sendmessage"), None);
    }

    #[test]
    fn two_operations_stream() {
        let streams: Vec<_> = METHODS.iter().filter(|row| row.streams).map(|row| row.method).collect();
        assert_eq!(streams, [Method::Stream, Method::Subscribe]);
    }
}
