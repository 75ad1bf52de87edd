//! What must be there when the node is back.

use serde_json::{Value, json};

use crate::{
    http::Ask,
    ledger::{Known, Ledger, is_terminal},
    node::Node,
};

/// Everything that was told since the death before this one.
pub(crate) fn after_death(node: &Node, ledger: &Ledger) {
    let (fresh, unanswered, messages) = {
        let mut book = ledger.book();
        let messages = book.messages[book.messages_checked..].to_vec();
        book.messages_checked += messages.len();
        (std::mem::take(&mut book.fresh), std::mem::take(&mut book.unanswered), messages)
    };
    for id in fresh {
        let known = ledger.book().tasks[&id].clone();
        is_there(node, ledger, &id, &known);
        replays(node, ledger, &id, &known);
        if let Some(send) = &known.send {
            joins(node, ledger, &id, send);
        }
    }
    for (ask, told) in messages {
        let again = ask_of(node, &ask)["result"]["message"].clone();
        assert_eq!(again["metadata"]["a2ad/replayed"], true, "{ask:?}");
        assert_eq!(
            without_metadata(&again),
            without_metadata(&told["message"]),
            "a bare message that was answered: {ask:?}"
        );
        ledger.book().joined += 1;
    }
    for ask in unanswered {
        settle(node, ledger, &ask);
    }
}

/// At the end: every task that was ever told, and all of them come to rest.
pub(crate) fn all(node: &Node, ledger: &Ledger) {
    let tasks = ledger.book().tasks.clone();
    for (id, known) in tasks {
        if known.agent == "hang" && known.ended.is_none() {
            let answer = ask_of(node, &Ask::new(known.agent, "CancelTask", json!({ "id": id })));
            assert!(answer.get("result").is_some() || answer["error"]["code"] == -32002, "{answer}");
        }
        let state = loop {
            let state = is_there(node, ledger, &id, &known);
            if is_terminal(&state) || state == "TASK_STATE_INPUT_REQUIRED" {
                break state;
            }
            // Begun again from the queue: it has an end, and only a task that nobody works on would never get there.
            assert!(known.agent == "shell", "task {id} of {} is {state} for ever", known.agent);
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        assert!(state != "TASK_STATE_REJECTED", "task {id} was rejected");
        replays(node, ledger, &id, &known);
    }
}

fn ask_of(node: &Node, ask: &Ask) -> Value {
    ask.send(node.addr, &node.token).unwrap_or_else(|error| panic!("{error} at {ask:?}:\n{}", node.log()))
}

fn without_metadata(message: &Value) -> Value {
    let mut message = message.clone();
    message.as_object_mut().unwrap().remove("metadata");
    message
}

/// The task is there, in the state that was told or in one that is true; gives the state.
fn is_there(node: &Node, ledger: &Ledger, id: &str, known: &Known) -> String {
    let answer = ask_of(node, &Ask::new(known.agent, "GetTask", json!({ "id": id })));
    let task = &answer["result"];
    assert_eq!(task["id"], id, "a task that was acknowledged: {answer}");
    let state = task["status"]["state"].as_str().unwrap().to_owned();
    if let Some(ended) = &known.ended {
        assert_eq!(*ended, state, "task {id} had ended: {answer}");
    } else if known.agent != "shell" {
        // Nothing of these waits in a queue, so what ran has been interrupted.
        let rests = is_terminal(&state) || state == "TASK_STATE_INPUT_REQUIRED";
        assert!(rests, "task {id} of {} is said to be {state}: {answer}", known.agent);
    }
    if state == "TASK_STATE_FAILED" {
        let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("interrupted by restart"), "task {id} failed: {answer}");
    }
    ledger.book().state(id, &state);
    state
}

/// Every event that a stream told is told again, as it was.
fn replays(node: &Node, ledger: &Ledger, id: &str, known: &Known) {
    let (Some((&first, _)), Some((&last, _))) =
        (known.events.first_key_value(), known.events.last_key_value())
    else {
        return;
    };
    let ask = Ask { after: Some(first), ..Ask::new(known.agent, "SubscribeToTask", json!({ "id": id })) };
    let stream = ask.stream(node.addr, &node.token).unwrap_or_else(|error| panic!("{error} at {ask:?}"));
    let Ok(mut stream) = stream else {
        assert_eq!(first, last, "a task with more to tell refuses a subscription");
        return;
    };
    let mut told = Vec::new();
    while told.last().is_none_or(|(seq, _)| *seq < last) {
        match stream.next().unwrap_or_else(|error| panic!("{error} at {ask:?}:\n{}", node.log())) {
            Some(event) => told.push(event),
            None => break,
        }
    }
    for (seq, event) in &known.events {
        let again = told.iter().find(|(number, _)| number == seq);
        assert_eq!(again.map(|(_, again)| again), Some(event), "event {seq} of task {id}");
    }
    let mut book = ledger.book();
    told.iter().for_each(|(seq, event)| book.event(id, *seq, event));
}

/// The same send once more is the same task.
fn joins(node: &Node, ledger: &Ledger, id: &str, send: &Ask) {
    let task = match send.method {
        "SendMessage" => ask_of(node, send)["result"]["task"].clone(),
        _ => first(node, send)["task"].clone(),
    };
    assert_eq!(task["id"], id, "repeated: {send:?}");
    ledger.book().joined += 1;
}

/// The first event of a stream that is then left.
fn first(node: &Node, send: &Ask) -> Value {
    let stream = send.stream(node.addr, &node.token).unwrap_or_else(|error| panic!("{error} at {send:?}"));
    let mut stream = stream.unwrap_or_else(|error| panic!("refused: {error}"));
    stream.next().unwrap().map(|(_, event)| event).unwrap_or_default()
}

/// A send whose answer got lost is repeated: stored before or now, there is one task.
fn settle(node: &Node, ledger: &Ledger, ask: &Ask) {
    let result = match ask.method {
        "SendMessage" => ask_of(node, ask)["result"].clone(),
        _ => first(node, ask),
    };
    if let Some(task) = result.get("task") {
        ledger.book().told(Some(ask), ask.agent, task);
    } else {
        assert!(result.get("message").is_some(), "{ask:?} is answered by {result}");
        ledger.book().messages.push((ask.clone(), result));
    }
}
