//! This file knows how a span of time is written: "250ms", "1.5s", "2m".

use core::fmt;

use evenkeel_core::Micros;
use evenkeel_settings::in_quotes;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::misread::shortened;

/// A span of time in a file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span(pub(crate) Micros);

/// Reads a span of time such as "250ms".
///
/// # Errors
///
/// A text that says how a span is written.
pub fn parse_span(text: &str) -> Result<Micros, String> {
    text.parse::<Span>().map(|span| span.0)
}

impl core::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let right = "write a number and us, ms, s, m or h, as in \"1.5s\"";
            format!("{} is no span of time; {right}", in_quotes(&shortened(text)))
        };
        let end = text.find(|letter: char| letter.is_ascii_alphabetic() || letter == 'µ');
        let (number, unit) = text.split_at(end.ok_or_else(wrong)?);
        let unit = match unit {
            "us" | "µs" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "m" => 60e6,
            "h" => 3_600e6,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let micros = number * unit;
        if !(0.0..LONGEST).contains(&micros) {
            return Err(format!(
                "{} is not a span from 0 to 8.9 years",
                in_quotes(&shortened(text))
            ));
        }
        Ok(Self(Micros::from_micros((micros + 0.5) as u64)))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time with its unit, such as \"250ms\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_str(Text)
    }
}

/// 2^48 µs.
const LONGEST: f64 = 281_474_976_710_656.0;
