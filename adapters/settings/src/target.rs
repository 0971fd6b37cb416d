//! This file knows how a target is written.

/// `host:port` with a port from 1 to 65535, an IPv6 address in brackets, `dns:///name:port`, or
/// `unix:/path`.
///
/// # Errors
///
/// Says what is wrong with any other text.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    if text.chars().any(char::is_whitespace) {
        return Err("must not have spaces in it");
    }
    if let Some(path) = text.strip_prefix("unix:") {
        let absolute = path.starts_with('/') && !path.trim_start_matches('/').is_empty();
        return if absolute { Ok(()) } else { Err("must name an absolute path: unix:/path") };
    }
    if let Some(name) = text.strip_prefix("dns:") {
        let name = name.strip_prefix("///").ok_or("must be written dns:///name:port")?;
        return check_host_and_port(name);
    }
    if text.contains("//") {
        return Err("must be host:port, dns:///name:port or unix:/path, without another scheme");
    }
    check_host_and_port(text)
}

fn check_host_and_port(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("needs a port: host:port")?;
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match in_brackets {
        Some(address) => address.parse::<core::net::Ipv6Addr>().is_ok(),
        None if host.contains(':') => return Err("needs brackets around an IPv6 address"),
        None => !host.is_empty() && !host.contains(['/', '[', ']', '@']),
    };
    if !is_host {
        return Err("must have a host name or an address before the port");
    }
    let digits = port.bytes().all(|digit| digit.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => Err("must have a port from 1 to 65535"),
    }
}
