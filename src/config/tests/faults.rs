//! What is said of a configuration that is wrong; the texts are written out.
#![expect(clippy::disallowed_methods, reason = "makes the files to be read")]

use insta::assert_snapshot;

use super::{Ann, draft_of};
use crate::config::Look;

#[test]
fn every_fault_is_said_at_once_with_its_place() {
    let ann = Ann::new().file(
        r#"
[node]
listen = ["127.0.0.1"]
publicurl = "https://box.example"

[limts]
body = "8MiB"

[limits]
body = "8M"
drain_timeout = "5s"
connections = "many"
turns = 3

[store]
durability = "strickt"

[auth]
mode = "tokens"

[[auth.tokens]]
name = "Desk"
sha256 = "abc"
rle = "user"

[agents.claude]
runtime = "cluade"
titel = "x"

[agents.tests]
runtime = "exec"
env = { PORT = 80 }

[agents.me]
runtime = "echo"

[hub]
x = 1
"#,
    );
    assert_snapshot!(ann.faults(), @r##"
a2ad.toml:3:1: node.listen: `127.0.0.1` is not an address and a port; write "127.0.0.1:7878"
a2ad.toml:4:1: node.publicurl: there is no such key; did you mean `node.public_url`?
a2ad.toml:6:2: limts: there is no such table; did you mean `limits`?
a2ad.toml:10:1: limits.body: `8M` is not a size such as 64KiB or 8MiB; write `8MiB`
a2ad.toml:11:1: limits.drain_timeout: there is no such key; did you mean `node.drain_timeout`?
a2ad.toml:12:1: limits.connections: a string is not a whole number
a2ad.toml:13:1: limits.turns: there is no such key
a2ad.toml:16:1: store.durability: `strickt` is not one of strict, relaxed; did you mean `strict`?
a2ad.toml:19:1: auth.mode: there is no mode "tokens"; did you mean `token`?
a2ad.toml:22:1: auth.tokens.0.name: `Desk` is no name: use 1 to 63 of a-z, 0-9, `_` and `-`, beginning with a letter or digit
a2ad.toml:23:1: auth.tokens.0.sha256: is not the SHA-256 of a secret, 64 hexadecimal digits; make it with `a2ad token hash`
a2ad.toml:24:1: auth.tokens.0.rle: there is no such key; did you mean `auth.tokens.0.role`?
a2ad.toml:27:1: agents.claude.runtime: there is no runtime `cluade`; did you mean `claude`?
a2ad.toml:28:1: agents.claude.titel: there is no such key
a2ad.toml:30:9: agents.tests.command: is missing: exec runs a program; write command = ["./program", "argument"]
a2ad.toml:32:1: agents.tests.env: `PORT` is an integer, not a text; put it in quotes
a2ad.toml:34:9: agents.me: `me` is reserved: it is a path of the node; choose another name
a2ad.toml:37:2: hub: is reserved for a later version; remove it
"##);
}

#[test]
fn text_that_is_no_toml_is_said_line_by_line_and_the_rest_is_judged_too() {
    let ann =
        Ann::new().file("[node\nname = \"a\"\n[limits]\nbody = 8M\nline = \"16M\"\n[log]\nlevel = \"info\n");
    assert_snapshot!(ann.faults(), @r##"
a2ad.toml:1:6: unclosed table, expected `]`
a2ad.toml:4:8: string values must be quoted, expected literal string
a2ad.toml:5:1: limits.line: `16M` is not a size such as 64KiB or 8MiB; write `16MiB`
a2ad.toml:7:14: invalid basic string, expected `"`
"##);
}

#[test]
fn a_file_that_is_no_text_names_the_line() {
    let ann = Ann::new();
    std::fs::write(ann.at("home/.config/a2ad/a2ad.toml"), b"[node]\nname = \"\xff\"\n").unwrap();
    assert_snapshot!(ann.faults(), @"a2ad.toml:2:1: is not UTF-8; save the file as UTF-8");
}

#[test]
fn a_named_file_must_be_there() {
    let mut ann = Ann::new();
    ann.flags.config = Some("gone.toml".into());
    assert_snapshot!(ann.faults(), @"/home/project/gone.toml: there is no such file; make one with `a2ad init`");
}

#[test]
fn what_would_be_unsafe_to_ignore_is_refused() {
    let ann = Ann::new().file(
        r#"
[node]
listen = ["0.0.0.0:7878"]
[tls]
cert = "/c.pem"
key = "/k.pem"
[auth]
mode = ["token", "oidc"]
[metrics]
listen = "0.0.0.0:9878"
[defaults]
permissions = "all"
require_sandbox = true
sharing = "principal"
home = "private"
[agents.a]
runtime = "exec"
command = ["./a"]
user = "ann"
env_from = ["LD_PRELOAD"]
[agents.b]
runtime = "codex"
[agents.c]
runtime = "aider"
[agents.d]
runtime = "room"
[runtimes.aider]
command = ["aider"]
[peers.box]
url = "http://box"
forward_headers = ["Cookie", "Authorization"]
forward_authorization = true
"#,
    );
    assert_snapshot!(ann.faults(), @r##"
a2ad.toml:3:1: node.listen: 0.0.0.0:7878 is open to other machines, and would carry tokens and answers in clear text; listen on 127.0.0.1 behind a proxy that ends TLS, or write allow_plaintext = true (--allow-plaintext) inside a VPN
a2ad.toml:5:1: tls.cert: this version serves no TLS, and would answer in clear text; remove [tls] and let a proxy before the node end TLS (see auth.trusted_proxies)
a2ad.toml:6:1: tls.key: this version serves no TLS, and would answer in clear text; remove [tls] and let a proxy before the node end TLS (see auth.trusted_proxies)
a2ad.toml:8:1: auth.mode: "oidc" is not in this version; this version has token and none
a2ad.toml:10:1: metrics.listen: 0.0.0.0:9878 shows metrics to other machines; listen on 127.0.0.1, or write token = true beside it
a2ad.toml:12:1: agents.a.permissions: "all" lets the agent do anything this user can, for this version has no sandbox; write "ask", or accept_risk = "unconfined" beside it
a2ad.toml:13:1: defaults.require_sandbox: this version has no sandbox, so no agent could start; remove the key, and read what `a2ad doctor` says of isolation
a2ad.toml:14:1: defaults.sharing: this version gives all callers of an agent one workspace, home and memory; serve one agent for each principal, and give each its own workspace
a2ad.toml:15:1: defaults.home: this version gives agents the home directory of the node's user; run the agent in a node of its own user
a2ad.toml:19:1: agents.a.user: this version runs every agent as the node's own user; remove the key, or run a node as that user
a2ad.toml:20:1: agents.a.env_from: `LD_PRELOAD` is passed to no child; remove `LD_PRELOAD`
a2ad.toml:22:1: agents.b.runtime: `codex` is not in this version; this version runs claude, exec, jsonl, echo
a2ad.toml:24:1: agents.c.runtime: `aider` is declared in [runtimes], which is not in this version; this version runs claude, exec, jsonl, echo; exec and jsonl take any command
a2ad.toml:26:1: agents.d.runtime: `room` is reserved for a later version; this version runs claude, exec, jsonl, echo
a2ad.toml:31:1: peers.box.forward_headers: `Cookie` is not forwarded; remove it
a2ad.toml:32:1: peers.box.forward_authorization: would send credentials in clear text; use an https url
"##);
}

#[test]
fn what_has_no_effect_yet_is_a_warning_when_it_is_changed() {
    let ann = Ann::new()
        .file("[mesh]\nmax_hops = 3\n[defaults]\nmemory = \"1GiB\"\nsandbox = \"workspace\"\n[log]\ncontent = true\n[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nenv_from = [\"SSH_AUTH_SOCK\"]\n")
        .env("A2AD_LIMITS_RUNNING_TASKS", "3")
        .env("A2AD_NONSENSE", "3")
        .env("A2AD_PORT", "tcp://10.0.0.1:80")
        .env("A2AD_SERVICE_HOST", "10.0.0.1")
        .env("A2AD_TOKEN", "secret");
    assert_snapshot!(ann.warnings(), @r##"
a2ad.toml:2: mesh.max_hops: has no effect in this version
a2ad.toml:4: defaults.memory: has no effect in this version
a2ad.toml:7: log.content: message text and prompts stand in the log at debug, for whoever reads it
a2ad.toml:11: agents.a.env_from: `SSH_AUTH_SOCK` gives the agent this user's sessions beyond the node
A2AD_LIMITS_RUNNING_TASKS: there is no such variable; did you mean `A2AD_LIMITS__RUNNING_TASKS`?
A2AD_NONSENSE: there is no such variable
"##);
}

#[test]
fn a_bad_variable_is_a_fault_that_names_it() {
    let ann = Ann::new()
        .env("A2AD_LIMITS__BODY", "8M")
        .env("A2AD_LIMITS__CONNECTIONS", "many")
        .env("A2AD_AUTH__TOKENS", "[]")
        .env("A2AD_AGENTS__CLAUDE__ENV", "{\"KEY\":\"hunter2hunter2\"}");
    let faults = ann.faults();
    assert!(!faults.contains("hunter2"), "{faults}");
    assert_snapshot!(faults, @r##"
A2AD_AGENTS__CLAUDE__ENV: agents.claude.env: secrets are not read from A2AD_ variables; set env_file or env_from
A2AD_AUTH__TOKENS: auth.tokens: a list of tables is not read from the environment; set it in the file
A2AD_LIMITS__BODY: limits.body: `8M` is not a size such as 64KiB or 8MiB; write `8MiB`
A2AD_LIMITS__CONNECTIONS: limits.connections: `many` is not a whole number
"##);
}

#[test]
fn a_workspace_is_judged_by_serve_and_not_by_a_look_at_the_text() {
    let ann = Ann::new().file("[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nworkspace = \"~\"\n[agents.b]\nruntime = \"exec\"\ncommand = [\"./b\"]\nworkspace = \"/nowhere\"\n");
    assert!(ann.load(Look::File).is_ok());
    assert_snapshot!(ann.faults(), @r##"
a2ad.toml:4:1: agents.a.workspace: `/home` holds the node's state directory; set `workspace` to another directory, or give --state-dir
a2ad.toml:8:1: agents.b.workspace: `/nowhere` is not a directory that can be used as a workspace: No such file or directory (os error 2); make it, or set `workspace` to another directory
"##);
    let wide = Ann::new().file("[defaults]\nallow_wide_workspace = true\n[agents.a]\nruntime = \"exec\"\ncommand = [\"./a\"]\nworkspace = \"~\"\n");
    assert!(wide.faults().contains("state directory"), "home holds the state");
}

proptest::proptest! {
    /// Whatever stands in the file, there is an answer, and a fault has a place in it.
    #[test]
    fn no_text_makes_the_reader_fall(text in "(\\[{0,2}(node|auth|auth\\.tokens|agents\\.a|defaults)\\]{0,2}\n|[a-z_]{1,8} ?= ?[\"\\[{0-9a-zµ.,}\\]]{0,6}\n|[\\PC\n]{0,12}){0,8}") {
        let draft = draft_of(&text);
        let lines = text.lines().count() + 1;
        for fault in &draft.faults {
            assert!((1..=lines).contains(&fault.line()), "{fault}");
        }
    }
}
