//! P-23, P-29, P-30: limits, cancel, stop; and turns that go wrong.

use super::*;
use crate::runtime::Reason;

#[tokio::test]
async fn a_cancel_answers_when_the_program_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    let canceled = async {
        assert_eq!(hand.job.stop.wait().await, Reason::Caller);
        hand.say(Progress::Done(Outcome::Canceled)).await;
    };
    let (first, second, ()) = tokio::join!(bench.cancel(&task.id), bench.cancel(&task.id), canceled);
    assert_eq!(first.unwrap().status.state, TaskState::Canceled);
    assert!(second.is_ok(), "a second call while the first waits joins it");
    assert_eq!(bench.cancel(&task.id).await, Err(Fault::TaskNotCancelable(task.id)));
}

#[tokio::test]
async fn ur_44_a_turn_that_ended_first_stands() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    let completed = async {
        hand.job.stop.wait().await;
        hand.complete().await;
        // Nobody listens after the end.
        let _ = hand.tell.send(Progress::Done(Outcome::Canceled)).await;
    };
    let (canceled, ()) = tokio::join!(bench.cancel(&task.id), completed);
    assert_eq!(canceled.unwrap().status.state, TaskState::Completed);
    assert_eq!(bench.task(&task.id).await.status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_program_that_ignores_the_cancel_is_dropped_and_the_task_canceled() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    let canceled = bench.cancel(&task.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert!(hand.tell.is_closed(), "the run is dropped, and so its tree killed");
}

#[tokio::test]
async fn a_waiting_task_is_canceled_at_once_and_never_begins() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    bench.send_now("a", Message::user("one")).await;
    let waiting = bench.send_now("a", Message::user("two")).await;
    let third = bench.send_now("a", Message::user("three")).await;
    assert_eq!(bench.cancel(&waiting.id).await.unwrap().status.state, TaskState::Canceled);
    bench.hand().await.complete().await;
    assert_eq!(bench.hand().await.job.task, third.id);
}

#[tokio::test]
async fn a_suspended_task_frees_its_place_and_is_canceled_with_its_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("one")).await;
    let hand = bench.hand().await;
    hand.ask("which?").await;
    bench.reaches(&task.id, TaskState::InputRequired).await;
    let other = bench.send_now("a", Message::user("two")).await;
    assert_eq!(other.status.state, TaskState::Working, "a question takes no place");
    let stops = async {
        hand.job.stop.wait().await;
        hand.say(Progress::Done(Outcome::Canceled)).await;
    };
    let (canceled, ()) = tokio::join!(bench.cancel(&task.id), stops);
    assert_eq!(canceled.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn an_answer_that_finds_no_place_waits_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("one")).await;
    let mut asking = bench.hand().await;
    asking.ask("which?").await;
    bench.reaches(&task.id, TaskState::InputRequired).await;
    bench.send_now("a", Message::user("two")).await;
    let other = bench.hand().await;
    let answered = bench.send_now("a", to(&task.id, "that")).await;
    assert_eq!(answered.status.state, TaskState::Submitted);
    other.complete().await;
    assert_eq!(asking.answers.recv().await.unwrap().text(), "that");
    asking.complete().await;
    bench.reaches(&task.id, TaskState::Completed).await;
}

#[tokio::test]
async fn another_task_of_a_suspended_ones_conversation_gets_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", within("c", "one")).await;
    let hand = bench.hand().await;
    hand.ask("which?").await;
    bench.reaches(&first.id, TaskState::InputRequired).await;
    let second = bench.send_now("a", within("c", "two")).await;
    assert_eq!(bench.hand().await.job.task, second.id);
    assert!(hand.tell.is_closed(), "the suspended program made room");
    assert_eq!(bench.task(&first.id).await.status.state, TaskState::InputRequired);
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_stopped_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench =
        Bench::tuned(dir.path(), |agent| agent.turn_timeout = Some(Duration::from_millis(50))).await;
    let task = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    assert_eq!(hand.job.stop.wait().await, Reason::Timeout);
    hand.say(Progress::Done(Outcome::Canceled)).await;
    let failed = bench.reaches(&task.id, TaskState::Failed).await;
    assert_eq!(failed.metadata.unwrap().get("a2ad/failure").unwrap().get(), r#"{"class":"timeout"}"#);
}

#[tokio::test]
async fn ur_06_a_program_that_goes_away_without_a_word_fails_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("go"));
    drop(bench.hand().await);
    assert_eq!(task(sent.await.unwrap().unwrap()).status.state, TaskState::Failed);
}

#[tokio::test]
async fn a_bug_in_a_turn_fails_its_task_and_not_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("panic"));
    let failed = tokio::time::timeout(Duration::from_secs(20), sent).await.unwrap().unwrap();
    assert!(failed.is_err() || task(failed.unwrap()).status.state == TaskState::Failed);
    let sent = bench.send("a", Message::user("go"));
    bench.hand().await.complete().await;
    assert_eq!(task(sent.await.unwrap().unwrap()).status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_drained_node_keeps_what_comes_and_begins_it_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    assert!(bench.node.drain(true).draining);
    let task = bench.send_now("a", Message::user("go")).await;
    assert_eq!(task.status.state, TaskState::Submitted);
    assert!(!bench.has_begun());
    bench.node.drain(false);
    assert_eq!(bench.hand().await.job.task, task.id);
}
