//! JSON kept as it came: numbers to the last digit, members in their order (A2A-18).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

/// Any JSON value, as its own text.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The JSON form of a value of ours. Values that have none (a map with keys that are no text) become `null`.
    #[must_use]
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Self(RawValue::NULL.to_owned()), Self)
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The text read as some type.
    ///
    /// # Errors
    /// What `serde_json` says of a text that is none.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl<'de> Deserialize<'de> for Json {
    /// A key that stands twice is refused at any depth (O-67). Line breaks between tokens become spaces: an event is
    /// one line, for browsers and for programs that read lines.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with(['{', '[']) {
            serde_json::from_str::<NoTwins>(raw.get()).map_err(de::Error::custom)?;
        }
        if raw.get().contains(['\n', '\r']) {
            // Inside a JSON text they stand between tokens only.
            let line = raw.get().replace(['\n', '\r'], " ");
            return RawValue::from_string(line).map(Self).map_err(de::Error::custom);
        }
        Ok(Self(raw))
    }
}

/// Any JSON in which no object has a key twice.
struct NoTwins;

impl<'de> Deserialize<'de> for NoTwins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> de::Visitor<'de> for NoTwins {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if keys.contains(&key) {
                return Err(twice(&key.0));
            }
            keys.insert(key);
            map.next_value::<Self>()?;
        }
        Ok(self)
    }
}

/// Parsers differ on which of two equal keys counts.
fn twice<E: de::Error>(key: &str) -> E {
    E::custom(format_args!("the key `{key}` stands twice"))
}

/// A `google.protobuf.Struct`: text keys, any values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Metadata(BTreeMap<String, Json>);

/// What the node stamps itself; stripped from everything that comes in.
const OURS: &str = "a2ad/";

impl Metadata {
    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// Sets a key, replacing what it held.
    pub fn set<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.0.insert(key.to_owned(), Json::of(value));
    }

    /// All that `other` holds is set here.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Without a key; `None` where nothing is left.
    #[must_use]
    pub fn without(mut self, key: &str) -> Option<Self> {
        self.0.remove(key);
        (!self.0.is_empty()).then_some(self)
    }

    /// Without the keys that only the node may set.
    #[must_use]
    pub fn stripped(mut self) -> Option<Self> {
        self.0.retain(|key, _| !key.starts_with(OURS) && !key.starts_with("urn:a2ad:"));
        (!self.0.is_empty()).then_some(self)
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl<'de> Deserialize<'de> for Metadata {
    /// A key that stands twice is refused: parsers differ on which one counts (O-67).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> de::Visitor<'de> for Members {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map.next_value()?;
                    if members.contains_key(&key) {
                        return Err(twice(&key));
                    }
                    members.insert(key, value);
                }
                Ok(Metadata(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit() {
        let text = r#"{"a":1.50,"b":12345678901234567890123}"#;
        let metadata: Metadata = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&metadata).unwrap(), text);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let error = serde_json::from_str::<Metadata>(r#"{"a":1,"a":2}"#).unwrap_err();
        assert!(error.to_string().contains("stands twice"), "{error}");
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        let read = |text| serde_json::from_str::<Json>(text).map_err(|error| error.to_string());
        assert!(read(r#"[{"b":{"a":1,"\u0061":2}}]"#).unwrap_err().contains("the key `a` stands twice"));
        assert!(read(r#"[{"a":{"a":1}},{"a":-1.5e3,"b":[null,true,"a","a"]}]"#).is_ok());
    }

    #[test]
    fn a_number_that_no_double_comes_near_is_refused() {
        let read = |text| serde_json::from_str::<Json>(text).map_err(|error| error.to_string());
        assert!(read(r#"{"a":1e999}"#).unwrap_err().contains("number out of range"));
        assert!(read(r#"{"a":-123456789012345678901234567890}"#).is_ok());
    }

    #[test]
    fn any_json_is_one_line() {
        let json: Json = serde_json::from_str("{\n\"a\":\r\n [1,\n2], \"b\": \"c\\nd\"}").unwrap();
        assert_eq!(json.get(), r#"{ "a":   [1, 2], "b": "c\nd"}"#);
    }

    #[test]
    fn keys_of_the_node_are_stripped() {
        let metadata: Metadata =
            serde_json::from_str(r#"{"a2ad/usage":1,"urn:a2ad:hop/1":2,"mine":3}"#).unwrap();
        assert_eq!(serde_json::to_string(&metadata.stripped()).unwrap(), r#"{"mine":3}"#);
    }
}
