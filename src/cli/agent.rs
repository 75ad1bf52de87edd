//! `a2ad agent`: what is served. Adding and removing edits the file and reloads.

use std::path::PathBuf;

use super::{
    Context,
    exit::{Code, Failure},
    reload, segment,
    status::agent_line,
    target::{self, Target},
};
use crate::config::{Config, Paths, edit};
use crate::model::ops::{AgentStatus, Finding};

/// List, show, add, remove and test agents
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List the agents of the node
    List,
    /// Show one agent: program, workspace, state, card
    Show {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
    },
    Add(Add),
    /// Remove an agent from the configuration and reload; its tasks stay readable
    #[command(visible_alias = "rm")]
    Remove {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Run a real turn and say whether it works
    Test {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Add an agent to the configuration and reload; comments in the file stay
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  a2ad agent add claude --workspace .\n  \
    a2ad agent add tests --runtime exec -- ./run-tests --fast")]
pub(super) struct Add {
    /// Its name: a-z, 0-9, _ and -
    #[arg(value_name = "NAME")]
    name: String,
    /// What does the work: claude, exec, jsonl, echo; may be left out where the name says it, as for claude
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// Where it works; without it the node's own
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// One sentence for the card
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

pub(super) async fn run(ctx: &Context, command: Command) -> anyhow::Result<Code> {
    match command {
        Command::List => list(ctx).await,
        Command::Show { name } => show(ctx, &name).await,
        Command::Add(add) => {
            ctx.only_here("agent add")?;
            let paths = Paths::of(&ctx.flags, &ctx.around)?;
            let judge = |text: &str| Config::judge(text, &ctx.flags, &ctx.around);
            edit::add_agent(&paths.config, &add.name, &keys(ctx, &add)?, judge)?;
            changed(ctx, &paths, &format!("{} is in {}", add.name, paths.config.display())).await
        }
        Command::Remove { name } => {
            ctx.only_here("agent remove")?;
            let paths = Paths::of(&ctx.flags, &ctx.around)?;
            edit::remove_agent(&paths.config, &name)?;
            changed(ctx, &paths, &format!("{name} is no longer in {}", paths.config.display())).await
        }
        Command::Test { name } => {
            let target = target::find(ctx)?;
            let path = format!("agents/{}/test", segment(&name));
            let findings: Vec<Finding> = target
                .http
                .ops(reqwest::Method::POST, &path, super::NOTHING, super::doctor::PATIENCE)
                .await?;
            super::doctor::report(ctx, &findings)
        }
    }
}

fn keys(ctx: &Context, add: &Add) -> anyhow::Result<Vec<(&'static str, toml_edit::Value)>> {
    let mut keys: Vec<(&'static str, toml_edit::Value)> = Vec::new();
    let runtime = match add.runtime.as_deref() {
        None if !add.command.is_empty() && add.name != "claude" => {
            return Err(Failure::of(
                Code::Usage,
                "say how the program is spoken to: --runtime exec for one that reads a prompt and prints an answer, \
                 --runtime jsonl for one that speaks JSON lines (docs/jsonl.md)",
            ));
        }
        named => named.unwrap_or(&add.name),
    };
    keys.push(("runtime", runtime.into()));
    if let Some(description) = &add.description {
        keys.push(("description", description.as_str().into()));
    }
    if let Some(workspace) = &add.workspace {
        // The file does not know where one stood, so the path is written whole.
        let whole: PathBuf = ctx
            .around
            .cwd
            .join(workspace)
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .collect();
        keys.push(("workspace", whole.display().to_string().into()));
    }
    if !add.command.is_empty() {
        keys.push(("command", add.command.iter().collect::<toml_edit::Array>().into()));
    }
    Ok(keys)
}

/// The file has changed: a node that runs on it is told.
async fn changed(ctx: &Context, paths: &Paths, what: &str) -> anyhow::Result<Code> {
    ctx.screen.note(what);
    if !matches!(super::local::look(&paths.state), super::local::Found::Running(_)) {
        ctx.screen.note("no node runs on it; it counts from the next `a2ad serve`");
        return Ok(Code::Ok);
    }
    let reloaded = reload::reload(&target::find(ctx)?).await?;
    reload::say(ctx, &reloaded)?;
    Ok(Code::Ok)
}

async fn list(ctx: &Context) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let Some(agents) = statuses(&target).await? else {
        // No operator's credential: the public list.
        let names = target.agents().await.unwrap_or_default();
        if names.is_empty() {
            return Err(Failure::of(Code::Failed, format!("{} lists no agents", target.http.address())));
        }
        for name in names {
            if ctx.screen.json {
                ctx.screen.json(&serde_json::json!({"name": name}))?;
            } else {
                ctx.screen.answer(&format!("{name}\n"))?;
            }
        }
        return Ok(Code::Ok);
    };
    if ctx.screen.json {
        for agent in &agents {
            ctx.screen.json(agent)?;
        }
        return Ok(Code::Ok);
    }
    let row = |agent: &AgentStatus| {
        let mark = if agent.default { format!("{} (default)", agent.name) } else { agent.name.clone() };
        let program = agent.program.clone().unwrap_or_else(|| "-".to_owned());
        let state = agent.brief().map_or_else(|| "ready".to_owned(), |why| format!("not ready: {why}"));
        vec![mark, agent.runtime.clone(), state, program, agent.workspace.clone(), agent.permissions.clone()]
    };
    let rows: Vec<Vec<String>> = agents.iter().map(row).collect();
    ctx.screen.table(&["NAME", "RUNTIME", "STATE", "PROGRAM", "WORKSPACE", "ASK"], &rows)?;
    Ok(Code::Ok)
}

/// The operator's list; `None` for those who are none.
async fn statuses(target: &Target) -> anyhow::Result<Option<Vec<AgentStatus>>> {
    match super::get(target, "agents").await {
        Ok(agents) => Ok(Some(agents)),
        Err(error)
            if error.refusal().is_some_and(|refusal| matches!(refusal.status, 401 | 403 | 404 | 405)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

async fn show(ctx: &Context, name: &str) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let agents = statuses(&target).await?.unwrap_or_default();
    let Some(agent) = agents.iter().find(|agent| agent.name == name) else {
        if !agents.is_empty() {
            let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
            return Err(Failure::usage(format!("there is no agent {name}; there are {}", names.join(", "))));
        }
        // No operator: what everybody sees is the card.
        return super::card::show(ctx, &target, Some(name)).await;
    };
    if ctx.screen.json {
        ctx.screen.json(agent)?;
        return Ok(Code::Ok);
    }
    ctx.screen.line(&agent_line(agent, ctx.screen))?;
    if let Some(program) = &agent.program {
        ctx.screen.line(&format!("program    {}", super::terminal::one_line(program)))?;
    }
    if let Some(why) = &agent.not_ready {
        ctx.screen.answer(&format!("not ready  {}\n", why.trim_end()))?;
    }
    super::card::show(ctx, &target, Some(name)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_agent_has_its_workspace_written_whole() {
        let ctx = super::super::tests::context("/srv/project");
        let add = Add {
            name: "tests".into(),
            runtime: Some("exec".into()),
            workspace: Some("./sub".into()),
            description: None,
            command: vec!["./run-tests".into(), "--fast".into()],
        };
        let keys: Vec<String> = keys(&ctx, &add)
            .unwrap()
            .into_iter()
            .map(|(key, value)| format!("{key} = {}", value.to_string().trim()))
            .collect();
        assert_eq!(
            keys,
            [
                r#"runtime = "exec""#,
                r#"workspace = "/srv/project/sub""#,
                r#"command = ["./run-tests", "--fast"]"#
            ]
        );
    }
}
