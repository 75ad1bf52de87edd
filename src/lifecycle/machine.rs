//! The task machine: `decide` says what a command leads to, `apply` what a fact makes of a task.
//!
//! The table of states and commands in the code is the table of A2A 1.0 sections 3.4 and 4.1.3 with P-24 to P-33.

use super::event::{Event, Fact};
use crate::model::{
    Artifact, Content, FailureClass, Fault, Message, Outcome, Part, Progress, Role, Task, TaskState,
    TaskStatus,
};

/// What somebody wants of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Open it; the fact is made by the sender, who knows ids and agent.
    Submit(Fact),
    /// A caller's further message. `at_once`: a run takes it now; else it waits in the queue.
    Say {
        /// What is said.
        message: Message,
        /// Whether work goes on with it now.
        at_once: bool,
    },
    /// A turn begins.
    Start,
    /// A run told something. `tokens`: its text is a token stream.
    Report {
        /// What.
        progress: Progress,
        /// Whether text continues the artifact's last text.
        tokens: bool,
    },
    /// Back into the queue.
    Requeue {
        /// Why.
        why: String,
    },
    /// Somebody wants it to end.
    Cancel {
        /// The last word, where it was not the caller who asked.
        message: Option<Message>,
    },
    /// The node gives it up.
    Abandon {
        /// What to tell the caller.
        why: String,
        /// What kind of failure.
        class: FailureClass,
    },
}

/// Whose move it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The agent's.
    Worker,
    /// The caller's.
    Requester,
}

/// Whose move it is; `None` when the task has ended.
#[must_use]
pub const fn turn(task: &Task) -> Option<Turn> {
    match task.status.state {
        TaskState::Submitted | TaskState::Working => Some(Turn::Worker),
        TaskState::InputRequired | TaskState::AuthRequired => Some(Turn::Requester),
        TaskState::Completed | TaskState::Failed | TaskState::Canceled | TaskState::Rejected => None,
    }
}

/// What a command leads to: no fact if it changes nothing.
///
/// # Errors
/// The fault that tells the caller why the command has no place in the task's state. A terminal task refuses every
/// command (A2A-36, A2A-87).
pub fn decide(task: Option<&Task>, command: Command) -> Result<Vec<Fact>, Fault> {
    let Some(task) = task else {
        return match command {
            Command::Submit(fact @ Fact::Opened { .. }) => Ok(vec![fact]),
            Command::Submit(_)
            | Command::Say { .. }
            | Command::Start
            | Command::Report { .. }
            | Command::Requeue { .. }
            | Command::Cancel { .. }
            | Command::Abandon { .. } => Err(Fault::Unsupported("there is no task yet".into())),
        };
    };
    let state = task.status.state;
    if state.is_terminal() {
        return Err(match command {
            Command::Cancel { .. } => Fault::TaskNotCancelable(task.id.clone()),
            Command::Submit(_)
            | Command::Say { .. }
            | Command::Start
            | Command::Report { .. }
            | Command::Requeue { .. }
            | Command::Abandon { .. } => ended(task),
        });
    }
    match command {
        Command::Submit(_) => Err(Fault::Unsupported(format!("task {} exists already", task.id))),
        Command::Say { message, at_once } => Ok(say(task, message, at_once)),
        Command::Start => {
            Ok(if state == TaskState::Submitted { vec![Fact::Working(None)] } else { Vec::new() })
        }
        Command::Report { progress, tokens } => Ok(report(task, progress, tokens)),
        Command::Requeue { why } => {
            Ok(if state == TaskState::Submitted { Vec::new() } else { vec![Fact::Requeued { why }] })
        }
        Command::Cancel { message } => {
            Ok(vec![Fact::Canceled { message: message.map(|m| stamped(task, m)) }])
        }
        Command::Abandon { why, class } => {
            Ok(vec![Fact::Failed { message: stamped(task, Message::agent(why)), class, metadata: None }])
        }
    }
}

/// A message to a task that has ended.
fn ended(task: &Task) -> Fault {
    Fault::Unsupported(format!(
        "task {} has ended ({}); send a message with its contextId and without taskId to go on",
        task.id,
        task.status.state.as_str()
    ))
}

/// A caller's message: the state follows in the same commit (P-24).
fn say(task: &Task, mut message: Message, at_once: bool) -> Vec<Fact> {
    message.task_id = Some(task.id.clone());
    message.context_id.clone_from(&task.context_id);
    let mut facts = vec![Fact::Said(message)];
    match (task.status.state.is_interrupted(), at_once) {
        (true, true) => facts.push(Fact::Working(None)),
        (true, false) => facts.push(Fact::Requeued { why: "waits for its turn".into() }),
        (false, _) => {}
    }
    facts
}

