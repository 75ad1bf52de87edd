//! Which node a command talks to, and with which credential (O-12, O-41).

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{
    Context,
    exit::{Code, Failure},
    local::{self, Found},
};
use crate::config::{Paths, Scope};
use crate::model::{AgentName, GetTask, ListTasks, Operation, TaskId};
use crate::peer::{Address, Credential, Http, Peer, discover};
use crate::wire::Single;

/// The node that was found.
#[derive(Debug)]
pub(super) struct Target {
    /// Dials it.
    pub(super) http: Http,
    /// It is the node of this machine, so its routes are known.
    pub(super) local: bool,
}

/// What was said about where to go: by flag or, less strongly, by the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    to: Option<String>,
    env_to: Option<String>,
    token_file: Option<PathBuf>,
    env_token_file: Option<PathBuf>,
    env_token: Option<String>,
}

/// Where a credential comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File(PathBuf),
    Variable(String),
}

impl Said {
    fn of(ctx: &Context) -> Self {
        let var = |name| ctx.around.var(name).map(str::to_owned);
        Self {
            to: ctx.to.clone(),
            env_to: var("A2AD_TO"),
            token_file: ctx.token_file.clone(),
            env_token_file: var("A2AD_TOKEN_FILE").map(PathBuf::from),
            env_token: var("A2AD_TOKEN"),
        }
    }

    fn to(&self) -> Option<&String> {
        self.to.as_ref().or(self.env_to.as_ref())
    }

    /// The credential that was given for this address. That of the environment belongs to `A2AD_TO` where that is
    /// set: another origin never sees it.
    fn source(&self, address: Option<&Address>) -> anyhow::Result<Option<Source>> {
        if let Some(file) = &self.token_file {
            return Ok(Some(Source::File(file.clone())));
        }
        let found = match (&self.env_token_file, &self.env_token) {
            (Some(file), _) => Source::File(file.clone()),
            (None, Some(token)) => Source::Variable(token.clone()),
            (None, None) => return Ok(None),
        };
        let owner = self.env_to.as_deref().map(Address::parse).transpose()?;
        match (&owner, address) {
            (Some(owner), Some(address)) if !same(owner, address) => Ok(None),
            _ => Ok(Some(found)),
        }
    }
}

fn same(a: &Address, b: &Address) -> bool {
    a.url().origin() == b.url().origin() && a.socket() == b.socket()
}

/// The node to talk to.
///
/// # Errors
/// 69 when there is none, and which places were looked at; 2 for an address that is none.
pub(super) fn find(ctx: &Context) -> anyhow::Result<Target> {
    let said = Said::of(ctx);
    let Some(to) = said.to() else { return find_local(ctx, &said) };
    let address = Address::parse(to)?;
    let credential = said.source(Some(&address))?.map(read).transpose()?;
    if credential.is_none() && (said.env_token.is_some() || said.env_token_file.is_some()) {
        ctx.screen
            .note(&format!("the token of the environment belongs to A2AD_TO and is not sent to {address}"));
    }
    if credential.is_some() && address.is_exposed() {
        ctx.screen
            .note(&format!("warning: {address} is plain HTTP: the token can be read on the way; use https"));
    }
    Ok(Target { http: Http::new(address, credential)?, local: false })
}

/// The state directories to look at, best first.
fn places(ctx: &Context) -> anyhow::Result<Vec<(Scope, PathBuf)>> {
    let own = Paths::of(&ctx.flags, &ctx.around)?;
    let system = Paths::system(None, &ctx.around).state;
    Ok(order(
        &own,
        system,
        ctx.flags.name.is_some() || ctx.flags.state_dir.is_some(),
        ctx.around.uid == Some(0),
    ))
}

/// A node that was asked for by name or directory is the only one; else the user's and the system's, and root looks
/// at the system's first.
fn order(own: &Paths, system: PathBuf, named: bool, root: bool) -> Vec<(Scope, PathBuf)> {
    let own_place = (own.scope, own.state.clone());
    if named {
        return vec![own_place];
    }
    let system = (Scope::System, system);
    let mut places = if root { vec![system, own_place] } else { vec![own_place, system] };
    places.dedup();
    places
}

