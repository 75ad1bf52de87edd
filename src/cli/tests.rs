use clap::CommandFactory as _;

use super::*;

/// A context in some directory, without an environment.
pub(super) fn context(cwd: &str) -> Context {
    Context {
        flags: Flags::default(),
        to: None,
        token_file: None,
        screen: Screen::new(Color::Never, true, false),
        around: Surroundings { cwd: cwd.into(), ..Surroundings::default() },
    }
}

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split_whitespace())
}

#[test]
fn the_command_line_is_put_together_rightly() {
    Arguments::command().debug_assert();
}

#[test]
fn global_flags_stand_before_or_behind_the_command() {
    for line in ["a2ad --to https://a --json task list", "a2ad task list --json --to https://a"] {
        let arguments = parse(line).unwrap();
        assert!(arguments.global.json && arguments.global.to.as_deref() == Some("https://a"), "{line}");
    }
}

#[test]
fn no_argument_of_a_command_is_taken_for_a_global_one() {
    fn walk(command: &clap::Command, global: &[clap::Id]) {
        for argument in command.get_arguments() {
            assert!(!global.contains(argument.get_id()), "{} {}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(|below| walk(below, global));
    }
    let root = Arguments::command();
    let global: Vec<clap::Id> = root.get_arguments().map(|argument| argument.get_id().clone()).collect();
    root.get_subcommands().for_each(|below| walk(below, &global));
    let arguments = parse("a2ad token new laptop").unwrap();
    assert_eq!(arguments.global.instance, None);
}

#[test]
fn commands_of_the_surface_are_all_there() {
    for line in [
        "a2ad serve --listen 127.0.0.1:0 --listen unix:/a --workspace . --agent a=echo --allow-plaintext",
        "a2ad init --system",
        "a2ad check --live",
        "a2ad config show limits.body",
        "a2ad config path",
        "a2ad status",
        "a2ad ps",
        "a2ad health --ready",
        "a2ad card -a x --extended --verify",
        "a2ad send -a x -c c -t t --file f --file g --data {} --no-wait --timeout 5m hello there",
        "a2ad send -",
        "a2ad task list --state working --context c --agent a --since 2h --all --limit 5",
        "a2ad task show i",
        "a2ad task watch i --from 7",
        "a2ad task cancel i",
        "a2ad task artifacts i -o d --force --fetch",
        "a2ad task delete i",
        "a2ad task rm i",
        "a2ad context delete i",
        "a2ad agent list",
        "a2ad agent show a",
        "a2ad agent add a --workspace . -- prog --flag",
        "a2ad agent remove a",
        "a2ad agent test a",
        "a2ad token new a --agent x --agent y --role peer --expires 90d --add --reuse",
        "a2ad token list",
        "a2ad token revoke a --cancel",
        "a2ad token hash",
        "a2ad reload",
        "a2ad drain --wait 3h",
        "a2ad drain --off",
        "a2ad doctor --agent a --deep",
        "a2ad completions zsh",
        "a2ad help exit-codes",
        "a2ad --version",
    ] {
        assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
    }
}

#[test]
fn wrong_use_says_what_is_wrong() {
    for (line, word) in [
        ("a2ad sned hello", "send"),
        ("a2ad send --timeout 5x hello", "5x"),
        ("a2ad task list --state busy", "input-required"),
        ("a2ad task list --limit 0", "0"),
        ("a2ad token new a --role king", "admin"),
        ("a2ad drain --off --wait 1h", "--wait"),
        ("a2ad task artifacts i --force", "--output"),
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(word), "{line}: {error}");
    }
}

#[test]
fn no_flag_takes_a_secret() {
    fn walk(command: &clap::Command) {
        for argument in command.get_arguments() {
            let name = argument.get_id().as_str();
            assert!(!matches!(name, "token" | "secret" | "password"), "{} {name}", command.get_name());
        }
        command.get_subcommands().for_each(walk);
    }
    walk(&Arguments::command());
}

#[test]
fn only_commands_that_dial_take_an_address() {
    let screen = Screen::new(Color::Never, true, false);
    let error = begin(parse("a2ad check --to https://a").unwrap(), screen).unwrap_err();
    assert_eq!(exit::of_error(&error), Code::Usage);
}

#[test]
fn segments_keep_a_text_in_its_place() {
    assert_eq!(segment("0190-ab_c"), "0190-ab_c");
    assert_eq!(segment("../a b?c"), "%2E%2E%2Fa%20b%3Fc");
}

#[test]
fn the_help_is_what_it_was() {
    let mut command = Arguments::command().term_width(100);
    command.build();
    insta::assert_snapshot!("help", command.render_help());
    for name in ["send", "serve", "token", "task"] {
        let command = command.find_subcommand_mut(name).unwrap();
        insta::assert_snapshot!(format!("help_{name}"), command.clone().render_long_help());
    }
}
