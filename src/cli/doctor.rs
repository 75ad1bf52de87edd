//! `a2ad doctor`: everything a person would get wrong. Asks the running node, which sees its own world (O-70).

use std::time::Duration;

use super::{
    Context,
    exit::{Code, Failure},
    target,
    terminal::{Style, one_line},
};
use crate::config::{Config, Look};
use crate::daemon::offline;
use crate::model::ops::{Finding, Level};

/// Check everything a person would get wrong: ok, warn or FAIL, with what to do
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only this agent
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Also run a real turn of each agent
    #[arg(long)]
    deep: bool,
}

/// Real turns of several agents take their time.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

pub(super) async fn run(ctx: &Context, arguments: Arguments) -> anyhow::Result<Code> {
    let elsewhere = ctx.to.is_some() || ctx.around.var("A2AD_TO").is_some();
    if !elsewhere && target::running(ctx)?.is_err() {
        let mut findings = alone(ctx);
        if let Some(agent) = &arguments.agent
            && findings.iter().any(|finding| finding.what.starts_with("agent "))
        {
            if !findings.iter().any(|finding| concerns(finding, agent)) {
                return Err(unknown(agent));
            }
            findings.retain(|finding| concerns(finding, agent));
        }
        return report(ctx, &findings);
    }
    let target = target::find(ctx)?;
    let mut findings: Vec<Finding> =
        target.http.ops(reqwest::Method::GET, "doctor", super::NOTHING, PATIENCE).await?;
    if let Some(agent) = &arguments.agent {
        if !findings.iter().any(|finding| concerns(finding, agent)) {
            return Err(unknown(agent));
        }
        findings.retain(|finding| concerns(finding, agent));
    }
    if arguments.deep {
        let agents = match &arguments.agent {
            Some(agent) => vec![agent.clone()],
            None => target.agents().await.unwrap_or_default(),
        };
        for agent in agents {
            let path = format!("agents/{}/test", super::segment(&agent));
            let tested: Vec<Finding> =
                target.http.ops(reqwest::Method::POST, &path, super::NOTHING, PATIENCE).await?;
            findings.extend(tested);
        }
    }
    report(ctx, &findings)
}

fn unknown(agent: &str) -> anyhow::Error {
    Failure::usage(format!("there is no agent {agent}; see `a2ad agent list`"))
}

/// Whether a finding is about an agent: its name stands among the words of what was looked at.
fn concerns(finding: &Finding, agent: &str) -> bool {
    finding.what.split(|letter: char| letter.is_whitespace() || letter == ':').any(|word| word == agent)
}

/// Prints findings; a FAIL is exit code 1.
pub(super) fn report(ctx: &Context, findings: &[Finding]) -> anyhow::Result<Code> {
    let screen = ctx.screen;
    for finding in findings {
        if screen.json {
            screen.json(finding)?;
            continue;
        }
        let level = match finding.level {
            Level::Ok => screen.paint(Style::Good, "ok  "),
            Level::Warn => screen.paint(Style::Warn, "warn"),
            Level::Fail => screen.paint(Style::Bad, "FAIL"),
        };
        screen.line(&format!("{level}  {}: {}", one_line(&finding.what), one_line(&finding.text)))?;
    }
    let bad = findings.iter().any(|finding| finding.level == Level::Fail);
    Ok(if bad { Code::Failed } else { Code::Ok })
}

/// What can be seen without a node.
fn alone(ctx: &Context) -> Vec<Finding> {
    let find = |level, what: &str, text: String| Finding { level, what: what.to_owned(), text };
    let none = "none runs here; `a2ad serve` starts one, and then doctor looks from inside it".to_owned();
    let mut findings = vec![find(Level::Warn, "node", none)];
    let config = match Config::load(&ctx.flags, &ctx.around, Look::Machine) {
        Ok(config) => config,
        Err(error) => {
            findings.extend(
                error.faults.iter().map(|fault| find(Level::Fail, "configuration", fault.to_string())),
            );
            return findings;
        }
    };
    findings.push(find(Level::Ok, "configuration", config.paths.file()));
    for warning in &config.warnings {
        findings.push(find(Level::Warn, "configuration", warning.to_string()));
    }
    findings.extend(offline::ports(&config));
    findings.extend(offline::programs(&config));
    findings.extend(config.notice.iter().map(|notice| find(Level::Warn, "agents", notice.clone())));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_concerns_an_agent_that_it_names() {
        let finding = |what: &str| Finding { level: Level::Ok, what: what.into(), text: String::new() };
        assert!(concerns(&finding("agent claude"), "claude"));
        assert!(!concerns(&finding("agent claude-2"), "claude"));
        assert!(!concerns(&finding("port"), "claude"));
    }
}
