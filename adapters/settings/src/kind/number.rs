//! This file knows numbers: whole ones, and decimals in thousandths, exactly as written.

use core::ops::RangeInclusive;
use std::borrow::Cow;

use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::Node;

/// A whole number in a range.
#[derive(Clone, Debug)]
pub(crate) struct Count<T>(pub(crate) RangeInclusive<T>);

/// A number in a range, both in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Decimal(pub(crate) RangeInclusive<u32>);

/// A length in bytes: a whole number, or text with KiB or MiB behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes;

impl<T: Copy + Into<u64> + PartialOrd + TryFrom<u64>> Count<T> {
    fn parse(&self, node: &Node<'_>) -> Result<T, Cow<'static, str>> {
        let whole = node.as_number().and_then(thousandths).filter(|it| it.is_multiple_of(1_000));
        whole
            .and_then(|it| T::try_from(it / 1_000).ok())
            .filter(|it| self.0.contains(it))
            .ok_or_else(|| format!("must be {}", self.words()).into())
    }
}

impl<T: Copy + Into<u64> + PartialOrd + TryFrom<u64>> Kind for Count<T> {
    type Value = T;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<T> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, count: &T) -> Option<Node<'static>> {
        Some(Node::number((*count).into()))
    }

    fn words(&self) -> String {
        let (least, most): (u64, u64) = ((*self.0.start()).into(), (*self.0.end()).into());
        format!("a whole number from {least} to {most}")
    }

    fn schema(&self) -> Node<'static> {
        Node::table([
            ("type", Node::text("integer")),
            ("minimum", Node::number((*self.0.start()).into())),
            ("maximum", Node::number((*self.0.end()).into())),
        ])
    }
}

impl Decimal {
    pub(crate) fn parse(&self, node: &Node<'_>) -> Result<u32, Cow<'static, str>> {
        let text = node.as_number().filter(|text| text.parse::<f64>().is_ok());
        let text = text.ok_or_else(|| format!("must be {}", self.words()))?;
        if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err("must be finite".into());
        }
        let value = thousandths(text).and_then(|it| u32::try_from(it).ok());
        match value.filter(|it| self.0.contains(it)) {
            Some(value) => Ok(value),
            None if has_more_than_thousandths(text) => {
                Err("must have at most three decimals".into())
            }
            None => Err(format!("must be {}", self.words()).into()),
        }
    }
}

impl Kind for Decimal {
    type Value = u32;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<u32> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, value: &u32) -> Option<Node<'static>> {
        Some(Node::number(decimal(*value)))
    }

    fn words(&self) -> String {
        let (least, most) = (decimal(*self.0.start()), decimal(*self.0.end()));
        format!("a number from {least} to {most}, to three decimals")
    }

    fn schema(&self) -> Node<'static> {
        Node::table([
            ("type", Node::text("number")),
            ("minimum", Node::number(decimal(*self.0.start()))),
            ("maximum", Node::number(decimal(*self.0.end()))),
        ])
    }
}

impl Bytes {
    fn parse(self, node: &Node<'_>) -> Result<u32, Cow<'static, str>> {
        let text = node.as_number().or_else(|| node.as_text()).unwrap_or_default();
        let units = [("KiB", 1u64 << 10), ("MiB", 1 << 20), ("", 1)];
        let split = |(unit, worth)| Some((text.strip_suffix(unit)?, worth));
        let (number, worth) = units.into_iter().find_map(split).unwrap_or((text, 1));
        let whole = thousandths(number.trim_end()).filter(|it| it.is_multiple_of(1_000));
        let bytes = whole.and_then(|it| u32::try_from((it / 1_000).saturating_mul(worth)).ok());
        bytes.ok_or_else(|| format!("must be {}", self.words()).into())
    }
}

impl Kind for Bytes {
    type Value = u32;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<u32> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, bytes: &u32) -> Option<Node<'static>> {
        let kib = (*bytes != 0 && bytes.is_multiple_of(1_024)).then(|| bytes / 1_024);
        Some(kib.map_or_else(|| Node::number(bytes), |kib| Node::text(format!("{kib}KiB"))))
    }

    fn words(&self) -> String {
        "a number of bytes below 4 GiB, such as 4096, \"256KiB\" or \"4MiB\"".to_owned()
    }

    fn schema(&self) -> Node<'static> {
        let number = [("minimum", Node::number(0)), ("maximum", Node::number(u32::MAX))];
        let text = [("pattern", Node::text("^[0-9]+ ?(KiB|MiB)?$"))];
        let types = [("type", Node::list(["integer", "string"].map(Node::text)))];
        Node::table(types.into_iter().chain(number).chain(text))
    }
}

/// A number in thousandths; `None` for what is no number, negative, or finer than that.
pub(crate) fn thousandths(text: &str) -> Option<u64> {
    let plain = in_full(text)?;
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 3 {
        return None;
    }
    let thousands = whole.trim_start_matches('0');
    let whole = if thousands.is_empty() { 0 } else { thousands.parse().unwrap_or(u64::MAX) };
    let part = format!("{part:0<3}").parse().unwrap_or(0);
    Some(whole.saturating_mul(1_000).saturating_add(part))
}

fn has_more_than_thousandths(text: &str) -> bool {
    let part = in_full(text).and_then(|full| full.split_once('.').map(|(_, part)| part.len()));
    part.is_some_and(|length| length > 3) && thousandths(text).is_none()
}

/// A number in thousandths, what is finer cut off.
pub(crate) fn cut_thousandths(text: &str) -> Option<u64> {
    let plain = in_full(text)?;
    let end = plain.find('.').map_or(plain.len(), |dot| plain.len().min(dot.saturating_add(4)));
    thousandths(plain.get(..end)?)
}

/// Without a sign, and without an exponent.
fn in_full(text: &str) -> Option<Cow<'_, str>> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    if text.contains(['e', 'E']) {
        return Some(number.to_string().into());
    }
    // Zero has a sign in TOML, and is still zero.
    let text = if number == 0.0 { text.trim_start_matches('-') } else { text };
    Some(text.into())
}

/// Thousandths as a decimal.
pub(crate) fn decimal(thousandths: u32) -> String {
    let (whole, part) = (thousandths / 1_000, thousandths % 1_000);
    let part = format!("{part:03}");
    let part = part.trim_end_matches('0');
    format!("{whole}.{}", if part.is_empty() { "0" } else { part })
}