/// What a run tells. A suspended turn that goes on by itself is WORKING again (P-25, J-22).
fn report(task: &Task, progress: Progress, tokens: bool) -> Vec<Fact> {
    let waking = task.status.state != TaskState::Working;
    match progress {
        Progress::Session(_) => Vec::new(),
        Progress::Working(None) if !waking => Vec::new(),
        Progress::Working(message) => vec![Fact::Working(message.map(|m| stamped(task, m)))],
        Progress::Artifact { artifact, append, last } => {
            let mut facts = if waking { vec![Fact::Working(None)] } else { Vec::new() };
            facts.push(Fact::Wrote { artifact, append, last, joined: tokens });
            facts
        }
        Progress::Ask { message, kind } => vec![Fact::Asked { message: stamped(task, message), kind }],
        Progress::NeedAuth(message) => vec![Fact::NeedsAuth(stamped(task, message))],
        Progress::Reply(mut message) => {
            message.context_id.clone_from(&task.context_id);
            message.task_id = None;
            vec![Fact::Replied(message)]
        }
        Progress::Done(Outcome::Completed { message, metadata }) => {
            vec![Fact::Completed { message: message.map(|m| stamped(task, m)), metadata }]
        }
        Progress::Done(Outcome::Failed { message, class, metadata }) => {
            vec![Fact::Failed { message: stamped(task, message), class, metadata }]
        }
        Progress::Done(Outcome::Rejected(message)) => vec![Fact::Rejected(stamped(task, message))],
        Progress::Done(Outcome::Canceled) => vec![Fact::Canceled { message: None }],
    }
}

/// An agent's message says which task and conversation it belongs to.
fn stamped(task: &Task, mut message: Message) -> Message {
    message.role = Role::Agent;
    message.task_id = Some(task.id.clone());
    message.context_id.clone_from(&task.context_id);
    message
}

/// What a fact makes of a task. Facts come from [`decide`], so every one has its place; `Opened` begins anew.
#[must_use]
pub fn apply(task: Option<Task>, event: &Event) -> Task {
    if let Fact::Opened { task, context, message, .. } = &event.fact {
        return Task {
            id: task.clone(),
            context_id: Some(context.clone()),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: Some(event.at) },
            artifacts: Vec::new(),
            history: vec![message.clone()],
            metadata: None,
        };
    }
    let mut task = task.unwrap_or_else(|| nameless(event));
    match &event.fact {
        Fact::Said(message) => {
            keep_question(&mut task);
            task.history.push(message.clone());
        }
        Fact::Wrote { artifact, append, joined, .. } => {
            wrote(&mut task.artifacts, artifact, *append, *joined)
        }
        Fact::Opened { .. }
        | Fact::Working(_)
        | Fact::Asked { .. }
        | Fact::NeedsAuth(_)
        | Fact::Requeued { .. }
        | Fact::Replied(_)
        | Fact::Completed { .. }
        | Fact::Failed { .. }
        | Fact::Canceled { .. }
        | Fact::Rejected(_) => {
            if let Some(status) = event.fact.status(event.at) {
                keep_question(&mut task);
                task.status = status;
            }
            if let Some(metadata) = event.fact.metadata() {
                task.metadata.get_or_insert_default().merge(metadata);
            }
        }
    }
    task
}

/// A journal that does not begin with `Opened` is damaged; what is left of it is still shown.
fn nameless(event: &Event) -> Task {
    Task {
        id: "damaged".into(),
        context_id: None,
        status: TaskStatus { state: TaskState::Failed, message: None, timestamp: Some(event.at) },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    }
}

/// The message of a suspended turn goes into the history once the turn goes on (P-31).
fn keep_question(task: &mut Task) {
    if task.status.state.is_interrupted()
        && let Some(question) = task.status.message.take()
    {
        task.history.push(question);
    }
}

/// An artifact that begins, is replaced or grows (A2A-69).
fn wrote(artifacts: &mut Vec<Artifact>, new: &Artifact, append: bool, joined: bool) {
    let Some(old) = artifacts.iter_mut().find(|old| old.artifact_id == new.artifact_id) else {
        artifacts.push(new.clone());
        return;
    };
    if !append {
        *old = new.clone();
        return;
    }
    for part in &new.parts {
        let more = if joined { part.plain() } else { None };
        match (old.parts.last_mut(), more) {
            (Some(last), Some(more)) if last.plain().is_some() => lengthen(last, more),
            _ => old.parts.push(part.clone()),
        }
    }
    if let Some(metadata) = &new.metadata {
        old.metadata.get_or_insert_default().merge(metadata.clone());
    }
}

/// Text goes on where it stopped.
fn lengthen(part: &mut Part, more: &str) {
    if let Content::Text(text) = &mut part.content {
        text.push_str(more);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
