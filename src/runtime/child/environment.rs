//! What a child's environment holds: the list of O-24, and nothing that gives power.
//!
//! Called by `spawn` only. Pure: the node's own environment comes in as an argument.

use std::ffi::{OsStr, OsString};

/// Taken over from the node's environment where it has them.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Taken over in capitals and in small letters.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

/// What programs of Windows cannot start without.
const WINDOWS: &[&str] = &[
    "SystemRoot",
    "windir",
    "ComSpec",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "HOMEDRIVE",
    "HOMEPATH",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// What a runtime may tell its program about the turn (J-30).
const TOLD: &[&str] = &["A2AD_TASK_ID", "A2AD_CONTEXT_ID", "A2AD_AGENT", "A2AD_NODE_URL"];

/// What the node sets itself.
const SET: &[&str] = &["A2AD_RUN", "TMPDIR", "TEMP", "TMP", "NoDefaultCurrentDirectoryInExePath"];

/// Names and values, each name once.
#[derive(Debug, Default)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

/// Values that are as secret as the operator's own (O-35), and names that were left out.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) secrets: Vec<String>,
    pub(super) refused: Vec<String>,
}

/// What is asked for beyond the list.
pub(super) struct Wanted<'a> {
    pub(super) env: &'a [(String, String)],
    pub(super) env_from: &'a [String],
    /// `[node] path`, in place of the node's own.
    pub(super) path: Option<&'a OsStr>,
    pub(super) temp: &'a OsStr,
    pub(super) run: &'a str,
}

/// The environment of one child. `mine` is the node's own.
pub(super) fn of(mine: &[(OsString, OsString)], wanted: &Wanted<'_>) -> (Environment, Notes) {
    let mut environment = Environment::default();
    let mut notes = Notes::default();
    for (name, value) in mine {
        if name.to_str().is_some_and(passes) {
            environment.set(name, value);
        }
    }
    environment.set("TERM", "dumb");
    environment.set("NO_COLOR", "1");
    if let Some(path) = wanted.path {
        environment.set("PATH", path);
    }
    for name in wanted.env_from {
        if is_forbidden(name) {
            notes.refused.push(name.clone());
        } else if let Some((_, value)) = mine.iter().find(|(have, _)| same(have, name.as_ref())) {
            notes.secrets.extend(value.to_str().map(str::to_owned));
            environment.set(name, value);
        }
    }
    for (name, value) in wanted.env {
        if is_told(name) {
            environment.set(name, value);
        } else if is_forbidden(name) || !is_well_formed(name, value) {
            notes.refused.push(name.clone());
        } else {
            notes.secrets.push(value.clone());
            environment.set(name, value);
        }
    }
    environment.set_own(wanted);
    notes.secrets.push(wanted.run.to_owned());
    (environment, notes)
}

