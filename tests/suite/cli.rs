//! The command line as a person and a script use it: the program itself, in a home directory of its own.
#![cfg(unix)]

use std::io::Read as _;

use rustix::process::Signal;

use crate::support::home::{Home, ended, read, signal, until};

/// A home with one agent of each temper.
fn home() -> Home {
    let home = Home::new();
    home.program("slow", "#!/bin/sh\nprintf started\nexec sleep 600\n");
    home.program("bad", "#!/bin/sh\necho half\necho no such model >&2\nexit 3\n");
    home.program("nasty", "#!/bin/sh\nprintf '\\033]0;title\\007'\n");
    home.program(
        "asks",
        r#"#!/bin/sh
read -r line
echo '{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"Which one?"},{"data":{"kind":"question","id":"q1","options":[{"id":"r","kind":"allow_once","name":"Red"},{"id":"b","kind":"allow_once","name":"Blue"}]}}]}}}}'
read -r line
case $line in *'"option":"b"'*) answer=blue ;; *) answer=none ;; esac
echo '{"artifactUpdate":{"artifact":{"parts":[{"text":"'$answer'"}]}}}'
"#,
    );
    let mut text = String::new();
    for (name, runtime) in [("slow", "exec"), ("bad", "exec"), ("nasty", "exec"), ("asks", "jsonl")] {
        let workspace = home.project();
        text.push_str(&format!(
            "[agents.{name}]\nruntime = \"{runtime}\"\ncommand = [\"./{name}\"]\nworkspace = {workspace:?}\n\
             share_workspace = true\nconcurrency = 4\ngrace = \"1s\"\n"
        ));
    }
    text.push_str(&format!("[agents.echo]\nruntime = \"echo\"\nworkspace = {:?}\n", home.project()));
    home.configure(&format!("[node]\nlisten = [\"127.0.0.1:0\"]\ndefault_agent = \"echo\"\n{text}"));
    home
}

/// The one task that runs.
fn working(home: &Home) -> Option<String> {
    let list = home.run(&["task", "list", "--state", "working"]).ok();
    list.split('\t').next().filter(|id| !id.is_empty()).map(str::to_owned)
}

#[test]
fn a_pipe_gets_the_answer_and_nothing_else() {
    let home = home();
    let _node = home.serve();
    let ran = home.run(&["send", "hello", "world"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code()), ("hello world", "", Some(0)));
    assert_eq!(home.pipe(&["send"], "from\nstdin\n").ok(), "from\nstdin\n");
    assert_eq!(home.pipe(&["send", "first", "-"], "second").ok(), "firstsecond");
    assert_eq!(home.run(&["send", "--data", r#"{"a":1.50}"#]).ok(), "{\"a\":1.50}\n");
    let nasty = home.run(&["send", "-a", "nasty", "x"]).ok();
    assert!(!nasty.contains("\\x1b"), "a pipe gets bytes: {nasty:?}");
}

#[test]
fn json_is_one_object_a_line() {
    let home = home();
    let _node = home.serve();
    let lines = home.run(&["send", "--json", "hi"]).ok();
    let kinds: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).unwrap())
        .map(|object| object.keys().next().unwrap().clone())
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("task"));
    assert_eq!(kinds.last().map(String::as_str), Some("statusUpdate"));
    for args in [
        &["status", "--json"][..],
        &["task", "list", "--json"],
        &["agent", "list", "--json"],
        &["doctor", "--json"],
    ] {
        for line in home.run(args).out.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object(), "{args:?}: {line}");
        }
    }
}

