//! This file knows how times stand in a script: in seconds, exactly.

use evenkeel_core::Micros;
use serde::{Deserialize, Deserializer, de::Error};

/// Seconds since the scenario began, or a number of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seconds(pub(crate) Micros);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        let span = core::time::Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)?;
        // A decimal is not exactly a float, so the nearest microsecond is meant.
        let micros = (span.as_nanos() + 500) / 1_000;
        u64::try_from(micros).map(Micros::from_micros).map(Self).map_err(D::Error::custom)
    }
}

/// A time as text, such as `0.3`.
///
/// # Errors
///
/// What would be right.
pub(crate) fn parse(text: &str) -> Result<Micros, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return Err(format!("{text:?} is no time: say seconds, such as 0.3"));
    }
    let micros = format!("{whole}{part:0<6}").parse();
    micros.map(Micros::from_micros).map_err(|_| format!("{text:?} is too long a time"))
}

/// The shortest way to write a time.
pub(crate) fn written(time: Micros) -> String {
    let (whole, part) = (time.as_micros() / 1_000_000, time.as_micros() % 1_000_000);
    let text = format!("{whole}.{part:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
