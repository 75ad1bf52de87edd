//! What an agent's `env`, `env_from` and `env_file` may hold (O-24).
#![expect(clippy::disallowed_methods, reason = "reads the files that the configuration names")]

use std::path::Path;

/// Names that reach no child, whoever asks for it: what is the node's alone, and what puts code into every
/// program.
const NEVER: &[&str] = &["A2AD_", "LISTEN_", "WATCHDOG_", "LD_", "DYLD_"];
const NEVER_EXACT: &[&str] = &["NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "INVOCATION_ID", "JOURNAL_STREAM"];

/// Whether a variable may reach a child.
///
/// # Errors
/// Why not.
pub(super) fn may_pass(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '(' || c == ')') {
        return Err(format!("`{}` is no name of a variable", name.escape_default()));
    }
    let upper = name.to_ascii_uppercase();
    if NEVER.iter().any(|prefix| upper.starts_with(prefix)) || NEVER_EXACT.contains(&upper.as_str()) {
        return Err(format!("`{name}` is passed to no child"));
    }
    Ok(())
}

/// Variables that lead a child to other daemons of this user.
pub(super) fn is_power(name: &str) -> bool {
    ["SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DISPLAY"].contains(&name)
        || name.starts_with("DBUS_")
        || name.starts_with("WAYLAND_")
}

/// Reads an `env_file`: `NAME=VALUE` a line, `#` for comments, `export` and one pair of quotes allowed.
///
/// # Errors
/// The file cannot be read, or a line of it; never with what the line holds.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
    pairs(&text).map_err(|line| format!("line {line} of `{}` is not NAME=VALUE", path.display()))
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, usize> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (name, value) = line.split_once('=').ok_or(number)?;
            Ok((name.trim().to_owned(), unquote(value.trim()).to_owned()))
        })
        .collect()
}

fn unquote(value: &str) -> &str {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_nodes_alone_reaches_no_child() {
        for name in [
            "A2AD_TOKEN",
            "NOTIFY_SOCKET",
            "LISTEN_FDS",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "ld_preload",
            "1X",
            "A=B",
            "",
        ] {
            assert!(may_pass(name).is_err(), "{name}");
        }
        for name in ["PATH", "ANTHROPIC_API_KEY", "_x", "ProgramFiles(x86)"] {
            assert_eq!(may_pass(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn an_env_file_is_lines_of_names_and_values() {
        let text = "# keys\n\nexport A=1\nB = \"two words\"\r\nC='x=y'\nD=\n";
        let read: Vec<_> = pairs(text).unwrap();
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read, [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")]);
        assert_eq!(pairs("A=1\nnonsense"), Err(2));
    }
}
