//! `a2ad token`: who may dial this node. Works on the store itself while no node runs.

use std::{io::Read as _, time::Duration};

use anyhow::Context as _;

use super::{
    Context, clock,
    exit::{Code, Failure},
    local, segment,
    target::{self, Target},
};
use crate::config::{Config, Look};
use crate::daemon::offline;
use crate::model::{
    CallerRole, Timestamp,
    ops::{MadeToken, NewToken, Revoked, TokenInfo},
    secret,
};

/// Make, list and revoke tokens for callers
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    New(New),
    /// List tokens: the first letters, role, agents, last use
    List,
    /// Revoke all secrets of a name; acts within a second
    #[command(visible_alias = "rm")]
    Revoke {
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
        /// Also cancel what the token has running
        #[arg(long)]
        cancel: bool,
    },
    /// Print the SHA-256 of a secret from standard input, for [[auth.tokens]] in the configuration
    Hash,
}

/// Make a token; its secret is printed once and stored as a hash
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: a2ad token new laptop --agent claude --expires 90d\n\
    then on the laptop: a2ad --to https://box.example --token-file laptop.token send \"hello\"")]
pub(super) struct New {
    /// Its name: a-z, 0-9, _ and -
    #[arg(value_name = "NAME")]
    name: String,
    /// Only this agent; may be given more than once; without it all
    #[arg(short, long, value_name = "AGENT")]
    agent: Vec<String>,
    /// user: own tasks; peer: another node; admin: everything
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = role)]
    role: CallerRole,
    /// Not valid any more after this time, as 90d
    #[arg(long, value_name = "DURATION", value_parser = clock::duration)]
    expires: Option<Duration>,
    /// A further secret under a name that has one, to change over
    #[arg(long)]
    add: bool,
    /// Take a name again that was revoked, with the tasks it owns
    #[arg(long)]
    reuse: bool,
}

fn role(text: &str) -> Result<CallerRole, String> {
    match text {
        "user" => Ok(CallerRole::User),
        "peer" => Ok(CallerRole::Peer),
        "admin" => Ok(CallerRole::Admin),
        _ => Err("is one of user, peer, admin".to_owned()),
    }
}

pub(super) async fn run(ctx: &Context, command: Command) -> anyhow::Result<Code> {
    match command {
        Command::New(new) => make(ctx, new).await,
        Command::List => list(ctx).await,
        Command::Revoke { name, cancel } => revoke(ctx, &name, cancel).await,
        Command::Hash => hash(ctx),
    }
}

/// The node, or the configuration of the store where none runs.
enum Place {
    Node(Target),
    Store(Box<Config>),
}

fn place(ctx: &Context) -> anyhow::Result<Place> {
    // Only a store of one's own is opened: another's node may just be out of sight.
    let elsewhere = ctx.to.is_some() || ctx.around.var("A2AD_TO").is_some();
    if !elsewhere {
        let config = Config::load(&ctx.flags, &ctx.around, Look::File)?;
        if matches!(local::look(&config.paths.state), local::Found::Nothing)
            && (target::running(ctx)?.is_err() || ctx.flags.state_dir.is_some() || ctx.flags.name.is_some())
        {
            return Ok(Place::Store(Box::new(config)));
        }
    }
    Ok(Place::Node(target::find(ctx)?))
}

async fn make(ctx: &Context, new: New) -> anyhow::Result<Code> {
    let now = Timestamp::now();
    let order = NewToken {
        name: new.name,
        role: new.role,
        agents: (!new.agent.is_empty()).then_some(new.agent),
        expires_at: new.expires.filter(|expires| !expires.is_zero()).map(|expires| now.after(expires)),
        add: new.add,
        reuse: new.reuse,
    };
    let made: MadeToken = match place(ctx)? {
        Place::Node(target) => {
            target.http.ops(reqwest::Method::POST, "tokens", Some(&order), super::PATIENCE).await?
        }
        Place::Store(config) => offline::token_new(&config, order, now).await?,
    };
    if ctx.screen.json {
        ctx.screen.json(&made)?;
        return Ok(Code::Ok);
    }
    ctx.screen.answer(&format!("{}\n", made.secret))?;
    ctx.screen.note(
        "shown once: keep it in a file that only you can read (umask 077), and give that with --token-file",
    );
    if made.owned > 0 {
        ctx.screen
            .note(&format!("this name owns {}, which the token sees", clock::count(made.owned, "task")));
    }
    for note in &made.notes {
        ctx.screen.note(note);
    }
    Ok(Code::Ok)
}

