//! This file knows what is wrong with a target that is refused, and what would be right.

use core::convert::Infallible;
use core::error::Error;
use core::fmt;

use crate::in_quotes;

/// A target that was refused.
#[derive(Clone, Eq, PartialEq)]
pub struct InvalidTarget {
    text: String,
    rule: Rule,
}

/// What was broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rule {
    Brackets,
    Characters,
    DnsServer,
    DnsSlashes,
    Empty,
    Host,
    Ipv4,
    Ipv6,
    NoHost,
    NoPort,
    Path,
    Port,
    Scheme,
    UnixHost,
    UnixLength,
    UnixPath,
    Url,
    User,
    Xds,
}

impl InvalidTarget {
    pub(super) fn new(text: &str, rule: Rule) -> Self {
        // A settings file may hold anything, and an error is for people.
        let text = text.chars().take(SHOWN).collect();
        Self { text, rule }
    }

    /// What was given, or its beginning.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it, and what would be right.
    pub fn rule(&self) -> String {
        let text = &self.text;
        match self.rule {
            Rule::NoPort => {
                let host = in_quotes(&format!("{}:443", text.trim_end_matches(':')));
                format!("has no port; write {host} with the port the server listens on")
            }
            Rule::DnsSlashes => {
                let name = text.trim_start_matches("dns:").trim_start_matches('/');
                format!("write {}, with three slashes", in_quotes(&format!("dns:///{name}")))
            }
            rule => rule.says().to_owned(),
        }
    }
}

impl fmt::Display for InvalidTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "target {}: {}", in_quotes(&self.text), self.rule())
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for InvalidTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for InvalidTarget {}

/// So that a target that was read already is taken wherever one is read.
impl From<Infallible> for InvalidTarget {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Rule {
    const fn says(self) -> &'static str {
        match self {
            Self::Brackets => "write an IPv6 address in brackets, as in \"[::1]:443\"",
            Self::Characters => "must have no white space and at most 512 bytes",
            Self::DnsServer => {
                "a DNS server of its own is not supported; write \"dns:///name:443\""
            }
            Self::DnsSlashes => "write \"dns:///name:443\"",
            Self::Empty => "must not be empty; write \"name:443\"",
            Self::Host => {
                "the name must be of letters, digits, \"-\", \"_\" and \".\", as in \
                 \"orders.internal:443\""
            }
            Self::Ipv4 => {
                "is no IPv4 address; write four numbers up to 255, as in \"10.0.0.1:443\""
            }
            Self::Ipv6 => {
                "is no IPv6 address; write one without a zone, as in \"[2001:db8::1]:443\""
            }
            Self::NoHost => "has no name before the port; write \"name:443\"",
            Self::NoPort => "has no port",
            Self::Path => "must have no path; write \"name:443\"",
            Self::Port => "the port must be 1 to 65535",
            Self::Scheme => {
                "this scheme is not supported; write \"name:443\", \"dns:///name:443\" or \
                 \"unix:/path\""
            }
            Self::UnixHost => "must have no host; write \"unix:/path\"",
            Self::UnixLength => "the path of a socket has at most 103 bytes",
            Self::UnixPath => "the path must be absolute; write \"unix:/path\"",
            Self::Url => {
                "is a URL; write \"name:443\": TLS is the default, and a channel without it says \
                 so explicitly"
            }
            Self::User => "must have no user; credentials belong to the call",
            Self::Xds => {
                "a control plane is not looked up here; build the service over an xDS channel"
            }
        }
    }
}

/// So much of a refused target is repeated in its error.
const SHOWN: usize = 128;
