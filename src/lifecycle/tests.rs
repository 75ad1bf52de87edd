//! The laws of the machine.

use proptest::prelude::*;

use super::super::{Author, DEFAULT_HISTORY, FactKind, cut};
use super::*;
use crate::model::{ArtifactId, Ask, Metadata, PrincipalId, Timestamp, Update};

fn opened() -> Fact {
    Fact::Opened {
        task: "t".into(),
        context: "c".into(),
        agent: "echo".parse().unwrap(),
        message: Message::user("hello"),
        modes: Vec::new(),
        metadata: None,
    }
}

fn event(seq: u64, fact: Fact) -> Event {
    let by = Author { principal: PrincipalId::local(), run: None };
    Event { seq, at: Timestamp::from_millis(i64::try_from(seq).unwrap()), by, fact }
}

fn commands() -> impl Strategy<Value = Command> {
    let report = |progress| Command::Report { progress, tokens: true };
    prop_oneof![
        any::<bool>().prop_map(|at_once| Command::Say { message: Message::user("more"), at_once }),
        Just(Command::Start),
        Just(report(Progress::Working(None))),
        Just(report(Progress::Working(Some(Message::agent("at it"))))),
        (0..3u8, any::<bool>(), any::<bool>()).prop_map(move |(id, append, last)| report(
            Progress::Artifact {
                artifact: Artifact::text(ArtifactId::from(id.to_string()), "x"),
                append,
                last
            }
        )),
        Just(report(Progress::Ask { message: Message::agent("which?"), kind: Ask::Question })),
        Just(report(Progress::NeedAuth(Message::agent("log in")))),
        Just(report(Progress::Done(Outcome::Completed { message: None, metadata: None }))),
        Just(report(Progress::Done(Outcome::failed(FailureClass::Exit, "exit 1")))),
        Just(report(Progress::Done(Outcome::Rejected(Message::agent("no"))))),
        Just(Command::Requeue { why: "restart".into() }),
        Just(Command::Cancel { message: None }),
        Just(Command::Abandon { why: "restart".into(), class: FailureClass::Interrupted }),
    ]
}

/// Runs commands; gives the events and the task after each.
fn run(commands: Vec<Command>) -> Vec<(Event, Task)> {
    let mut log: Vec<(Event, Task)> = Vec::new();
    let mut task: Option<Task> = None;
    for command in std::iter::once(Command::Submit(opened())).chain(commands) {
        for fact in decide(task.as_ref(), command).unwrap_or_default() {
            let event = event(u64::try_from(log.len()).unwrap() + 1, fact);
            let next = apply(task.take(), &event);
            task = Some(next.clone());
            log.push((event, next));
        }
    }
    log
}

proptest! {
    #[test]
    fn folding_the_journal_from_any_snapshot_gives_the_same_task(list in prop::collection::vec(commands(), 0..30), at in any::<prop::sample::Index>()) {
        let log = run(list);
        let at = at.index(log.len());
        let folded = log[at + 1..].iter().fold(log[at].1.clone(), |task, (event, _)| apply(Some(task), event));
        prop_assert_eq!(&folded, &log.last().unwrap().1);
    }

    #[test]
    fn a_terminal_task_refuses_every_command(list in prop::collection::vec(commands(), 0..30), last in commands()) {
        let log = run(list);
        let task = &log.last().unwrap().1;
        if task.status.state.is_terminal() {
            prop_assert!(decide(Some(task), last).is_err());
            prop_assert_eq!(turn(task), None);
        } else {
            prop_assert!(turn(task).is_some());
        }
    }

    #[test]
    fn facts_survive_the_store(list in prop::collection::vec(commands(), 0..30)) {
        for (event, _) in run(list) {
            let (version, bytes) = event.fact.encode();
            prop_assert_eq!(Fact::decode(version, &bytes).unwrap(), event.fact);
        }
    }

    #[test]
    fn a_terminal_fact_is_the_last_and_time_never_runs_back(list in prop::collection::vec(commands(), 0..30)) {
        let log = run(list);
        for (place, (event, task)) in log.iter().enumerate() {
            prop_assert_eq!(event.fact.kind().is_terminal(), task.status.state.is_terminal());
            prop_assert!(!task.status.state.is_terminal() || place + 1 == log.len());
        }
        for pair in log.windows(2) {
            prop_assert!(pair[0].1.status.timestamp <= pair[1].1.status.timestamp);
        }
    }

    #[test]
    fn every_user_message_is_in_the_history_once(list in prop::collection::vec(commands(), 0..30)) {
        let log = run(list);
        let said = log.iter().filter(|(e, _)| matches!(e.fact, Fact::Said(_) | Fact::Opened { .. })).count();
        let task = &log.last().unwrap().1;
        prop_assert_eq!(task.history.iter().filter(|m| m.role == Role::User).count(), said);
    }
}

