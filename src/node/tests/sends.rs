//! P-21, P-22, P-24, and whose a task is.

use super::*;
use crate::model::{ListTasks, MessageId};

const UUID: &str = "0190a5d1-7c6e-7c3a-9d0b-3f0e3c1b2a10";

fn numbered(id: &str, text: &str) -> Message {
    Message { message_id: MessageId::from(id), ..Message::user(text) }
}

#[tokio::test]
async fn a_blocking_send_answers_with_the_task_as_its_turn_left_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("hello"));
    let hand = bench.hand().await;
    assert_eq!(hand.prompt(), "hello");
    hand.write("one ", false).await;
    hand.write("two", true).await;
    hand.complete().await;
    let task = task(sent.await.unwrap().unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.artifacts, [Artifact::text("answer".into(), "one two")]);
    assert_eq!(task.history.len(), 1);
}

#[tokio::test]
async fn return_immediately_answers_once_the_task_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", Message::user("one")).await;
    assert_eq!(first.status.state, TaskState::Working);
    let second = bench.send_now("a", Message::user("two")).await;
    assert_eq!(second.status.state, TaskState::Submitted, "the agent runs one turn at a time");
    bench.hand().await.complete().await;
    let hand = bench.hand().await;
    assert_eq!(hand.job.task, second.id);
    hand.complete().await;
    bench.reaches(&second.id, TaskState::Completed).await;
}

#[tokio::test]
async fn ur_55_an_equal_send_with_a_unique_id_joins_the_task() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", numbered(UUID, "run the tests")).await;
    let again = bench.node.call(call("ann", "a", now(numbered(UUID, "run the tests")))).await.unwrap();
    assert!(again.replayed);
    assert_eq!(task(again).id, first.id);
    let other = bench.send_now("a", numbered(UUID, "run them again")).await;
    assert_ne!(other.id, first.id, "other content is another request");
    let bob = task(bench.node.call(call("bob", "a", now(numbered(UUID, "run the tests")))).await.unwrap());
    assert_ne!(bob.id, first.id, "another principal's id is another id");
    bench.hand().await.complete().await;
    bench.reaches(&first.id, TaskState::Completed).await;
    let ended = bench.node.call(call("ann", "a", now(numbered(UUID, "run the tests")))).await.unwrap();
    assert!(ended.replayed, "it ended less than ten minutes ago");
    let ended = task(ended);
    assert_eq!(ended.id, first.id);
    assert_eq!(ended.metadata.unwrap().get("a2ad/replayed").map(|mark| mark.get()), Some("true"));
}

#[tokio::test]
async fn an_id_that_anybody_could_write_never_joins() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", numbered("1", "run the tests")).await;
    assert_ne!(bench.send_now("a", numbered("1", "run the tests")).await.id, first.id);
}

#[tokio::test]
async fn an_idempotency_key_decides_alone() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    let keyed = |text: &str| Call { key: Some("k".into()), ..call("ann", "a", now(numbered("1", text))) };
    let first = bench.node.call(keyed("one")).await.unwrap();
    assert!(!first.replayed);
    let again = bench.node.call(keyed("one")).await.unwrap();
    assert!(again.replayed);
    assert_eq!(task(again).id, task(first).id);
    let Err(Fault::InvalidParams { path, .. }) = bench.node.call(keyed("two")).await else {
        panic!("accepted")
    };
    assert_eq!(path, "Idempotency-Key");
}

#[tokio::test]
async fn many_equal_sends_at_once_are_one_task() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sends: Vec<_> = (0..32).map(|_| bench.send("a", numbered(UUID, "once"))).collect();
    bench.hand().await.complete().await;
    let mut ids = Vec::new();
    for send in sends {
        ids.push(task(send.await.unwrap().unwrap()).id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert!(!bench.has_begun());
}

#[tokio::test]
async fn a_question_is_answered_into_the_running_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("which way?"));
    let mut hand = bench.hand().await;
    hand.ask("left or right?").await;
    let asked = task(sent.await.unwrap().unwrap());
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let answered = bench.send("a", to(&asked.id, "left"));
    assert_eq!(hand.answers.recv().await.unwrap().text(), "left");
    hand.complete().await;
    let done = task(answered.await.unwrap().unwrap());
    assert_eq!((done.id, done.status.state), (asked.id, TaskState::Completed));
    let said: Vec<String> = done.history.iter().map(Message::text).collect();
    assert_eq!(said, ["which way?", "left or right?", "left"]);
}

#[tokio::test]
async fn a_question_whose_program_is_gone_is_answered_into_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", Message::user("which way?"));
    let hand = bench.hand().await;
    hand.say(Progress::Session("s1".into())).await;
    hand.ask("left or right?").await;
    drop(hand);
    let asked = task(sent.await.unwrap().unwrap());
    let answered = bench.send("a", to(&asked.id, "left"));
    let hand = bench.hand().await;
    assert_eq!((hand.prompt().as_str(), hand.job.session.as_deref()), ("left", Some("s1")));
    assert_eq!(hand.job.prompt.state, TaskState::InputRequired);
    assert_eq!(hand.job.prompt.history.len(), 2);
    hand.complete().await;
    assert_eq!(task(answered.await.unwrap().unwrap()).status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_message_that_a_turn_did_not_read_starts_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", Message::user("one")).await;
    let hand = bench.hand().await;
    let second = bench.send("a", to(&first.id, "two"));
    bench_until_history(&bench, &first.id, 2).await;
    hand.complete().await;
    let next = bench.hand().await;
    assert_eq!((next.job.task.clone(), next.prompt().as_str()), (first.id.clone(), "two"));
    next.complete().await;
    assert_eq!(task(second.await.unwrap().unwrap()).status.state, TaskState::Completed);
}

