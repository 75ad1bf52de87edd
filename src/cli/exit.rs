//! Exit codes, and the one line that an error becomes.

use std::fmt;

use crate::config;
use crate::daemon;
use crate::model::{Fault, TaskState};
use crate::peer;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// All is well.
    Ok = 0,
    /// The task failed or was rejected, or `doctor` found something to mend.
    Failed = 1,
    /// Wrong use.
    Usage = 2,
    /// Somebody else canceled the task.
    Canceled = 3,
    /// The task waits for input or a login.
    Waits = 4,
    /// The stream was lost and could not be resumed.
    Lost = 5,
    /// Node or peer can't be reached.
    Unreachable = 69,
    /// A fault of ours.
    Internal = 70,
    /// A file can't be made.
    CannotCreate = 73,
    /// The time limit, or a node that is busy.
    Busy = 75,
    /// The token was refused, or it is not allowed here.
    NotAllowed = 77,
    /// The configuration.
    Config = 78,
}

/// What `a2ad help exit-codes` says.
pub(super) const HELP: &str = "\
Exit codes
   0  all is well
   1  the task failed or was rejected; `doctor` found a FAIL
   2  wrong use: an unknown flag, a value that can't be
   3  the task was canceled by somebody else (one's own Ctrl-C ends by SIGINT: 130)
   4  the task waits for input or a login
   5  the stream was lost and could not be resumed; the task goes on
  69  no node or peer could be reached
  70  an internal fault
  73  a file or directory can't be made
  75  the time limit has passed, or the node is busy
  77  the token was refused, or the command is not allowed here
  78  the configuration is faulty

A command whose output nobody reads any more ends by SIGPIPE (141). `send` that
loses its terminal, is told to end or can't write any more lets the task go on.
";

/// How a task's state ends `send` and `task watch`.
pub(super) const fn of_state(state: TaskState) -> Code {
    match state {
        TaskState::Completed | TaskState::Submitted | TaskState::Working => Code::Ok,
        TaskState::Failed | TaskState::Rejected => Code::Failed,
        TaskState::Canceled => Code::Canceled,
        TaskState::InputRequired | TaskState::AuthRequired => Code::Waits,
    }
}

/// An error that knows its code: what, why, and what to do, in one line.
#[derive(Debug)]
pub(super) struct Failure {
    /// The code.
    pub(super) code: Code,
    /// The line.
    pub(super) text: String,
}

impl Failure {
    /// An error to return.
    pub(super) fn of(code: Code, text: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { code, text: text.into() })
    }

    /// Wrong use.
    pub(super) fn usage(text: impl Into<String>) -> anyhow::Error {
        Self::of(Code::Usage, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// The code of an error, by the outermost cause that has one.
pub(super) fn of_error(error: &anyhow::Error) -> Code {
    // A context is not found by its type along the chain, only from the top.
    let told = error.downcast_ref::<Failure>().map(|failure| failure.code);
    told.or_else(|| error.chain().find_map(of_cause)).unwrap_or(Code::Internal)
}

fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if let Some(failure) = cause.downcast_ref::<Failure>() {
        return Some(failure.code);
    }
    if let Some(error) = cause.downcast_ref::<peer::Error>() {
        return Some(of_peer(error));
    }
    if let Some(error) = cause.downcast_ref::<config::Error>() {
        return Some(of_faults(&error.faults));
    }
    if let Some(fault) = cause.downcast_ref::<config::Fault>() {
        return Some(of_faults(std::slice::from_ref(fault)));
    }
    if let Some(error) = cause.downcast_ref::<config::edit::Error>() {
        return Some(of_edit(error));
    }
    if let Some(error) = cause.downcast_ref::<daemon::offline::Error>() {
        return Some(of_offline(error));
    }
    if let Some(error) = cause.downcast_ref::<daemon::Error>() {
        return Some(of_start(error));
    }
    cause.downcast_ref::<std::io::Error>().map(|_| Code::CannotCreate)
}

/// What was typed wrongly is wrong use; all else is the configuration.
fn of_faults(faults: &[config::Fault]) -> Code {
    let typed = |fault: &config::Fault| matches!(fault.origin, config::Origin::Flag(_));
    if faults.iter().all(typed) { Code::Usage } else { Code::Config }
}

fn of_edit(error: &config::edit::Error) -> Code {
    match error {
        config::edit::Error::Faulty(_) => Code::Config,
        config::edit::Error::Exists(_) | config::edit::Error::Absent { .. } => Code::Usage,
        config::edit::Error::Io { .. } => Code::CannotCreate,
    }
}

/// Why a node did not start.
fn of_start(error: &daemon::Error) -> Code {
    match error {
        daemon::Error::Config(error) => of_faults(&error.faults),
        daemon::Error::Agent(_) | daemon::Error::Exposed(_) | daemon::Error::Replaced(_) => Code::Config,
        daemon::Error::Store(error) if error.is_about_its_place() => Code::Config,
        daemon::Error::Store(_)
        | daemon::Error::Doors(_)
        | daemon::Error::Custody(_)
        | daemon::Error::File { .. }
        | daemon::Error::Surroundings(_) => Code::CannotCreate,
        daemon::Error::Signals(_) | daemon::Error::Node(_) => Code::Internal,
    }
}

fn of_offline(error: &daemon::offline::Error) -> Code {
    match error {
        daemon::offline::Error::Store(_) => Code::CannotCreate,
        daemon::offline::Error::Refused(Fault::InvalidParams { .. }) => Code::Usage,
        daemon::offline::Error::Refused(_) => Code::Internal,
    }
}

fn of_peer(error: &peer::Error) -> Code {
    match error {
        peer::Error::Address { .. } => Code::Usage,
        peer::Error::Lost { .. } | peer::Error::Cut { .. } => Code::Lost,
        peer::Error::Refused(refusal) => of_refusal(refusal),
        peer::Error::Client { .. }
        | peer::Error::Unreachable { .. }
        | peer::Error::NoCard { .. }
        | peer::Error::NoInterface { .. }
        | peer::Error::Unspoken { .. }
        | peer::Error::Answer { .. }
        | peer::Error::TooLarge { .. } => Code::Unreachable,
    }
}

fn of_refusal(refusal: &peer::Refusal) -> Code {
    if refusal.is_unauthenticated() || refusal.is_forbidden() {
        return Code::NotAllowed;
    }
    match (refusal.status, refusal.code) {
        (429 | 503 | 507, _) => Code::Busy,
        (500..=599, _) | (_, -32603) => Code::Internal,
        // No such agent, no such path.
        (404, _) if !refusal.is("TASK_NOT_FOUND", -32001) => Code::Usage,
        (_, -32602) => Code::Usage,
        // HTTP+JSON has no code for it.
        _ if refusal.is("INVALID_PARAMS", -32602) || !refusal.fields.is_empty() => Code::Usage,
        _ => Code::Failed,
    }
}

/// The line for a person: what the error says, and what to do where it does not say it itself.
pub(super) fn explain(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let Some(peer) = error.chain().find_map(|cause| cause.downcast_ref::<peer::Error>()) else { return text };
    let hint = match peer {
        peer::Error::Refused(refusal) if refusal.is_unauthenticated() && !text.contains("--token-file") => {
            "give one with --token-file F or A2AD_TOKEN_FILE"
        }
        peer::Error::Unreachable { .. } => "is the node running, and is the address right?",
        peer::Error::Lost { task: Some(task), .. } => {
            return format!("{text}; go on with `a2ad task watch {task}`");
        }
        _ => return text,
    };
    format!("{text}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Refusal;

    fn refused(status: u16, code: i64, reason: Option<&str>) -> anyhow::Error {
        let refusal = Refusal { status, code, reason: reason.map(Into::into), ..Refusal::default() };
        anyhow::Error::new(peer::Error::Refused(Box::new(refusal)))
    }

    #[test]
    fn refusals_have_the_code_of_their_kind() {
        for (error, code) in [
            (refused(401, -32000, Some("UNAUTHENTICATED")), Code::NotAllowed),
            (refused(403, 403, None), Code::NotAllowed),
            (refused(200, -32001, Some("TASK_NOT_FOUND")), Code::Failed),
            (refused(200, -32602, None), Code::Usage),
            (refused(400, 400, Some("INVALID_PARAMS")), Code::Usage),
            (refused(400, 400, Some("UNSUPPORTED_OPERATION")), Code::Failed),
            (refused(404, 404, Some("TASK_NOT_FOUND")), Code::Failed),
            (refused(200, -32603, None), Code::Internal),
            (refused(404, -32000, None), Code::Usage),
            (refused(404, 404, Some("TASK_NOT_FOUND")), Code::Failed),
            (refused(429, 429, None), Code::Busy),
            (refused(503, 503, None), Code::Busy),
        ] {
            assert_eq!(of_error(&error), code, "{error}");
        }
    }

    #[test]
    fn the_outermost_cause_with_a_code_decides() {
        let inner =
            anyhow::Error::new(peer::Error::Unreachable { url: "http://x".into(), why: "refused".into() });
        assert_eq!(of_error(&inner), Code::Unreachable);
        assert_eq!(of_error(&inner.context(Failure { code: Code::Lost, text: "lost".into() })), Code::Lost);
        assert_eq!(of_error(&anyhow::anyhow!("what?")), Code::Internal);
    }

    #[test]
    fn every_state_has_the_code_that_scripts_rely_on() {
        let codes: Vec<i32> = TaskState::ALL.into_iter().map(|state| of_state(state) as i32).collect();
        assert_eq!(codes, [0, 0, 0, 1, 3, 4, 1, 4]);
    }

    #[test]
    fn every_code_is_in_the_help() {
        for code in [0, 1, 2, 3, 4, 5, 69, 70, 73, 75, 77, 78] {
            assert!(HELP.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}");
        }
    }
}
