//! Parts: `kind` tells what they are, and files and data are wrapped.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{Form, words::is_kind};
use crate::model::{Content, Json, MOST_PARTS, Metadata, Part, proto};

/// The mark of data that is no object and is wrapped into one, as both official SDKs do it.
const WRAPPED: &str = "data_part_compat";

/// A part in the JSON of 0.3's schema.
pub(super) struct JsonPart(Part);

/// A part in ProtoJSON. One that has a `kind` is of the schema even so.
pub(super) struct ProtoPart(Part);

impl From<JsonPart> for Part {
    fn from(part: JsonPart) -> Self {
        part.0
    }
}

impl From<ProtoPart> for Part {
    fn from(part: ProtoPart) -> Self {
        part.0
    }
}

impl<'de> Deserialize<'de> for JsonPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        proto::object::<_, RawPart>(deserializer)?.read(Form::Json).map(Self)
    }
}

impl<'de> Deserialize<'de> for ProtoPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        proto::object::<_, RawPart>(deserializer)?.read(Form::Proto).map(Self)
    }
}

/// The wire form of both.
#[derive(Deserialize)]
struct RawPart {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default, deserialize_with = "proto::maybe_object")]
    file: Option<RawFile>,
    #[serde(default, deserialize_with = "object")]
    data: Option<Json>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

/// A file, by the names of the schema and of the proto file.
#[derive(Deserialize)]
struct RawFile {
    #[serde(default, alias = "fileWithBytes", alias = "file_with_bytes", deserialize_with = "proto::bytes")]
    bytes: Option<Bytes>,
    #[serde(default, alias = "fileWithUri", alias = "file_with_uri")]
    uri: Option<String>,
    #[serde(default, rename = "mimeType", alias = "mime_type", deserialize_with = "proto::filled")]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "proto::filled")]
    name: Option<String>,
}

/// Data is an object in 0.3.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    match Option::<Json>::deserialize(deserializer)? {
        Some(json) if !json.get().starts_with('{') => Err(D::Error::custom("must be an object")),
        json => Ok(json),
    }
}

impl RawPart {
    fn read<E: Error>(self, form: Form) -> Result<Part, E> {
        let form = if self.kind.is_some() { Form::Json } else { form };
        let found = [self.text.is_some(), self.file.is_some(), self.data.is_some()];
        match found.iter().filter(|found| **found).count() {
            0 => return Err(E::custom("needs one of text, file, data")),
            1 => {}
            _ => return Err(E::custom("holds more than one of text, file, data")),
        }
        let kind = self.kind.as_deref();
        if let Some(text) = self.text {
            is_kind(kind, "text")?;
            return Ok(Part { metadata: self.metadata, ..Part::text(text) });
        }
        if let Some(data) = self.data {
            is_kind(kind, "data")?;
            let data = match form {
                Form::Json => data,
                Form::Proto => inner(&data)?,
            };
            return Ok(unwrapped(data, self.metadata));
        }
        is_kind(kind, "file")?;
        let file = self.file.ok_or_else(|| E::custom("needs one of text, file, data"))?;
        let content = match (file.bytes, file.uri) {
            (Some(bytes), None) => Content::Raw(bytes),
            (None, Some(uri)) => Content::Url(uri),
            (None, None) => return Err(E::custom("file: needs one of bytes, uri")),
            (Some(_), Some(_)) => return Err(E::custom("file: holds more than one of bytes, uri")),
        };
        Ok(Part { content, filename: file.name, media_type: file.media_type, metadata: self.metadata })
    }
}

/// What `DataPart` of the proto file wraps.
fn inner<E: Error>(data: &Json) -> Result<Json, E> {
    #[derive(Deserialize)]
    struct DataPart {
        #[serde(default, deserialize_with = "object")]
        data: Option<Json>,
    }
    let part: DataPart = data.read().map_err(|error| E::custom(format_args!("data: {error}")))?;
    Ok(part.data.unwrap_or_else(|| Json::of(&serde_json::Map::new())))
}

