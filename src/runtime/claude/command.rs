//! How the CLI is started: arguments and environment. The prompt is in neither.
//!
//! Pure but for one question: whether the node runs as root.

use std::ffi::OsString;

use super::super::config::{Agent, Permissions, ProjectSettings};
use super::session::Session;

/// The two-way protocol, with the model's stream and with permission questions asked over it.
const PROTOCOL: [&str; 9] = [
    "-p",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];

/// What the CLI needs of the node's environment: its logins, where its model is, and where it keeps its things
/// (O-24). `CLAUDECODE` and its kin, which tell a nested session, are not among them (UR-22).
pub(super) const KEYS: [&str; 16] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
];

/// Set unless the configuration says otherwise: no update under a running turn, no traffic but the model's, and few
/// retries, for the CLI's own default keeps a refused turn waiting for minutes.
const QUIET: [(&str, &str); 5] = [
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
];

/// The arguments. `resume`: the conversation exists.
pub(super) fn args(agent: &Agent, session: &Session, resume: bool) -> Vec<OsString> {
    let mut args: Vec<&str> = PROTOCOL.to_vec();
    args.extend(["--permission-mode", mode(agent)]);
    if let Some(model) = &agent.model {
        args.extend(["--model", model]);
    }
    // The user's own settings stand; what a repository brings (hooks, servers, permission rules) runs code.
    if agent.project_settings != ProjectSettings::All {
        args.extend(["--setting-sources", "user", "--strict-mcp-config"]);
    }
    // Its instructions come with its settings, or from a directory that was named; only the latter leaves the rest out.
    if agent.project_settings == ProjectSettings::Memory {
        args.extend(["--add-dir", "."]);
    }
    args.extend([if resume { "--resume" } else { "--session-id" }, &session.id]);
    args.into_iter().map(OsString::from).collect()
}

/// The environment beyond the list of every child.
pub(super) fn env(agent: &Agent) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> =
        QUIET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if agent.project_settings == ProjectSettings::Memory {
        env.push(("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD".to_owned(), "1".to_owned()));
    }
    // As root the CLI takes "nothing is asked" only where it is told that it cannot do harm. The operator said so.
    if mode(agent) == UNASKED && is_root() {
        env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
    env
}

const UNASKED: &str = "bypassPermissions";

/// What would be asked is asked over the protocol, and denied there.
fn mode(agent: &Agent) -> &'static str {
    match agent.permissions {
        Permissions::Ask | Permissions::Deny => "default",
        Permissions::Edits => "acceptEdits",
        Permissions::All if agent.accept_risk => UNASKED,
        Permissions::All => "default",
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
const fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::super::super::config::RuntimeKind;
    use super::super::super::testing::Shell;
    use super::*;

    fn agent() -> Agent {
        Shell::new("").agent(RuntimeKind::Claude)
    }

    fn text(agent: &Agent, resume: bool) -> String {
        let session = Session::new("ID".into(), std::path::Path::new("/w"));
        let args: Vec<String> =
            args(agent, &session, resume).into_iter().map(|arg| arg.into_string().unwrap()).collect();
        args.join(" ")
    }

    #[test]
    fn a_new_conversation_gets_its_id_and_a_known_one_is_resumed() {
        assert!(text(&agent(), false).ends_with("--session-id ID"));
        assert!(text(&agent(), true).ends_with("--resume ID"));
    }

    #[test]
    fn permissions_become_modes_and_all_needs_the_accepted_risk() {
        let mode = |permissions, accept_risk| {
            let agent = Agent { permissions, accept_risk, ..agent() };
            let text = text(&agent, false);
            text.split_whitespace().skip_while(|word| *word != "--permission-mode").nth(1).unwrap().to_owned()
        };
        assert_eq!(mode(Permissions::Ask, true), "default");
        assert_eq!(mode(Permissions::Deny, true), "default");
        assert_eq!(mode(Permissions::Edits, false), "acceptEdits");
        assert_eq!(mode(Permissions::All, false), "default");
        assert_eq!(mode(Permissions::All, true), "bypassPermissions");
    }

    #[test]
    fn a_repository_brings_no_hooks_or_servers_unless_the_operator_wants_it() {
        let with = |project_settings| Agent { project_settings, ..agent() };
        let reads = |agent: &Agent| env(agent).iter().any(|(name, _)| name.contains("CLAUDE_MD"));
        let memory = with(ProjectSettings::Memory);
        assert!(
            text(&memory, false)
                .contains("--setting-sources user --strict-mcp-config --add-dir . --session-id")
        );
        assert!(reads(&memory));
        let off = with(ProjectSettings::Off);
        assert!(text(&off, false).contains("--setting-sources user --strict-mcp-config --session-id"));
        assert!(!reads(&off));
        let all = with(ProjectSettings::All);
        assert!(!text(&all, false).contains("--setting-sources") && !reads(&all));
    }

    #[test]
    fn ur_22_nothing_of_a_surrounding_session_is_handed_on() {
        assert!(!KEYS.iter().any(|key| key.starts_with("CLAUDECODE")
            || key.contains("SESSION")
            || key.contains("ENTRYPOINT")));
    }

    #[cfg(unix)]
    #[test]
    fn is_sandbox_is_said_only_where_nothing_is_asked() {
        let said = |agent: &Agent| env(agent).iter().any(|(name, _)| name == "IS_SANDBOX");
        assert!(!said(&agent()));
        let all = Agent { permissions: Permissions::All, accept_risk: true, ..agent() };
        assert_eq!(said(&all), is_root());
    }
}
