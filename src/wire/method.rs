//! The one table of operations: what each is called in every dialect, and whether it streams.

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
    /// Whether the answer is a stream of events.
    pub streams: bool,
}

/// All operations, in the order of [`Method`].
pub const METHODS: [Names; 11] = [
    one(Method::Send, "SendMessage"),
    many(Method::Stream, "SendStreamingMessage"),
    one(Method::GetTask, "GetTask"),
    one(Method::ListTasks, "ListTasks"),
    one(Method::CancelTask, "CancelTask"),
    many(Method::Subscribe, "SubscribeToTask"),
    one(Method::CreatePush, "CreateTaskPushNotificationConfig"),
    one(Method::GetPush, "GetTaskPushNotificationConfig"),
    // Plural, unlike its three siblings.
    one(Method::ListPush, "ListTaskPushNotificationConfigs"),
    one(Method::DeletePush, "DeleteTaskPushNotificationConfig"),
    one(Method::GetCard, "GetExtendedAgentCard"),
];

/// An operation with one answer.
const fn one(method: Method, v1: &'static str) -> Names {
    Names { method, v1: Some(v1), streams: false }
}

/// An operation with a stream of answers.
const fn many(method: Method, v1: &'static str) -> Names {
    Names { method, v1: Some(v1), streams: true }
}

impl Method {
    /// The operation of a name in JSON-RPC of A2A 1.0.
    #[must_use]
    pub fn of_v1(name: &str) -> Option<Self> {
        METHODS.iter().find(|row| row.v1 == Some(name)).map(|row| row.method)
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
        }
        assert_eq!(Method::of_v1("sendmessage"), None);
    }

    #[test]
    fn two_operations_stream() {
        let streams: Vec<_> = METHODS.iter().filter(|row| row.streams).map(|row| row.method).collect();
        assert_eq!(streams, [Method::Stream, Method::Subscribe]);
    }
}
