//! [`Draft`]: what was said, by the file, the environment and the flags, each value with where it came from.
//!
//! Values are checked as they come in, so that what is read out of a draft is whole: a faulty value is noted
//! as a fault and leaves the default in its place, and the judging goes on to the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::Value;

use super::around::Surroundings;
use super::fault::{Fault, Origin, Warning};
use super::keys::{self, Effect, Key};
use super::leaf::Leaf;
use super::unit::Bad;

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// What was said, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// By dotted path, as `agents.claude.model` or `auth.tokens.0.name`.
    set: BTreeMap<String, Setting>,
    /// Tables that stand there, empty or not, as `agents.claude`.
    tables: BTreeMap<String, Origin>,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Warning>,
}

impl Draft {
    /// Notes that a table stands there.
    pub(super) fn open(&mut self, path: &str, origin: Origin) {
        self.tables.entry(path.to_owned()).or_insert(origin);
    }

    /// Takes a value for a key, over what was there, if it is one that the key can have.
    pub(super) fn put(&mut self, path: &str, key: &Key, value: Value, origin: Origin) {
        if let Err(Bad { why, hint }) = (key.check)(&value) {
            self.faults.push(Fault { origin, key: Some(path.to_owned()), why, hint });
            return;
        }
        if let Some((table, _)) = path.rsplit_once('.') {
            self.open(table, origin.clone());
        }
        self.set.insert(path.to_owned(), Setting { value, origin });
    }

    /// Says what a key is where nobody set it, so that `config show` can tell.
    pub(super) fn settle(&mut self, path: &str, value: impl Into<Value>) {
        self.settle_as(path, value.into(), Origin::Default);
    }

    /// As [`Draft::settle`], with another origin.
    pub(super) fn settle_as(&mut self, path: &str, value: Value, origin: Origin) {
        self.set.entry(path.to_owned()).or_insert(Setting { value, origin });
    }

    /// The value of a key, or its default.
    pub(super) fn read<T: Leaf>(&self, path: &str) -> Option<T> {
        let (value, _) = self.effective(path)?;
        T::read(&value).ok()
    }

    /// The value of a key that has a default.
    pub(super) fn of<T: Leaf>(&self, path: &str) -> T {
        // invariant: only keys with a default are read this way, as the types of the table of keys; a test
        // composes an empty draft, which reads them all.
        #[expect(clippy::expect_used, reason = "checked when it was put")]
        self.read(path).expect("a key with a default")
    }

    /// The value of a key of an agent: its own, else that of `[defaults]`, else the built-in one.
    pub(super) fn agent<T: Leaf>(&self, name: &str, key: &str) -> T {
        self.of(&format!("agents.{name}.{key}"))
    }

    /// The value in force and its origin; keys of an agent fall back to `[defaults]`.
    pub(super) fn effective(&self, path: &str) -> Option<(Value, Origin)> {
        if let Some(setting) = self.setting(path) {
            return Some((setting.value.clone(), setting.origin.clone()));
        }
        keys::find(path)?.default().map(|value| (value, Origin::Default))
    }

    fn setting(&self, path: &str) -> Option<&Setting> {
        self.set.get(path).or_else(|| {
            let (table, key) = path.rsplit_once('.')?;
            table.strip_prefix("agents.")?;
            self.set.get(&format!("defaults.{key}"))
        })
    }

    /// Whether somebody set exactly this key.
    pub(super) fn is_set(&self, path: &str) -> bool {
        self.set.contains_key(path)
    }

    /// Where a key, or else its table, stands.
    pub(super) fn origin(&self, path: &str) -> Origin {
        if let Some(setting) = self.setting(path) {
            return setting.origin.clone();
        }
        let mut table = path;
        loop {
            if let Some(origin) = self.tables.get(table) {
                return origin.clone();
            }
            match table.rsplit_once('.') {
                Some((above, _)) => table = above,
                None => return Origin::Default,
            }
        }
    }

    /// The names of the tables right below `table`, each once.
    pub(super) fn names(&self, table: &str) -> Vec<String> {
        let below =
            |path: &String| Some(path.strip_prefix(table)?.strip_prefix('.')?.split('.').next()?.to_owned());
        let names: BTreeSet<String> = self.tables.keys().filter_map(below).collect();
        names.into_iter().collect()
    }

    /// Every key that somebody set.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.set.iter().map(|(path, setting)| (path.as_str(), setting))
    }

    /// Notes a fault of a key.
    pub(super) fn fault(&mut self, path: &str, why: impl Into<String>, hint: impl Into<String>) {
        let (why, hint) = (why.into(), hint.into());
        let hint = Some(hint).filter(|hint| !hint.is_empty());
        self.faults.push(Fault { origin: self.origin(path), key: Some(path.to_owned()), why, hint });
    }

    /// Notes something the operator should know of a key.
    pub(super) fn warn(&mut self, path: &str, text: impl Into<String>) {
        self.warnings.push(Warning { origin: self.origin(path), key: path.to_owned(), text: text.into() });
    }

    /// Speaks of the keys that this version does not act on.
    pub(super) fn judge_effects(&mut self) {
        let differs = |(path, setting): (&String, &Setting)| {
            let key = keys::find(path)?;
            (key.default().as_ref() != Some(&setting.value)).then(|| (path.clone(), key.effect))
        };
        let changed: Vec<_> = self.set.iter().filter_map(differs).collect();
        for (path, effect) in changed {
            match effect {
                Effect::Now => {}
                Effect::Later => self.warn(&path, "has no effect in this version"),
                Effect::Refused(why, hint) => self.fault(&path, why, hint),
            }
        }
    }

    /// A path as the operator meant it: `credential:NAME`, `~/…`, else relative to the file it stands in, or to
    /// the current directory for environment and flags.
    pub(super) fn path(&mut self, key: &str, around: &Surroundings) -> Option<PathBuf> {
        let text: String = self.read(key)?;
        let base = match self.origin(key) {
            Origin::File { path, .. } => path.parent().map_or_else(|| around.cwd.clone(), Path::to_owned),
            _ => around.cwd.clone(),
        };
        match around.resolve(&text, &base) {
            Ok(path) => Some(path),
            Err(Bad { why, hint }) => {
                self.fault(key, why, hint.unwrap_or_default());
                None
            }
        }
    }
}
