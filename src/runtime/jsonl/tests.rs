//! The rules of the `jsonl` contract, each against a shell script that plays the program.
#![cfg(unix)]

use std::time::Duration;

use super::super::config::{Agent, Replies, RuntimeKind};
use super::super::testing::{Shell, all, failure, job, next, outcome, text};
use super::super::{Job, Reason, Run, kinds};
use crate::model::{Message, Outcome, Progress, TaskState};

/// What every script can use: `status STATE`, `say TEXT` as an artifact, and `hear`, which reads a line.
const WORDS: &str = r#"
status() { printf '{"statusUpdate":{"status":{"state":"TASK_STATE_%s"}}}\n' "$1"; }
say() { printf '{"artifactUpdate":{"append":true,"artifact":{"parts":[{"text":"%s"}]}}}\n' "$1"; }
hear() { IFS= read -r line || exit 0; }
here=$(dirname "$0")
"#;

fn shell(script: &str) -> Shell {
    Shell::new(&format!("{WORDS}{script}"))
}

fn start(shell: &Shell, change: impl FnOnce(&mut Agent)) -> Run {
    shell.start(RuntimeKind::Jsonl, change, job(Message::user("hello")))
}

fn short(agent: &mut Agent) {
    agent.grace = Duration::from_millis(200);
}

fn is_completed(step: Option<&Progress>) -> bool {
    matches!(step, Some(Progress::Done(Outcome::Completed { .. })))
}

fn is_ask(step: &Progress) -> bool {
    matches!(step, Progress::Ask { .. })
}

