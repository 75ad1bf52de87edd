//! `a2ad send`: a message to an agent, and its answer as it comes.

use std::{
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use tokio::time::Instant;

use super::{
    Context, ask, clock,
    exit::{Code, Failure},
    signals::{Signal, Signals},
    target,
    watch::{self, End, Watch},
};
use crate::model::{Content, Json, Message, Operation, Part, Role, Send, SendConfiguration, Task, TaskState};
use crate::peer::{Follow, Peer};
use crate::wire::Single;

/// Send a message to an agent and print its answer as it comes
///
/// The answer goes to standard output and everything else to standard error, so the output can be piped. When the
/// agent asks something, the question is asked on the terminal. Ctrl-C cancels the task; if the terminal is lost, the
/// task goes on and `a2ad task watch` finds it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  a2ad send \"what does this project do?\"\n  \
    git diff | a2ad send -a claude --file design.pdf \"review this\" -\n  \
    a2ad send --to https://box.example --token-file box.token \"run the tests\"\n\n\
    Exit codes: 0 completed, 1 failed or rejected, 3 canceled, 4 waits for an answer or a login, 75 time limit.")]
pub(super) struct Arguments {
    /// The agent; without it the default one, or the one that has the task or the context
    #[arg(short, long, value_name = "AGENT")]
    agent: Option<String>,
    /// Go on in this conversation
    #[arg(short, long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Answer this task, or say more to it
    #[arg(short, long, value_name = "TASK")]
    task: Option<String>,
    /// Send a file along; may be given more than once
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Send a JSON value along
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// Print the task's id and nothing else, once it is stored
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this; the task goes on (exit code 75)
    #[arg(long, value_name = "DURATION", value_parser = clock::duration)]
    timeout: Option<Duration>,
    /// What to say; `-` reads standard input, which is also read when nothing is given and it is not a terminal
    #[arg(value_name = "TEXT|-")]
    text: Vec<String>,
}

pub(super) async fn run(ctx: &Context, arguments: Arguments) -> anyhow::Result<Code> {
    let limit = arguments.timeout.filter(|limit| !limit.is_zero());
    let deadline = limit.map(|limit| Instant::now() + limit);
    let message = message(&arguments)?;
    let target = target::find(ctx)?;
    let agent = arguments.agent.as_deref();
    let peer = within(deadline, async {
        match (&message.task_id, &arguments.context) {
            (Some(task), _) => target.peer_of_task(task, agent).await,
            (None, Some(context)) => target.peer_of_context(context, agent).await,
            (None, None) => target.peer(agent).await,
        }
    });
    let peer = peer.await?;
    let task = match &message.task_id {
        Some(task) => Some(within(deadline, async { Ok(peer.task(task, Some(0)).await?) }).await?),
        None => None,
    };
    let message = match &task {
        Some(task) => reply(message, task),
        None => message,
    };
    let send = Send { tenant: None, message, configuration: SendConfiguration::default(), metadata: None };
    if arguments.no_wait {
        within(deadline, post(ctx, &peer, send)).await
    } else if peer.endpoint().streams {
        converse(ctx, &peer, send, task.as_ref(), deadline).await
    } else {
        within(deadline, wait(ctx, &peer, send)).await
    }
}

async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let Some(deadline) = deadline else { return work.await };
    tokio::time::timeout_at(deadline, work).await.unwrap_or_else(|_| Err(time_is_up()))
}

fn time_is_up() -> anyhow::Error {
    Failure::of(Code::Busy, "the time limit has passed")
}

/// Words for a task that asks are an answer to its question: they may name one of its options.
fn reply(message: Message, task: &Task) -> Message {
    if task.status.state != TaskState::InputRequired {
        return message;
    }
    match &message.parts[..] {
        [part] => match part.plain() {
            Some(words) => ask::Question::of(task.status.message.as_ref()).answer(words, task),
            None => message,
        },
        _ => message,
    }
}

