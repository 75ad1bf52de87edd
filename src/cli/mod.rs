//! The command line: one file a sub-command.
//!
//! Called by `main`, which turns the code into the process's own. It reads flags and environment, finds the node,
//! asks it, and says in one line what went wrong. It never opens the store while a node runs, and never sends a
//! credential to anyone but the origin that it was given for.

mod agent;
mod answer;
mod ask;
mod card;
mod check;
mod clock;
mod completions;
mod config;
mod context;
mod doctor;
mod drain;
mod exit;
mod health;
mod help;
mod init;
mod local;
mod ps;
mod reload;
mod save;
mod send;
mod serve;
mod signals;
mod status;
mod target;
mod task;
mod terminal;
#[cfg(test)]
mod tests;
mod token;
mod version;
mod watch;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

pub use exit::Code;
use exit::Failure;
use terminal::{Color, Screen};

use crate::config::{Flags, Surroundings};

/// What is waited for answers of the node that need no turn.
const PATIENCE: Duration = Duration::from_secs(75);

/// Turns the agent programs of this machine into agents that anyone can dial over A2A.
#[derive(Debug, Parser)]
#[command(
    name = "a2ad",
    disable_help_subcommand = true,
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_required = false,
    max_term_width = 100,
    after_help = "Start a node in a project with `a2ad serve`, then talk to it from another terminal:\n  \
        a2ad send \"what does this project do?\"\n\n\
        `a2ad help exit-codes`, `a2ad help environment` and `a2ad help files` say more."
)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Args)]
struct Global {
    /// Read this file instead of the user's or the system's a2ad.toml
    #[arg(long, value_name = "FILE", global = true, help_heading = "Global options")]
    config: Option<PathBuf>,
    /// Another node of the same user, with its own configuration and state
    #[arg(
        id = "instance",
        long = "name",
        value_name = "INSTANCE",
        global = true,
        help_heading = "Global options"
    )]
    instance: Option<String>,
    /// Where the node keeps its state
    #[arg(long, value_name = "DIR", global = true, help_heading = "Global options")]
    state_dir: Option<PathBuf>,
    /// What is logged: error, warn, info, debug, trace, or a filter such as info,a2ad::store=debug
    #[arg(long, value_name = "LEVEL|FILTER", global = true, help_heading = "Global options")]
    log: Option<String>,
    /// How it is logged
    #[arg(long, value_name = "FORMAT", value_parser = ["auto", "pretty", "json"], global = true, help_heading = "Global options")]
    log_format: Option<String>,
    /// Colors on the terminal (NO_COLOR is obeyed)
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        global = true,
        help_heading = "Global options"
    )]
    color: Color,
    /// Say less on standard error
    #[arg(short, long, global = true, help_heading = "Global options")]
    quiet: bool,
    /// JSON on standard output: one object, or one a line
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Talk to this node instead of the one of this machine (A2AD_TO): https://HOST[/agents/NAME], unix:/SOCKET
    #[arg(long, value_name = "URL", global = true, help_heading = "Which node")]
    to: Option<String>,
    /// Its token, in a file (A2AD_TOKEN_FILE, A2AD_TOKEN)
    #[arg(long, value_name = "FILE", global = true, help_heading = "Which node")]
    token_file: Option<PathBuf>,
    /// Print the version
    #[arg(short = 'V', long, help_heading = "Global options")]
    version: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Send(send::Arguments),
    Status(status::Arguments),
    Ps(ps::Arguments),
    #[command(subcommand)]
    Task(task::Command),
    #[command(subcommand)]
    Context(context::Command),
    #[command(subcommand)]
    Agent(agent::Command),
    #[command(subcommand)]
    Token(token::Command),
    Card(card::Arguments),
    Init(init::Arguments),
    Check(check::Arguments),
    #[command(subcommand)]
    Config(config::Command),
    Reload(reload::Arguments),
    Drain(drain::Arguments),
    Health(health::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
    Version(version::Arguments),
    Help(help::Arguments),
}

impl Command {
    /// Whether it talks to a node.
    const fn dials(&self) -> bool {
        !matches!(
            self,
            Self::Serve(_)
                | Self::Init(_)
                | Self::Check(_)
                | Self::Config(_)
                | Self::Completions(_)
                | Self::Version(_)
                | Self::Help(_)
        )
    }

    /// Whether it is refused inside a turn, where what an agent read may have written the command (O-31).
    const fn is_operators(&self) -> bool {
        matches!(
            self,
            Self::Token(_)
                | Self::Reload(_)
                | Self::Drain(_)
                | Self::Agent(agent::Command::Add(_) | agent::Command::Remove { .. })
        )
    }
}

/// What every command has at hand.
#[derive(Debug)]
struct Context {
    flags: Flags,
    to: Option<String>,
    token_file: Option<PathBuf>,
    screen: Screen,
    around: Surroundings,
}

