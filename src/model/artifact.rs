//! What a task produces.

use serde::{Deserialize, Serialize};

use super::{ArtifactId, Metadata, Part, message, proto};

/// An artifact, as A2A 1.0 section 4.1.7 has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within the task (A2A-19).
    #[serde(alias = "artifact_id")]
    pub artifact_id: ArtifactId,
    /// For people.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people.
    #[serde(default, deserialize_with = "proto::filled", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// At least one.
    #[serde(deserialize_with = "message::parts")]
    pub parts: Vec<Part>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// URIs of extensions that contributed.
    #[serde(default, deserialize_with = "proto::unset", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact of one text part.
    #[must_use]
    pub fn text(id: ArtifactId, text: impl Into<String>) -> Self {
        Self {
            artifact_id: id,
            name: None,
            description: None,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
        }
    }

    /// Roughly how many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        self.parts.iter().map(Part::size).sum()
    }
}