/// The turn, the questions in it, and the turns that answer them.
async fn converse(
    ctx: &Context,
    peer: &Peer,
    mut send: Send,
    task: Option<&Task>,
    deadline: Option<Instant>,
) -> anyhow::Result<Code> {
    let screen = ctx.screen;
    let mut signals = Signals::listen()?;
    let mut watch = Watch::new(screen, deadline);
    if let Some(task) = task {
        watch.known(task);
    }
    loop {
        let mut follow = Follow::turn(peer, send, watch::PATIENCE);
        let end = match watch.follow(&mut follow, &mut signals).await {
            Ok(end) => end,
            Err(error) => {
                if is_closed(&error) {
                    watch::let_go(screen, watch.task());
                    Signal::Pipe.end();
                }
                watch.end_line()?;
                return Err(error);
            }
        };
        match end {
            End::Signal(signal) => return interrupted(ctx, peer, &mut watch, &mut signals, signal).await,
            End::TimeUp => {
                watch.end_line()?;
                watch::let_go(screen, watch.task());
                return Err(time_is_up());
            }
            End::Told => {}
        }
        let waits = watch.answer().state() == Some(TaskState::InputRequired);
        let (true, true, Some(task)) = (waits, ask::can_ask(screen), watch.stub()) else {
            return watch.conclude();
        };
        watch.end_line()?;
        let question = ask::Question::of(watch.answer().message());
        let line = tokio::select! {
            signal = signals.next() => return interrupted(ctx, peer, &mut watch, &mut signals, signal).await,
            () = watch::until(deadline) => None,
            line = ask::ask(screen, &question) => line,
        };
        let Some(line) = line else { return watch.conclude() };
        let message = question.answer(&line, &task);
        send = Send { tenant: None, message, configuration: SendConfiguration::default(), metadata: None };
    }
}

/// Ctrl-C cancels the task; any other signal lets it go on.
async fn interrupted(
    ctx: &Context,
    peer: &Peer,
    watch: &mut Watch,
    signals: &mut Signals,
    signal: Signal,
) -> anyhow::Result<Code> {
    let _ = watch.end_line();
    match (signal, watch.task()) {
        (Signal::Interrupt, Some(task)) => {
            ctx.screen.note(&format!("canceling task {task}; once more Ctrl-C lets it be"));
            tokio::select! {
                _ = signals.next() => watch::let_go(ctx.screen, Some(task)),
                canceled = peer.cancel(task) => match canceled {
                    Ok(task) if task.status.state == TaskState::Canceled => ctx.screen.note("canceled"),
                    Ok(task) => ctx.screen.note(&format!("it had ended: {}", task.status.state.word())),
                    Err(error) => ctx.screen.error(&format!("a2ad: not canceled: {error}")),
                },
            }
        }
        (_, task) => watch::let_go(ctx.screen, task),
    }
    signal.end()
}

/// `--no-wait`: the id and nothing else.
async fn post(ctx: &Context, peer: &Peer, mut send: Send) -> anyhow::Result<Code> {
    send.configuration.return_immediately = true;
    send.configuration.history_length = Some(0);
    match peer.call(&Operation::Send(send)).await? {
        Single::Task(task) if ctx.screen.json => ctx.screen.json(&*task)?,
        Single::Task(task) => ctx.screen.answer(&format!("{}\n", task.id))?,
        Single::Message(message) if ctx.screen.json => ctx.screen.json(&*message)?,
        Single::Message(message) => ctx.screen.note(&format!("answered without a task: {}", message.text())),
        _ => {
            return Err(Failure::of(
                Code::Unreachable,
                "the answer to a send is neither a task nor a message",
            ));
        }
    }
    Ok(Code::Ok)
}

