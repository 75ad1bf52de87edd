//! What a person sees: escaped on a terminal, as it is in a pipe (O-32).

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Color {
    // No doc comments: they would make every command's help longer by four lines.
    #[default]
    Auto,
    Always,
    Never,
}

/// How a word is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Headings, names.
    Bold,
    /// What matters less.
    Dim,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// To be mended.
    Bad,
}

/// Both outputs of the process, and how to write to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Standard output is a terminal.
    pub(super) out: bool,
    /// Standard error is a terminal.
    pub(super) err: bool,
    /// Say less.
    pub(super) quiet: bool,
    /// One object, or one a line.
    pub(super) json: bool,
    color: Color,
    /// `NO_COLOR` and `CLICOLOR_FORCE`.
    wishes: (bool, bool),
}

impl Screen {
    /// Looks at the outputs.
    #[must_use]
    pub(super) fn new(color: Color, quiet: bool, json: bool) -> Self {
        let wish = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            out: io::stdout().is_terminal(),
            err: io::stderr().is_terminal(),
            quiet,
            json,
            color,
            wishes: (wish("NO_COLOR"), wish("CLICOLOR_FORCE")),
        }
    }

    /// Text for standard output that came from outside, or may hold such.
    ///
    /// # Errors
    /// The output is closed, or full.
    pub(super) fn answer(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let text = if self.out { escaped(text) } else { Cow::Borrowed(text) };
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// A line of our own on standard output; what came from outside is already escaped in it.
    ///
    /// # Errors
    /// The output is closed, or full.
    pub(super) fn line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// A value as one line of JSON.
    ///
    /// # Errors
    /// The output is closed, or full.
    pub(super) fn json<T: Serialize + ?Sized>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        if !self.out || !text.contains(acts) {
            return self.line(&text);
        }
        // JSON's own escapes, so that it stays JSON. What acts lies in the first 65,536 letters of Unicode.
        let mut shown = String::with_capacity(text.len() + 16);
        for letter in text.chars() {
            if acts(letter) {
                let _ = write!(shown, "\\u{:04x}", u32::from(letter));
            } else {
                shown.push(letter);
            }
        }
        self.line(&shown)
    }

    /// A line on standard error, always escaped; not with `-q`.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet {
            self.error(text);
        }
    }

    /// A quiet word for a person at the terminal, not for a log or a script.
    pub(super) fn hint(&self, text: &str) {
        if self.err && !self.quiet && !self.json {
            let line = format!("{}\n", self.paint_err(Style::Dim, &one_line(text)));
            let _ = io::stderr().lock().write_all(line.as_bytes());
        }
    }

    /// A line on standard error that also `-q` lets through. Nobody hears that it can't be written.
    pub(super) fn error(&self, text: &str) {
        let mut line = one_line(text).into_owned();
        line.push('\n');
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }

    /// A word for standard output, set off where colors are wanted.
    #[must_use]
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        painted(self.colors(self.out), style, text)
    }

    /// A word for standard error, set off where colors are wanted.
    #[must_use]
    pub(super) fn paint_err(&self, style: Style, text: &str) -> String {
        painted(self.colors(self.err), style, text)
    }

    const fn colors(&self, terminal: bool) -> bool {
        match (self.color, self.wishes) {
            (Color::Always, _) => true,
            (Color::Never, _) | (Color::Auto, (true, _)) => false,
            (Color::Auto, (false, forced)) => forced || terminal,
        }
    }

    /// Lines in columns, as wide as their widest cell. Cells are escaped; a heading is set off. For a pipe the
    /// columns are parted by tabs and there is no heading, so that `cut` and `awk` work.
    ///
    /// # Errors
    /// The output is closed, or full.
    pub(super) fn table(&self, heading: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        if !self.out {
            for row in rows {
                self.line(&row.iter().map(|cell| one_line(cell)).collect::<Vec<_>>().join("\t"))?;
            }
            return Ok(());
        }
        for (index, line) in columns(heading, rows).iter().enumerate() {
            self.line(&if index == 0 { self.paint(Style::Dim, line) } else { line.clone() })?;
        }
        Ok(())
    }
}

fn painted(colors: bool, style: Style, text: &str) -> String {
    if !colors {
        return text.to_owned();
    }
    let code = match style {
        Style::Bold => 1,
        Style::Dim => 2,
        Style::Good => 32,
        Style::Warn => 33,
        Style::Bad => 31,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Pads cells to columns; the first line is the heading.
fn columns(heading: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let heading: Vec<String> = heading.iter().map(|&cell| cell.to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(&heading)
        .chain(rows)
        .map(|row| row.iter().map(|cell| one_line(cell).into_owned()).collect())
        .collect();
    let mut widths = vec![0; heading.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let padded = |line: &Vec<String>| {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        text.trim_end().to_owned()
    };
    lines.iter().map(padded).collect()
}

/// Whether a terminal would do something else with it than show it.
const fn acts(letter: char) -> bool {
    matches!(letter,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}'          // control, DEL, C1
        | '\u{61c}' | '\u{200e}' | '\u{200f}'                        // bidirectional marks
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'          // embeddings, overrides, isolates
        | '\u{2028}' | '\u{2029}')
}

/// A text with everything escaped that would act on a terminal; line breaks and tabs stay.
#[must_use]
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    escape(text, acts)
}

/// The same as one line: line breaks and tabs are escaped too.
#[must_use]
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |letter| acts(letter) || matches!(letter, '\n' | '\t'))
}

fn escape(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // The line break of other systems; alone it would go back to the start of the line.
            '\r' if letters.peek() == Some(&'\n') && !acts('\n') => {}
            '\n' if acts('\n') => shown.push_str("\\n"),
            '\t' if acts('\t') => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            '\0'..='\u{9f}' if acts(letter) => {
                let _ = write!(shown, "\\x{:02x}", u32::from(letter));
            }
            _ if acts(letter) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(letter));
            }
            _ => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_shown_escaped() {
        assert_eq!(escaped("a\x1b]52;c;ZXZpbA==\x07b"), "a\\x1b]52;c;ZXZpbA==\\x07b");
        assert_eq!(escaped("\u{9b}31m\u{7f}"), "\\x9b31m\\x7f");
        assert_eq!(escaped("user\u{202e}gpj.exe\u{2066}"), "user\\u{202e}gpj.exe\\u{2066}");
        assert_eq!(escaped("sure\rrm -rf"), "sure\\rrm -rf");
    }

    #[test]
    fn what_is_only_text_stays_as_it_is() {
        for text in ["", "Grüße, 世界 🙂", "a\tb\nc", "e\u{301}\u{200d}"] {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        assert_eq!(escaped("a\r\nb"), "a\nb");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(one_line("a\nb\tc\r\n\u{2028}d"), "a\\nb\\tc\\r\\n\\u{2028}d");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "x\ny".into()], vec!["longer".into(), String::new()]];
        assert_eq!(columns(&["NAME", "WHAT"], &rows), ["NAME    WHAT", "a       x\\ny", "longer"]);
    }

    #[test]
    fn colors_obey_the_flag_then_the_environment_then_the_terminal() {
        let screen =
            |color, wishes| Screen { out: true, err: false, quiet: false, json: false, color, wishes };
        assert!(screen(Color::Auto, (false, false)).colors(true));
        assert!(!screen(Color::Auto, (false, false)).colors(false));
        assert!(!screen(Color::Auto, (true, true)).colors(true));
        assert!(screen(Color::Auto, (false, true)).colors(false));
        assert!(screen(Color::Always, (true, false)).colors(false));
        assert!(!screen(Color::Never, (false, true)).colors(true));
    }
}