#[test]
fn no_wait_prints_the_id_and_nothing_else() {
    let home = home();
    let _node = home.serve();
    let ran = home.run(&["send", "--no-wait", "-a", "slow", "go"]);
    assert_eq!(ran.err, "");
    let id = ran.ok();
    assert_eq!(id.trim().len(), 36, "{id:?}");
    until("it works", || working(&home).is_some());
    let shown = home.run(&["task", "show", id.trim()]).ok();
    assert!(shown.contains("Waiting for") && shown.contains("slow"), "{shown}");
    let ps = home.run(&["ps"]).ok();
    assert!(ps.contains(id.trim()), "{ps}");
    home.run(&["task", "cancel", id.trim()]).ok();
    home.run(&["task", "watch", id.trim()]).fails(3, "was canceled");
    home.run(&["task", "cancel", id.trim()]).fails(1, "has ended");
    home.run(&["task", "delete", id.trim()]).ok();
    home.run(&["task", "show", id.trim()]).fails(1, "not found");
}

#[test]
fn every_end_has_its_code() {
    let home = home();
    home.run(&["status"]).fails(69, "a2ad serve");
    home.run(&["health"]).fails(69, "no node");
    let _node = home.serve();
    let failed = home.run(&["send", "-a", "bad", "x"]);
    assert_eq!(failed.out, "half\n");
    failed.fails(1, "no such model");
    home.run(&["send", "-a", "slow", "--timeout", "1s", "x"]).fails(75, "a2ad task watch");
    home.run(&["send", "-a", "asks", "x"]).fails(4, "Which one?");
    home.run(&["send", "-a", "nope", "x"]).fails(2, "no agent nope");
    home.run(&["send", "--to", "box", "x"]).fails(2, "https://");
    home.run(&["send", "--to", "http://127.0.0.1:1", "x"]).fails(69, "can't be reached");
    home.run(&["send"]).fails(2, "nothing to send");
    home.run(&["sned"]).fails(2, "send");
    home.run(&["serve"]).fails(73, "pid");
}

#[test]
fn a_faulty_configuration_is_told_whole() {
    let home = home();
    home.configure("x = 1\n[limits]\nboddy = 2\n");
    let ran = home.run(&["check"]);
    ran.fails(78, "did you mean `limits.body`?");
    assert_eq!(ran.err.lines().count(), 2, "{ran:?}");
    home.run(&["serve"]).fails(78, "a2ad.toml:3:1");
}

#[test]
fn a_program_that_is_not_installed_is_found_out_before_a_start() {
    let home = home();
    home.run(&["check"]).ok();
    home.run(&["check", "--live"]).ok();
    let text = read(&home.config()).replace("./bad", "./absent");
    home.configure(&text);
    home.run(&["check"]).ok();
    home.run(&["check", "--live"]).fails(78, "agent bad");
    let doctor = home.run(&["doctor"]);
    assert_eq!(doctor.code(), Some(1), "{doctor:?}");
    assert!(doctor.out.contains("FAIL  agent bad"), "{doctor:?}");
}

#[test]
fn ctrl_c_cancels_the_task_and_ends_by_the_signal() {
    let home = home();
    let _node = home.serve();
    let mut child = home.command(&["send", "-a", "slow", "go"]).spawn().unwrap();
    let mut begun = [0; 7];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    let id = working(&home).unwrap();
    assert!(signal(&child, Signal::INT));
    let ran = ended(child);
    assert_eq!(ran.signal(), Some(2), "{ran:?}");
    let shown = home.run(&["task", "show", &id]).ok();
    assert!(shown.contains("canceled"), "{shown}");
}

#[test]
fn a_terminal_that_is_lost_lets_the_task_go_on() {
    let home = home();
    let _node = home.serve();
    for (number, name) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        let mut child = home.command(&["send", "-a", "slow", "go"]).spawn().unwrap();
        let mut begun = [0; 7];
        child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        assert!(signal(&child, number));
        let ran = ended(child);
        assert_eq!(ran.signal(), Some(name), "{ran:?}");
        let id = working(&home).expect("it goes on");
        assert!(ran.err.contains(&format!("a2ad task watch {id}")), "{ran:?}");
        home.run(&["task", "cancel", &id]).ok();
    }
}

