//! This file knows the names of methods, and patterns of them.

use core::fmt;
use std::borrow::Cow;

mod meant;

/// Which methods a setting is about: one, all of a service, or all that are called alike.
///
/// ```
/// use evenkeel_settings::MethodPattern;
///
/// let one: MethodPattern = "/orders.v1.Orders/Get".parse()?;
/// let service: MethodPattern = "/catalogue.v1.Catalogue/*".parse()?;
/// let alike: MethodPattern = "List*".parse()?;
/// assert!(one.matches("/orders.v1.Orders/Get"));
/// assert!(service.matches("/catalogue.v1.Catalogue/Search"));
/// assert!(alike.matches("/orders.v1.Orders/ListRecent"));
/// assert!(!alike.matches("/orders.v1.Orders/Relist"));
/// assert!("orders.v1.Orders/Get".parse::<MethodPattern>().is_err(), "no slash in front");
/// # Ok::<(), evenkeel_settings::NotAPattern>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MethodPattern(Pattern);

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Pattern {
    /// `/package.Service/Method`
    Method(Box<str>),
    /// `Get` of `Get*`: the beginning of the method's own name.
    Prefix(Box<str>),
    /// `/package.Service/` of `/package.Service/*`
    Service(Box<str>),
}

impl MethodPattern {
    /// The method with this full name, whatever characters are in it.
    pub fn method(path: &str) -> Self {
        Self(Pattern::Method(path.into()))
    }

    /// Whether the method with this full name is one of them.
    pub fn matches(&self, path: &str) -> bool {
        match &self.0 {
            Pattern::Method(name) => path == &**name,
            Pattern::Service(service) => path.starts_with(&**service),
            Pattern::Prefix(prefix) => {
                path.rsplit_once('/').is_some_and(|(_, method)| method.starts_with(&**prefix))
            }
        }
    }
}

impl core::str::FromStr for MethodPattern {
    type Err = NotAPattern;

    fn from_str(text: &str) -> Result<Self, NotAPattern> {
        let plain = |part: &str| !part.is_empty() && !part.contains(['*', '/', ' ']);
        let pattern = match text.strip_prefix('/').map(|name| name.split_once('/')) {
            Some(Some((service, "*"))) if plain(service) => {
                Pattern::Service(format!("/{service}/").into())
            }
            Some(Some((service, method))) if plain(service) && plain(method) => {
                Pattern::Method(text.into())
            }
            Some(_) => return Err(NotAPattern),
            None => match text.strip_suffix('*') {
                Some(prefix)
                    if !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_alphanumeric()) =>
                {
                    Pattern::Prefix(prefix.into())
                }
                _ => return Err(NotAPattern),
            },
        };
        Ok(Self(pattern))
    }
}

impl fmt::Display for MethodPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Method(name) => f.write_str(name),
            Pattern::Prefix(start) | Pattern::Service(start) => write!(f, "{start}*"),
        }
    }
}

/// A text that is no [`MethodPattern`].
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct NotAPattern;

impl NotAPattern {
    pub(crate) const RULE: &str = "must be \"/package.Service/Method\", \"/package.Service/*\" or \
                                   a beginning such as \"Get*\"";
}

impl fmt::Display for NotAPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::RULE)
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for NotAPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for NotAPattern {}

/// # Errors
///
/// Refuses what is not the full name of a method.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    check_no_star(name)?;
    let parts = name.strip_prefix('/').and_then(|name| name.split_once('/'));
    let is_name = parts.is_some_and(|(service, method)| {
        !service.is_empty() && !method.is_empty() && !method.contains('/')
    });
    let rule = "must be the full name of a method, \"/package.Service/Method\"";
    if is_name { Ok(()) } else { Err(rule) }
}

/// # Errors
///
/// Refuses a star. Whoever writes one means more than one method, and would have set nothing.
fn check_no_star(name: &str) -> Result<(), &'static str> {
    let rule = "must be one full method, \"/package.Service/Method\"; a star has a meaning only in \
                retry.idempotent_methods";
    if name.contains('*') { Err(rule) } else { Ok(()) }
}

/// A name as it is kept, of a method or of anything else that has a cap.
pub(crate) fn capped_name(name: &str) -> Result<Box<str>, Cow<'static, str>> {
    check_no_star(name)?;
    Ok(name.into())
}

/// A full name as it is kept.
pub(crate) fn method_name(name: &str) -> Result<Box<str>, Cow<'static, str>> {
    check_name(name)?;
    Ok(name.into())
}
