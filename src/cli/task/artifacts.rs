//! `a2ad task artifacts`: what a task made, listed or saved (O-33).

use std::{path::PathBuf, time::Duration};

use super::super::{
    Context, clock,
    exit::{Code, Failure},
    save::Folder,
    target,
};
use crate::model::{Artifact, Content, Part};
use crate::peer::{Address, Http};

/// List what a task made, or save it with -o
///
/// File names come from the agent, so they are cleaned; nothing is overwritten without --force, and nothing is written
/// through a link. Parts that only name a URL are listed, and fetched with --fetch.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    one: super::One,
    /// Save the files in this folder, which is made if it is missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "output")]
    force: bool,
    /// Also fetch what the agent only named by URL
    #[arg(long, requires = "output")]
    fetch: bool,
}

/// What is fetched from a URL at most.
const MOST_FETCHED: usize = 256 << 20;

/// One thing to save: texts of an artifact belong together, every other part is a file of its own.
#[derive(Debug, PartialEq)]
struct Item {
    name: String,
    media_type: String,
    body: Body,
}

#[derive(Debug, PartialEq)]
enum Body {
    Bytes(Vec<u8>),
    Url(String),
}

pub(super) async fn run(ctx: &Context, arguments: &Arguments) -> anyhow::Result<Code> {
    let target = target::find(ctx)?;
    let (peer, id) = arguments.one.find(&target).await?;
    let task = peer.task(&id, Some(0)).await?;
    let Some(output) = &arguments.output else {
        list(ctx, &task.artifacts)?;
        return Ok(Code::Ok);
    };
    let mut folder = Folder::open(output, arguments.force)?;
    for item in task.artifacts.iter().flat_map(items) {
        let bytes = match item.body {
            Body::Bytes(bytes) => bytes,
            Body::Url(url) if arguments.fetch => fetch(&url).await?,
            Body::Url(url) => {
                ctx.screen.note(&format!("not fetched: {} from {url} (--fetch does)", item.name));
                continue;
            }
        };
        let path = folder.save(&item.name, &bytes)?;
        if ctx.screen.json {
            ctx.screen.json(&serde_json::json!({"path": path, "bytes": bytes.len()}))?;
        } else {
            ctx.screen.answer(&format!("{}\n", path.display()))?;
        }
    }
    Ok(Code::Ok)
}

fn list(ctx: &Context, artifacts: &[Artifact]) -> anyhow::Result<()> {
    if ctx.screen.json {
        for artifact in artifacts {
            ctx.screen.json(artifact)?;
        }
        return Ok(());
    }
    let rows: Vec<Vec<String>> = artifacts
        .iter()
        .flat_map(items)
        .map(|item| {
            let size = match &item.body {
                Body::Bytes(bytes) => clock::size(bytes.len() as u64),
                Body::Url(url) => url.clone(),
            };
            vec![item.name, item.media_type, size]
        })
        .collect();
    if rows.is_empty() {
        ctx.screen.note("it has made nothing yet");
        return Ok(());
    }
    ctx.screen.table(&["NAME", "TYPE", "SIZE"], &rows)?;
    Ok(())
}

fn items(artifact: &Artifact) -> Vec<Item> {
    let stem = artifact.name.clone().unwrap_or_else(|| artifact.artifact_id.to_string());
    let mut items: Vec<Item> = Vec::new();
    let mut text: Option<Vec<u8>> = None;
    for part in &artifact.parts {
        match (&part.content, &part.filename) {
            // Pieces of one text, as they were streamed.
            (Content::Text(piece), None) => text.get_or_insert_default().extend_from_slice(piece.as_bytes()),
            (Content::Text(piece), Some(name)) => {
                items.push(item(name, part, "text/plain", piece.as_bytes()))
            }
            (Content::Raw(bytes), name) => {
                items.push(item(name.as_ref().unwrap_or(&stem), part, "application/octet-stream", bytes));
            }
            (Content::Data(json), name) => {
                let name = name.clone().unwrap_or_else(|| with_ending(&stem, "json"));
                items.push(item(&name, part, "application/json", json.get().as_bytes()));
            }
            (Content::Url(url), name) => items.push(Item {
                name: name.clone().unwrap_or_else(|| stem.clone()),
                media_type: part.media_type.clone().unwrap_or_else(|| "-".to_owned()),
                body: Body::Url(url.clone()),
            }),
        }
    }
    if let Some(text) = text {
        let name = with_ending(&stem, "txt");
        items.insert(0, Item { name, media_type: "text/plain".to_owned(), body: Body::Bytes(text) });
    }
    items
}

fn item(name: &str, part: &Part, kind: &str, bytes: &[u8]) -> Item {
    let media_type = part.media_type.clone().unwrap_or_else(|| kind.to_owned());
    Item { name: name.to_owned(), media_type, body: Body::Bytes(bytes.to_vec()) }
}

/// A name that has an ending keeps it.
fn with_ending(stem: &str, ending: &str) -> String {
    let named = std::path::Path::new(stem).extension().is_some();
    if named { stem.to_owned() } else { format!("{stem}.{ending}") }
}

/// Without a credential, and without following a redirect.
async fn fetch(url: &str) -> anyhow::Result<Vec<u8>> {
    let parsed = reqwest::Url::parse(url).map_err(|error| {
        Failure::of(Code::Failed, format!("the agent named `{url}`, which is no URL: {error}"))
    })?;
    let http = Http::new(Address::parse(&parsed.origin().ascii_serialization())?, None)?;
    let response = http.send(http.open_request(parsed), Some(Duration::from_secs(600))).await?;
    if !response.status().is_success() {
        return Err(http.refusal(response).await.into());
    }
    Ok(http.body_within(response, MOST_FETCHED).await?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_pieces_of_text_are_one_file() {
        let mut artifact = Artifact::text("a1".into(), "Hel");
        artifact.parts.push(Part::text("lo"));
        artifact.parts.push(Part::data(&1));
        let mut file = Part::of(Content::Raw(vec![1].into()));
        file.filename = Some("x.png".into());
        artifact.parts.push(file);
        let names: Vec<(String, Body)> =
            items(&artifact).into_iter().map(|item| (item.name, item.body)).collect();
        assert_eq!(
            names,
            [
                ("a1.txt".into(), Body::Bytes(b"Hello".to_vec())),
                ("a1.json".into(), Body::Bytes(b"1".to_vec())),
                ("x.png".into(), Body::Bytes(vec![1])),
            ]
        );
        assert_eq!(with_ending("notes.md", "txt"), "notes.md");
    }
}
