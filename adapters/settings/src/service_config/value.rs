//! This file knows single values of a service config, as protobuf writes them in JSON.

use core::time::Duration;

use evenkeel_core::{Code, CodeSet, Micros};

use super::LoadBalancing;
use super::fields::Parsed;
use crate::kind::{cut_thousandths, known_code, thousandths};
use crate::node::Node;

pub(super) fn flag(node: &Node<'_>) -> Parsed<bool> {
    node.as_bool().ok_or_else(|| "must be true or false".into())
}

pub(super) fn text(node: &Node<'_>) -> Parsed<Box<str>> {
    node.as_text().map(Box::from).ok_or_else(|| "must be text".into())
}

/// `"1.5s"`: seconds with up to nine decimals, longer than zero.
pub(super) fn positive_span(node: &Node<'_>) -> Parsed<Duration> {
    let span = span(node)?;
    if span.is_zero() { Err("must be longer than zero".into()) } else { Ok(span) }
}

/// `"1.5s"`: seconds with up to nine decimals.
pub(super) fn span(node: &Node<'_>) -> Parsed<Duration> {
    let span = node.as_text().and_then(seconds);
    let span = span.ok_or("must be seconds with up to nine decimals, such as \"1.5s\"")?;
    let span = Micros::setting("", span).map_err(|invalid| invalid.rule())?;
    Ok(span.as_duration())
}

fn seconds(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let nanos = format!("{part:0<9}").parse().ok()?;
    // More seconds than there are numbers for are too many in any case.
    Some(Duration::new(whole.parse().unwrap_or(u64::MAX), nanos))
}

/// A whole number, which protobuf also writes as text.
fn whole(node: &Node<'_>) -> Option<u64> {
    let text = node.as_number().or_else(|| node.as_text())?;
    thousandths(text).filter(|it| it.is_multiple_of(1_000)).map(|it| it / 1_000)
}

/// At least two attempts, as written.
pub(super) fn attempts(node: &Node<'_>) -> Parsed<u64> {
    let attempts = whole(node).filter(|attempts| *attempts > 1);
    attempts.ok_or_else(|| "must be a whole number above 1".into())
}

pub(super) fn bytes(node: &Node<'_>) -> Parsed<u32> {
    let bytes = whole(node).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "must be a number of bytes below 4 GiB".into())
}

pub(super) fn tokens(node: &Node<'_>) -> Parsed<u16> {
    let tokens = whole(node).and_then(|tokens| tokens.try_into().ok());
    tokens
        .filter(|tokens| (1..=1_000).contains(tokens))
        .ok_or_else(|| "must be a whole number from 1 to 1000".into())
}

/// Thousandths of a token; gRPC ignores what is finer.
pub(super) fn ratio(node: &Node<'_>) -> Parsed<u32> {
    let ratio = node.as_number().and_then(cut_thousandths).and_then(|it| it.try_into().ok());
    ratio
        .filter(|ratio| (1..=1_000_000).contains(ratio))
        .ok_or_else(|| "must be a number from 0.001 to 1000; further decimals are ignored".into())
}

/// Thousandths; what is finer is cut off.
pub(super) fn multiplier(node: &Node<'_>) -> Parsed<u32> {
    let multiplier = node.as_number().and_then(cut_thousandths).and_then(|it| it.try_into().ok());
    match multiplier {
        Some(1_000..=65_535_000) => multiplier.ok_or_else(|| "must be a number".into()),
        Some(1..1_000) => {
            Err("is legal in gRPC and refused here: below 1 waits shrink; must be from 1 to 65535"
                .into())
        }
        _ => Err("must be a number from 1 to 65535".into()),
    }
}

/// Status codes, by name in any case or by number; none at all is a mistake.
pub(super) fn some_codes(node: &Node<'_>) -> Parsed<CodeSet> {
    let codes = codes(node)?;
    if codes.is_empty() { Err("must not be empty".into()) } else { Ok(codes) }
}

/// Status codes, by name in any case or by number.
pub(super) fn codes(node: &Node<'_>) -> Parsed<CodeSet> {
    let items = node.as_list().ok_or("must be a list of status codes")?;
    let code = |item: &Node<'_>| match known_code(item) {
        Some(Code::Ok) => Err("must not have OK in it, which is no failure".into()),
        Some(code) => Ok(code),
        None => Err(format!("must be status codes, and {} is none", item.shown()).into()),
    };
    items.iter().map(code).collect()
}

pub(super) fn policy(node: &Node<'_>) -> Parsed<LoadBalancing> {
    let name = node.as_text().map(str::to_ascii_lowercase).unwrap_or_default();
    known_policy(&name)
        .ok_or_else(|| "must be a policy that is known here, such as round_robin".into())
}

pub(super) fn known_policy(name: &str) -> Option<LoadBalancing> {
    match name {
        "least_request" | "least_request_experimental" => Some(LoadBalancing::LeastRequest),
        "pick_first" => Some(LoadBalancing::PickFirst),
        "round_robin" => Some(LoadBalancing::RoundRobin),
        "weighted_round_robin" => Some(LoadBalancing::WeightedRoundRobin),
        _ => None,
    }
}
