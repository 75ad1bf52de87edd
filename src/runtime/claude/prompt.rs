//! A caller's message as content blocks of the model: text, images, documents, and a word about the rest.
//!
//! Pure.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::model::{Content, Message, Part};

/// Images that the model sees.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The blocks of a message, at least one.
pub(super) fn blocks(message: &Message) -> Vec<Value> {
    message.parts.iter().map(block).collect()
}

fn block(part: &Part) -> Value {
    match &part.content {
        Content::Text(said) => match &part.filename {
            Some(name) => text(&format!("File {name}:\n{said}")),
            None => text(said),
        },
        Content::Data(json) => text(&format!("Data (JSON):\n{}", json.get())),
        Content::Url(url) => text(&format!("File {}: {url}", name(part))),
        Content::Raw(bytes) => raw(part, bytes),
    }
}

fn raw(part: &Part, bytes: &Bytes) -> Value {
    let media_type = part.media_type.as_deref().unwrap_or("application/octet-stream");
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    let source = || json!({"type": "base64", "media_type": kind, "data": STANDARD.encode(bytes)});
    if IMAGES.contains(&kind) {
        return json!({"type": "image", "source": source()});
    }
    if kind == "application/pdf" {
        return json!({"type": "document", "source": source()});
    }
    match std::str::from_utf8(bytes) {
        Ok(said) => text(&format!("File {}:\n{said}", name(part))),
        Err(_) => text(&format!("File {} of {} bytes, which cannot be shown here.", name(part), bytes.len())),
    }
}

/// A file as its sender calls it.
fn name(part: &Part) -> String {
    let name = part.filename.as_deref().unwrap_or("without a name");
    match &part.media_type {
        Some(kind) => format!("{name} ({kind})"),
        None => name.to_owned(),
    }
}

/// The model's API refuses an empty text.
fn text(said: &str) -> Value {
    json!({"type": "text", "text": if said.trim().is_empty() { "(empty message)" } else { said }})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;

    #[test]
    fn each_part_becomes_a_block_that_the_model_can_read() {
        let parts = json!([
            {"text": "look"}, {"text": ""}, {"data": {"n": 1.50}}, {"url": "https://x/y", "filename": "y"},
            {"raw": "aGk=", "mediaType": "text/plain", "filename": "a.txt"},
            {"raw": "/w==", "mediaType": "image/png"}, {"raw": "/w==", "mediaType": "application/pdf"},
            {"raw": "/w==", "filename": "a.bin"},
        ]);
        let parts = serde_json::from_str(&parts.to_string().replace("1.5", "1.50")).unwrap();
        let blocks = blocks(&Message::new(Role::User, parts));
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        assert_eq!(
            texts,
            [
                "look",
                "(empty message)",
                "Data (JSON):\n{\"n\":1.50}",
                "File y: https://x/y",
                "File a.txt (text/plain):\nhi",
                "File a.bin of 1 bytes, which cannot be shown here.",
            ]
        );
        assert_eq!(
            blocks[5],
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "/w=="}})
        );
        assert_eq!(blocks[6]["type"], "document");
    }
}
