//! What the end of a turn means: the CLI's `result` first (`is_error`, never `subtype`), its exit status second.
//!
//! Pure.

use super::super::turn::{Failure, failed};
use super::wire::Ended;
use crate::model::{FailureClass, Metadata, Outcome};

/// What a `result` says.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// The turn went well.
    Completed,
    /// It was broken off.
    Interrupted,
    /// A login is missing; with the CLI's words.
    Login(String),
    /// The conversation to resume is not there (UR-39).
    NoConversation,
    /// It failed.
    Failed(Outcome),
}

/// What the CLI says, on stdout or stderr, of a conversation that it does not have.
pub(super) const NO_CONVERSATION: &str = "No conversation found";

/// Reads a `result`; `error` is what a message of the turn said of its failure.
pub(super) fn judge(ended: &Ended, error: Option<&str>) -> Verdict {
    if !ended.is_error {
        return Verdict::Completed;
    }
    if ended.errors.iter().any(|error| error.contains(NO_CONVERSATION)) {
        return Verdict::NoConversation;
    }
    if ended.terminal_reason.as_deref().is_some_and(|reason| reason.starts_with("aborted")) {
        return Verdict::Interrupted;
    }
    let text = text(ended);
    let logged_out = text.contains("Not logged in") || text.contains("Please run /login");
    // The CLI says the same of a login that may not do this; logging in again would not help.
    let forbidden = ended.api_error_status == Some(403);
    let refused = error == Some("authentication_failed") || ended.api_error_status == Some(401);
    if (refused && !forbidden) || logged_out {
        return Verdict::Login(text);
    }
    let (class, retryable) = class(ended, error);
    let failure =
        Failure { http_status: ended.api_error_status, retryable: Some(retryable), ..Failure::default() };
    Verdict::Failed(failed(class, text, &failure))
}

fn text(ended: &Ended) -> String {
    let said = ended.result.clone().filter(|text| !text.trim().is_empty());
    said.or_else(|| (!ended.errors.is_empty()).then(|| ended.errors.join("\n")))
        .unwrap_or_else(|| format!("the agent's turn ended with {}", ended.subtype))
}

/// The class, and whether the same may work later.
fn class(ended: &Ended, error: Option<&str>) -> (FailureClass, bool) {
    let named = |name: &str| error == Some(name) || ended.api_error.as_deref() == Some(name);
    let of_turns =
        ended.subtype.starts_with("error_max") || ended.terminal_reason.as_deref() == Some("max_turns");
    if named("max_output_tokens") || of_turns {
        return (FailureClass::Limit, false);
    }
    match ended.api_error_status {
        Some(429) => (FailureClass::RateLimit, true),
        Some(403) => (FailureClass::Login, false),
        Some(500..) => (FailureClass::Model, true),
        Some(_) => (FailureClass::Model, false),
        None if named("rate_limit") => (FailureClass::RateLimit, true),
        None => (FailureClass::Model, named("server_error")),
    }
}

/// Puts more beside what an outcome tells already.
pub(super) fn with(outcome: Outcome, more: Metadata) -> Outcome {
    let merged = |metadata: Option<Metadata>| {
        let mut metadata = metadata.unwrap_or_default();
        metadata.merge(more);
        (!metadata.is_empty()).then_some(metadata)
    };
    match outcome {
        Outcome::Completed { message, metadata } => {
            Outcome::Completed { message, metadata: merged(metadata) }
        }
        Outcome::Failed { message, class, metadata } => {
            Outcome::Failed { message, class, metadata: merged(metadata) }
        }
        Outcome::Rejected(_) | Outcome::Canceled => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(json: &str, error: Option<&str>) -> Verdict {
        judge(&serde_json::from_str(json).unwrap(), error)
    }

    fn class_of(json: &str, error: Option<&str>) -> (FailureClass, String) {
        match verdict(json, error) {
            Verdict::Failed(Outcome::Failed { class, metadata, .. }) => {
                (class, serde_json::to_string(&metadata).unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn is_error_decides_and_not_the_subtype() {
        assert_eq!(verdict(r#"{"subtype":"success","is_error":false}"#, None), Verdict::Completed);
        let (class, metadata) = class_of(
            r#"{"subtype":"success","is_error":true,"result":"API Error","api_error_status":500}"#,
            None,
        );
        assert_eq!(class, FailureClass::Model);
        assert_eq!(metadata, r#"{"a2ad/failure":{"httpStatus":500,"retryable":true}}"#);
    }

    #[test]
    fn statuses_and_names_have_their_classes() {
        let status =
            |status: u16| class_of(&format!(r#"{{"is_error":true,"api_error_status":{status}}}"#), None).0;
        assert_eq!(status(429), FailureClass::RateLimit);
        assert_eq!(status(403), FailureClass::Login);
        assert_eq!(status(529), FailureClass::Model);
        assert_eq!(status(400), FailureClass::Model);
        let named = |json: &str, error| class_of(json, error).0;
        assert_eq!(named(r#"{"is_error":true,"api_error":"max_output_tokens"}"#, None), FailureClass::Limit);
        assert_eq!(named(r#"{"is_error":true,"subtype":"error_max_turns"}"#, None), FailureClass::Limit);
        assert_eq!(named(r#"{"is_error":true}"#, Some("rate_limit")), FailureClass::RateLimit);
    }

    #[test]
    fn ur_46_a_missing_login_is_told_from_a_failure() {
        for (json, error) in [
            (r#"{"is_error":true,"result":"Not logged in · Please run /login"}"#, None),
            (r#"{"is_error":true,"api_error_status":401}"#, None),
            (r#"{"is_error":true}"#, Some("authentication_failed")),
        ] {
            assert!(matches!(verdict(json, error), Verdict::Login(_)), "{json}");
        }
        let forbidden = r#"{"is_error":true,"api_error_status":403,"result":"Failed to authenticate."}"#;
        assert!(matches!(verdict(forbidden, Some("authentication_failed")), Verdict::Failed(_)));
    }

    #[test]
    fn ur_39_a_conversation_that_is_gone_and_an_interrupt_are_no_failures() {
        let json = r#"{"is_error":true,"subtype":"error_during_execution","errors":["No conversation found with session ID: x"]}"#;
        assert_eq!(verdict(json, None), Verdict::NoConversation);
        let json =
            r#"{"is_error":true,"terminal_reason":"aborted_tools","subtype":"error_during_execution"}"#;
        assert_eq!(verdict(json, None), Verdict::Interrupted);
    }
}
