//! Settings within whatever format serde knows.

use evenkeel_settings::{ServiceConfig, Settings};
use serde_core::de::value::{Error, MapDeserializer};
use serde_core::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde_core::forward_to_deserialize_any;

use crate::toml;

/// A value of a format that has more kinds of them than TOML and JSON.
#[derive(Clone, Copy)]
enum Given {
    Bytes(&'static [u8]),
    None,
    Number(f64),
    Some(&'static Self),
    Text(&'static str),
    Wide(i128),
}

impl<'de> IntoDeserializer<'de, Error> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Bytes(bytes) => visitor.visit_bytes(bytes),
            Self::None => visitor.visit_none(),
            Self::Number(number) => visitor.visit_f64(number),
            Self::Some(inner) => visitor.visit_some(*inner),
            Self::Text(text) => visitor.visit_str(text),
            Self::Wide(number) => visitor.visit_i128(number),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A table in a table, as some format may have it.
fn given(section: &'static str, key: &'static str, value: Given) -> Result<Settings, String> {
    struct Section(&'static str, Given);
    impl<'de> IntoDeserializer<'de, Error> for Section {
        type Deserializer = MapDeserializer<'de, core::iter::Once<(&'static str, Given)>, Error>;

        fn into_deserializer(self) -> Self::Deserializer {
            MapDeserializer::new(core::iter::once((self.0, self.1)))
        }
    }
    let file = MapDeserializer::new(core::iter::once((section, Section(key, value))));
    Settings::deserialize(file).map_err(|refused| refused.to_string())
}

#[test]
fn an_optional_value_is_the_value_it_holds() {
    let wrapped = given("retry", "initial_backoff", Given::Some(&Given::Text("250ms"))).unwrap();
    let plain = toml("[retry]\ninitial_backoff = \"250ms\"");
    assert_eq!(format!("{wrapped:?}"), format!("{plain:?}"));
    let number = given("retry", "multiplier", Given::Number(1.25)).unwrap();
    let plain = toml("[retry]\nmultiplier = 1.25");
    assert_eq!(format!("{number:?}"), format!("{plain:?}"));
}

#[test]
fn nothing_is_what_null_is_in_json() {
    let null = Settings::from_json(r#"{"retry": {"max_attempts": null}}"#).unwrap_err().to_string();
    let none = given("retry", "max_attempts", Given::None).unwrap_err();
    assert!(null.ends_with(&none) && none.starts_with("retry.max_attempts"), "{null} / {none}");
}

#[test]
fn what_no_setting_can_be_is_refused_by_its_kind() {
    let refused = given("retry", "max_attempts", Given::Bytes(b"\xff\x00")).unwrap_err();
    assert_eq!(refused, "retry.max_attempts = <bytes>: must be a whole number from 1 to 65535");
    let refused = given("retry", "max_attempts", Given::Wide(1 << 70)).unwrap_err();
    assert!(refused.starts_with("invalid type: integer `"), "{refused}");
    assert!(refused.ends_with("as i128, expected settings"), "{refused}");
    // Nor is it a file.
    let refused = ServiceConfig::deserialize(Given::Bytes(b"{}")).unwrap_err().to_string();
    assert_eq!(refused, "<bytes>: must be an object");
}

#[test]
fn a_problem_has_its_parts() {
    let refused = Settings::from_toml("[retry]\nmax_attempts = 0\nmax_atempts = 1\n").unwrap_err();
    let parts: Vec<_> =
        refused.problems().iter().map(|problem| (problem.path(), problem.value())).collect();
    assert_eq!(parts, [("retry.max_attempts", Some("0")), ("retry.max_atempts", None)]);
}