/// What runs on this machine, in the first place that has something; the other places are told.
pub(super) fn running(ctx: &Context) -> anyhow::Result<Result<(local::Running, PathBuf), String>> {
    let mut misses = Vec::new();
    for (scope, dir) in places(ctx)? {
        match local::look(&dir) {
            Found::Running(running) => return Ok(Ok((running, dir))),
            Found::Nothing => misses.push(format!("{} runs none ({})", whose(scope), dir.display())),
            Found::Closed(error) => {
                misses.push(format!("{} can't be seen ({}: {error})", whose(scope), dir.display()))
            }
        }
    }
    Ok(Err(misses.join(", ")))
}

const fn whose(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "this user",
        Scope::System => "the system",
    }
}

fn find_local(ctx: &Context, said: &Said) -> anyhow::Result<Target> {
    let (running, dir) = match running(ctx)? {
        Ok(found) => found,
        Err(misses) => {
            let text = format!("no node: {misses}; start one with `a2ad serve`, or name one with --to URL");
            return Err(Failure::of(Code::Unreachable, text));
        }
    };
    let local::Running { pid, addresses, token } = running;
    let Some(address) = addresses.into_iter().next() else {
        let text = format!(
            "the node of {} (pid {pid}) listens on no address of this machine alone; dial it with --to URL and a token",
            dir.display()
        );
        return Err(Failure::of(Code::Unreachable, text));
    };
    // A token that was given says who one wants to be; else one is whoever may read the local token.
    if let Some(source) = said.source(Some(&address))? {
        return Ok(Target { http: Http::new(address, Some(read(source)?))?, local: true });
    }
    if token.is_none() {
        let text = format!(
            "the local token {} can't be read by this user; give one with --token-file F",
            dir.join("token").display()
        );
        return Err(Failure::of(Code::NotAllowed, text));
    }
    let http = Http::new(address.clone(), token)?.renewed_by(move || match local::look(&dir) {
        Found::Running(running) if running.addresses.contains(&address) => running.token,
        Found::Running(_) | Found::Nothing | Found::Closed(_) => None,
    });
    Ok(Target { http, local: true })
}

fn read(source: Source) -> anyhow::Result<Credential> {
    let (text, from) = match source {
        Source::Variable(text) => (text, "A2AD_TOKEN".to_owned()),
        Source::File(path) => (read_file(&path)?, path.display().to_string()),
    };
    Credential::new(&text).map_err(|why| Failure::usage(format!("the token of {from} {why}")))
}

#[expect(clippy::disallowed_methods, reason = "the token file that the user named")]
fn read_file(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| Failure {
        code: Code::NotAllowed,
        text: format!("the token file {} can't be read", path.display()),
    })
}

impl Target {
    /// An agent of it, or the one that answers at the address.
    ///
    /// # Errors
    /// What the card says.
    pub(super) async fn peer(&self, agent: Option<&str>) -> anyhow::Result<Peer> {
        if let Some(agent) = agent {
            agent.parse::<AgentName>().map_err(|error| Failure::usage(error.to_string()))?;
        }
        if self.local {
            return Ok(Peer::of_node(self.http.clone(), agent));
        }
        Ok(Peer::dial(self.http.clone(), agent).await?)
    }

    /// The agents that may be used here, the default one first; `None` where there is no such list.
    pub(super) async fn agents(&self) -> Option<Vec<String>> {
        let url = self.http.address().at(&format!("{}/agents", self.http.address().node()));
        let request = self.http.request(reqwest::Method::GET, url);
        let response = self.http.send(request, Some(super::PATIENCE)).await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let list: List = serde_json::from_slice(&self.http.body(response).await.ok()?).ok()?;
        let mut agents = list.agents;
        agents.sort_by_key(|agent| !agent.default);
        Some(agents.into_iter().map(|agent| agent.name).collect())
    }

    /// The agent that has a task: a task belongs to one, and only there it is found.
    ///
    /// # Errors
    /// No agent has it.
    pub(super) async fn peer_of_task(&self, id: &TaskId, agent: Option<&str>) -> anyhow::Result<Peer> {
        let get = Operation::GetTask(GetTask { tenant: None, id: id.clone(), history_length: Some(0) });
        self.peer_where(agent, &get, |_| true).await
    }