#[tokio::test]
async fn j_01_lines_may_end_in_crlf_and_stderr_is_free_text() {
    let shell = shell(r#"hear; echo noise >&2; printf '{"session":"s"}\r\n'; status COMPLETED"#);
    let steps = all(&mut start(&shell, |_| {})).await;
    assert_eq!(steps[0], Progress::Session("s".into()));
    assert!(is_completed(steps.last()), "{steps:?}");
}

#[tokio::test]
async fn j_02_lines_that_mean_nothing_are_skipped() {
    let shell = shell(r#"hear; echo hello; echo '{"x":1}'; echo '[1]'; echo; say kept; status COMPLETED"#);
    let steps = all(&mut start(&shell, |_| {})).await;
    assert_eq!((steps.len(), text(&steps).as_str()), (2, "kept"));
}

#[tokio::test]
async fn j_03_an_invalid_member_fails_the_turn_with_line_path_and_reason() {
    let shell = shell("hear; say one; status NONSENSE; sleep 600");
    let (why, metadata) = failure(&outcome(&mut start(&shell, short)).await);
    assert!(why.starts_with("Protocol: line 2: statusUpdate.status.state: "), "{why}");
    assert!(metadata.contains("INVALID_AGENT_RESPONSE"), "{metadata}");
}

#[tokio::test]
async fn j_03_a_line_over_the_limit_fails_the_turn() {
    let shell = shell("hear; head -c 5000 /dev/zero | tr '\\0' x; echo; sleep 600");
    let limit = |agent: &mut Agent| {
        short(agent);
        agent.limits.line = Some(4096);
    };
    let (why, metadata) = failure(&outcome(&mut start(&shell, limit)).await);
    assert!(why.contains("line 1: $: 5000 bytes are over the limit of 4096"), "{why}");
    assert!(metadata.contains("INVALID_AGENT_RESPONSE"), "{metadata}");
}

#[tokio::test]
async fn j_04_a_message_after_other_lines_fails_the_turn() {
    let shell = shell(r#"hear; say one; echo '{"message":{"parts":[{"text":"late"}]}}'; sleep 600"#);
    let (why, metadata) = failure(&outcome(&mut start(&shell, short)).await);
    assert!(why.starts_with("Protocol: line 2: message: "), "{why}");
    assert!(metadata.contains("INVALID_AGENT_RESPONSE"), "{metadata}");
}

#[tokio::test]
async fn j_11_the_newest_session_goes_with_later_lines() {
    let shell = shell(
        r#"hear; echo '{"session":"one"}'; echo '{"session":"two"}'; status INPUT_REQUIRED
        hear; printf '%s' "$line" >"$here/second"; status COMPLETED"#,
    );
    let mut run = start(&shell, |_| {});
    assert_eq!(next(&mut run).await, Progress::Session("one".into()));
    assert_eq!(next(&mut run).await, Progress::Session("two".into()));
    assert!(is_ask(&next(&mut run).await));
    run.answers.send(Message::user("more")).unwrap();
    assert!(is_completed(all(&mut run).await.last()));
    let second: serde_json::Value = serde_json::from_str(&shell.read("second")).unwrap();
    assert_eq!((&second["session"], &second["history"]), (&"two".into(), &serde_json::json!([])));
    assert_eq!(second["state"], "TASK_STATE_INPUT_REQUIRED");
}

#[tokio::test]
async fn j_13_everything_after_a_terminal_state_is_dropped() {
    let shell = shell("hear; say one; status COMPLETED; say two; status FAILED; status NONSENSE; exit 3");
    let steps = all(&mut start(&shell, |_| {})).await;
    assert_eq!((steps.len(), text(&steps).as_str()), (2, "one"));
    assert!(is_completed(steps.last()), "{steps:?}");
}

#[tokio::test]
async fn j_14_a_message_first_completes_with_it() {
    let shell = shell(r#"hear; echo '{"message":{"parts":[{"text":"all"}]}}'; hear"#);
    match outcome(&mut start(&shell, |_| {})).await {
        Outcome::Completed { message: Some(message), .. } => assert_eq!(message.text(), "all"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn j_16_a_message_first_is_the_whole_answer_where_the_agent_replies_so() {
    let shell = shell(r#"hear; echo '{"session":"s"}'; echo '{"message":{"parts":[{"text":"all"}]}}'; hear"#);
    let steps = all(&mut start(&shell, |agent| agent.replies = Replies::Message)).await;
    assert!(
        matches!(&steps[..], [Progress::Session(_), Progress::Reply(all), Progress::Done(_)] if all.text() == "all")
    );
}

#[tokio::test]
async fn j_17_without_a_terminal_state_the_exit_decides_after_all_of_stdout() {
    let steps = {
        let shell = shell("hear; say one; exit 0");
        all(&mut start(&shell, |_| {})).await
    };
    assert!(is_completed(steps.last()) && text(&steps) == "one", "{steps:?}");
    let shell = shell("hear; say one; echo because >&2; exit 3");
    let mut run = start(&shell, |_| {});
    assert!(matches!(next(&mut run).await, Progress::Artifact { .. }));
    let (why, metadata) = failure(&outcome(&mut run).await);
    assert!(why.contains("exit status 3") && why.ends_with("because"), "{why}");
    assert_eq!(metadata, r#"{"a2ad/failure":{"exitCode":3}}"#);
}

#[tokio::test]
async fn j_17_stdout_closed_while_the_process_lives_is_a_failure_after_the_grace() {
    let shell = shell("hear; exec >&-; sleep 600");
    let (why, _) = failure(&outcome(&mut start(&shell, short)).await);
    assert!(why.starts_with("Exit:") && why.contains("closed its stdout"), "{why}");
}

#[tokio::test]
async fn j_18_the_exit_of_a_suspended_program_leaves_the_task_as_it_is() {
    for exit in ["exit 0", "exit 3", "kill -9 $$"] {
        let shell = shell(&format!("hear; status INPUT_REQUIRED; {exit}"));
        let steps = all(&mut start(&shell, |_| {})).await;
        assert!(steps.len() == 1 && is_ask(&steps[0]), "{exit}: {steps:?}");
    }
}

#[tokio::test]
async fn j_18_a_program_that_cannot_start_fails_with_reason_and_hint() {
    let shell = shell("");
    let mut run = start(&shell, |agent| agent.command = vec!["no-such-program-anywhere".into()]);
    let (why, _) = failure(&outcome(&mut run).await);
    assert!(
        why.starts_with("Start:") && why.contains("was not found") && why.contains("a2ad doctor"),
        "{why}"
    );
}

#[tokio::test]
async fn j_19_stdin_is_closed_once_the_task_is_terminal() {
    let shell = shell(r#"hear; status COMPLETED; cat >/dev/null; echo end >"$here/end""#);
    let job = job(Message::user(""));
    let tracker = job.tracker.clone();
    let mut run = shell.start(RuntimeKind::Jsonl, |_| {}, job);
    assert!(is_completed(all(&mut run).await.last()));
    tracker.close();
    tracker.wait().await;
    assert_eq!(shell.read("end"), "end\n");
}

#[tokio::test]
async fn j_19_who_does_not_leave_after_the_end_is_ended_and_the_success_stands() {
    let shell =
        shell(r#"trap '' TERM; echo $$ >"$here/pid"; hear; status COMPLETED; while :; do sleep 1; done"#);
    let job = job(Message::user(""));
    let tracker = job.tracker.clone();
    let mut run = shell.start(RuntimeKind::Jsonl, short, job);
    assert!(is_completed(all(&mut run).await.last()));
    tracker.close();
    tracker.wait().await;
    assert!(!std::path::Path::new(&format!("/proc/{}", shell.read("pid").trim())).exists());
}

#[tokio::test]
async fn j_21_a_message_to_a_running_turn_is_written_at_once() {
    let shell = shell(r#"hear; say ready; hear; printf '%s' "$line" >"$here/second"; status COMPLETED"#);
    let mut run = start(&shell, |_| {});
    next(&mut run).await;
    run.answers.send(Message::user("steer")).unwrap();
    assert!(is_completed(all(&mut run).await.last()));
    let second: serde_json::Value = serde_json::from_str(&shell.read("second")).unwrap();
    assert_eq!(
        (&second["state"], &second["history"]),
        (&"TASK_STATE_WORKING".into(), &serde_json::json!([]))
    );
}

#[tokio::test]
async fn j_21_a_message_that_the_program_could_not_have_read_starts_the_next_turn() {
    // The program reads nothing more until it has completed, and the pipe is full by then.
    let shell = shell(
        r#"hear; say first; while [ ! -e "$here/go" ]; do sleep 0.02; done; status COMPLETED
        hear; hear; hear; say second; status COMPLETED"#,
    );
    let mut run = start(&shell, |_| {});
    next(&mut run).await;
    for _ in 0..3 {
        run.answers.send(Message::user("x".repeat(60_000))).unwrap();
    }
    // All three are taken, the last one is still on its way.
    while run.answers.taken() < 3 {
        tokio::task::yield_now().await;
    }
    tokio::fs::create_dir(shell.path().join("go")).await.unwrap();
    let steps = all(&mut run).await;
    assert_eq!(steps[0], Progress::Working(None));
    assert_eq!(text(&steps), "second");
    assert!(is_completed(steps.last()), "{steps:?}");
}

#[tokio::test]
async fn j_22_a_suspended_program_may_go_on_by_itself() {
    let shell = shell("hear; status INPUT_REQUIRED; status WORKING; say done; status COMPLETED");
    let steps = all(&mut start(&shell, |_| {})).await;
    assert!(
        matches!(&steps[..], [ask, Progress::Working(None), Progress::Artifact { .. }, Progress::Done(_)] if is_ask(ask))
    );
}

#[tokio::test]
async fn j_23_silence_is_canceled_with_the_reason_timeout_and_then_failed() {
    let shell = shell(r#"hear; hear; printf '%s' "$line" >"$here/cancel"; status CANCELED"#);
    let mut run = start(&shell, |agent| agent.idle_timeout = Some(Duration::from_millis(50)));
    assert!(failure(&outcome(&mut run).await).0.starts_with("Timeout:"));
    assert!(shell.read("cancel").contains(r#""reason":"timeout""#), "{}", shell.read("cancel"));
}

#[tokio::test]
async fn j_20_a_suspended_program_is_ended_by_idle_timeout_and_the_task_stays() {
    let shell = shell("hear; status INPUT_REQUIRED; hear; status FAILED");
    let steps = all(&mut start(&shell, |agent| agent.idle_timeout = Some(Duration::from_millis(1500)))).await;
    assert!(steps.len() == 1 && is_ask(&steps[0]), "{steps:?}");
}

/// Starts a turn, waits until it has said something, and asks it to stop.
async fn stopped(script: &str, change: impl FnOnce(&mut Agent)) -> (Shell, Vec<Progress>) {
    let shell = shell(script);
    let job = job(Message::user("hello"));
    let stop = job.stop.clone();
    let mut run = shell.start(RuntimeKind::Jsonl, change, job);
    next(&mut run).await;
    stop.ask(Reason::Caller);
    let steps = all(&mut run).await;
    (shell, steps)
}

#[tokio::test]
async fn j_24_a_terminal_state_or_an_exit_acknowledges_a_cancel() {
    for end in ["status CANCELED", "exit 0", "exit 3", "status INPUT_REQUIRED; exit 0"] {
        let script = format!(r#"hear; say one; hear; printf '%s' "$line" >"$here/cancel"; {end}"#);
        let (shell, steps) = stopped(&script, |_| {}).await;
        assert_eq!(steps, [Progress::Done(Outcome::Canceled)], "{end}");
        assert!(shell.read("cancel").contains(r#""reason":"caller""#));
    }
}

#[tokio::test]
async fn j_24_a_terminal_state_that_was_printed_first_stands() {
    let (_, steps) = stopped("hear; say one; hear; status COMPLETED", |_| {}).await;
    assert!(is_completed(steps.last()), "{steps:?}");
}

#[tokio::test]
async fn j_25_who_does_not_obey_is_ended_with_the_whole_tree_before_canceled_is_said() {
    let script = r#"trap '' TERM; hear; sh -c 'trap "" TERM; echo $$ >"$0"; while :; do sleep 1; done' "$here/pid" &
        while [ ! -s "$here/pid" ]; do sleep 0.02; done; say one; while :; do sleep 1; done"#;
    let (shell, steps) = stopped(script, short).await;
    assert_eq!(steps, [Progress::Done(Outcome::Canceled)]);
    let pid = shell.read("pid");
    assert!(
        !pid.is_empty() && !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(),
        "{pid} lives"
    );
}

#[tokio::test]
async fn j_29_a_program_that_does_not_read_its_input_fails() {
    let shell = shell("hear; say ready; sleep 600");
    let limit = |agent: &mut Agent| {
        short(agent);
        agent.limits.line = Some(1024);
    };
    let mut run = start(&shell, limit);
    next(&mut run).await;
    for _ in 0..3 {
        let _ = run.answers.send(Message::user("x".repeat(700_000)));
    }
    let (why, _) = failure(&outcome(&mut run).await);
    assert!(why.contains("does not read its input"), "{why}");
}

#[tokio::test]
async fn j_29_a_program_that_floods_is_slowed_and_loses_nothing() {
    let shell = shell("hear; i=0; while [ $i -lt 2000 ]; do say x; i=$((i+1)); done; status COMPLETED");
    let steps = all(&mut start(&shell, |_| {})).await;
    assert_eq!((text(&steps).len(), steps.len()), (2000, 2001));
}

#[tokio::test]
async fn j_30_the_program_runs_in_the_workspace_and_knows_its_task() {
    let shell = shell(
        r#"hear; say "$(basename "$PWD") $A2AD_TASK_ID $A2AD_CONTEXT_ID $A2AD_AGENT $A2AD_NODE_URL"; exit"#,
    );
    let steps = all(&mut start(&shell, |_| {})).await;
    assert_eq!(text(&steps), "work task-1 context-1 test http://127.0.0.1:1");
}

/// For `keep_alive`: `task` is the id of the line that was heard, and each word takes an id first.
const MANY: &str = r#"
tell() { printf '{"taskId":"%s","statusUpdate":{"status":{"state":"TASK_STATE_%s"}}}\n' "$1" "$2"; }
write() { printf '{"taskId":"%s","artifactUpdate":{"append":true,"artifact":{"parts":[{"text":"%s"}]}}}\n' "$1" "$2"; }
next() { hear; task=${line##*'"taskId":"'}; task=${task%%'"'*}; }
echo start >>"$here/starts"
"#;

/// One agent that many jobs share.
struct Many {
    shell: Shell,
    runtime: std::sync::Arc<dyn super::super::Runtime>,
    tracker: tokio_util::task::TaskTracker,
}

impl Many {
    fn new(script: &str, change: impl FnOnce(&mut Agent)) -> Self {
        let shell = shell(&format!("{MANY}{script}"));
        let mut agent = shell.agent(RuntimeKind::Jsonl);
        agent.keep_alive = true;
        change(&mut agent);
        let runtime = kinds::build(&agent, &shell.custody()).unwrap();
        Self { shell, runtime, tracker: tokio_util::task::TaskTracker::new() }
    }

    fn job(&self, task: &str) -> Job {
        let mut job = job(Message::user("hello"));
        job.task = task.into();
        job.tracker = self.tracker.clone();
        job
    }

    fn start(&self, task: &str) -> Run {
        self.runtime.start(self.job(task))
    }

    fn starts(&self) -> usize {
        self.shell.read("starts").lines().count()
    }
}

#[tokio::test]
async fn j_26_one_process_serves_many_tasks_with_their_lines_interleaved() {
    let many = Many::new(
        "next; a=$task; write $a 1; next; b=$task; write $b 2; write $a 3; tell $b COMPLETED; write $a 4; tell $a COMPLETED; cat",
        |_| {},
    );
    let mut a = many.start("a");
    assert!(matches!(next(&mut a).await, Progress::Artifact { .. }));
    let mut b = many.start("b");
    let (a, b) = (all(&mut a).await, all(&mut b).await);
    assert!(is_completed(a.last()) && is_completed(b.last()));
    assert_eq!((text(&a).as_str(), text(&b).as_str(), many.starts()), ("34", "2", 1));
}

#[tokio::test]
async fn j_26_when_the_process_ends_running_turns_fail_and_suspended_ones_stay() {
    let many = Many::new("next; tell $task INPUT_REQUIRED; next; write $task 1; exit 0", |_| {});
    let mut a = many.start("a");
    assert!(is_ask(&next(&mut a).await));
    let mut b = many.start("b");
    assert!(failure(&outcome(&mut b).await).0.starts_with("Exit:"));
    assert_eq!(all(&mut a).await, []);
    let mut c = many.start("c");
    assert!(is_ask(&next(&mut c).await), "a fresh process serves the next task");
    assert_eq!(many.starts(), 2);
}

#[tokio::test]
async fn j_08_with_keep_alive_a_line_without_a_known_task_is_skipped() {
    let many =
        Many::new("next; say lost; write nobody lost; write $task kept; tell $task COMPLETED; cat", |_| {});
    let steps = all(&mut many.start("a")).await;
    assert_eq!(text(&steps), "kept");
}

#[tokio::test]
async fn j_27_a_process_without_a_turn_is_ended() {
    let many = Many::new(r#"next; tell $task COMPLETED; cat; echo end >"$here/end""#, |agent| {
        agent.idle_timeout = Some(Duration::from_millis(1500));
    });
    assert!(is_completed(all(&mut many.start("a")).await.last()));
    many.tracker.close();
    many.tracker.wait().await;
    assert_eq!(many.shell.read("end"), "end\n");
}

#[tokio::test]
async fn j_27_a_stop_of_the_node_ends_a_process_that_rests() {
    let many = Many::new("next; tell $task COMPLETED; cat", |_| {});
    assert!(is_completed(all(&mut many.start("a")).await.last()));
    many.tracker.close();
    tokio::time::timeout(super::super::testing::LONG, many.tracker.wait()).await.expect("an end");
}

#[tokio::test]
async fn j_28_a_turn_that_does_not_obey_condemns_its_process_and_others_finish() {
    let many = Many::new(
        r#"next; a=$task; write $a 1; next; b=$task; write $b 1; next; while [ ! -e "$here/go" ]; do sleep 0.02; done
        write $a late; tell $b COMPLETED; sleep 600"#,
        short,
    );
    let job = many.job("a");
    let stop = job.stop.clone();
    let mut a = many.runtime.start(job);
    next(&mut a).await;
    let mut b = many.start("b");
    next(&mut b).await;
    stop.ask(Reason::Caller);
    assert_eq!(all(&mut a).await, [Progress::Done(Outcome::Canceled)]);
    // A fresh process takes new turns while the old one finishes.
    let mut c = many.start("c");
    next(&mut c).await;
    assert_eq!(many.starts(), 2);
    tokio::fs::create_dir(many.shell.path().join("go")).await.unwrap();
    assert!(is_completed(all(&mut b).await.last()));
    drop((c, many.runtime));
    many.tracker.close();
    tokio::time::timeout(super::super::testing::LONG, many.tracker.wait()).await.expect("both processes end");
}

#[tokio::test]
async fn j_20_with_keep_alive_a_follow_up_reaches_the_process_that_asked() {
    let many = Many::new(
        "next; tell $task INPUT_REQUIRED; next; write $task thanks; tell $task COMPLETED; cat",
        |_| {},
    );
    let mut run = many.start("a");
    assert!(is_ask(&next(&mut run).await));
    run.answers.send(Message::user("yes")).unwrap();
    assert_eq!((text(&all(&mut run).await).as_str(), many.starts()), ("thanks", 1));
}

#[tokio::test]
async fn j_30_a_kept_process_knows_its_agent_but_no_task() {
    let many = Many::new(
        r#"next; write $task "[$A2AD_TASK_ID$A2AD_CONTEXT_ID] $A2AD_AGENT"; tell $task COMPLETED; cat"#,
        |_| {},
    );
    assert_eq!(text(&all(&mut many.start("a")).await), "[] test");
}

#[tokio::test]
async fn a_resumed_job_says_the_state_before_its_message() {
    let shell = shell(r#"hear; printf '%s' "$line" >"$here/line"; status COMPLETED"#);
    let mut job = job(Message::user("again"));
    job.prompt.resumed = true;
    job.prompt.state = TaskState::AuthRequired;
    assert!(is_completed(all(&mut shell.start(RuntimeKind::Jsonl, |_| {}, job)).await.last()));
    let line: serde_json::Value = serde_json::from_str(&shell.read("line")).unwrap();
    assert_eq!((&line["resumed"], &line["state"]), (&true.into(), &"TASK_STATE_AUTH_REQUIRED".into()));
}
