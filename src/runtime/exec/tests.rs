//! `exec` against shell scripts.
#![cfg(unix)]

use std::time::Duration;

use super::super::config::{Agent, RuntimeKind};
use super::super::testing::{self, Shell, all, failure, job, outcome, text};
use super::super::{Reason, Run};
use super::*;

fn start(shell: &Shell, prompt: &str, change: impl FnOnce(&mut Agent)) -> Run {
    shell.start(RuntimeKind::Exec, change, job(Message::user(prompt)))
}

#[tokio::test]
async fn the_prompt_goes_in_and_stdout_is_the_answer() {
    let shell = Shell::new("printf 'got: '; cat");
    let steps = all(&mut start(&shell, "hello", |_| {})).await;
    assert_eq!(text(&steps), "got: hello");
    assert!(matches!(steps.last(), Some(Progress::Done(Outcome::Completed { .. }))), "{steps:?}");
    assert!(steps.iter().any(|step| matches!(step, Progress::Artifact { last: true, .. })));
}

#[tokio::test]
async fn ur_23_a_prompt_of_a_megabyte_goes_over_stdin() {
    let prompt = "x".repeat(1024 * 1024);
    let steps = all(&mut start(&Shell::new("wc -c"), &prompt, |_| {})).await;
    assert_eq!(text(&steps).trim(), "1048576");
}

#[tokio::test]
async fn a_prompt_file_is_the_last_argument_and_private() {
    let shell = Shell::new(r#"stat -c %a "$2"; printf '%s ' "$1"; cat "$2""#);
    let steps = all(&mut start(&shell, "in a file", |agent| {
        agent.prompt = PromptMode::File;
        agent.command.push("--first".into());
    }))
    .await;
    assert_eq!(text(&steps), "600\n--first in a file");
}

#[tokio::test]
async fn ur_01_without_a_prompt_stdin_ends_at_once() {
    let steps =
        all(&mut start(&Shell::new("cat; echo end"), "unused", |agent| agent.prompt = PromptMode::None))
            .await;
    assert_eq!(text(&steps), "end\n");
}

#[tokio::test]
async fn a_program_that_does_not_read_its_prompt_still_answers() {
    let prompt = "x".repeat(1024 * 1024);
    let steps = all(&mut start(&Shell::new("echo unread"), &prompt, |_| {})).await;
    assert_eq!(text(&steps), "unread\n");
    assert!(matches!(steps.last(), Some(Progress::Done(Outcome::Completed { .. }))), "{steps:?}");
}

#[tokio::test]
async fn the_exit_status_decides_and_a_failure_shows_the_end_of_stderr() {
    let shell = Shell::new("echo part; echo token=abcdefghij >&2; exit 3");
    let mut run = start(&shell, "", |agent| agent.env = vec![("TOKEN".into(), "abcdefghij".into())]);
    let (why, metadata) = failure(&outcome(&mut run).await);
    assert!(why.starts_with("Exit:") && why.contains("exit status 3") && why.ends_with("token=***"), "{why}");
    assert_eq!(metadata, r#"{"a2ad/failure":{"exitCode":3}}"#);
    let mut run = start(&shell, "", |agent| agent.success = vec![0, 3]);
    assert!(matches!(outcome(&mut run).await, Outcome::Completed { .. }));
}

#[tokio::test]
async fn a_program_that_prints_nothing_completes_without_an_artifact() {
    let steps = all(&mut start(&Shell::new(":"), "", |_| {})).await;
    assert_eq!(steps, [Progress::Done(Outcome::Completed { message: None, metadata: None })]);
}

#[tokio::test]
async fn binary_output_is_text_with_replacements() {
    let steps = all(&mut start(&Shell::new(r"printf 'a\377\376\000b'"), "", |_| {})).await;
    assert_eq!(text(&steps), "a\u{fffd}\u{fffd}\0b");
}

#[tokio::test]
async fn two_hundred_megabytes_pass_through_in_small_pieces() {
    let shell = Shell::new("head -c 200000000 /dev/zero | tr '\\0' x");
    let mut run = start(&shell, "", |_| {});
    let (mut bytes, mut ended) = (0, false);
    while let Some(step) = run.progress.recv().await {
        match step {
            Progress::Artifact { artifact, .. } => {
                assert!(artifact.size() <= 64 * 1024);
                bytes += artifact.size();
            }
            Progress::Done(Outcome::Completed { .. }) => ended = true,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((bytes, ended), (200_000_000, true));
}

#[tokio::test]
async fn ur_25_a_program_that_is_not_there_fails_with_the_reason() {
    let shell = Shell::new("");
    let mut run = start(&shell, "", |agent| agent.command = vec!["/no/such/program".into()]);
    let (why, _) = failure(&outcome(&mut run).await);
    assert!(why.starts_with("Start:") && why.contains("/no/such/program") && why.contains("doctor"), "{why}");
}

#[tokio::test]
async fn a_stop_ends_the_tree_and_then_says_canceled() {
    let shell = Shell::new("(trap '' TERM; sleep 600) & echo $!; sleep 600");
    let job = job(Message::user(""));
    let stop = job.stop.clone();
    let mut run = shell.start(RuntimeKind::Exec, |agent| agent.grace = Duration::from_millis(200), job);
    let Progress::Artifact { artifact, .. } = testing::next(&mut run).await else { panic!("no pid") };
    stop.ask(Reason::Caller);
    assert_eq!(outcome(&mut run).await, Outcome::Canceled);
    let pid = artifact.parts[0].plain().unwrap().trim();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
}

#[tokio::test]
async fn ur_06_a_grandchild_that_holds_stdout_does_not_hold_the_answer() {
    let steps = all(&mut start(&Shell::new("sleep 600 & echo done"), "", |_| {})).await;
    assert_eq!(text(&steps), "done\n");
    assert!(matches!(steps.last(), Some(Progress::Done(Outcome::Completed { .. }))), "{steps:?}");
}

#[tokio::test]
async fn silence_longer_than_allowed_is_a_timeout() {
    let shell = Shell::new("sleep 600");
    let mut run = start(&shell, "", |agent| agent.idle_timeout = Some(Duration::from_millis(50)));
    assert!(failure(&outcome(&mut run).await).0.starts_with("Timeout:"));
}

#[tokio::test]
async fn data_and_files_are_given_as_text_where_they_are_text() {
    let parts = serde_json::json!([
        {"text": "look"}, {"data": {"n": 1.50}}, {"url": "https://x/y"},
        {"raw": "aGk=", "mediaType": "text/plain"}, {"raw": "/w==", "filename": "a.bin", "mediaType": "a/b"},
    ]);
    let message = Message::new(crate::model::Role::User, serde_json::from_value(parts).unwrap());
    assert_eq!(super::text(&message), "look\n{\"n\":1.5}\nhttps://x/y\nhi\n[file a.bin: 1 bytes of a/b]");
}