    /// The agent that has a context; the default one if none has.
    ///
    /// # Errors
    /// The node can't be reached.
    pub(super) async fn peer_of_context(&self, context: &str, agent: Option<&str>) -> anyhow::Result<Peer> {
        let list = ListTasks { context_id: Some(context.into()), page_size: Some(1), ..ListTasks::default() };
        let held = |answer: &Single| matches!(answer, Single::Page(page) if !page.tasks.is_empty());
        match self.peer_where(agent, &Operation::ListTasks(list), held).await {
            Ok(peer) => Ok(peer),
            Err(_) => self.peer(agent).await,
        }
    }

    /// The first agent that answers an operation in a way that pleases.
    async fn peer_where(
        &self,
        agent: Option<&str>,
        operation: &Operation,
        pleases: impl Fn(&Single<'_>) -> bool,
    ) -> anyhow::Result<Peer> {
        let first = self.peer(agent).await?;
        if agent.is_some() {
            return Ok(first);
        }
        let refused = match first.call(operation).await {
            Ok(answer) if pleases(&answer) => return Ok(first),
            Ok(_) => None,
            Err(error) if error.refusal().is_some() => Some(error),
            Err(error) => return Err(error.into()),
        };
        for name in self.agents().await.unwrap_or_default().into_iter().skip(1) {
            let Ok(peer) = self.peer(Some(&name)).await else { continue };
            if peer.call(operation).await.is_ok_and(|answer| pleases(&answer)) {
                return Ok(peer);
            }
        }
        refused.map_or_else(|| Err(anyhow::anyhow!("no agent has it")), |error| Err(error.into()))
    }

    /// The card as it is served.
    ///
    /// # Errors
    /// There is none, or it can't be reached.
    pub(super) async fn card(&self, agent: Option<&str>) -> anyhow::Result<discover::Found> {
        Ok(Peer::card(&self.http, agent).await?)
    }
}

#[derive(serde::Deserialize)]
struct List {
    agents: Vec<Listed>,
}

#[derive(serde::Deserialize)]
struct Listed {
    name: String,
    #[serde(default)]
    default: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Paths {
        Paths {
            scope: Scope::User,
            instance: None,
            config: "/home/ann/.config/a2ad/a2ad.toml".into(),
            named: false,
            state: "/home/ann/.local/state/a2ad".into(),
        }
    }

    #[test]
    fn a_user_looks_at_its_own_node_first_and_root_at_the_systems() {
        let scopes = |named, root| {
            order(&own(), "/var/lib/a2ad".into(), named, root)
                .into_iter()
                .map(|place| place.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(scopes(false, false), [Scope::User, Scope::System]);
        assert_eq!(scopes(false, true), [Scope::System, Scope::User]);
        assert_eq!(scopes(true, true), [Scope::User], "a node asked for by name is the only one");
    }

    #[test]
    fn a_flag_goes_before_the_environment() {
        let said = Said { to: Some("https://a".into()), env_to: Some("https://b".into()), ..Said::default() };
        assert_eq!(said.to().unwrap(), "https://a");
    }

    #[test]
    fn a_credential_of_the_environment_goes_to_the_address_of_the_environment_only() {
        let said = Said {
            env_to: Some("https://box.example".into()),
            env_token: Some("a2ad_x".into()),
            ..Said::default()
        };
        let source = |said: &Said, to: &str| said.source(Some(&Address::parse(to).unwrap())).unwrap();
        assert!(source(&said, "https://box.example/agents/x").is_some());
        assert!(source(&said, "https://evil.example").is_none());
        assert!(source(&said, "http://127.0.0.1:7878").is_none());
        let flag = Said { token_file: Some("/t".into()), ..said };
        assert_eq!(source(&flag, "https://evil.example"), Some(Source::File("/t".into())));
        let alone = Said { env_token: Some("a2ad_x".into()), ..Said::default() };
        assert!(source(&alone, "https://any.example").is_some());
    }
}