impl Environment {
    fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        let (name, value) = (name.as_ref(), value.as_ref().to_owned());
        match self.0.iter_mut().find(|(have, _)| same(have, name)) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    fn set_own(&mut self, wanted: &Wanted<'_>) {
        self.set("A2AD_RUN", wanted.run);
        self.set("TMPDIR", wanted.temp);
        if cfg!(windows) {
            self.set("TEMP", wanted.temp);
            self.set("TMP", wanted.temp);
            self.set("NoDefaultCurrentDirectoryInExePath", "1");
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Windows knows names without case.
fn same(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

fn passes(name: &str) -> bool {
    let is = |known: &&str| same(name.as_ref(), known.as_ref());
    PASSED.iter().any(&is)
        || name.starts_with("LC_")
        || PROXIES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name) && (is(known) || name.to_lowercase() == name))
        || (cfg!(windows) && WINDOWS.iter().any(is))
}

fn is_told(name: &str) -> bool {
    TOLD.contains(&name)
}

/// Never in a child, whoever asks: the node's own configuration and secrets, the means of its service manager, and
/// what changes which code a program runs.
pub(super) fn is_forbidden(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let starts = ["A2AD_", "LISTEN_", "WATCHDOG_", "LD_", "DYLD_"];
    let names = ["NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "INVOCATION_ID", "JOURNAL_STREAM"];
    starts.iter().any(|start| upper.starts_with(start))
        || names.contains(&upper.as_str())
        || SET.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// What the operating system takes as a name and a value.
fn is_well_formed(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(
        mine: &[(&str, &str)],
        env: &[(&str, &str)],
        env_from: &[&str],
    ) -> (Vec<(String, String)>, Notes) {
        let mine: Vec<_> = mine.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let env_from: Vec<_> = env_from.iter().map(|name| (*name).to_owned()).collect();
        let wanted =
            Wanted { env: &env, env_from: &env_from, path: None, temp: "/tmp/t1".as_ref(), run: "nonce" };
        let (environment, notes) = of(&mine, &wanted);
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        (environment.iter().map(|(name, value)| (text(name), text(value))).collect(), notes)
    }

    fn value<'a>(made: &'a [(String, String)], name: &str) -> Option<&'a str> {
        made.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn ur_22_only_the_list_passes() {
        let (made, _) = made(
            &[
                ("PATH", "/bin"),
                ("HOME", "/h"),
                ("LC_ALL", "C"),
                ("https_proxy", "p"),
                ("HTTP_PROXY", "q"),
                ("CLAUDECODE", "1"),
                ("CLAUDE_CODE_ENTRYPOINT", "cli"),
                ("CLAUDE_CODE_SESSION_ACCESS_TOKEN", "s"),
                ("SSH_AUTH_SOCK", "/s"),
                ("DBUS_SESSION_BUS_ADDRESS", "d"),
                ("XDG_RUNTIME_DIR", "/run/user/1"),
                ("NOTIFY_SOCKET", "/n"),
                ("LISTEN_FDS", "3"),
                ("CREDENTIALS_DIRECTORY", "/c"),
                ("LD_PRELOAD", "/l"),
                ("A2AD_TOKEN", "t"),
                ("NODE_OPTIONS", "--x"),
                ("AWS_SECRET_ACCESS_KEY", "k"),
                ("TMPDIR", "/shared"),
            ],
            &[],
            &[],
        );
        let mut names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let mut expected = vec![
            "A2AD_RUN",
            "HOME",
            "HTTP_PROXY",
            "LC_ALL",
            "NO_COLOR",
            "PATH",
            "TERM",
            "TMPDIR",
            "https_proxy",
        ];
        if cfg!(windows) {
            expected.extend(["NoDefaultCurrentDirectoryInExePath", "TEMP", "TMP"]);
            expected.sort_unstable();
        }
        assert_eq!(names, expected);
        assert_eq!(value(&made, "TERM"), Some("dumb"));
        assert_eq!(value(&made, "TMPDIR"), Some("/tmp/t1"));
        assert_eq!(value(&made, "A2AD_RUN"), Some("nonce"));
    }

    #[test]
    fn what_gives_power_passes_by_no_key() {
        let forbidden = [
            "A2AD_RUN",
            "A2AD_AUTH__MODE",
            "A2AD_TOKEN",
            "NOTIFY_SOCKET",
            "LISTEN_FDS",
            "LISTEN_PID",
            "WATCHDOG_USEC",
            "CREDENTIALS_DIRECTORY",
            "INVOCATION_ID",
            "JOURNAL_STREAM",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "TMPDIR",
        ];
        let pairs: Vec<(&str, &str)> = forbidden.iter().map(|name| (*name, "evil")).collect();
        let (made, notes) = made(&pairs, &pairs, &forbidden);
        assert!(made.iter().all(|(_, value)| value != "evil"), "{made:?}");
        assert_eq!(notes.refused.len(), 2 * forbidden.len());
    }

    #[test]
    fn what_the_operator_names_is_added_and_secret() {
        let (made, notes) = made(
            &[("OPENAI_API_KEY", "key-of-node"), ("SSH_AUTH_SOCK", "/agent.sock")],
            &[("LOG", "verbose-logging"), ("A2AD_TASK_ID", "0198-task"), ("BAD=NAME", "x"), ("NUL", "a\0b")],
            &["OPENAI_API_KEY", "SSH_AUTH_SOCK", "ABSENT"],
        );
        assert_eq!(value(&made, "OPENAI_API_KEY"), Some("key-of-node"));
        assert_eq!(value(&made, "SSH_AUTH_SOCK"), Some("/agent.sock"));
        assert_eq!(value(&made, "LOG"), Some("verbose-logging"));
        assert_eq!(value(&made, "A2AD_TASK_ID"), Some("0198-task"));
        assert_eq!(value(&made, "ABSENT"), None);
        assert_eq!(notes.refused, ["BAD=NAME", "NUL"]);
        assert!(notes.secrets.iter().any(|secret| secret == "key-of-node"));
        assert!(notes.secrets.iter().all(|secret| secret != "0198-task"));
    }
}