async fn list(ctx: &Context) -> anyhow::Result<Code> {
    let tokens: Vec<TokenInfo> = match place(ctx)? {
        Place::Node(target) => super::get(&target, "tokens").await?,
        Place::Store(config) => offline::tokens(&config, Timestamp::now()).await?,
    };
    if ctx.screen.json {
        for token in &tokens {
            ctx.screen.json(token)?;
        }
        return Ok(Code::Ok);
    }
    if tokens.is_empty() {
        ctx.screen.note("no tokens; make one with `a2ad token new NAME`");
        return Ok(Code::Ok);
    }
    let now = Timestamp::now();
    let rows: Vec<Vec<String>> = tokens.iter().map(|token| row(token, now)).collect();
    ctx.screen.table(&["NAME", "SECRET", "ROLE", "AGENTS", "MADE", "USED", "STATE", "FROM"], &rows)?;
    Ok(Code::Ok)
}

fn row(token: &TokenInfo, now: Timestamp) -> Vec<String> {
    let ago = |then: Option<Timestamp>| {
        then.map_or_else(|| "-".to_owned(), |then| format!("{} ago", clock::ago(then, now)))
    };
    let state = match (token.revoked_at, token.expires_at) {
        (Some(_), _) => "revoked".to_owned(),
        (None, Some(end)) if end <= now => "expired".to_owned(),
        (None, Some(end)) => format!("{} left", clock::span(end.since(now))),
        (None, None) => "valid".to_owned(),
    };
    let role = match token.role {
        CallerRole::User => "user",
        CallerRole::Peer => "peer",
        CallerRole::Admin => "admin",
    };
    vec![
        token.name.clone(),
        if token.shown.is_empty() { "-".to_owned() } else { format!("{}…", token.shown) },
        role.to_owned(),
        token.agents.as_ref().map_or_else(|| "all".to_owned(), |agents| agents.join(",")),
        ago(token.made_at),
        ago(token.used_at),
        state,
        token.source.clone(),
    ]
}

async fn revoke(ctx: &Context, name: &str, cancel: bool) -> anyhow::Result<Code> {
    let revoked: Revoked = match place(ctx)? {
        Place::Node(target) => {
            let path = format!("tokens/{}/revoke", segment(name));
            let order = serde_json::json!({"cancel": cancel});
            target.http.ops(reqwest::Method::POST, &path, Some(&order), super::PATIENCE).await?
        }
        Place::Store(config) => offline::token_revoke(&config, name, Timestamp::now()).await?,
    };
    if ctx.screen.json {
        ctx.screen.json(&revoked)?;
    } else {
        let canceled = if cancel {
            format!("; canceled: {}", clock::count(revoked.canceled, "task"))
        } else {
            String::new()
        };
        ctx.screen.note(&format!(
            "revoked: {} of {name}{canceled}; the name stays reserved",
            clock::count(revoked.secrets, "secret")
        ));
    }
    Ok(Code::Ok)
}

fn hash(ctx: &Context) -> anyhow::Result<Code> {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        ctx.screen.hint("the secret, then Ctrl-D:");
    }
    let mut text = String::new();
    std::io::stdin().lock().take(4096).read_to_string(&mut text).context("standard input can't be read")?;
    let hash = hashed(text.trim())?;
    ctx.screen.line(&hash)?;
    Ok(Code::Ok)
}

/// A plain hash keeps a secret only if nobody can guess it (O-54).
fn hashed(text: &str) -> anyhow::Result<String> {
    if text.len() < secret::SHORTEST {
        let text = format!(
            "the secret has fewer than {} characters, so it could be guessed: use `a2ad token new`",
            secret::SHORTEST
        );
        return Err(Failure::usage(text));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::usage("the secret holds blanks or letters that no header can carry"));
    }
    Ok(secret::hash(text).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_could_be_guessed_is_not_hashed() {
        assert!(hashed("hunter2").unwrap_err().to_string().contains("32 characters"));
        assert!(hashed(&"a ".repeat(20)).is_err());
        let hash = hashed(&"a".repeat(32)).unwrap();
        assert_eq!(hash, "3ba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547");
    }
}
