//! What callers were told, and so must find again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard},
};

use serde_json::Value;

use crate::http::Ask;

/// A task that a caller was told of.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// What opened it; where it is `None` here it can't be repeated.
    pub(crate) send: Option<Ask>,
    pub(crate) agent: &'static str,
    /// The state, if the caller was told that it has ended.
    pub(crate) ended: Option<String>,
    /// What streams told, by number.
    pub(crate) events: BTreeMap<u64, Value>,
}

/// All that was told.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Book>);

#[derive(Default)]
pub(crate) struct Book {
    pub(crate) tasks: BTreeMap<String, Known>,
    /// Sends that were answered by a bare message.
    pub(crate) messages: Vec<(Ask, Value)>,
    /// Sends whose answer never came: stored or not, but never twice.
    pub(crate) unanswered: Vec<Ask>,
    /// Every id of a message that can be repeated.
    pub(crate) ids: BTreeSet<String>,
    /// How many of `messages` have been looked for after a death.
    pub(crate) messages_checked: usize,
    /// Tasks of which something was told since the last death.
    pub(crate) fresh: BTreeSet<String>,
    /// Repeated sends that led to what they had led to before.
    pub(crate) joined: usize,
    /// How often anything was told.
    pub(crate) times: u64,
}

/// How much there is.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) tasks: usize,
    pub(crate) ended: usize,
    pub(crate) events: usize,
    pub(crate) messages: usize,
    pub(crate) joined: usize,
}

/// Whether a state is one that nothing follows.
pub(crate) fn is_terminal(state: &str) -> bool {
    ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].iter().any(|end| state == format!("TASK_STATE_{end}"))
}

impl Ledger {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap()
    }

    pub(crate) fn counts(&self) -> Counts {
        let book = self.book();
        Counts {
            tasks: book.tasks.len(),
            ended: book.tasks.values().filter(|known| known.ended.is_some()).count(),
            events: book.tasks.values().map(|known| known.events.len()).sum(),
            messages: book.messages.len(),
            joined: book.joined,
        }
    }
}

impl Book {
    /// A task, as an answer shows it.
    pub(crate) fn told(&mut self, send: Option<&Ask>, agent: &'static str, task: &Value) -> String {
        let id = task["id"].as_str().unwrap_or_else(|| panic!("no task: {task}")).to_owned();
        let state = task["status"]["state"].as_str().unwrap_or_else(|| panic!("no state: {task}"));
        let known = self.tasks.entry(id.clone()).or_insert_with(|| Known {
            send: None,
            agent,
            ended: None,
            events: BTreeMap::new(),
        });
        known.send = known.send.take().or_else(|| send.cloned());
        self.fresh.insert(id.clone());
        self.times += 1;
        self.state(&id, state);
        id
    }

    /// A state that a caller was told, perhaps a moment before others were told of a later one. There is one end.
    pub(crate) fn state(&mut self, id: &str, state: &str) {
        if is_terminal(state) {
            let ended = &mut self.tasks.get_mut(id).unwrap().ended;
            assert_eq!(ended.get_or_insert_with(|| state.to_owned()), state, "task {id} ended twice");
        }
    }

    /// An event of a stream. The same number is the same event.
    pub(crate) fn event(&mut self, id: &str, seq: u64, event: &Value) {
        if let Some(state) = event["statusUpdate"]["status"]["state"].as_str() {
            self.state(id, state);
        }
        let known = self.tasks.get_mut(id).unwrap();
        match known.events.get(&seq) {
            // The task as it stood then, where another stream told what changed: both are true.
            Some(told) if told.get("task").is_some() != event.get("task").is_some() => {}
            Some(told) => assert_eq!(told, event, "event {seq} of task {id} has changed"),
            None => drop(known.events.insert(seq, event.clone())),
        }
        self.fresh.insert(id.to_owned());
        self.times += 1;
    }
}
