//! Path to door (P-11). Segments are split on `/`, then percent-decoded once; nothing is redirected, nothing collapsed.

use std::borrow::Cow;

use http::{HeaderValue, Method};

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Whether the process lives.
    Alive,
    /// Whether it takes work.
    Ready,
    /// A card: of an agent by name, else of the default one.
    Card(Option<String>),
    /// The public list of agents.
    Agents,
    /// JSON-RPC: to an agent by name, else as `params.tenant` says, else to the default one.
    Rpc(Option<String>),
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
    let segments = segments(path)?;
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    match segments[..] {
        [".well-known", "agent-card.json"] => get(method, Route::Card(None)),
        ["healthz"] => get(method, Route::Alive),
        ["readyz"] => get(method, Route::Ready),
        ["ops", ref rest @ ..] if !rest.is_empty() => {
            Ok(Route::Ops(rest.iter().map(|&segment| segment.to_owned()).collect()))
        }
        ["agents"] | ["agents", ""] => get(method, Route::Agents),
        ["agents", name, ref rest @ ..] => of_agent(method, name, rest),
        [service, _] if method == Method::POST && SERVICES.contains(&service) => Err(Lost::NotGrpc),
        _ => Err(Lost::Nothing),
    }
}

/// What comes below `/agents/{name}`.
fn of_agent(method: &Method, name: &str, rest: &[&str]) -> Result<Route, Lost> {
    match rest {
        [] | [""] => rpc(method, Some(name)),
        [".well-known", "agent-card.json"] => get(method, Route::Card(Some(name.to_owned()))),
        _ => Err(Lost::Nothing),
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
        let agent = if let Route::Card(agent) = route { agent } else { None };
        Err(Lost::Verb { allow: "GET, HEAD", hint: "use GET", agent })
    }
}

/// The segments of a path, decoded.
fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, Lost> {
    let path = path.strip_prefix('/').ok_or(Lost::Bad("the path does not begin with `/`"))?;
    let mut segments = Vec::with_capacity(4);
    for (place, raw) in path.split('/').enumerate() {
        let segment = decoded(raw)?;
        if segment == "." || segment == ".." {
            return Err(Lost::Bad("the path holds `.` or `..`"));
        }
        // An empty segment before another one: `//`.
        if segments.last().is_some_and(|last: &Cow<'_, str>| last.is_empty())
            || (place == 0 && raw.is_empty())
        {
            return Err(Lost::Bad("the path holds `//`"));
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// A segment with its percent signs resolved, once.
fn decoded(raw: &str) -> Result<Cow<'_, str>, Lost> {
    if !raw.contains('%') {
        return Ok(Cow::Borrowed(raw));
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(Lost::Bad("a `%` of the path is not followed by two hexadecimal digits"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Lost::Bad("the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for path in
            ["/healthz/", "/.well-known/agent-card.json/", "/agents/echo/.well-known/agent-card.json/"]
        {
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
        for path in ["/ops", "/metrics", "/tasks", "/v1/card", "/nope", "/agents/echo/tasks"] {
            assert_eq!(at("GET", path), Err(Lost::Nothing), "{path}");
        }
    }
}