impl Context {
    /// Refuses `--to` where a file of this machine is meant.
    fn only_here(&self, what: &str) -> anyhow::Result<()> {
        match &self.to {
            Some(_) => Err(Failure::usage(format!("{what} changes files of this machine: leave --to out"))),
            None => Ok(()),
        }
    }
}

/// Runs a command line to its end.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> Code {
    let matches = match Arguments::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Code::Usage } else { Code::Ok };
        }
    };
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return Code::Usage;
        }
    };
    let screen = Screen::new(arguments.global.color, arguments.global.quiet, arguments.global.json);
    let chain =
        arguments.global.log.as_deref().is_some_and(|log| log.contains("debug") || log.contains("trace"));
    match begin(arguments, screen) {
        Ok(code) => code,
        Err(error) => fail(&error, screen, chain),
    }
}

fn begin(arguments: Arguments, screen: Screen) -> anyhow::Result<Code> {
    let Arguments { global, command } = arguments;
    let Some(command) = command else {
        if global.version {
            return version::run(screen);
        }
        return Err(Failure::usage("which command? `a2ad --help` lists them"));
    };
    if !command.dials() && global.to.is_some() {
        return Err(Failure::usage("--to has no meaning for this command: it talks to no node"));
    }
    let ctx = Context {
        flags: Flags {
            config: global.config,
            name: global.instance,
            state_dir: global.state_dir,
            log: global.log,
            log_format: global.log_format,
            ..Flags::default()
        },
        to: global.to,
        token_file: global.token_file,
        screen,
        around: Surroundings::here()?,
    };
    if command.is_operators() && ctx.around.var("A2AD_RUN").is_some() {
        return Err(Failure::of(
            Code::NotAllowed,
            "not allowed inside a turn of an agent: run it from a shell of yours",
        ));
    }
    if !matches!(command, Command::Serve(_)) {
        log(ctx.flags.log.as_deref())?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(dispatch(ctx, command));
    // A thread that waits for a line of standard input must not hold the process up.
    runtime.shutdown_background();
    ended
}

async fn dispatch(ctx: Context, command: Command) -> anyhow::Result<Code> {
    match command {
        Command::Serve(arguments) => serve::run(ctx, arguments).await,
        Command::Send(arguments) => send::run(&ctx, arguments).await,
        Command::Status(_) => status::run(&ctx).await,
        Command::Ps(_) => ps::run(&ctx).await,
        Command::Task(command) => task::run(&ctx, command).await,
        Command::Context(command) => context::run(&ctx, command).await,
        Command::Agent(command) => agent::run(&ctx, command).await,
        Command::Token(command) => token::run(&ctx, command).await,
        Command::Card(arguments) => card::run(&ctx, arguments).await,
        Command::Init(arguments) => init::run(&ctx, &arguments),
        Command::Check(arguments) => check::run(&ctx, &arguments),
        Command::Config(command) => config::run(&ctx, &command),
        Command::Reload(_) => reload::run(&ctx).await,
        Command::Drain(arguments) => drain::run(&ctx, &arguments).await,
        Command::Health(arguments) => health::run(&ctx, &arguments).await,
        Command::Doctor(arguments) => doctor::run(&ctx, arguments).await,
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Version(_) => version::run(ctx.screen),
        Command::Help(arguments) => help::run(&ctx, &arguments),
    }
}

/// What the client logs, to standard error, where `--log` asks for it.
fn log(filter: Option<&str>) -> anyhow::Result<()> {
    let Some(filter) = filter else { return Ok(()) };
    let filter: Targets = if filter.contains('=') || filter.contains(',') {
        filter.parse()
    } else {
        format!("a2ad={filter}").parse()
    }
    .map_err(|error| Failure::usage(format!("--log: {error}; use a level such as debug")))?;
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).without_time();
    tracing_subscriber::registry().with(filter).with(layer).init();
    Ok(())
}

/// No body.
const NOTHING: Option<&()> = None;

/// One of the operator's questions.
async fn get<T: serde::de::DeserializeOwned>(
    target: &target::Target,
    path: &str,
) -> Result<T, crate::peer::Error> {
    target.http.ops(reqwest::Method::GET, path, NOTHING, PATIENCE).await
}

/// A text as one segment of a path or one value of a query.
fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => segment.push(char::from(byte)),
            // A dot too: `..` would be taken for the folder above.
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

/// Says an error in one line, with the chain of its causes for `--log debug`.
fn fail(error: &anyhow::Error, screen: Screen, chain: bool) -> Code {
    let closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(closed) {
        signals::Signal::Pipe.end();
    }
    for line in exit::explain(error).lines() {
        screen.error(&format!("a2ad: {line}"));
    }
    if chain {
        for cause in error.chain().skip(1) {
            screen.error(&format!("  because: {cause}"));
        }
    }
    exit::of_error(error)
}
