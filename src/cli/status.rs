//! `a2ad status`: what runs and what is wrong.

use super::{
    Context, clock,
    exit::Code,
    target,
    terminal::{Screen, Style, one_line},
};
use crate::model::{
    Timestamp,
    ops::{AgentStatus, Status},
};

/// Show what the node serves, what runs, and what is wrong
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) async fn run(ctx: &Context) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let status: Status = super::get(&target, "status").await?;
    if ctx.screen.json {
        ctx.screen.json(&status)?;
        return Ok(Code::Ok);
    }
    for line in lines(&status, ctx.screen, Timestamp::now()) {
        ctx.screen.line(&line)?;
    }
    Ok(Code::Ok)
}

fn lines(status: &Status, screen: Screen, now: Timestamp) -> Vec<String> {
    let name = screen.paint(Style::Bold, &one_line(&status.name));
    let mut lines = vec![
        format!(
            "{name}  a2ad {}, pid {}, up {}",
            one_line(&status.version),
            status.pid,
            clock::ago(status.since, now)
        ),
        format!("listens    {}", one_line(&status.urls.join("  "))),
        format!(
            "tasks      {} running, {} queued, {} waiting for somebody",
            status.running, status.queued, status.waiting
        ),
        format!(
            "store      {} used, {} free",
            clock::size(status.store_bytes),
            clock::size(status.store_free)
        ),
        format!(
            "isolation  {}; sandbox {}; custody {}",
            one_line(&status.isolation),
            one_line(&status.sandbox),
            one_line(&status.custody)
        ),
    ];
    if status.draining {
        lines
            .push(screen.paint(Style::Warn, "draining   new turns wait; `a2ad drain --off` lets them go on"));
    }
    for agent in &status.agents {
        lines.push(agent_line(agent, screen));
    }
    for warning in &status.warnings {
        lines.push(screen.paint(Style::Warn, &format!("warning    {}", one_line(warning))));
    }
    lines
}

/// One agent in one line: what it is, and why it is not ready.
pub(super) fn agent_line(agent: &AgentStatus, screen: Screen) -> String {
    let name = screen.paint(Style::Bold, &one_line(&agent.name));
    let mark = if agent.default { " (default)" } else { "" };
    let version = agent.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let state = match agent.brief() {
        None => screen.paint(Style::Good, "ready"),
        Some(why) => screen.paint(Style::Bad, &format!("not ready: {}", one_line(&why))),
    };
    let about = format!("{}{version}, {}", agent.runtime, agent.workspace);
    format!(
        "agent      {name}{mark}  {}  {state}, {} running, {} queued, ask: {}",
        one_line(&about),
        agent.running,
        agent.queued,
        one_line(&agent.permissions)
    )
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Color;
    use super::*;

    #[test]
    fn what_is_wrong_is_said_and_escaped() {
        let status: Status = serde_json::from_value(serde_json::json!({
            "version": "0.1.0", "name": "box", "pid": 7, "since": "2026-11-30T10:00:00Z",
            "urls": ["http://127.0.0.1:7878"], "tasks": {}, "running": 1, "queued": 0, "waiting": 2,
            "store_bytes": 2048, "store_free": 1_073_741_824_u64, "isolation": "namespace", "sandbox": "none",
            "custody": "subreaper", "draining": true, "warnings": ["low\u{1b}[2J"],
            "agents": [{"name": "claude", "default": true, "runtime": "claude", "workspace": "/srv", "program": null,
                "version": null, "not_ready": "claude is not installed", "running": 0, "queued": 0,
                "permissions": "deny"}]
        }))
        .unwrap();
        let now = Timestamp::parse("2026-11-30T12:05:00Z").unwrap();
        let text = lines(&status, Screen::new(Color::Never, false, false), now).join("\n");
        insta::assert_snapshot!(text, @r"
        box  a2ad 0.1.0, pid 7, up 2 h 5 min
        listens    http://127.0.0.1:7878
        tasks      1 running, 0 queued, 2 waiting for somebody
        store      2 KiB used, 1 GiB free
        isolation  namespace; sandbox none; custody subreaper
        draining   new turns wait; `a2ad drain --off` lets them go on
        agent      claude (default)  claude, /srv  not ready: claude is not installed, 0 running, 0 queued, ask: deny
        warning    low\x1b[2J
        ");
    }
}
