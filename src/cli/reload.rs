//! `a2ad reload`: the configuration is read again.

use super::{
    Context,
    exit::{Code, Failure},
    target,
};
use crate::model::ops::Reloaded;

/// Read the configuration again; says what changed and what waits for a restart
///
/// A faulty file changes nothing and ends with exit code 78. A running turn keeps the agent it began with.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) async fn run(ctx: &Context) -> anyhow::Result<Code> {
    let reloaded = reload(&target::find(ctx)?).await?;
    if ctx.screen.json {
        ctx.screen.json(&reloaded)?;
        return Ok(Code::Ok);
    }
    say(ctx, &reloaded)?;
    Ok(Code::Ok)
}

/// Asks for it. A faulty configuration is a matter of the configuration, not of the call.
pub(super) async fn reload(target: &target::Target) -> anyhow::Result<Reloaded> {
    let asked = target.http.ops(reqwest::Method::POST, "reload", super::NOTHING, super::PATIENCE).await;
    asked.map_err(|error| match error.refusal() {
        Some(refusal) if refusal.status == 400 => Failure::of(Code::Config, refusal.message.clone()),
        _ => error.into(),
    })
}

/// What changed, a line each.
pub(super) fn say(ctx: &Context, reloaded: &Reloaded) -> std::io::Result<()> {
    for line in changes(&reloaded.changed) {
        ctx.screen.answer(&format!("{line}\n"))?;
    }
    for key in &reloaded.restart {
        ctx.screen.answer(&format!("needs a restart  {key}\n"))?;
    }
    if reloaded.changed.is_empty() && reloaded.restart.is_empty() {
        ctx.screen.note("nothing has changed");
    }
    for warning in &reloaded.warnings {
        ctx.screen.note(&format!("warning: {warning}"));
    }
    Ok(())
}

/// A line a change; an agent that came or went is one change, however many keys it has.
fn changes(changed: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for change in changed {
        let line = match whole_agent(changed, change) {
            Some((name, true)) => format!("added            agent {name}"),
            Some((name, false)) => format!("removed          agent {name}"),
            None => format!("changed          {change}"),
        };
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The agent of a change whose runtime came (`true`) or went with it.
fn whole_agent<'a>(changed: &[String], change: &'a str) -> Option<(&'a str, bool)> {
    let (name, _) = change.strip_prefix("agents.")?.split_once('.')?;
    let runtime = format!("agents.{name}.runtime: ");
    let told = changed.iter().find_map(|change| change.strip_prefix(&*runtime))?;
    let (from, to) = told.split_once(" -> ")?;
    match (from, to) {
        ("unset", _) => Some((name, true)),
        (_, "unset") => Some((name, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_came_or_went_is_one_line() {
        let changed = [
            r#"limits.body: "8MiB" -> "9MiB""#,
            r#"agents.a.runtime: unset -> "exec""#,
            r#"agents.a.workspace: unset -> "/srv""#,
            r#"agents.b.runtime: "exec" -> unset"#,
            r#"agents.b.listed: true -> unset"#,
            r#"agents.c.model: unset -> "x""#,
        ];
        insta::assert_snapshot!(changes(&changed.map(str::to_owned)).join("\n"), @r#"
        changed          limits.body: "8MiB" -> "9MiB"
        added            agent a
        removed          agent b
        changed          agents.c.model: unset -> "x"
        "#);
    }
}
