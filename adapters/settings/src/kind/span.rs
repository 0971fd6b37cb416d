//! This file knows spans of time as people write them: `"250ms"`, `"1.5s"`, `"2m"`.

use core::time::Duration;
use std::borrow::Cow;

use evenkeel_core::Micros;

use super::many::OrNone;
use super::number::thousandths;
use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::Node;

/// A span of time, whole microseconds below 2^48 of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// What zero breaks, where it would be a mistake.
    zero: Option<&'static str>,
}

impl Span {
    /// Zero means something.
    pub(crate) const ANY: Self = Self { zero: None };
    /// Zero would be a mistake.
    pub(crate) const POSITIVE: Self = Self { zero: Some("must be longer than zero") };
    /// Zero would be a mistake for `"none"`, which it means elsewhere.
    pub(crate) const OR_NONE: OrNone<Self> =
        OrNone(Self { zero: Some("must be longer than zero, or \"none\"") });

    fn parse(self, node: &Node<'_>) -> Result<Duration, Cow<'static, str>> {
        let number = node.as_number().and_then(|text| Some((text, thousandths(text)?)));
        if let Some((number, value)) = number {
            // A unit would not mend a zero.
            if let Some(rule) = self.zero.filter(|_| value == 0) {
                return Err(rule.into());
            }
            // Seconds to one reader, milliseconds to the next.
            let number = crate::node::shortened(number);
            return Err(format!("needs a unit: \"{number}s\", \"{number}ms\", …").into());
        }
        let text = node.as_text().ok_or_else(|| format!("must be {}", self.words()))?;
        let span = parse(text)?;
        match self.zero {
            Some(rule) if span.is_zero() => Err(rule.into()),
            _ => Ok(span),
        }
    }
}

impl Kind for Span {
    type Value = Duration;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Duration> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, span: &Duration) -> Option<Node<'static>> {
        Some(Node::text(written(*span)))
    }

    fn words(&self) -> String {
        let zero = if self.zero.is_none() { "" } else { ", longer than zero" };
        format!("a span of time such as \"1.5s\" or \"250ms\"{zero}")
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("type", Node::text("string")), ("pattern", Node::text(PATTERN))])
    }
}

/// A span as it is written.
///
/// # Errors
///
/// What would be right.
fn parse(text: &str) -> Result<Duration, Cow<'static, str>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if !is_digits(whole) || !is_digits(part) {
        return Err("must be a number and a unit, such as \"1.5s\" or \"250ms\"".into());
    }
    let Some((_, unit)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        // "1e9s" and "1m30s" do end in one.
        return Err(match unit.chars().all(char::is_alphabetic) {
            true => "must end in a unit: us, ms, s, m or h".into(),
            false => "must be a plain number and a unit, such as \"1.5s\" or \"250ms\"".into(),
        });
    };
    let part = part.trim_end_matches('0');
    let micros = fraction(part, *unit).ok_or("must be whole microseconds")?;
    let micros = whole.parse().unwrap_or(u64::MAX).saturating_mul(*unit).saturating_add(micros);
    let span = Duration::from_micros(micros);
    Micros::setting("", span).map_err(|invalid| Cow::from(invalid.rule()))?;
    Ok(span)
}

/// `0.part` of `unit`, if that is whole microseconds.
fn fraction(part: &str, unit: u64) -> Option<u64> {
    if part.is_empty() {
        return Some(0);
    }
    let power = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let scaled = part.parse::<u64>().ok()?.checked_mul(unit)?;
    scaled.is_multiple_of(power).then_some(scaled / power)
}

/// The shortest way to write a span without losing any of it.
fn written(span: Duration) -> String {
    let micros = Micros::from_duration(span).as_micros();
    let fits = |(_, unit): &&(&str, u64)| micros != 0 && micros.is_multiple_of(*unit);
    match UNITS.iter().filter(|(name, _)| name.is_ascii()).rev().find(fits) {
        Some((name, unit)) => format!("{}{name}", micros / unit),
        None => "0s".to_owned(),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Microseconds in each, shortest first.
const UNITS: [(&str, u64); 6] = [
    ("us", 1),
    ("µs", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
];

/// The same for a JSON Schema, which cannot tell a span that is too long.
const PATTERN: &str = r"^[0-9]+(\.[0-9]+)?(us|µs|ms|s|m|h)$";
