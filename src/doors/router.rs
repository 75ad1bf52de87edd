//! Path to door (P-11). Segments are split on `/`, then percent-decoded once; nothing is redirected, nothing collapsed.

use http::{HeaderValue, Method};

use crate::{
    model::AgentName,
    wire::{
        Version, percent,
        rest::{self, Segment, Target},
    },
};

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Whether the process lives.
    Alive,
    /// Whether it takes work.
    Ready,
    /// A card: of an agent by name, else of the default one.
    Card(Option<String>),
    /// The same in the form of A2A 0.3, where its clients look for it.
    OldCard(Option<String>),
    /// The public list of agents.
    Agents,
    /// JSON-RPC: to an agent by name, else as `params.tenant` says, else to the default one.
    Rpc(Option<String>),
    /// HTTP+JSON: to an agent by name, else as the request's `tenant` says, else to the default one.
    Rest(Option<String>, Target),
    /// The operator's calls, what comes after `/ops/`.
    Ops(Vec<String>),
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It is no path.
    Bad(&'static str),
    /// Nothing is there.
    Nothing,
    /// Something is there, for other verbs.
    Verb {
        /// The verbs, as `Allow` has them.
        allow: &'static str,
        /// What to do instead.
        hint: &'static str,
        /// The agent that the path names: without one of this name there is nothing there.
        agent: Option<String>,
    },
    /// A gRPC call; no gRPC is served.
    Grpc,
    /// The path of a gRPC method, without the media type of one.
    NotGrpc,
}