/// Data out of the object that it was wrapped into, if it was.
fn unwrapped(data: Json, metadata: Option<Metadata>) -> Part {
    #[derive(Deserialize)]
    struct Wrap {
        value: Json,
    }
    let marked = metadata.as_ref().and_then(|metadata| metadata.get(WRAPPED)).map(Json::get) == Some("true");
    match data.read::<Wrap>() {
        Ok(Wrap { value }) if marked => {
            let metadata = metadata.and_then(|metadata| metadata.without(WRAPPED));
            Part { metadata, ..Part::of(Content::Data(value)) }
        }
        _ => Part { metadata, ..Part::of(Content::Data(data)) },
    }
}

/// A required list of parts: at least one, not too many (P-3).
pub(super) fn parts<'de, P, D>(deserializer: D) -> Result<Vec<Part>, D::Error>
where
    P: Deserialize<'de> + Into<Part>,
    D: Deserializer<'de>,
{
    let parts: Vec<P> = proto::unset(deserializer)?;
    if parts.is_empty() {
        return Err(D::Error::custom("needs at least one part"));
    }
    if parts.len() > MOST_PARTS {
        return Err(D::Error::custom(format_args!("holds more than {MOST_PARTS} parts")));
    }
    Ok(parts.into_iter().map(Into::into).collect())
}

/// A part as it is written.
#[derive(Serialize)]
pub(super) struct WritePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(flatten)]
    content: WriteContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<WriteMetadata<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum WriteContent<'a> {
    Text(&'a str),
    File(WriteFile<'a>),
    Data(WriteData<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// `DataPart` of the proto file wraps its object once more.
#[derive(Serialize)]
#[serde(untagged)]
enum WriteData<'a> {
    Json(WriteObject<'a>),
    Proto { data: WriteObject<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum WriteObject<'a> {
    Bare(&'a Json),
    Wrapped { value: &'a Json },
}

#[derive(Serialize)]
#[serde(untagged)]
enum WriteMetadata<'a> {
    Given(&'a Metadata),
    Marked(Metadata),
}

impl<'a> WritePart<'a> {
    fn of(form: Form, part: &'a Part) -> Self {
        let mut metadata = part.metadata.as_ref().map(WriteMetadata::Given);
        let (kind, content) = match &part.content {
            Content::Text(text) => ("text", WriteContent::Text(text)),
            Content::Raw(bytes) => {
                let bytes = STANDARD.encode(bytes);
                ("file", WriteContent::File(WriteFile::of(form, part, Some(bytes), None)))
            }
            Content::Url(url) => ("file", WriteContent::File(WriteFile::of(form, part, None, Some(url)))),
            Content::Data(json) => {
                let object = if json.get().starts_with('{') {
                    WriteObject::Bare(json)
                } else {
                    let mut marked = part.metadata.clone().unwrap_or_default();
                    marked.set(WRAPPED, &true);
                    metadata = Some(WriteMetadata::Marked(marked));
                    WriteObject::Wrapped { value: json }
                };
                let data = match form {
                    Form::Json => WriteData::Json(object),
                    Form::Proto => WriteData::Proto { data: object },
                };
                ("data", WriteContent::Data(data))
            }
        };
        Self { kind: (form == Form::Json).then_some(kind), content, metadata }
    }

    /// A list of parts.
    pub(super) fn all(form: Form, parts: &'a [Part]) -> Vec<Self> {
        parts.iter().map(|part| Self::of(form, part)).collect()
    }
}

impl<'a> WriteFile<'a> {
    fn of(form: Form, part: &'a Part, bytes: Option<String>, uri: Option<&'a str>) -> Self {
        let (mime_type, name) = (part.media_type.as_deref(), part.filename.as_deref());
        let bare =
            Self { bytes: None, uri: None, file_with_bytes: None, file_with_uri: None, mime_type, name };
        match form {
            Form::Json => Self { bytes, uri, ..bare },
            Form::Proto => Self { file_with_bytes: bytes, file_with_uri: uri, ..bare },
        }
    }
}
