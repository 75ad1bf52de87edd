//! `a2ad help`: of a command, or of something that belongs to none (O-90).

use clap::CommandFactory as _;

use super::{
    Context,
    exit::{self, Code, Failure},
    terminal::Screen,
};

/// Help on a command, or on exit-codes, environment, files
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A command, or a topic: exit-codes, environment, files
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

const ENVIRONMENT: &str = "\
Environment
  A2AD_TO               the node to talk to, as --to
  A2AD_TOKEN_FILE       a file with the token for it, as --token-file
  A2AD_TOKEN            the token itself; it is sent to A2AD_TO alone where that is set
  A2AD_TABLE__KEY       a value of a2ad.toml: A2AD_NODE__PUBLIC_URL, A2AD_LIMITS__BODY,
                        A2AD_AGENTS__CLAUDE__MODEL; lists by comma or as JSON
  NO_COLOR, CLICOLOR_FORCE
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE
                        for nodes elsewhere

A flag goes before the environment, the environment before the file, the file before
what is built in. `a2ad config show` tells where each value comes from.
";

const FILES: &str = "\
Files
  ~/.config/a2ad/a2ad.toml    configuration of the user's node; `a2ad init` writes one
  ~/.config/a2ad/NAME.toml    of the instance --name NAME
  ~/.local/state/a2ad/        state: node.db, node.lock, node.json, token, runs/
  /etc/a2ad/a2ad.toml         configuration of the system's node
  /var/lib/a2ad/              its state

The current directory is never searched for a configuration. `a2ad config path` tells
which file is meant.

`token` in the state directory is the local admin token. It is made anew at every start
and counts on this machine only; for another machine make one with `a2ad token new`.
";

/// The topics that are no command.
const TOPICS: [(&str, &str); 3] =
    [("exit-codes", exit::HELP), ("environment", ENVIRONMENT), ("files", FILES)];

pub(super) fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let text = text(&arguments.words)?;
    ctx.screen.answer(&text)?;
    Ok(Code::Ok)
}

fn text(words: &[String]) -> anyhow::Result<String> {
    if let [word] = words
        && let Some((_, text)) = TOPICS.iter().find(|(topic, _)| topic == word)
    {
        return Ok((*text).to_owned());
    }
    let mut root = super::Arguments::command();
    root.build();
    let mut command = &mut root;
    for word in words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            let topics: Vec<&str> = TOPICS.iter().map(|(topic, _)| *topic).collect();
            Failure::usage(format!("there is no command or topic `{word}`; topics are {}", topics.join(", ")))
        })?;
    }
    Ok(command.render_long_help().to_string())
}

/// `a2ad --version`.
pub(super) fn version(screen: Screen) -> anyhow::Result<Code> {
    let version = env!("CARGO_PKG_VERSION");
    if screen.json {
        let about = serde_json::json!({
            "version": version,
            "protocols": crate::wire::Version::ALL.map(crate::wire::Version::as_str),
            "os": std::env::consts::OS,
            "arch": std::env::consts::ARCH,
        });
        screen.json(&about)?;
    } else {
        screen.line(&format!("a2ad {version}"))?;
    }
    Ok(Code::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_and_commands_have_help_and_nothing_else_has() {
        let help = |words: &[&str]| text(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        for words in
            [&[][..], &["exit-codes"], &["environment"], &["files"], &["send"], &["task", "artifacts"]]
        {
            assert!(help(words).unwrap().lines().count() > 5, "{words:?}");
        }
        let error = help(&["task", "fly"]).unwrap_err().to_string();
        assert!(error.contains("`fly`") && error.contains("exit-codes"), "{error}");
    }
}
