//! The runtime against recorded conversations of the CLI and scripts that play it.
#![cfg(unix)]

use std::time::Duration;

use super::super::config::{Agent, RuntimeKind};
use super::super::testing::{LONG, Shell, all, failure, job, next, outcome, text};
use super::super::{Job, Reason, Run, Runtime};
use super::Claude;
use super::session::Session;
use crate::model::{Message, Outcome, Progress};
use crate::runtime::turn::Program;

/// Replays a recording: waits for a line where one was sent (`>`), prints what was printed (`<`). Then it waits for
/// the end of stdin, as the CLI does. What it was started with and what it was sent lies beside it.
const REPLAY: &str = r#"
here=$(dirname "$0"); echo "$@" >>"$here/args"
while IFS= read -r step <&3; do case $step in
'> '*) IFS= read -r got || exit 0; printf '%s\n' "$got" >>"$here/got" ;;
'< '*) printf '%s\n' "${step#< }" ;;
esac; done 3<"$here/recording"
cat >/dev/null; echo left >>"$here/left"
"#;

/// What scripts that play the CLI can use; `$id` is the id they were given, `text ID TEXT` a streamed message.
const WORDS: &str = r#"
here=$(dirname "$0"); echo "$@" >>"$here/args"
for id in "$@"; do :; done
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >>"$here/got"; }
init() { printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$id"; }
delta() { printf '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"%s_delta","%s":"%s"}},"parent_tool_use_id":%s}\n' "$1" "$1" "$2" "${3:-null}"; }
result() { printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"%s"}\n' "$id" "$1"; }
"#;

const ID: &str = "11111111-2222-4333-8444-555555555555";

fn recorded(name: &str) -> Shell {
    let shell = Shell::new(REPLAY);
    let fixture = format!("{}/proto-fixtures/runtimes/claude/{name}.io", env!("CARGO_MANIFEST_DIR"));
    shell.lay("recording", &fixture);
    shell
}

fn played(script: &str) -> Shell {
    Shell::new(&format!("{WORDS}{script}"))
}

fn start(shell: &Shell, change: impl FnOnce(&mut Agent), job: Job) -> Run {
    shell.start(RuntimeKind::Claude, change, job)
}

fn short(agent: &mut Agent) {
    agent.grace = Duration::from_millis(200);
}

fn hello() -> Job {
    job(Message::user("hello"))
}

/// Metadata of a turn that went well.
fn figures(steps: &[Progress]) -> String {
    match steps.last() {
        Some(Progress::Done(Outcome::Completed { metadata: Some(metadata), .. })) => {
            serde_json::to_string(metadata).unwrap()
        }
        other => panic!("not completed, but {other:?}"),
    }
}

#[tokio::test]
async fn text_streams_and_a_message_that_waits_is_the_next_turn_of_the_same_process() {
    let shell = recorded("two-turns");
    let mut run = start(&shell, |_| {}, job(Message::user("PROMPT-1")));
    run.answers.send(Message::user("PROMPT-2")).unwrap();
    let steps = all(&mut run).await;
    let of = |id: &str| {
        let mine = |step: &&Progress| matches!(step, Progress::Artifact { artifact, .. } if artifact.artifact_id.as_str() == id);
        text(&steps.iter().filter(mine).cloned().collect::<Vec<_>>())
    };
    assert_eq!((of("answer").as_str(), of("answer-2").as_str()), ("ECHO: first turn", "ECHO: second turn"));
    assert_eq!(
        figures(&steps),
        r#"{"a2ad/usage":{"inputTokens":24657,"outputTokens":8,"costUsd":0.098788}}"#
    );
    let got = shell.read("got");
    let prompts: Vec<&str> = got.lines().collect();
    assert!(
        prompts.len() == 2 && prompts[0].contains("PROMPT-1") && prompts[1].contains("PROMPT-2"),
        "{got}"
    );
    let args = shell.read("args");
    assert!(
        args.lines().count() == 1
            && !args.contains("PROMPT")
            && args.contains("--permission-prompt-tool stdio")
    );
}

#[tokio::test]
async fn a_known_conversation_is_resumed_and_only_what_it_cost_now_is_told() {
    let shell = recorded("resume");
    let mut job = hello();
    let workspace = shell.path().join("work");
    job.session = Some(Session { cost: 0.098_788, ..Session::new(ID.into(), &workspace) }.text());
    let steps = all(&mut start(&shell, |_| {}, job)).await;
    assert_eq!(
        figures(&steps),
        r#"{"a2ad/usage":{"inputTokens":12378,"outputTokens":4,"costUsd":0.049592}}"#
    );
    assert!(shell.read("args").contains(&format!("--resume {ID}")));
    let Some(Progress::Session(kept)) = steps.iter().rfind(|step| matches!(step, Progress::Session(_)))
    else {
        panic!("no session")
    };
    assert!(kept.contains(ID) && kept.contains("0.14837"), "{kept}");
}

#[tokio::test]
async fn ur_38_permissions_are_denied_at_once_told_to_the_model_and_counted() {
    for (name, tool) in [("permission-denied", "Write"), ("ask-user", "AskUserQuestion")] {
        let shell = recorded(name);
        let steps = all(&mut start(&shell, |_| {}, hello())).await;
        assert!(figures(&steps).starts_with(r#"{"a2ad/permissionDenials":1,"#), "{}", figures(&steps));
        let said = shell.read("got");
        let denial: serde_json::Value = serde_json::from_str(said.lines().nth(1).unwrap()).unwrap();
        assert_eq!(denial["response"]["response"]["behavior"], "deny");
        let begun = |step: &Progress| matches!(step, Progress::Working(Some(message)) if message.text().starts_with(tool));
        assert!(steps.iter().any(begun), "{steps:?}");
    }
}

#[tokio::test]
async fn ur_43_a_stop_interrupts_the_turn_and_says_canceled_when_nothing_is_left() {
    let shell = recorded("interrupt");
    let job = hello();
    let stop = job.stop.clone();
    let mut run = start(&shell, |_| {}, job);
    while !matches!(next(&mut run).await, Progress::Artifact { .. }) {}
    stop.ask(Reason::Caller);
    assert_eq!(outcome(&mut run).await, Outcome::Canceled);
    assert!(shell.read("got").lines().last().unwrap().contains(r#""subtype":"interrupt""#));
}

#[tokio::test]
async fn a_stream_that_breaks_is_replaced_by_what_is_said_again() {
    let steps = all(&mut start(&recorded("stream-drops"), |_| {}, hello())).await;
    assert_eq!(text(&steps), "ECHO: DROP this stream");
    let retry = |step: &Progress| matches!(step, Progress::Working(Some(message)) if message.text().contains("trying again"));
    assert!(steps.iter().any(retry), "{steps:?}");
}

#[tokio::test]
async fn an_error_of_the_model_fails_with_class_and_status_though_it_is_called_success() {
    let (why, metadata) = failure(&outcome(&mut start(&recorded("fail-500"), |_| {}, hello())).await);
    assert!(why.starts_with("Model: ") && why.contains("500"), "{why}");
    assert!(metadata.contains(r#""a2ad/failure":{"httpStatus":500,"retryable":true}"#), "{metadata}");
    assert!(metadata.contains(r#""a2ad/usage""#), "{metadata}");
}

#[tokio::test]
async fn a_limit_of_tokens_is_a_limit_and_the_answer_so_far_stays() {
    let steps = all(&mut start(&recorded("max-tokens"), |_| {}, hello())).await;
    assert!(!text(&steps).is_empty());
    let Some(Progress::Done(end)) = steps.last() else { panic!("no end") };
    assert!(failure(end).0.starts_with("Limit: "));
}

#[tokio::test]
async fn ur_46_a_missing_login_suspends_the_task_with_what_to_do() {
    let steps = all(&mut start(&recorded("no-login"), |_| {}, hello())).await;
    match steps.last() {
        Some(Progress::NeedAuth(message)) => assert!(message.text().contains("/login"), "{}", message.text()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ur_39_a_conversation_that_is_gone_begins_anew_and_says_so() {
    let shell = played(
        r#"case "$*" in *--resume*)
            hear; printf '{"type":"result","is_error":true,"errors":["No conversation found with session ID: %s"]}\n' "$id"; exit 1 ;;
        esac; hear; init; result new"#,
    );
    let mut job = hello();
    job.session = Some(Session::new(ID.into(), &shell.path().join("work")).text());
    let steps = all(&mut start(&shell, |_| {}, job)).await;
    assert_eq!(text(&steps), "new");
    assert!(matches!(&steps[0], Progress::Working(Some(notice)) if notice.text().contains("new one begins")));
    let args = shell.read("args");
    assert!(args.lines().next().unwrap().contains("--resume") && args.contains("--session-id"), "{args}");
    assert!(matches!(&steps[1], Progress::Session(kept) if !kept.contains(ID)), "{steps:?}");
}

#[tokio::test]
async fn ur_39_a_conversation_of_another_directory_is_not_resumed() {
    let shell = played("hear; init; result new");
    let mut job = hello();
    job.session = Some(Session::new(ID.into(), std::path::Path::new("/elsewhere")).text());
    let steps = all(&mut start(&shell, |_| {}, job)).await;
    assert!(matches!(&steps[0], Progress::Working(Some(_))));
    assert!(shell.read("args").contains("--session-id") && text(&steps) == "new");
}

#[tokio::test]
async fn ur_01_stdin_is_closed_when_the_turn_is_over() {
    let shell = played(r#"hear; init; result done; cat >/dev/null; echo end >"$here/end""#);
    let mut run = start(&shell, |_| {}, hello());
    assert_eq!(text(&all(&mut run).await), "done");
    assert_eq!(shell.read("end"), "end\n");
}

#[tokio::test]
async fn ur_04_ur_05_a_process_that_stays_after_its_result_is_ended_and_the_success_stands() {
    let shell =
        played(r#"trap '' TERM; echo $$ >"$here/pid"; hear; init; result done; while :; do sleep 1; done"#);
    let steps = all(&mut start(&shell, short, hello())).await;
    assert!(matches!(steps.last(), Some(Progress::Done(Outcome::Completed { .. }))), "{steps:?}");
    assert!(!std::path::Path::new(&format!("/proc/{}", shell.read("pid").trim())).exists());
}

#[tokio::test]
async fn an_end_without_a_result_fails_with_the_end_of_stderr_even_with_status_0() {
    for (exit, shown) in
        [("exit 0", "exit status 0"), ("exit 1", "exit status 1"), ("kill -9 $$", "signal 9")]
    {
        let shell = played(&format!("hear; init; echo because >&2; {exit}"));
        let (why, _) = failure(&outcome(&mut start(&shell, |_| {}, hello())).await);
        assert!(why.starts_with("Exit: ") && why.contains(shown) && why.ends_with("because"), "{why}");
    }
}

#[tokio::test]
async fn silence_is_a_timeout_and_so_is_a_start_without_a_word() {
    let shell = played("hear; init; sleep 600");
    let quick = |agent: &mut Agent| {
        short(agent);
        agent.idle_timeout = Some(Duration::from_millis(100));
    };
    assert!(failure(&outcome(&mut start(&shell, quick, hello())).await).0.starts_with("Timeout: "));
    let shell = played("hear; sleep 600");
    let quick = |agent: &mut Agent| {
        short(agent);
        agent.start_timeout = Some(Duration::from_millis(100));
    };
    assert!(failure(&outcome(&mut start(&shell, quick, hello())).await).0.starts_with("Timeout: "));
}

#[tokio::test]
async fn a_tool_at_work_may_be_silent_for_longer() {
    let shell = played(
        r#"hear; init
        echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}'
        sleep 1; echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}'; result done"#,
    );
    let quick = |agent: &mut Agent| agent.idle_timeout = Some(Duration::from_millis(500));
    assert_eq!(text(&all(&mut start(&shell, quick, hello())).await), "done");
}

#[tokio::test]
async fn thinking_and_subagents_are_no_part_of_the_answer() {
    let shell = played(
        r#"hear; init; delta thinking hmm; delta text sub '"toolu_1"'; delta text mine
        echo '{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"s","content":[{"type":"text","text":"sub"}]}}'
        result mine"#,
    );
    assert_eq!(text(&all(&mut start(&shell, |_| {}, hello())).await), "mine");
}

#[tokio::test]
async fn ur_34_a_line_over_the_limit_is_dropped_and_the_turn_goes_on() {
    let shell = played(r"hear; init; head -c 5000 /dev/zero | tr '\0' x; echo; echo 'no json'; result done");
    let limit = |agent: &mut Agent| agent.limits.line = Some(1000);
    assert_eq!(text(&all(&mut start(&shell, limit, hello())).await), "done");
}

#[tokio::test]
async fn ur_45_two_runs_of_one_conversation_are_never_at_work_together() {
    let shell = played(
        r#"echo begin >>"$here/log"; hear; init; result done; cat >/dev/null; sleep 0.3; echo end >>"$here/log""#,
    );
    let program = Program { agent: shell.agent(RuntimeKind::Claude).into(), custody: shell.custody() };
    let claude = Claude::new(program);
    let session = Session::new(ID.into(), &shell.path().join("work")).text();
    let mut runs = [(); 2].map(|()| claude.start(Job { session: Some(session.clone()), ..hello() }));
    for run in &mut runs {
        assert_eq!(text(&all(run).await), "done");
    }
    assert_eq!(shell.read("log"), "begin\nend\nbegin\nend\n");
}

#[tokio::test]
async fn a_run_that_is_dropped_ends_its_process() {
    let shell = played(r#"echo $$ >"$here/pid"; hear; init; sleep 600"#);
    let job = hello();
    let tracker = job.tracker.clone();
    let mut run = start(&shell, |_| {}, job);
    next(&mut run).await;
    drop(run);
    tracker.close();
    tokio::time::timeout(LONG, tracker.wait()).await.expect("an end");
    assert!(!std::path::Path::new(&format!("/proc/{}", shell.read("pid").trim())).exists());
}