/// For agents that do not stream: the whole answer at its end.
async fn wait(ctx: &Context, peer: &Peer, send: Send) -> anyhow::Result<Code> {
    let mut watch = Watch::new(ctx.screen, None);
    let update = match peer.call(&Operation::Send(send)).await? {
        Single::Task(task) => crate::model::Update::Task(task.into_owned()),
        Single::Message(message) => crate::model::Update::Message(message.into_owned()),
        _ => {
            return Err(Failure::of(
                Code::Unreachable,
                "the answer to a send is neither a task nor a message",
            ));
        }
    };
    watch.take(&update)?;
    watch.conclude()
}

fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The message, from text, standard input, files and data.
fn message(arguments: &Arguments) -> anyhow::Result<Message> {
    let mut parts = Vec::new();
    let piped = !std::io::stdin().is_terminal();
    let nothing = arguments.text.is_empty() && arguments.file.is_empty() && arguments.data.is_none();
    let mut words: Vec<String> = Vec::new();
    let mut read_stdin = nothing && piped;
    for word in &arguments.text {
        if word == "-" {
            read_stdin = true;
        } else {
            words.push(word.clone());
        }
    }
    if !words.is_empty() {
        parts.push(Part::text(words.join(" ")));
    }
    if read_stdin {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).context(Failure {
            code: Code::Usage,
            text: "standard input is not text; send a file with --file".to_owned(),
        })?;
        if !text.trim().is_empty() {
            parts.push(Part::text(text));
        }
    }
    for path in &arguments.file {
        parts.push(file(path)?);
    }
    if let Some(data) = &arguments.data {
        let json: Json = serde_json::from_str(data)
            .map_err(|error| Failure::usage(format!("--data is not JSON: {error}")))?;
        parts.push(Part::of(Content::Data(json)));
    }
    if parts.is_empty() {
        return Err(Failure::usage("nothing to send: give a text, `-` for standard input, --file or --data"));
    }
    Ok(Message {
        task_id: arguments.task.as_deref().map(Into::into),
        context_id: arguments.context.as_deref().map(Into::into),
        ..Message::new(Role::User, parts)
    })
}

#[expect(clippy::disallowed_methods, reason = "the file that the user named")]
fn file(path: &Path) -> anyhow::Result<Part> {
    let bytes = std::fs::read(path)
        .with_context(|| Failure { code: Code::Usage, text: format!("{} can't be read", path.display()) })?;
    let mut part = Part::of(Content::Raw(bytes.into()));
    part.filename = path.file_name().map(|name| name.to_string_lossy().into_owned());
    part.media_type = media_type(path).map(str::to_owned);
    Ok(part)
}

/// The media type of common endings. Others are left open: a wrong guess may be refused by the agent.
fn media_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a file to send")]
mod tests {
    use super::*;

    fn arguments(text: &[&str]) -> Arguments {
        Arguments {
            agent: None,
            context: Some("c".into()),
            task: None,
            file: Vec::new(),
            data: None,
            no_wait: false,
            timeout: None,
            text: text.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    #[test]
    fn words_are_one_text_and_data_is_any_json() {
        let mut given = arguments(&["run", "the tests"]);
        given.data = Some("null".into());
        let message = message(&given).unwrap();
        assert_eq!(message.parts[0], Part::text("run the tests"));
        assert_eq!(message.parts[1].content, Content::Data(Json::of(&())));
        assert_eq!(message.context_id, Some("c".into()));
        given.data = Some("{".into());
        assert!(super::message(&given).unwrap_err().to_string().contains("--data is not JSON"));
    }

    #[test]
    fn a_file_goes_with_its_name_and_without_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shot.PNG");
        std::fs::write(&path, [137, 80]).unwrap();
        let part = file(&path).unwrap();
        assert_eq!(
            (part.filename.as_deref(), part.media_type.as_deref()),
            (Some("shot.PNG"), Some("image/png"))
        );
        let error = file(&dir.path().join("absent")).unwrap_err();
        assert_eq!(super::super::exit::of_error(&error), Code::Usage);
    }
}