async fn bench_until_history(bench: &Bench, id: &TaskId, messages: usize) {
    for _ in 0..2000 {
        if bench.task(id).await.history.len() == messages {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the message did not arrive");
}

#[tokio::test]
async fn a_message_that_a_run_left_unread_when_it_asked_and_went_starts_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("a", Message::user("one")).await;
    let hand = bench.hand().await;
    bench.send_now("a", to(&first.id, "two")).await;
    hand.say(Progress::NeedAuth(Message::agent("log in"))).await;
    drop(hand);
    let next = bench.hand().await;
    assert_eq!((next.prompt().as_str(), next.job.prompt.state), ("two", TaskState::AuthRequired));
    next.complete().await;
    bench.reaches(&first.id, TaskState::Completed).await;
}

#[tokio::test]
async fn a_running_turn_that_takes_no_message_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let first = bench.send_now("b", Message::user("one")).await;
    let _hand = bench.hand().await;
    let Err(fault) = bench.node.call(call("ann", "b", now(to(&first.id, "two")))).await else {
        panic!("accepted")
    };
    assert!(matches!(fault, Fault::Unsupported(_)), "{fault}");
}

#[tokio::test]
async fn a_terminal_task_refuses_messages_and_a_wrong_context_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path()).await;
    let sent = bench.send("a", within("c1", "one"));
    let hand = bench.hand().await;
    let id = hand.job.task.clone();
    let wrong = Message { context_id: Some("c2".into()), ..to(&id, "two") };
    let Err(Fault::InvalidParams { path, .. }) = bench.node.call(call("ann", "a", now(wrong))).await else {
        panic!("accepted")
    };
    assert_eq!(path, "message.contextId");
    hand.complete().await;
    sent.await.unwrap().unwrap();
    let Err(fault) = bench.node.call(call("ann", "a", now(to(&id, "two")))).await else { panic!("accepted") };
    assert!(matches!(fault, Fault::Unsupported(_)), "{fault}");
}

#[tokio::test]
async fn ur_62_a_foreign_task_is_not_found_and_in_no_list() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    let task = bench.send_now("a", Message::user("mine")).await;
    let get = || Operation::GetTask(GetTask { tenant: None, id: task.id.clone(), history_length: None });
    let cancel = Operation::CancelTask(CancelTask { tenant: None, id: task.id.clone(), metadata: None });
    let subscribe = Operation::Subscribe(Subscribe { tenant: None, id: task.id.clone() });
    for (who, agent, operation) in [
        ("bob", "a", get()),
        ("bob", "a", cancel),
        ("bob", "a", subscribe),
        ("bob", "a", now(to(&task.id, "hi"))),
        ("ann", "b", get()),
    ] {
        let Err(fault) = bench.node.call(call(who, agent, operation)).await else { panic!("{who} got it") };
        assert_eq!(fault, Fault::TaskNotFound(task.id.clone()));
    }
    let listed = |who: &str| call(who, "a", Operation::ListTasks(ListTasks::default()));
    let count = |answer: Answer| match answer.reply {
        Reply::Page(page) => (page.tasks.len(), page.total_size),
        _ => panic!("no page"),
    };
    assert_eq!(count(bench.node.call(listed("ann")).await.unwrap()), (1, 1));
    assert_eq!(count(bench.node.call(listed("bob")).await.unwrap()), (0, 0));
    let mut admin = call("root", "a", get());
    admin.caller.role = CallerRole::Admin;
    assert!(bench.node.call(admin).await.is_ok());
}

#[tokio::test]
async fn a_part_of_a_type_that_the_agent_does_not_take_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    let mut message = Message::user("x");
    message.parts[0].media_type = Some("image/png".into());
    let Err(fault) = bench.node.call(call("ann", "a", now(message))).await else { panic!("accepted") };
    assert!(matches!(fault, Fault::ContentType { .. }), "{fault}");
}

#[tokio::test]
async fn pages_have_no_gap_and_no_repeat_and_keep_their_filters() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path()).await;
    for number in 0..7 {
        bench.send_now("a", within("c", &number.to_string())).await;
    }
    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let list = ListTasks { page_size: Some(3), page_token: token.clone(), ..ListTasks::default() };
        let answer = bench.node.call(call("ann", "a", Operation::ListTasks(list))).await.unwrap();
        let Reply::Page(page) = answer.reply else { panic!("no page") };
        assert_eq!((page.page_size, page.total_size), (3, 7));
        assert!(page.tasks.iter().all(|task| task.history.is_empty()));
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        if page.next_page_token.is_empty() {
            break;
        }
        token = Some(page.next_page_token);
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((all, seen.len()), (7, 7));
    let other = ListTasks { context_id: Some("d".into()), page_token: token, ..ListTasks::default() };
    let Err(Fault::InvalidParams { path, .. }) =
        bench.node.call(call("ann", "a", Operation::ListTasks(other))).await
    else {
        panic!("accepted")
    };
    assert_eq!(path, "pageToken");
}