#[test]
fn nobody_who_reads_is_no_error_and_no_cancel() {
    let home = home();
    home.program("drip", "#!/bin/sh\nwhile :; do echo drop; sleep 0.05; done\n");
    let mut text = read(&home.config());
    text.push_str(&format!(
        "[agents.drip]\nruntime = \"exec\"\ncommand = [\"./drip\"]\nworkspace = {:?}\n",
        home.project()
    ));
    home.configure(&text);
    let _node = home.serve();
    let mut child = home.command(&["send", "-a", "drip", "go"]).spawn().unwrap();
    let mut begun = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    drop(child.stdout.take());
    let ran = ended(child);
    assert_eq!(ran.signal(), Some(13), "{ran:?}");
    let id = working(&home).expect("it goes on");
    assert!(ran.err.contains(&id) && !ran.err.contains("panicked"), "{ran:?}");
    home.run(&["task", "cancel", &id]).ok();
}

#[test]
fn an_answer_may_name_an_option_of_the_question() {
    let home = home();
    let _node = home.serve();
    home.run(&["send", "-a", "asks", "x"]).fails(4, "a2ad send -t");
    let id = home.run(&["task", "list", "--state", "input-required"]).ok();
    let id = id.split('\t').next().unwrap();
    assert_eq!(home.run(&["send", "-t", id, "BLUE"]).ok(), "blue");
}

#[test]
fn a_send_lives_through_the_death_of_its_node() {
    let home = home();
    let node = home.serve();
    let mut child = home.command(&["send", "-a", "slow", "go"]).spawn().unwrap();
    let mut begun = [0; 7];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    // The address stays: a new port would be another node to whoever watches.
    let url = node.url();
    node.kill();
    let _node = home.serve_at(url.trim_start_matches("http://"));
    let ran = ended(child);
    ran.fails(1, "interrupted by restart");
    assert_eq!(ran.out, "", "what was printed is not printed again");
}

#[test]
fn another_machine_dials_with_a_token_of_its_own() {
    let home = home();
    let node = home.serve();
    let url = node.url();
    let token = home.run(&["token", "new", "laptop", "--agent", "echo"]).ok();
    let file = &*home.file("laptop.token", &token);
    assert_eq!(home.run(&["--to", &url, "--token-file", file, "send", "-a", "echo", "hi"]).ok(), "hi");
    let agent = format!("{url}/agents/echo");
    assert_eq!(home.with("A2AD_TO", &agent).with("A2AD_TOKEN", token.trim()).run(&["send", "hi"]).ok(), "hi");
    home.run(&["--to", &url, "send", "hi"]).fails(77, "--token-file");
    home.run(&["--to", &url, "--token-file", file, "send", "-a", "slow", "hi"]).fails(77, "slow");
    home.run(&["--to", &url, "--token-file", file, "status"]).fails(77, "admin");
    let lent = home.with("A2AD_TO", "https://box.example").with("A2AD_TOKEN", token.trim());
    lent.run(&["--to", &url, "send", "hi"]).fails(77, "belongs to A2AD_TO");
    home.run(&["token", "revoke", "laptop"]).ok();
    home.run(&["--to", &url, "--token-file", file, "send", "-a", "echo", "hi"]).fails(77, "not valid");
}

#[test]
fn tokens_are_made_without_a_node_and_count_once_it_runs() {
    let home = home();
    let token = home.run(&["token", "new", "desk"]).ok();
    home.run(&["token", "new", "desk"]).fails(2, "--add");
    assert!(home.run(&["token", "list"]).ok().contains("desk"));
    let file = home.file("desk.token", &token);
    let node = home.serve();
    let args = ["--to", &node.url(), "--token-file", &file, "send", "-a", "echo", "hi"];
    assert_eq!(home.run(&args).ok(), "hi");
    assert_eq!(home.pipe(&["token", "hash"], "short").code(), Some(2));
    assert_eq!(home.pipe(&["token", "hash"], &token).ok().trim().len(), 64);
}

#[test]
fn inside_a_turn_the_operators_commands_are_refused() {
    let home = home();
    let _node = home.serve();
    let seat = home.with("A2AD_RUN", "x");
    for args in [&["token", "new", "evil"][..], &["reload"], &["drain"], &["agent", "remove", "echo"]] {
        seat.run(args).fails(77, "inside a turn");
    }
}

