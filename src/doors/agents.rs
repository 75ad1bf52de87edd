//! `GET /agents`: who can be called here (P-20).

use serde::Serialize;

use super::{body::Response, cache::Kept, card, inbound::Inbound, refusal::Refusal, state::State};

#[derive(Serialize)]
struct List {
    agents: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    default: bool,
    url: String,
    card: String,
}

/// Without a credential the default agent and those that are listed, with one those it may use.
///
/// # Errors
/// The credential is not valid, or too many requests came.
pub(super) fn serve(state: &State, inbound: &Inbound) -> Result<Response, Refusal> {
    let who = inbound.anybody(state)?;
    let registry = state.node.agents();
    let default = registry.default().map(|served| &served.name);
    // Without an address of its own a node can still say what lies below the one that was dialled.
    let base = card::base(state, inbound).unwrap_or_default();
    let shown = registry.iter().filter(|served| match &who {
        Some(who) => who.caller.may_call.holds(&served.name),
        None => served.config.listed || default == Some(&served.name),
    });
    let agents = shown
        .map(|served| {
            let url = card::of_agent(&base, served);
            Line {
                name: served.name.to_string(),
                default: default == Some(&served.name),
                card: format!("{url}/.well-known/agent-card.json"),
                url,
            }
        })
        .collect();
    let kept = Kept {
        body: serde_json::to_vec(&List { agents }).unwrap_or_default(),
        since: state.changes.since(&registry, inbound.settings.version),
        // What a credential shows is nobody else's, and a shared cache may not look at it.
        control: "private, no-cache",
        vary: "Authorization, Host",
    };
    Ok(kept.response(&inbound.parts.headers))
}
