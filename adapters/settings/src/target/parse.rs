//! This file knows the grammar of targets.

use super::invalid::Rule;
use super::{Host, TargetName};

/// Reads a target.
pub(super) fn target(text: &str) -> Result<TargetName, Rule> {
    if text.is_empty() {
        return Err(Rule::Empty);
    }
    if text.len() > LONGEST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Rule::Characters);
    }
    if let Some(rest) = text.strip_prefix("unix:") {
        return unix(rest);
    }
    if let Some(rest) = text.strip_prefix("dns:") {
        let Some(name) = rest.strip_prefix("///") else {
            return Err(if rest.starts_with("//") { Rule::DnsServer } else { Rule::DnsSlashes });
        };
        let (host, port) = host_and_port(name)?;
        return Ok(TargetName::Dns { host, port });
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    if text.contains("://") || scheme.is_some_and(|scheme| OTHER_SCHEMES.contains(&scheme)) {
        return Err(of_scheme(scheme.unwrap_or_default()));
    }
    let (host, port) = host_and_port(text)?;
    Ok(TargetName::Address { host, port })
}

/// `unix:/path`, or gRPC's other way to say the same, `unix:///path`.
fn unix(rest: &str) -> Result<TargetName, Rule> {
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(Rule::UnixHost),
        None => rest,
    };
    if !path.starts_with('/') || path.len() < 2 {
        return Err(Rule::UnixPath);
    }
    if path.len() > LONGEST_SOCKET {
        return Err(Rule::UnixLength);
    }
    // So that what is written out reads back as the same.
    if path.starts_with("//") {
        return Err(Rule::UnixPath);
    }
    Ok(TargetName::Unix { path: path.into() })
}

fn host_and_port(text: &str) -> Result<(Host, u16), Rule> {
    if text.contains(['/', '?', '#']) {
        return Err(Rule::Path);
    }
    if text.contains('@') {
        return Err(Rule::User);
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or(Rule::Brackets)?;
        let host = Host::parse_ipv6(address)?;
        let port = after.strip_prefix(':').ok_or(Rule::NoPort)?;
        return Ok((host, port_of(port)?));
    }
    let (host, port) = text.split_once(':').ok_or(Rule::NoPort)?;
    if port.contains(':') {
        return Err(Rule::Brackets);
    }
    Ok((Host::parse(host)?, port_of(port)?))
}

fn port_of(text: &str) -> Result<u16, Rule> {
    if text.is_empty() {
        return Err(Rule::NoPort);
    }
    // `parse` alone would take "+80".
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rule::Port);
    }
    text.parse().ok().filter(|port| *port != 0).ok_or(Rule::Port)
}

fn of_scheme(scheme: &str) -> Rule {
    match scheme {
        "http" | "https" | "grpc" | "grpcs" => Rule::Url,
        "xds" => Rule::Xds,
        _ => Rule::Scheme,
    }
}

/// Schemes of gRPC's that are written without slashes.
const OTHER_SCHEMES: [&str; 5] = ["ipv4", "ipv6", "unix-abstract", "vsock", "xds"];

/// Far above any name with its port, and any socket's path.
const LONGEST: usize = 512;

/// `sun_path` has 108 bytes on Linux and 104 on the BSDs, one of them the end.
const LONGEST_SOCKET: usize = 103;