#[test]
fn what_a_task_made_is_saved_and_nothing_is_overwritten() {
    let home = home();
    let _node = home.serve();
    home.file("note.txt", "kept");
    let id = home.run(&["send", "--no-wait", "--file", "note.txt"]).ok();
    let id = id.trim();
    home.run(&["task", "watch", id]).ok();
    assert!(home.run(&["task", "artifacts", id]).ok().contains("note.txt"));
    home.file("note.txt", "mine");
    let saved = home.run(&["task", "artifacts", id, "-o", "."]).ok();
    assert_eq!(saved.trim(), "./note-1.txt");
    assert_eq!(read(&home.project().join("note.txt")), "mine");
    assert_eq!(read(&home.project().join("note-1.txt")), "kept");
    home.run(&["task", "artifacts", id, "-o", ".", "--force"]).ok();
    assert_eq!(read(&home.project().join("note.txt")), "kept");
}

#[test]
fn an_agent_is_added_and_removed_while_the_node_runs() {
    let home = home();
    let _node = home.serve();
    home.run(&["agent", "add", "more", "--runtime", "echo", "--workspace", "."]).ok();
    assert_eq!(home.run(&["send", "-a", "more", "hi"]).ok(), "hi");
    home.run(&["agent", "add", "more", "--runtime", "echo"]).fails(2, "already");
    let removed = home.run(&["agent", "remove", "more"]).ok();
    assert!(removed.contains("removed") && removed.contains("more"), "{removed}");
    home.run(&["send", "-a", "more", "hi"]).fails(2, "no agent more");
}

#[test]
fn a_drain_waits_for_running_turns_as_long_as_it_is_told() {
    let home = home();
    let _node = home.serve();
    let id = home.run(&["send", "--no-wait", "-a", "slow", "go"]).ok();
    until("it works", || working(&home).is_some());
    home.run(&["drain", "--wait", "500ms"]).fails(75, "1 running turn");
    home.run(&["health", "--ready"]).fails(69, "503");
    home.run(&["health"]).ok();
    home.run(&["task", "cancel", id.trim()]).ok();
    home.run(&["drain", "--wait", "30s"]).ok();
    assert!(home.run(&["drain", "--off"]).ok().contains("not draining"));
    home.run(&["health", "--ready"]).ok();
}

#[test]
fn an_agent_of_0_3_is_called_like_any_other() {
    let home = home();
    let text = read(&home.config());
    home.configure(&text.replacen("[node]\n", "[node]\nprotocols = [\"0.3\"]\n", 1));
    let node = home.serve();
    let token = home.run(&["token", "new", "ann"]).ok();
    let file = home.file("token", token.trim());
    let url = node.url();
    let to = |agent: &str| format!("{url}/agents/{agent}");
    let far = |args: &[&str], agent: &str| {
        let place = to(agent);
        home.run(&[args, &["--to", &place, "--token-file", &file]].concat())
    };
    assert_eq!(far(&["send", "hello"], "echo").ok(), "hello");
    assert_eq!(
        far(&["send", "--data", "[1,2]"], "echo").ok(),
        "[1,2]\n",
        "what 0.3 has to wrap comes back bare"
    );
    far(&["send", "x"], "bad").fails(1, "no such model");
    let asked = far(&["send", "go"], "asks");
    assert_eq!(asked.code(), Some(4), "{}", asked.err);
    let id = far(&["send", "--no-wait", "go"], "slow").ok().trim().to_owned();
    assert!(far(&["task", "show", &id], "slow").ok().contains("working"));
    far(&["task", "cancel", &id], "slow").ok();
    assert!(far(&["task", "show", &id], "slow").ok().contains("canceled"));
    far(&["task", "list"], "slow").fails(69, "speaks A2A 0.3, which has no ListTasks");
    assert!(far(&["card", "--json"], "echo").ok().contains("0.3"));
    assert_eq!(home.run(&["send", "near"]).ok(), "near", "the node's own command line speaks 1.0");
}
