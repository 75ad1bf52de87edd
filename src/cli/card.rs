//! `a2ad card`: what an agent says of itself.

use super::{
    Context,
    exit::{Code, Failure},
    target::{self, Target},
    terminal::{Style, one_line},
};
use crate::model::{AgentCard, GetCard, Operation};
use crate::wire::{self, Single};

/// Show an agent's card: as a table on a terminal, as its very bytes in a pipe
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The agent; without it the default one, or the one at the address
    #[arg(short, long, value_name = "AGENT")]
    agent: Option<String>,
    /// The card for callers with a credential
    #[arg(long)]
    extended: bool,
    /// Check its signature; this version does not sign or check cards, and says so
    #[arg(long)]
    verify: bool,
}

pub(super) async fn run(ctx: &Context, arguments: Arguments) -> anyhow::Result<Code> {
    if arguments.verify {
        return Err(Failure::usage("cards are not signed in this version: leave --verify out"));
    }
    let target = target::find(ctx)?;
    let agent = arguments.agent.as_deref();
    if arguments.extended {
        return print(ctx, &extended(&target, agent).await?);
    }
    print(ctx, &target.card(agent).await?.bytes)
}

/// The public card for a person, whatever the output is.
pub(super) async fn show(ctx: &Context, target: &Target, agent: Option<&str>) -> anyhow::Result<Code> {
    let bytes = target.card(agent).await?.bytes;
    match wire::read_card(&String::from_utf8_lossy(&bytes)) {
        Ok(card) if !ctx.screen.json => table(ctx, &card).map(|()| Code::Ok),
        _ => print(ctx, &bytes),
    }
}

fn print(ctx: &Context, bytes: &[u8]) -> anyhow::Result<Code> {
    let text = String::from_utf8_lossy(bytes);
    if !ctx.screen.out || ctx.screen.json {
        ctx.screen.answer(&text)?;
        if ctx.screen.out {
            ctx.screen.line("")?;
        }
        return Ok(Code::Ok);
    }
    match wire::read_card(&text) {
        Ok(card) => table(ctx, &card)?,
        Err(error) => {
            ctx.screen.answer(&text)?;
            ctx.screen.line("")?;
            ctx.screen.note(&format!("warning: this is no card of A2A: {error}"));
        }
    }
    Ok(Code::Ok)
}

async fn extended(target: &Target, agent: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let peer = target.peer(agent).await?;
    match peer.call(&Operation::GetCard(GetCard::default())).await? {
        Single::Card(card) => Ok(serde_json::to_vec(&*card)?),
        _ => Err(Failure::of(Code::Unreachable, "the answer is no card")),
    }
}

fn table(ctx: &Context, card: &AgentCard) -> anyhow::Result<()> {
    let screen = ctx.screen;
    let on = |flag: Option<bool>| if flag.unwrap_or_default() { "yes" } else { "no" };
    screen.line(&format!(
        "{}  {}",
        screen.paint(Style::Bold, &one_line(&card.name)),
        one_line(&card.version)
    ))?;
    screen.answer(&format!("{}\n", card.description))?;
    for interface in &card.supported_interfaces {
        let tenant =
            interface.tenant.as_deref().map(|tenant| format!(" (tenant {tenant})")).unwrap_or_default();
        let line = format!(
            "{} {} {}{tenant}",
            interface.protocol_binding, interface.protocol_version, interface.url
        );
        screen.line(&format!("interface  {}", one_line(&line)))?;
    }
    let capabilities = &card.capabilities;
    screen.line(&format!(
        "offers     streams {}, push {}, extended card {}",
        on(capabilities.streaming),
        on(capabilities.push_notifications),
        on(capabilities.extended_agent_card)
    ))?;
    screen.line(&format!("takes      {}", one_line(&card.default_input_modes.join(", "))))?;
    screen.line(&format!("gives      {}", one_line(&card.default_output_modes.join(", "))))?;
    for skill in &card.skills {
        screen
            .line(&format!("skill      {}", one_line(&format!("{}: {}", skill.name, skill.description))))?;
    }
    for extension in &capabilities.extensions {
        let params = extension
            .params
            .as_ref()
            .and_then(|params| serde_json::to_string(params).ok())
            .unwrap_or_default();
        let needed = if extension.required { " (required)" } else { "" };
        screen.line(&format!("extension  {}", one_line(&format!("{}{needed} {params}", extension.uri))))?;
    }
    let schemes: Vec<&str> = card.security_schemes.keys().map(String::as_str).collect();
    let schemes = if schemes.is_empty() { "none".to_owned() } else { schemes.join(", ") };
    screen.line(&format!("login      {}", one_line(&schemes)))?;
    Ok(())
}
