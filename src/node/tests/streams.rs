//! P-25 to P-28: streams are cursors over one journal.

use super::*;

fn words(events: &[(Seq, Update)]) -> Vec<String> {
    events
        .iter()
        .map(|(_, update)| match update {
            Update::Task(task) => format!("task {}", task.status.state.as_str()),
            Update::StatusUpdate(status) => status.status.state.as_str().to_owned(),
            Update::ArtifactUpdate(artifact) => artifact.artifact.parts[0].plain().unwrap_or("?").to_owned(),
            Update::Message(message) => format!("message {}", message.text()),
        })
        .collect()
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let stream = bench.stream(Message::user("go")).await;
    let hand = bench.hand().await;
    hand.write("out", false).await;
    hand.complete().await;
    let events = all(stream).await;
    assert_eq!(words(&events), ["task TASK_STATE_WORKING", "out", "TASK_STATE_COMPLETED"]);
    assert!(events.windows(2).all(|pair| pair[0].0 < pair[1].0), "numbers grow: {events:?}");
}

#[tokio::test]
async fn ur_50_a_caller_that_goes_away_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    drop(bench.stream(Message::user("go")).await);
    let hand = bench.hand().await;
    let id = hand.job.task.clone();
    let waiting = bench.send("b", Message::user("other"));
    waiting.abort();
    assert_eq!(hand.job.stop.asked(), None);
    hand.complete().await;
    bench.reaches(&id, TaskState::Completed).await;
}

#[tokio::test]
async fn a_caller_that_goes_away_while_its_task_is_stored_leaves_a_task_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let call = call("ann", "a", blocking(Message::user("go")));
    let node = bench.node.clone();
    let mut sending = Box::pin(async move { node.call(call).await });
    // Polled once: on its way to the disk, and then nobody waits for it.
    assert!(futures_util::poll!(&mut sending).is_pending());
    drop(sending);
    let hand = bench.hand().await;
    let id = hand.job.task.clone();
    hand.complete().await;
    bench.reaches(&id, TaskState::Completed).await;
}

#[tokio::test]
async fn ur_49_a_reader_who_was_away_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("go")).await;
    let hand = bench.hand().await;
    let whole = bench.subscribe(&task.id, None).await.unwrap();
    hand.write("one", false).await;
    hand.say(Progress::Working(Some(Message::agent("at it")))).await;
    hand.write("two", true).await;
    hand.complete().await;
    let whole = all(whole).await;
    bench.reaches(&task.id, TaskState::Completed).await;
    for seen in whole[0].0..whole.last().unwrap().0 {
        let rest = all(bench.subscribe(&task.id, Some(seen)).await.unwrap()).await;
        assert_eq!(rest[0].0, seen, "the task as it stood");
        let expected: Vec<_> = whole.iter().filter(|(seq, _)| *seq > seen).collect();
        assert_eq!(rest[1..].iter().collect::<Vec<_>>(), expected, "after {seen}");
    }
    let last = whole.last().unwrap().0;
    for after in [None, Some(last), Some(last + 1), Some(0)] {
        assert!(matches!(bench.subscribe(&task.id, after).await, Err(Fault::Unsupported(_))), "{after:?}");
    }
}

#[tokio::test]
async fn a_sends_stream_ends_at_a_question_and_a_subscription_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let stream = bench.stream(Message::user("go")).await;
    let mut hand = bench.hand().await;
    let id = hand.job.task.clone();
    let subscription = bench.subscribe(&id, None).await.unwrap();
    hand.ask("which?").await;
    assert_eq!(words(&all(stream).await), ["task TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"]);
    let answered = bench.send("a", to(&id, "that"));
    assert!(hand.answers.recv().await.is_some());
    hand.say(Progress::NeedAuth(Message::agent("log in"))).await;
    answered.await.unwrap().unwrap();
    hand.complete().await;
    assert_eq!(
        words(&all(subscription).await),
        [
            "task TASK_STATE_WORKING",
            "TASK_STATE_INPUT_REQUIRED",
            "TASK_STATE_WORKING",
            "TASK_STATE_AUTH_REQUIRED",
            "TASK_STATE_COMPLETED"
        ]
    );
}

