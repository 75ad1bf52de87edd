//! The environment: `A2AD_TABLE__KEY`, two underscores between tables (O-23).

use toml::Value;

use super::draft::Draft;
use super::fault::{Fault, Origin, Warning};
use super::keys::{self, Key, SECTIONS, Section};
use super::leaf::Shape;
use super::near;

/// Variables of ours that are no keys: those of the client, and those that a child of a node has.
const OTHERS: &[&str] = &[
    "A2AD_TO",
    "A2AD_TOKEN",
    "A2AD_TOKEN_FILE",
    "A2AD_RUN",
    "A2AD_AGENT",
    "A2AD_CONTEXT_ID",
    "A2AD_NODE_URL",
    "A2AD_TASK_ID",
];

/// What Kubernetes sets in every pod beside a service called `a2ad`.
const KUBERNETES: &[&str] = &["A2AD_PORT", "A2AD_SERVICE_"];

/// Puts what the environment says over what stands in `draft`.
pub(super) fn read(env: &[(String, String)], draft: &mut Draft) {
    for (name, text) in env {
        let Some(rest) = name.strip_prefix("A2AD_") else { continue };
        if OTHERS.contains(&name.as_str()) || KUBERNETES.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let Some(path) = path(rest, draft) else {
            draft.warnings.push(unknown(name));
            continue;
        };
        let origin = Origin::Env(name.clone());
        let whole = |why: &str, hint: &str| Fault {
            origin: origin.clone(),
            key: Some(path.clone()),
            why: why.to_owned(),
            hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()),
        };
        match keys::find(&path) {
            None => draft
                .faults
                .push(whole("a list of tables is not read from the environment", "set it in the file")),
            Some(key) if key.secret => {
                draft
                    .faults
                    .push(whole("secrets are not read from A2AD_ variables", "set env_file or env_from"));
            }
            Some(key) => match value(key, text) {
                Ok(value) => draft.put(&path, key, value, origin),
                Err(why) => draft.faults.push(whole(&why, "")),
            },
        }
    }
}

/// The dotted path that a variable means; of a list of tables, its own.
fn path(rest: &str, draft: &Draft) -> Option<String> {
    let mut words: Vec<String> = rest.split("__").map(str::to_lowercase).collect();
    // Names may have `-`, which no variable can: the one that stands in the file is meant.
    if let [table @ ("agents" | "peers" | "runtimes"), name, _] =
        words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let known = draft.names(table).into_iter().find(|known| known.replace('-', "_") == name);
        if let Some(known) = known {
            words[1] = known;
        }
    }
    let path = words.join(".");
    let refs: Vec<&str> = words.iter().map(String::as_str).collect();
    (keys::find(&path).is_some() || Section::at(&refs).is_some_and(|section| section.list)).then_some(path)
}

fn unknown(name: &str) -> Warning {
    let known: Vec<String> = SECTIONS
        .iter()
        .filter(|section| !section.path.contains(&"*") && !section.list)
        .flat_map(|section| {
            section.keys().map(|key| format!("A2AD_{}__{}", section.path.join("__"), key.name).to_uppercase())
        })
        .collect();
    let hint = near::did_you_mean(name, known.iter().map(String::as_str));
    let text = match hint {
        Some(hint) => format!("there is no such variable; {hint}"),
        None => "there is no such variable".to_owned(),
    };
    Warning { origin: Origin::Env(name.to_owned()), key: name.to_owned(), text }
}

/// The text of a variable as a value of the key.
fn value(key: &Key, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let json = trimmed.starts_with(['[', '{']);
    match key.shape {
        Shape::Table | Shape::List | Shape::Ints | Shape::Either if json => {
            serde_json::from_str(trimmed).map_err(|e| format!("is no JSON: {e}"))
        }
        Shape::Table => Err("is not written as JSON".to_owned()),
        Shape::List => Ok(Value::Array(parts(trimmed).map(Value::from).collect())),
        Shape::Either if trimmed.contains(',') => Ok(Value::Array(parts(trimmed).map(Value::from).collect())),
        Shape::Ints => parts(trimmed).map(int).collect::<Result<_, _>>().map(Value::Array),
        Shape::Int => int(trimmed),
        Shape::Bool => match trimmed {
            "true" | "1" => Ok(Value::from(true)),
            "false" | "0" => Ok(Value::from(false)),
            _ => Err(format!("`{trimmed}` is not true or false")),
        },
        Shape::Text | Shape::Either => Ok(Value::from(text)),
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn int(text: &str) -> Result<Value, String> {
    text.parse::<i64>().map(Value::from).map_err(|_| format!("`{text}` is not a whole number"))
}