/// Services whose methods are paths of the node (P-11).
const SERVICES: [&str; 5] = [
    "lf.a2a.v1.A2AService",
    "a2a.v1.A2AService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

const CARD_HINT: &str =
    "this is an A2A node: POST JSON-RPC here; its card is at /.well-known/agent-card.json";

/// Finds what a request asks for.
pub(super) fn route(method: &Method, path: &str, content_type: Option<&HeaderValue>) -> Result<Route, Lost> {
    if method == Method::POST
        && content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
    {
        return Err(Lost::Grpc);
    }
    // The path that nearly every call takes.
    if path == "/" {
        return rpc(method, None);
    }
    let whole = segments(path)?;
    let segments: Vec<&str> = whole.iter().map(|segment| segment.text.as_ref()).collect();
    match segments[..] {
        [".well-known", "agent-card.json"] => get(method, Route::Card(None)),
        [".well-known", "agent.json"] => get(method, Route::OldCard(None)),
        ["healthz"] => get(method, Route::Alive),
        ["readyz"] => get(method, Route::Ready),
        ["ops", ref rest @ ..] if !rest.is_empty() => {
            Ok(Route::Ops(rest.iter().map(|&segment| segment.to_owned()).collect()))
        }
        ["agents"] | ["agents", ""] => get(method, Route::Agents),
        ["agents", name, ref rest @ ..] => of_agent(method, name, rest, &whole[2..]),
        ["v1", ..] => rest(method, Version::V03, None, &whole[1..]),
        [service, _] if method == Method::POST && SERVICES.contains(&service) => Err(Lost::NotGrpc),
        _ => rest(method, Version::V1, None, &whole).or_else(|lost| match (lost, &whole[..]) {
            (Lost::Nothing, [name, below @ ..]) => of_tenant(method, &name.text, below),
            (lost, _) => Err(lost),
        }),
    }
}

/// What comes below `/agents/{name}`.
fn of_agent(method: &Method, name: &str, below: &[&str], whole: &[Segment<'_>]) -> Result<Route, Lost> {
    match below {
        [] | [""] => rpc(method, Some(name)),
        [".well-known", "agent-card.json"] => get(method, Route::Card(Some(name.to_owned()))),
        [".well-known", "agent.json"] => get(method, Route::OldCard(Some(name.to_owned()))),
        ["v1", ..] => rest(method, Version::V03, Some(name), &whole[1..]),
        _ => rest(method, Version::V1, Some(name), whole),
    }
}

/// What comes below `/{name}`. What is no name of an agent is no path.
fn of_tenant(method: &Method, name: &str, below: &[Segment<'_>]) -> Result<Route, Lost> {
    match (rest(method, Version::V1, Some(name), below)?, name.parse::<AgentName>()) {
        // The path wins over a `tenant` in body or query.
        (Route::Rest(agent, target), Ok(_)) => Ok(Route::Rest(agent, target.for_tenant(name))),
        _ => Err(Lost::Nothing),
    }
}

/// An operation in HTTP+JSON.
fn rest(method: &Method, version: Version, agent: Option<&str>, path: &[Segment<'_>]) -> Result<Route, Lost> {
    match rest::find(version, method.as_str(), path) {
        Ok(target) => Ok(Route::Rest(agent.map(str::to_owned), target)),
        Err(rest::Lost::Path) => Err(Lost::Nothing),
        Err(rest::Lost::Verb(allow)) => {
            let agent = agent.map(str::to_owned);
            Err(Lost::Verb { allow, hint: "this path has other verbs, see Allow", agent })
        }
    }
}

fn rpc(method: &Method, agent: Option<&str>) -> Result<Route, Lost> {
    if method == Method::POST {
        Ok(Route::Rpc(agent.map(str::to_owned)))
    } else {
        Err(Lost::Verb { allow: "POST", hint: CARD_HINT, agent: agent.map(str::to_owned) })
    }
}

fn get(method: &Method, route: Route) -> Result<Route, Lost> {
    if method == Method::GET || method == Method::HEAD {
        Ok(route)
    } else {
        let agent = if let Route::Card(agent) | Route::OldCard(agent) = route { agent } else { None };
        Err(Lost::Verb { allow: "GET, HEAD", hint: "use GET", agent })
    }
}

/// The segments of a path.
fn segments(path: &str) -> Result<Vec<Segment<'_>>, Lost> {
    let path = path.strip_prefix('/').ok_or(Lost::Bad("the path does not begin with `/`"))?;
    let mut segments: Vec<Segment<'_>> = Vec::with_capacity(4);
    for (place, raw) in path.split('/').enumerate() {
        let text = percent::segment(raw).map_err(Lost::Bad)?;
        if text == "." || text == ".." {
            return Err(Lost::Bad("the path holds `.` or `..`"));
        }
        // An empty segment before another one: `//`.
        if segments.last().is_some_and(|last| last.raw.is_empty()) || (place == 0 && raw.is_empty()) {
            return Err(Lost::Bad("the path holds `//`"));
        }
        segments.push(Segment { raw, text });
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Method as Operation;

    fn at(method: &str, path: &str) -> Result<Route, Lost> {
        route(&method.parse().unwrap(), path, None)
    }

    fn agent(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    #[test]
    fn each_path_has_one_door() {
        let table = [
            ("POST", "/", Route::Rpc(None)),
            ("POST", "/agents/claude", Route::Rpc(agent("claude"))),
            ("POST", "/agents/claude/", Route::Rpc(agent("claude"))),
            ("GET", "/agents", Route::Agents),
            ("GET", "/agents/", Route::Agents),
            ("HEAD", "/agents", Route::Agents),
            ("GET", "/.well-known/agent-card.json", Route::Card(None)),
            ("GET", "/agents/echo/.well-known/agent-card.json", Route::Card(agent("echo"))),
            ("GET", "/healthz", Route::Alive),
            ("GET", "/readyz", Route::Ready),
            ("GET", "/ops/status", Route::Ops(vec!["status".into()])),
            ("DELETE", "/ops/tasks/a%2Fb", Route::Ops(vec!["tasks".into(), "a/b".into()])),
        ];
        for (method, path, wanted) in table {
            assert_eq!(at(method, path), Ok(wanted), "{method} {path}");
        }
    }

    fn asked(method: Operation, members: &[(&'static str, &str)]) -> Target {
        let members = members.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Target { version: Version::V1, method, members }
    }

    #[test]
    fn an_operation_lies_at_the_root_below_a_name_and_below_an_agent() {
        let get = asked(Operation::GetTask, &[("id", "t")]);
        assert_eq!(at("GET", "/tasks/t"), Ok(Route::Rest(None, get.clone())));
        assert_eq!(at("GET", "/agents/echo/tasks/t"), Ok(Route::Rest(agent("echo"), get.clone())));
        assert_eq!(
            at("GET", "/echo/tasks/t"),
            Ok(Route::Rest(agent("echo"), get.for_tenant("echo"))),
            "and says again whose it is"
        );
        let list = asked(Operation::ListTasks, &[]);
        assert_eq!(at("GET", "/agents/echo/tasks"), Ok(Route::Rest(agent("echo"), list)));
        let tasks = asked(Operation::GetTask, &[("id", "tasks")]);
        assert_eq!(at("GET", "/tasks/tasks"), Ok(Route::Rest(None, tasks)), "the root goes first");
        let send = asked(Operation::Send, &[]);
        assert_eq!(at("POST", "/message:send"), Ok(Route::Rest(None, send)));
        for (method, path, wanted) in [
            ("PUT", "/echo/tasks/t", "GET"),
            ("POST", "/agents/echo/tasks", "GET"),
            ("GET", "/message:send", "POST"),
        ] {
            let Err(Lost::Verb { allow, .. }) = at(method, path) else { panic!("{method} {path}") };
            assert_eq!(allow, wanted, "{method} {path}");
        }
        for path in ["/Echo/tasks", "/ops2/x", "/me/tasks", "/agents/a/b/tasks", "/echo/echo/tasks"] {
            assert_eq!(at("GET", path), Err(Lost::Nothing), "{path}");
        }
    }

    #[test]
    fn what_lies_below_v1_is_of_0_3() {
        let old = |method, members: &[(&'static str, &str)]| Target {
            version: Version::V03,
            ..asked(method, members)
        };
        let get = old(Operation::GetTask, &[("id", "t")]);
        assert_eq!(at("GET", "/v1/tasks/t"), Ok(Route::Rest(None, get.clone())));
        assert_eq!(at("GET", "/agents/echo/v1/tasks/t"), Ok(Route::Rest(agent("echo"), get)));
        assert_eq!(at("GET", "/v1/card"), Ok(Route::Rest(None, old(Operation::GetCard, &[]))));
        let send = old(Operation::Send, &[]);
        assert_eq!(at("POST", "/v1/message:send"), Ok(Route::Rest(None, send)));
        let subscribe = old(Operation::Subscribe, &[("id", "t")]);
        for verb in ["GET", "POST"] {
            assert_eq!(at(verb, "/v1/tasks/t:subscribe"), Ok(Route::Rest(None, subscribe.clone())));
        }
        let config = old(Operation::GetPush, &[("id", "t"), ("pushNotificationConfigId", "c")]);
        assert_eq!(at("GET", "/v1/tasks/t/pushNotificationConfigs/c"), Ok(Route::Rest(None, config)));
        assert_eq!(at("GET", "/.well-known/agent.json"), Ok(Route::OldCard(None)));
        assert_eq!(at("GET", "/agents/echo/.well-known/agent.json"), Ok(Route::OldCard(agent("echo"))));
        for path in ["/v1/extendedAgentCard", "/echo/v1/tasks/t", "/v1/v1/tasks/t"] {
            assert_eq!(at("GET", path), Err(Lost::Nothing), "{path}");
        }
    }

    #[test]
    fn an_escaped_slash_is_data() {
        assert_eq!(at("POST", "/agents/a%2Fb"), Ok(Route::Rpc(agent("a/b"))));
        assert_eq!(at("POST", "/agents/a%252Fb"), Ok(Route::Rpc(agent("a%2Fb"))), "decoded once");
        assert_eq!(at("GET", "/agents%2Fecho"), Err(Lost::Nothing));
    }

    #[test]
    fn nothing_is_collapsed_and_what_is_no_path_is_refused() {
        for path in [
            "//",
            "//agents",
            "/agents//",
            "/agents//echo",
            "/./",
            "/agents/..",
            "/%2e%2e/agents",
            "/%",
            "/%f",
            "/%zz",
            "/%ff",
            "*",
        ] {
            assert!(matches!(at("POST", path), Err(Lost::Bad(_))), "{path}: {:?}", at("POST", path));
        }
    }

    #[test]
    fn a_trailing_slash_is_taken_in_three_places_only() {
        for path in [
            "/healthz/",
            "/.well-known/agent-card.json/",
            "/agents/echo/.well-known/agent-card.json/",
            "/tasks/",
            "/tasks/t/",
            "/message:send/",
            "/echo/",
            "/echo/tasks/",
        ] {
            assert_eq!(at("GET", path), Err(Lost::Nothing), "{path}");
        }
    }

    #[test]
    fn a_wrong_verb_is_told_the_right_one() {
        for (method, path, wanted) in [
            ("GET", "/", "POST"),
            ("PUT", "/agents/echo", "POST"),
            ("POST", "/agents", "GET, HEAD"),
            ("POST", "/healthz", "GET, HEAD"),
            ("DELETE", "/.well-known/agent-card.json", "GET, HEAD"),
        ] {
            let Err(Lost::Verb { allow, .. }) = at(method, path) else { panic!("{method} {path}") };
            assert_eq!(allow, wanted, "{method} {path}");
        }
        let Err(Lost::Verb { hint, .. }) = at("GET", "/") else { panic!() };
        assert!(hint.contains("/.well-known/agent-card.json"));
    }

    #[test]
    fn grpc_is_told_apart_by_its_media_type() {
        let grpc = HeaderValue::from_static("application/grpc+proto");
        assert_eq!(route(&Method::POST, "/lf.a2a.v1.A2AService/SendMessage", Some(&grpc)), Err(Lost::Grpc));
        assert_eq!(at("POST", "/lf.a2a.v1.A2AService/SendMessage"), Err(Lost::NotGrpc));
        assert_eq!(at("GET", "/lf.a2a.v1.A2AService/SendMessage"), Err(Lost::Nothing));
    }

    #[test]
    fn what_is_not_served_is_not_there() {
        for path in ["/ops", "/metrics", "/v1", "/v1/tasks", "/nope", "/agents/echo/v1/tasks", "/agent-card"]
        {
            assert_eq!(at("GET", path), Err(Lost::Nothing), "{path}");
        }
    }
}