#[tokio::test]
async fn a_subscription_to_a_question_ends_at_it_and_with_what_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send("a", Message::user("go"));
    let mut hand = bench.hand().await;
    let id = hand.job.task.clone();
    hand.ask("which?").await;
    first.await.unwrap().unwrap();
    let asked = bench.subscribe_to_question(&id, None).await;
    assert_eq!(words(&asked), ["task TASK_STATE_INPUT_REQUIRED"], "it is at the question");
    let question = asked[0].0;
    let answered = bench.send("a", to(&id, "that"));
    assert!(hand.answers.recv().await.is_some());
    hand.complete().await;
    answered.await.unwrap().unwrap();
    assert_eq!(
        words(&bench.subscribe_to_question(&id, Some(question)).await),
        ["task TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"],
        "who saw the question is told what came after it"
    );
    let ended = bench.subscribe_to_question(&id, None).await;
    assert_eq!(words(&ended), ["task TASK_STATE_COMPLETED"]);
    assert_eq!(bench.subscribe_to_question(&id, Some(ended[0].0)).await, ended);
    assert!(bench.subscribe(&id, None).await.is_err(), "any other subscription is refused");
}

#[tokio::test]
async fn a_suspended_program_that_goes_on_by_itself_makes_the_task_work_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let stream = bench.stream(Message::user("go")).await;
    let hand = bench.hand().await;
    hand.say(Progress::NeedAuth(Message::agent("log in"))).await;
    hand.write("logged in", false).await;
    hand.complete().await;
    assert_eq!(
        words(&all(stream).await),
        [
            "task TASK_STATE_WORKING",
            "TASK_STATE_AUTH_REQUIRED",
            "TASK_STATE_WORKING",
            "logged in",
            "TASK_STATE_COMPLETED"
        ]
    );
}

#[tokio::test]
async fn tokens_are_gathered_and_none_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let stream = bench.stream(Message::user("go")).await;
    let hand = bench.hand().await;
    let text: String = (0..2000).map(|n| format!("{n} ")).collect();
    for (place, token) in text.split_inclusive(' ').enumerate() {
        hand.write(token, place > 0).await;
    }
    hand.complete().await;
    let events = all(stream).await;
    let chunks: Vec<_> = words(&events)[1..events.len() - 1].to_vec();
    assert_eq!(chunks.concat(), text);
    assert!(chunks.len() < 200, "{} events for 2000 tokens", chunks.len());
}

#[tokio::test]
async fn output_beyond_the_limit_is_cut_aloud() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("go"));
    let hand = bench.hand().await;
    for place in 0..30 {
        hand.write(&"x".repeat(5000), place > 0).await;
    }
    hand.complete().await;
    let task = task(sent.await.unwrap().unwrap());
    assert_eq!(task.artifacts[0].size(), 100_000);
    assert_eq!(task.metadata.unwrap().get("a2ad/cut").unwrap().get(), "true");
}

#[tokio::test]
async fn j_15_a_bare_message_may_be_the_whole_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("r", Message::user("hi"));
    let hand = bench.hand().await;
    let id = hand.job.task.clone();
    let get = Operation::GetTask(GetTask { tenant: None, id: id.clone(), history_length: None });
    let Err(fault) = bench.node.call(call("ann", "r", get.clone())).await else { panic!("seen unborn") };
    assert_eq!(fault, Fault::TaskNotFound(id.clone()));
    hand.say(Progress::Reply(Message::agent("hello"))).await;
    let Reply::Message(message) = sent.await.unwrap().unwrap().reply else { panic!("no message") };
    assert_eq!((message.text().as_str(), message.task_id), ("hello", None));
    assert!(message.context_id.is_some());
    assert!(bench.node.call(call("ann", "r", get)).await.is_err());
}

#[tokio::test]
async fn j_15_anything_else_lets_the_task_be_born() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let stream = updates(
        bench
            .node
            .call(call("ann", "r", Operation::Stream(request(Message::user("hi"), false))))
            .await
            .unwrap(),
    );
    let hand = bench.hand().await;
    hand.write("out", false).await;
    hand.complete().await;
    assert_eq!(words(&all(stream).await)[1..], ["TASK_STATE_COMPLETED"]);
}
