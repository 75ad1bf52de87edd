//! `a2ad completions`: for the shell.

use clap::CommandFactory as _;

use super::exit::Code;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "As with: a2ad completions bash > ~/.local/share/bash-completion/completions/a2ad")]
pub(super) struct Arguments {
    /// Which shell
    shell: clap_complete::Shell,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Code> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "a2ad", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(Code::Ok)
}
