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
fn tasks_of_an_agent_that_was_removed_are_still_shown_listed_and_canceled() {
    let home = home();
    let node = home.serve();
    let ended = home.run(&["send", "--no-wait", "-a", "bad", "x"]).ok();
    let asks = home.run(&["send", "--no-wait", "-a", "asks", "x"]).ok();
    let waits = || home.run(&["task", "list", "-a", "asks", "--state", "input-required"]).ok();
    until("it asks", || waits().contains(asks.trim()));
    for agent in ["bad", "asks"] {
        home.run(&["agent", "remove", agent]).ok();
    }
    home.run(&["reload"]).ok();
    home.run(&["send", "-a", "bad", "x"]).fails(2, "was removed");
    assert!(home.run(&["task", "list", "-a", "bad"]).ok().contains(ended.trim()));
    home.run(&["task", "show", "-a", "bad", ended.trim()]).ok();
    home.run(&["task", "cancel", "-a", "asks", asks.trim()]).ok();
    assert!(home.run(&["task", "show", "-a", "asks", asks.trim()]).ok().contains("canceled"));
    drop(node);
    let _node = home.serve();
    assert!(home.run(&["task", "list", "-a", "bad"]).ok().contains(ended.trim()), "after a restart too");
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
fn a_test_of_an_agent_says_how_its_turn_ended_in_one_word() {
    let home = home();
    let _node = home.serve();
    for args in [&["agent", "test", "echo"][..], &["doctor", "--deep", "--agent", "echo"]] {
        let said = home.run(args).ok();
        assert!(said.contains("a turn ended completed\n"), "{args:?}: {said}");
    }
    let asked = home.run(&["agent", "test", "asks"]).ok();
    assert!(asked.contains("a turn ended input-required\n"), "one that asks back works: {asked}");
    let left = home.run(&["task", "list", "--all", "--state", "input-required"]).ok();
    assert_eq!(left, "", "and nothing waits for an answer that will not come");
    let failed = home.run(&["agent", "test", "bad"]);
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert!(
        failed.out.contains("a turn ended failed: ") && failed.out.contains("no such model"),
        "{failed:?}"
    );
}

#[test]
fn a_conversation_is_deleted_once_and_then_unknown() {
    let home = home();
    let _node = home.serve();
    home.run(&["context", "delete", "nope"]).fails(1, "context nope was not found");
    let task = home.run(&["send", "--json", "-c", "talk", "hi"]).ok();
    assert!(task.contains(r#""contextId":"talk""#), "{task}");
    assert!(home.run(&["context", "delete", "talk"]).err.contains("with 1 task"));
    home.run(&["context", "delete", "talk"]).fails(1, "not found");
}

#[test]
fn the_operators_list_says_whose_each_task_is_and_who_does_it() {
    let home = home();
    let _node = home.serve();
    let token = home.run(&["token", "new", "desk"]).ok();
    let file = home.file("desk.token", &token);
    home.run(&["--token-file", &file, "send", "of the desk"]).ok();
    home.run(&["send", "-a", "nasty", "of the operator"]).ok();
    let list = home.run(&["task", "list", "--all"]).ok();
    let mut whose: Vec<(String, String)> = list
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>())
        .map(|cells| (cells[2].clone(), cells[5].clone()))
        .collect();
    whose.sort();
    let known = |agent: &str, principal: &str| (agent.to_owned(), principal.to_owned());
    assert_eq!(whose, [known("echo", "token:desk"), known("nasty", "local")], "{list}");
    for line in home.run(&["task", "list", "--all", "--json"]).ok().lines() {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(task["id"].is_string() && task["agent"].is_string(), "{line}");
        assert!(["local", "token:desk"].contains(&task["principal"].as_str().unwrap()), "{line}");
    }
    let own = home.run(&["--token-file", &file, "task", "list"]).ok();
    assert_eq!(own.lines().count(), 1, "{own}");
    assert_eq!(own.split('\t').count(), 5, "one's own needs no owner: {own}");
}

#[test]
fn signals_without_a_meaning_do_not_end_a_node() {
    let home = home();
    let node = home.serve();
    for number in [Signal::USR1, Signal::USR2, Signal::ALARM, Signal::PIPE, Signal::HUP] {
        assert!(node.signal(number));
        assert_eq!(home.run(&["send", "still there"]).ok(), "still there", "{number:?}");
    }
}

#[test]
fn what_a_killed_node_left_confuses_nobody() {
    let home = home();
    let node = home.serve();
    let url = node.url();
    node.kill();
    let left = [home.state().join("node.json"), home.state().join("token")];
    assert!(left.iter().all(|path| path.exists()));
    home.run(&["status"]).fails(69, "no node");
    home.run(&["send", "x"]).fails(69, "a2ad serve");
    // A start that goes no further than the port takes them away all the same.
    let _taken = std::net::TcpListener::bind(url.trim_start_matches("http://")).unwrap();
    home.run(&["serve", "--listen", url.trim_start_matches("http://")]).fails(73, "is taken");
    assert!(left.iter().all(|path| !path.exists()));
}

/// The records of a log in JSON.
fn records(home: &Home) -> Vec<serde_json::Value> {
    let log = read(&home.state().join("node.log"));
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn all_of_the_log_is_changed_by_a_reload() {
    let home = home();
    let first = read(&home.config());
    let _node = home.serve();
    let log = |keys: &str| {
        home.configure(&format!("{first}[log]\nfile = \"node.log\"\n{keys}"));
        let said = home.run(&["reload"]).ok();
        assert!(!said.contains("needs a restart"), "{said}");
        said
    };
    log("level = \"debug\"\n");
    home.run(&["send", "quiet words"]).ok();
    let seen = records(&home);
    assert!(seen.iter().any(|record| record["level"] == "DEBUG" && record["client"].is_string()), "at debug");
    assert!(!read(&home.state().join("node.log")).contains("quiet words"), "text is logged at no level");
    assert!(!seen.iter().any(|record| record["target"] == "a2ad::addresses"));

    log("level = \"info\"\ncontent = true\naddresses = true\n");
    home.run(&["send", "still quiet"]).ok();
    let seen = records(&home);
    let called = |record: &&serde_json::Value| record["target"] == "a2ad::addresses";
    let call = seen.iter().find(called).expect("a call that went well, with its address");
    assert_eq!((&call["level"], &call["client"]), (&"INFO".into(), &"127.0.0.1".into()), "{call}");
    assert!(
        !read(&home.state().join("node.log")).contains("still quiet"),
        "text is never logged above debug"
    );

    assert!(log("level = \"debug\"\ncontent = true\n").contains("log.addresses"));
    home.run(&["send", "loud words"]).ok();
    let texts: Vec<String> = records(&home)
        .iter()
        .filter(|record| record["target"] == "a2ad::content")
        .map(|record| format!("{} {} {}", record["level"], record["kind"], record["text"]))
        .collect();
    assert_eq!(texts, [r#""DEBUG" "Opened" "loud words""#, r#""DEBUG" "Wrote" "loud words""#]);

    log("format = \"pretty\"\nlevel = \"debug\"\nmax_size = \"1KiB\"\nkeep = 1\n");
    for _ in 0..20 {
        home.run(&["send", "more"]).ok();
    }
    let kept = |name: &str| home.state().join(name).exists();
    assert!(kept("node.log.1") && !kept("node.log.2"));
    let line = read(&home.state().join("node.log.1"));
    assert!(line.contains("DEBUG request{id="), "{line}");

    let before = read(&home.config());
    home.configure(&before.replace("\"node.log\"", "\"/no/such/place.log\""));
    home.run(&["reload"]).fails(78, "place.log");
    home.run(&["send", "on"]).ok();
}

#[test]
fn an_agent_that_could_not_run_is_not_written() {
    let home = home();
    let _node = home.serve();
    let before = read(&home.config());
    home.run(&["agent", "add", "mine", "--", "python3", "x.py"]).fails(2, "--runtime jsonl");
    home.run(&["agent", "add", "mine"]).fails(78, "mine");
    let nowhere =
        ["agent", "add", "mine", "--runtime", "exec", "--workspace", "/no/such/place", "--", "true"];
    home.run(&nowhere).fails(78, "/no/such/place");
    assert_eq!(read(&home.config()), before, "the file is as it was");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "moves the directory away as a child could")]
fn a_configuration_that_was_put_in_place_of_the_operators_is_not_read() {
    let home = home();
    let _node = home.serve();
    let dir = home.config().parent().unwrap().to_owned();
    let aside = dir.with_extension("aside");
    let text = read(&home.config());
    std::fs::rename(&dir, &aside).unwrap();
    std::fs::create_dir(&dir).unwrap();
    home.configure(&text);
    home.run(&["reload"]).fails(78, "is another one than when the node started");
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&aside, &dir).unwrap();
    home.run(&["reload"]).ok();
}

#[test]
fn a_log_that_is_a_pipe_or_a_file_of_the_node_is_refused_and_the_node_goes_on() {
    let home = home();
    let text = read(&home.config());
    let _node = home.serve();
    let pipe = home.state().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    for (file, why) in [(pipe.to_str().unwrap(), "pipe"), ("node.db", "a file of the node itself")] {
        home.configure(&format!("{text}[log]\nfile = \"{file}\"\n"));
        home.run(&["reload"]).fails(78, why);
        assert_eq!(home.run(&["send", "on"]).ok(), "on");
    }
}

#[test]
fn text_in_the_log_is_warned_of_at_every_start() {
    let home = home();
    let text = read(&home.config());
    home.configure(&format!("{text}[log]\ncontent = true\nfile = \"node.log\"\nformat = \"json\"\n"));
    home.run(&["check"]).err.lines().find(|line| line.contains("log.content")).expect("a warning");
    let _node = home.serve();
    let warned = |record: &serde_json::Value| {
        record["level"] == "WARN"
            && record["message"].as_str().is_some_and(|text| text.contains("log.content"))
    };
    assert!(records(&home).iter().any(warned));
}

#[test]
fn doctor_of_an_agent_that_is_not_there_says_so() {
    let home = home();
    home.run(&["doctor", "--agent", "nope"]).fails(2, "no agent nope");
    let one = home.run(&["doctor", "--agent", "slow"]).ok();
    assert_eq!(one.lines().count(), 1, "{one}");
    let _node = home.serve();
    home.run(&["doctor", "--agent", "nope"]).fails(2, "no agent nope");
    let one = home.run(&["doctor", "--agent", "slow"]).ok();
    assert!(one.lines().count() == 1 && one.contains("agent slow"), "{one}");
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
