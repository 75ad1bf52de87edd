//! ProtoJSON's leniency on input (A2A-3): `null` is "unset", integers may be texts or integral floats, enums may be
//! numbers. What we emit is always the strict form.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{Deserialize, Deserializer, de, de::value::MapAccessDeserializer};

/// A structure written as an object and not as a list of its members, which derived readers take as well.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_map(Object(PhantomData))
}

/// The same where the structure may be left out.
pub fn maybe_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Inner<T>(T);
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Inner<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            object(deserializer).map(Inner)
        }
    }
    Ok(Option::<Inner<T>>::deserialize(deserializer)?.map(|inner| inner.0))
}

/// The same where leaving it out is its default.
pub fn default_object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    maybe_object(deserializer).map(Option::unwrap_or_default)
}

/// `null` and absence are the default.
pub fn unset<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A text without presence: `null` and `""` are unset.
pub fn filled<'de, D: Deserializer<'de>, T: From<String>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()).map(T::from))
}

/// Presence is what counts: `"data": null` is a value (A2A-16).
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// An `int32` with presence: a number, an integral float or a text; `null` is unset.
pub fn int32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    struct Int;
    impl<'de> de::Visitor<'de> for Int {
        type Value = Option<i32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a 32-bit integer")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_i64<E: de::Error>(self, v: i64) -> Result<Self::Value, E> {
            i32::try_from(v).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Signed(v), &self))
        }

        fn visit_u64<E: de::Error>(self, v: u64) -> Result<Self::Value, E> {
            i32::try_from(v).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(v), &self))
        }

        fn visit_f64<E: de::Error>(self, v: f64) -> Result<Self::Value, E> {
            let whole = v.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&v);
            #[expect(clippy::cast_possible_truncation, reason = "checked in the line above")]
            if whole { Ok(Some(v as i32)) } else { Err(E::invalid_value(de::Unexpected::Float(v), &self)) }
        }

        fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
            let number = v.parse::<i32>().ok().or_else(|| {
                v.parse::<f64>().ok().and_then(|float| self.visit_f64::<E>(float).ok()).flatten()
            });
            number.map(Some).ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &Self))
        }
    }
    deserializer.deserialize_any(Int)
}

/// An enum by name or number. `names` are the members in the order of their numbers, from 0; an unknown name is
/// refused rather than taken for 0 (A2A-15). `null` is 0.
pub fn member<'de, D: Deserializer<'de>>(
    deserializer: D,
    names: &'static [&'static str],
) -> Result<usize, D::Error> {
    struct Member(&'static [&'static str]);
    impl<'de> de::Visitor<'de> for Member {
        type Value = usize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            // The first stands for nothing: it may be sent, but nobody is asked to.
            write!(f, "one of {}", self.0.get(1..).unwrap_or_default().join(", "))
        }

        fn visit_unit<E: de::Error>(self) -> Result<usize, E> {
            Ok(0)
        }

        fn visit_u64<E: de::Error>(self, v: u64) -> Result<usize, E> {
            usize::try_from(v)
                .ok()
                .filter(|number| *number < self.0.len())
                .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(v), &self))
        }

        fn visit_str<E: de::Error>(self, v: &str) -> Result<usize, E> {
            self.0
                .iter()
                .position(|name| *name == v)
                .ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self))
        }
    }
    deserializer.deserialize_any(Member(names))
}

/// `bytes`: base64 in either alphabet, padded or not (A2A-9).
pub fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bytes::Bytes>, D::Error> {
    use base64::{
        Engine, alphabet,
        engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    };
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

    let Some(text) = Option::<Cow<'de, str>>::deserialize(deserializer)? else { return Ok(None) };
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let decoded = engine.decode(text.as_bytes()).map_err(|_| {
        de::Error::invalid_value(de::Unexpected::Other("a text that is not base64"), &"base64")
    })?;
    Ok(Some(decoded.into()))
}
