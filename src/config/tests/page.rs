//! The page on the configuration says of every key what the table says.

use toml::Value;

use super::super::keys::{Effect, Key, SECTIONS, Section};

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// The heading of a table, as the file writes it.
fn heading(section: &Section) -> String {
    let path = section.path.join(".").replace('*', "NAME");
    if section.list { format!("## [[{path}]]") } else { format!("## [{path}]") }
}

/// Key, default and effect, as a row of the page begins.
fn row(key: &Key) -> String {
    let text = |value: Value| format!("`{value}`");
    let default = key.default().map(text).unwrap_or_default();
    let effect = match key.effect {
        Effect::Now if key.restart => "restart",
        Effect::Now => "live",
        Effect::Later => "later",
        Effect::Refused(..) => "refused",
    };
    format!("| `{}` | {default} | {effect} | ", key.name)
}

#[test]
fn the_page_has_every_key_with_its_default_and_when_it_takes_effect() {
    let mut chapters: Vec<&str> = PAGE.split("\n## ").collect();
    for section in SECTIONS {
        let heading = heading(section);
        let chapter = chapters
            .iter()
            .position(|chapter| chapter.lines().next().is_some_and(|line| format!("## {line}") == heading));
        let chapter = chapters.remove(chapter.unwrap_or_else(|| panic!("the page has no chapter {heading}")));
        let rows: Vec<&str> = chapter.lines().filter(|line| line.starts_with("| `")).collect();
        // What an agent shares with all others stands there, under [defaults].
        let own = if heading == "## [agents.NAME]" { &section.keys[..1] } else { section.keys };
        let keys: Vec<&Key> = own.iter().flat_map(|keys| keys.iter()).collect();
        for key in &keys {
            let begins = row(key);
            let found = rows.iter().find(|row| row.starts_with(&format!("| `{}` |", key.name)));
            let found =
                found.unwrap_or_else(|| panic!("{heading} of the page has no row for `{}`", key.name));
            assert!(found.starts_with(&begins), "{heading} should say\n{begins}…\nand says\n{found}");
            assert!(found.len() > begins.len() + 5, "{heading} says nothing of `{}`", key.name);
        }
        assert_eq!(rows.len(), keys.len(), "{heading} of the page has rows for what is no key");
    }
}
