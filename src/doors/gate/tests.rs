use http::{Request, StatusCode};

use super::*;
use crate::doors::config::Listen;

fn config() -> Config {
    Config {
        listen: vec![Listen::Tcp { addr: "127.0.0.1:0".parse().unwrap(), optional: false }],
        allow_plaintext: false,
        auth: Auth::Token,
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        allowed_hosts: vec!["build-box".into(), "box.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        public_url: None,
        body: Some(1 << 20),
        request_timeout: None,
        stream_idle: None,
        connections: None,
        connections_per_address: None,
        requests_per_minute: None,
        streams_per_principal: None,
    }
}

fn text_of(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Plain { message, .. } => message.clone(),
        Refusal::Fault(fault) => fault.to_string(),
    }
}

fn from(ip: &str) -> Peer {
    Peer::Tcp { remote: (ip.parse::<IpAddr>().unwrap(), 5000).into(), local: ([127, 0, 0, 1], 7878).into() }
}

fn request(headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::get("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn check(peer: Peer, headers: &[(&str, &str)]) -> Result<Target, Refusal> {
    let (parts, config) = (request(headers), config());
    host(&parts, peer, Source::of(peer, &parts.headers, &config), &config)
}

#[test]
fn ip_literals_localhost_and_the_nodes_own_names_are_hosts_of_ours() {
    for host in [
        "127.0.0.1",
        "127.0.0.1:7878",
        "10.42.0.7:7878",
        "[::1]:7878",
        "[2001:db8::1]",
        "localhost",
        "localhost:80",
        "LOCALHOST:80",
        "app.localhost:1",
        "localhost.",
        "build-box:7878",
        "Box.Example",
    ] {
        assert!(check(from("127.0.0.1"), &[("host", host)]).is_ok(), "{host}");
    }
}

#[test]
fn ur_61_a_name_that_was_made_to_point_here_is_refused_with_the_key_to_set() {
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:7878",
        "box.example.evil",
        "xlocalhost",
    ] {
        let refusal = check(from("127.0.0.1"), &[("host", host)]).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::MISDIRECTED_REQUEST, "{host}");
        assert!(text_of(&refusal).contains("allowed_hosts"), "{}", text_of(&refusal));
    }
}

#[test]
fn there_is_exactly_one_host() {
    for headers in [&[][..], &[("host", "localhost"), ("host", "127.0.0.1")]] {
        assert_eq!(check(from("127.0.0.1"), headers).unwrap_err().status(), StatusCode::BAD_REQUEST);
    }
    for host in ["", "user@localhost", "localhost:x", "[::1", "[::1]x"] {
        assert!(check(from("127.0.0.1"), &[("host", host)]).is_err(), "{host}");
    }
}

#[test]
fn unix_sockets_need_no_host() {
    assert_eq!(check(Peer::Unix, &[]).unwrap().host, None);
    assert_eq!(check(Peer::Unix, &[("host", "evil.example")]).unwrap().host, None);
}

#[test]
fn ur_52_only_a_trusted_proxy_says_what_the_caller_dialled() {
    let said = [("host", "127.0.0.1"), ("x-forwarded-host", "box.example"), ("x-forwarded-proto", "https")];
    let target = check(from("10.0.0.1"), &said).unwrap();
    assert_eq!((target.scheme, target.host.as_deref()), ("https", Some("box.example")));
    let target = check(from("203.0.113.1"), &said).unwrap();
    assert_eq!((target.scheme, target.host.as_deref()), ("http", Some("127.0.0.1")));
    let evil = [("host", "127.0.0.1"), ("x-forwarded-host", "evil.example")];
    assert_eq!(check(from("10.0.0.1"), &evil).unwrap_err().status(), StatusCode::MISDIRECTED_REQUEST);
}

#[test]
fn what_was_passed_on_is_not_local() {
    let config = config();
    let source = |peer, headers: &[(&str, &str)]| Source::of(peer, &request(headers).headers, &config);
    assert!(source(from("127.0.0.1"), &[]).is_local());
    assert!(source(from("::1"), &[]).is_local());
    assert!(source(from("::ffff:127.0.0.1"), &[]).is_local());
    assert!(source(Peer::Unix, &[]).is_local());
    assert!(!source(from("10.0.0.1"), &[]).is_local());
    for name in ["forwarded", "via", "x-forwarded-for", "x-forwarded-anything"] {
        assert!(!source(from("127.0.0.1"), &[(name, "1.2.3.4")]).is_local(), "{name}");
        assert!(!source(Peer::Unix, &[(name, "1.2.3.4")]).is_local(), "{name}");
    }
}

#[test]
fn a_proxys_caller_is_the_last_address_that_is_no_proxy() {
    let config = config();
    let client =
        |peer, value: &str| Source::of(peer, &request(&[("x-forwarded-for", value)]).headers, &config).client;
    let ip = |text: &str| Some(text.parse().unwrap());
    assert_eq!(client(from("10.0.0.1"), "198.51.100.9, 203.0.113.5, 10.0.0.7"), ip("203.0.113.5"));
    assert_eq!(client(from("10.0.0.1"), "nonsense"), ip("10.0.0.1"));
    assert_eq!(client(from("198.51.100.1"), "203.0.113.5"), ip("198.51.100.1"), "not trusted");
}

#[test]
fn ur_61_a_web_page_calls_only_if_it_was_named() {
    let config = config();
    assert!(origin(&request(&[]).headers, &config).is_ok());
    assert!(origin(&request(&[("origin", "https://app.example")]).headers, &config).is_ok());
    for page in ["https://evil.example", "null", "http://localhost:3000", "https://app.example.evil"] {
        let refusal = origin(&request(&[("origin", page)]).headers, &config).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::FORBIDDEN, "{page}");
        assert!(text_of(&refusal).contains("allowed_origins"));
    }
}

#[test]
fn an_open_node_takes_nothing_that_came_through_something() {
    let open = Config { auth: Auth::None, ..config() };
    assert!(open_node(&request(&[("host", "localhost")]).headers, &open).is_ok());
    for name in ["forwarded", "x-forwarded-for", "via", "tailscale-user-login", "cf-ray", "origin"] {
        let headers = request(&[(name, "https://app.example")]).headers;
        let refusal = open_node(&headers, &open).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::FORBIDDEN, "{name}");
        assert!(text_of(&refusal).contains("mode = \"token\""), "{}", text_of(&refusal));
        assert!(open_node(&headers, &config()).is_ok(), "only where nobody is asked");
    }
}
