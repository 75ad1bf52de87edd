//! What a person sees when the node starts in the foreground: where it is, what it serves, how safe that is, what to
//! try.

use std::fmt::Write;

use crate::{
    config::Config,
    model::{AgentName, ops::AgentStatus},
    node::exposed,
    runtime::child::{Isolation, Level},
};

/// The banner, ready for a terminal.
pub(super) fn banner(
    config: &Config,
    urls: &[String],
    agents: &[AgentStatus],
    isolation: &Isolation,
) -> String {
    let mut text = format!("a2ad {}  {}\n", env!("CARGO_PKG_VERSION"), urls.join("  "));
    let default: Option<&AgentName> = config.node.default_agent.as_ref();
    for agent in agents {
        let mark = if default.is_some_and(|name| name.as_str() == agent.name) { "  (default)" } else { "" };
        let state = match (agent.brief(), &agent.version) {
            (Some(why), _) => format!("not ready: {why}"),
            (None, Some(version)) => format!("ready, {version}"),
            (None, None) => "ready".to_owned(),
        };
        let place = if agent.runtime == "echo" { String::new() } else { format!("  in {}", agent.workspace) };
        // Writing to a String cannot fail.
        // What a program says of itself, and the name of a directory, come from outside (O-32).
        let line = format!("  agent {}{mark}  [{}]  {state}{place}", agent.name, agent.runtime);
        let _ = writeln!(text, "{}", line.replace(char::is_control, "\u{fffd}"));
    }
    for found in config.found.iter().filter(|found| !found.served) {
        let _ = writeln!(
            text,
            "  found {} ({}), not supported in this version",
            found.name,
            found.program.display()
        );
    }
    if let Some(notice) = &config.notice {
        let _ = writeln!(text, "  {notice}");
    }
    let _ = writeln!(
        text,
        "  isolation: {}   sandbox: none   ask: deny (permission questions of agents are denied in this version)",
        isolation.level.as_str()
    );
    if isolation.level == Level::None {
        let _ = writeln!(text, "  WARNING: {}", exposed(&isolation.why, &isolation.mend));
    }
    if config.doors.allow_plaintext {
        let _ = writeln!(
            text,
            "  WARNING: plain HTTP beyond this machine (allow_plaintext): use a proxy or a VPN"
        );
    }
    let _ = writeln!(text, "  try: a2ad send \"hello\"     from elsewhere: a2ad token new laptop");
    text
}
