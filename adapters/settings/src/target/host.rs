//! This file knows the machine in a target: a name or an address.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::invalid::Rule;

/// A machine: by name, in lower case, or by address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Host {
    /// Its address.
    Ip(IpAddr),
    /// Its name.
    Name(Arc<str>),
}

impl Host {
    /// What stands before the port, without brackets.
    pub(super) fn parse(text: &str) -> Result<Self, Rule> {
        if text.is_empty() {
            return Err(Rule::NoHost);
        }
        if looks_like_ipv4(text) {
            let address: Ipv4Addr = text.parse().map_err(|_| Rule::Ipv4)?;
            return Ok(Self::Ip(address.into()));
        }
        if !is_name(text) {
            return Err(Rule::Host);
        }
        Ok(Self::Name(text.to_ascii_lowercase().into()))
    }

    /// What stands in brackets.
    pub(super) fn parse_ipv6(text: &str) -> Result<Self, Rule> {
        let address: Ipv6Addr = text.parse().map_err(|_| Rule::Ipv6)?;
        Ok(Self::Ip(address.into()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Ip(IpAddr::V4(address)) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Whether it ends in a number: no top-level domain does, so it was meant to be an address.
fn looks_like_ipv4(text: &str) -> bool {
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or(text);
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name as RFC 1123 has them, and underscores, which people use.
fn is_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(known)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// RFC 1035, section 2.3.4.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