#[test]
fn a_question_moves_into_the_history_when_it_is_answered() {
    let log = run(vec![
        Command::Start,
        Command::Report {
            progress: Progress::Ask { message: Message::agent("which?"), kind: Ask::Question },
            tokens: false,
        },
        Command::Say { message: Message::user("that one"), at_once: true },
    ]);
    let task = &log.last().unwrap().1;
    let said: Vec<String> = task.history.iter().map(Message::text).collect();
    assert_eq!(said, ["hello", "which?", "that one"]);
    assert_eq!(task.status.state, TaskState::Working);
    assert_eq!(task.status.message, None);
}

#[test]
fn tokens_of_one_artifact_become_one_text() {
    let token = |text: &str, append| Command::Report {
        progress: Progress::Artifact { artifact: Artifact::text("a".into(), text), append, last: false },
        tokens: true,
    };
    let log = run(vec![Command::Start, token("one ", false), token("two", true)]);
    assert_eq!(log.last().unwrap().1.artifacts, [Artifact::text("a".into(), "one two")]);
}

#[test]
fn a_failure_says_its_class_beside_what_the_runtime_told() {
    let mut told = Metadata::default();
    told.set("a2ad/failure", &serde_json::json!({"exitCode": 3}));
    let outcome = Outcome::Failed {
        message: Message::agent("exit 3"),
        class: FailureClass::Exit,
        metadata: Some(told),
    };
    let log = run(vec![Command::Start, Command::Report { progress: Progress::Done(outcome), tokens: false }]);
    let (event, task) = log.last().unwrap();
    let failure = task.metadata.as_ref().unwrap().get("a2ad/failure").unwrap();
    assert_eq!(failure.get(), r#"{"class":"exit","exitCode":3}"#);
    let Some(Update::StatusUpdate(update)) = event.fact.update(&task.id, &"c".into(), event.at) else {
        panic!("no status")
    };
    assert_eq!(update.metadata, task.metadata);
}

#[test]
fn facts_of_every_version_are_readable_for_ever() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/proto-fixtures/journal");
    let mut kinds = std::collections::BTreeSet::new();
    #[expect(clippy::disallowed_methods, reason = "the golden facts are files of this repository")]
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        #[expect(clippy::disallowed_methods, reason = "the golden facts are files of this repository")]
        let bytes = std::fs::read(&path).unwrap();
        let (case, version) = name.strip_suffix(".json").unwrap().rsplit_once(".v").unwrap();
        let version: u16 = version.parse().unwrap();
        let fact = Fact::decode(version, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        kinds.insert(fact.kind().number());

        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let kind = json.as_object().unwrap().keys().next().unwrap();
        assert_eq!(case.split('-').next(), Some(kind.as_str()), "{name}");
        let (current, written) = fact.encode();
        if version == current {
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&written).unwrap(), json, "{name}");
        }
    }
    let all: Vec<u8> = (1..).take_while(|number| FactKind::of_number(*number).is_some()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all, "a kind has no file");
}

#[test]
fn the_history_keeps_the_newest() {
    let log = run((0..5).map(|_| Command::Say { message: Message::user("more"), at_once: false }).collect());
    let task = log.last().unwrap().1.clone();
    assert_eq!(cut(task.clone(), 2, true).history, task.history[4..]);
    assert_eq!(cut(task.clone(), DEFAULT_HISTORY, true), task);
    assert!(cut(task, 0, false).history.is_empty());
}
