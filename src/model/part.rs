//! A part of a message or artifact: exactly one of text, bytes, a URL or data (A2A-16, A2A-17).

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, ser::SerializeMap};

use super::{Json, Metadata, proto};

/// One piece of content with what is said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The content itself.
    pub content: Content,
    /// A file's name, for any kind of content.
    pub filename: Option<String>,
    /// Its media type, for any kind of content.
    pub media_type: Option<String>,
    /// Anything else.
    pub metadata: Option<Metadata>,
}

/// The `content` oneof.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// The bytes of a file; base64 on the wire.
    Raw(Bytes),
    /// Where a file lies. The node never fetches it.
    Url(String),
    /// Any JSON value, `null` included.
    Data(Json),
}

impl Part {
    /// A text part with nothing beside the text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }

    /// A data part made from a value of ours.
    #[must_use]
    pub fn data<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::of(Content::Data(Json::of(value)))
    }

    /// A part with nothing beside its content.
    #[must_use]
    pub const fn of(content: Content) -> Self {
        Self { content, filename: None, media_type: None, metadata: None }
    }

    /// The text of a part that is text and nothing else.
    #[must_use]
    pub fn plain(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text)
                if self.filename.is_none() && self.media_type.is_none() && self.metadata.is_none() =>
            {
                Some(text)
            }
            Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        }
    }

    /// Roughly how many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.content {
            Content::Text(text) | Content::Url(text) => text.len(),
            Content::Raw(bytes) => bytes.len(),
            Content::Data(json) => json.get().len(),
        }
    }
}

/// The wire form, in which nothing keeps two members apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, deserialize_with = "proto::bytes")]
    raw: Option<Bytes>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default, deserialize_with = "proto::present")]
    data: Option<Json>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default, deserialize_with = "proto::filled")]
    filename: Option<String>,
    #[serde(default, alias = "media_type", deserialize_with = "proto::filled")]
    media_type: Option<String>,
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: RawPart = proto::object(deserializer)?;
        let mut found = [
            raw.text.map(Content::Text),
            raw.raw.map(Content::Raw),
            raw.url.map(Content::Url),
            raw.data.map(Content::Data),
        ]
        .into_iter()
        .flatten();
        let content = found.next().ok_or_else(|| D::Error::custom("needs one of text, raw, url, data"))?;
        if found.next().is_some() {
            return Err(D::Error::custom("holds more than one of text, raw, url, data"));
        }
        Ok(Self { content, filename: raw.filename, media_type: raw.media_type, metadata: raw.metadata })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(bytes) => map.serialize_entry("raw", &STANDARD.encode(bytes))?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(json) => map.serialize_entry("data", json)?,
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Part, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn data_may_be_null_and_text_may_be_empty() {
        assert_eq!(read(r#"{"data":null}"#).unwrap().content, Content::Data(Json::of(&())));
        assert_eq!(read(r#"{"text":""}"#).unwrap(), Part::text(""));
    }

    #[test]
    fn two_members_of_the_oneof_are_refused() {
        assert!(read(r#"{"text":"a","url":"b"}"#).unwrap_err().contains("more than one"));
        assert!(read(r#"{"mediaType":"a/b"}"#).unwrap_err().contains("needs one of"));
    }

    #[test]
    fn base64_is_read_in_either_alphabet_and_written_in_the_standard_one() {
        for text in ["+/8=", "-_8=", "-_8"] {
            let part = read(&format!(r#"{{"raw":"{text}"}}"#)).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), r#"{"raw":"+/8="}"#);
        }
        assert!(read(r#"{"raw":"*"}"#).is_err());
    }
}
