//! What a start makes of unfinished tasks.

use super::*;

#[tokio::test]
async fn ur_57_every_unfinished_task_is_in_a_truthful_state_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let asked = bench.send_now("a", within("c", "asks")).await;
    let hand = bench.hand().await;
    hand.say(Progress::Session("s1".into())).await;
    hand.ask("which?").await;
    bench.reaches(&asked.id, TaskState::InputRequired).await;
    let running = bench.send_now("a", within("d", "runs")).await;
    let _run = bench.hand().await;
    let waiting = bench.send_now("a", within("e", "waits")).await;
    bench.kill().await;

    let mut bench = Bench::new(dir.path()).await;
    let failed = bench.task(&running.id).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.unwrap().text(), "interrupted by restart");
    assert_eq!(bench.task(&asked.id).await.status.state, TaskState::InputRequired);
    let begun = bench.hand().await;
    assert_eq!((begun.job.task.clone(), begun.prompt().as_str()), (waiting.id.clone(), "waits"));
    begun.complete().await;
    bench.reaches(&waiting.id, TaskState::Completed).await;
    let answered = bench.send("a", to(&asked.id, "that"));
    let resumed = bench.hand().await;
    assert_eq!(resumed.job.session.as_deref(), Some("s1"));
    resumed.complete().await;
    assert_eq!(task(answered.await.unwrap().unwrap()).status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_turn_that_waits_for_a_permission_fails_since_its_question_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let asked = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    hand.say(Progress::Ask { message: Message::agent("rm?"), kind: crate::model::Ask::Approval }).await;
    bench.reaches(&asked.id, TaskState::InputRequired).await;
    bench.kill().await;
    let bench = Bench::new(dir.path()).await;
    assert_eq!(bench.task(&asked.id).await.status.state, TaskState::Failed);
}

#[tokio::test]
async fn on_restart_resume_runs_the_turn_again_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let tune: Tune = |agent| agent.on_restart = agent::OnRestart::Resume;
    let mut bench = Bench::tuned(dir.path(), tune).await;
    let running = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    hand.write("half", false).await;
    bench.kill().await;
    let mut bench = Bench::tuned(dir.path(), tune).await;
    let again = bench.hand().await;
    assert_eq!((again.prompt().as_str(), again.job.prompt.resumed), ("go", true));
    again.complete().await;
    bench.reaches(&running.id, TaskState::Completed).await;
}

#[tokio::test]
async fn an_unborn_task_is_born_failed_and_a_repetition_finds_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let message = Message::user("hi");
    let _sent = bench.send("r", message.clone());
    let hand = bench.hand().await;
    bench.kill().await;
    drop(hand);
    let bench = Bench::new(dir.path()).await;
    let again = bench.node.call(call("ann", "r", blocking(message))).await.unwrap();
    assert!(again.replayed);
    assert_eq!(task(again).status.state, TaskState::Failed);
}

#[tokio::test]
async fn a_stop_fails_running_turns_and_keeps_waiting_ones() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let running = bench.send_now("a", Message::user("runs")).await;
    let _hand = bench.hand().await;
    let waiting = bench.send_now("a", Message::user("waits")).await;
    bench.shut().await;
    let mut bench = Bench::new(dir.path()).await;
    let failed = bench.task(&running.id).await;
    assert_eq!(failed.status.message.unwrap().text(), "interrupted by shutdown");
    assert_eq!(bench.hand().await.job.task, waiting.id);
}

#[tokio::test]
async fn a_waiting_task_whose_agent_is_gone_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    bench.send_now("a", Message::user("runs")).await;
    let hand = bench.hand().await;
    let waiting = bench.send_now("a", Message::user("waits")).await;
    bench.node.adopt(<Registry as Default>::default(), node_config(), Vec::new()).await;
    hand.complete().await;
    let rejected = bench.reaches(&waiting.id, TaskState::Rejected).await;
    assert!(rejected.status.message.unwrap().text().contains("no longer configured"));
}

#[tokio::test]
async fn a_revoked_token_is_unknown_and_its_streams_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    let new = |add, reuse| crate::model::ops::NewToken {
        name: "desk".into(),
        role: CallerRole::User,
        agents: None,
        expires_at: None,
        add,
        reuse,
    };
    let made = bench.node.token_new(new(false, false)).await.unwrap();
    let known = bench.node.identify(&made.secret, false).unwrap();
    assert_eq!(known.caller.principal.as_str(), "token:desk");
    assert!(bench.node.token_new(new(false, false)).await.is_err(), "the name is taken");
    assert!(bench.node.token_new(new(true, false)).await.is_ok(), "a further secret");
    assert!(bench.node.identify("local", false).is_none(), "the local token is for local connections");
    assert!(bench.node.identify("local", true).unwrap().caller.is_admin());
    let (revoked, ()) =
        tokio::join!(bench.node.token_revoke("desk", false), bench.node.revoked(&known.credential));
    assert_eq!(revoked.unwrap().secrets, 2);
    assert!(bench.node.identify(&made.secret, false).is_none());
    assert!(bench.node.token_new(new(false, false)).await.is_err(), "a revoked name stays reserved");
    assert!(bench.node.token_new(new(false, true)).await.is_ok());
}
