//! What is in force and where it came from: `config show`, and what a reload changes.

use super::draft::Draft;
use super::fault::{Fault, Origin};
use super::keys::{self, SECTIONS, Section};
use super::{Config, file};

/// One key as it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The key, dotted from the root.
    pub key: String,
    /// Its value as the file would have it; `***` where it is a secret.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
    /// A change takes effect at the next start only (O-22).
    pub restart: bool,
}

/// One key that a reload finds changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key, dotted from the root.
    pub key: String,
    /// Its value before; `None`: it was not there.
    pub from: Option<String>,
    /// Its value now; `None`: it is gone.
    pub to: Option<String>,
    /// It takes effect at the next start only.
    pub restart: bool,
}

impl Config {
    /// The keys in force, sorted by table; `key` is a key, a table, or all.
    ///
    /// # Errors
    /// There is no such key; the fault names the nearest one.
    pub fn show(&self, key: Option<&str>) -> Result<Vec<Shown>, Fault> {
        let all = all(&self.draft);
        let Some(key) = key else { return Ok(all) };
        let below = |shown: &Shown| {
            shown.key.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let shown: Vec<Shown> = all.into_iter().filter(below).collect();
        if shown.is_empty() {
            file::known(key)?;
        }
        Ok(shown)
    }

    /// What is different in `next`.
    pub fn changes(&self, next: &Self) -> Vec<Change> {
        let (before, after) = (all(&self.draft), all(&next.draft));
        let mut changes = Vec::new();
        for old in &before {
            let new = after.iter().find(|new| new.key == old.key);
            // A changed secret is still `***`: the values themselves are compared.
            if new.is_none()
                || self.draft.effective(&old.key).map(first) != next.draft.effective(&old.key).map(first)
            {
                let to = new.map(|new| new.value.clone());
                changes.push(Change {
                    key: old.key.clone(),
                    from: Some(old.value.clone()),
                    to,
                    restart: old.restart,
                });
            }
        }
        let added = after.into_iter().filter(|new| !before.iter().any(|old| old.key == new.key));
        changes.extend(added.map(|Shown { key, value, restart, .. }| Change {
            key,
            from: None,
            to: Some(value),
            restart,
        }));
        changes
    }
}

fn first<A, B>(pair: (A, B)) -> A {
    pair.0
}

fn all(draft: &Draft) -> Vec<Shown> {
    SECTIONS
        .iter()
        .flat_map(|section| {
            tables(draft, section).into_iter().flat_map(move |table| of(draft, section, &table))
        })
        .collect()
}

/// The tables that a section has in this configuration.
fn tables(draft: &Draft, section: &Section) -> Vec<String> {
    let above = section.path.iter().copied().take_while(|part| *part != "*").collect::<Vec<_>>().join(".");
    if section.list || section.path.contains(&"*") {
        draft.names(&above).into_iter().map(|name| format!("{above}.{name}")).collect()
    } else {
        vec![above]
    }
}

fn of(draft: &Draft, section: &'static Section, table: &str) -> Vec<Shown> {
    let shown = |key: &'static keys::Key| {
        let path = format!("{table}.{}", key.name);
        let (value, origin) = draft.effective(&path)?;
        let value = if key.secret { "***".to_owned() } else { value.to_string() };
        Some(Shown { key: path, value, origin, restart: key.restart })
    };
    section.keys().filter_map(shown).collect()
}
