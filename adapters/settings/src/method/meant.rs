//! This file knows which method somebody meant who wrote a name that no method has.
//!
//! Only a near miss is told of. One list often serves clients of several services, and what the
//! methods of another service are called is nobody's business here.

use super::{MethodPattern, Pattern};

impl MethodPattern {
    /// What was meant, where none of the methods with the full names `known` is matched, and one of
    /// them, or its service, is called nearly so.
    ///
    /// A naming convention such as `Get*` is made for services that need not have such a method, so
    /// only the beginning of one that is written nearly so, with the same first letter, was meant
    /// (never `Get*` for `Set*`). Names that differ in digits alone are versions, and not near.
    ///
    /// ```
    /// use evenkeel_settings::MethodPattern;
    ///
    /// let known = || ["/stock.v1.Stock/Get", "/stock.v1.Stock/List"];
    /// let meant = |pattern: &str| pattern.parse::<MethodPattern>().unwrap().meant(known());
    /// assert_eq!(meant("/stock.v1.Stok/*").unwrap().to_string(), "/stock.v1.Stock/*");
    /// assert_eq!(meant("/stock.v1.Stock/Gett").unwrap().to_string(), "/stock.v1.Stock/Get");
    /// assert_eq!(meant("Gte*").unwrap().to_string(), "Get*");
    /// assert_eq!(meant("Let*"), None);
    /// assert_eq!(meant("/stock.v2.Stock/*"), None);
    /// assert_eq!(meant("/orders.v1.Orders/Cancel"), None);
    /// ```
    pub fn meant<'k>(&self, known: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        let known: Vec<_> = known.into_iter().collect();
        if known.iter().any(|path| self.matches(path)) {
            return None;
        }
        let (service, own) = match &self.0 {
            Pattern::Method(name) => split(name)?,
            Pattern::Service(start) => split(start)?,
            Pattern::Prefix(start) => return meant_prefix(start, &known),
        };
        if service.len().max(own.len()) > LONGEST {
            return None;
        }
        let known = known.into_iter().filter_map(split);
        let near = known.filter(|(known_service, known_own)| {
            (service == *known_service || is_near_service(service, known_service))
                && (own == *known_own || own.is_empty() || is_near(own, known_own, OWN))
        });
        let apart = |(other, method): &(&str, &str)| {
            let method = if own.is_empty() { own } else { method };
            distance(service, other).saturating_add(distance(own, method))
        };
        let (service, method) = near.min_by_key(apart)?;
        Some(Self(match &self.0 {
            Pattern::Method(_) => Pattern::Method(format!("/{service}/{method}").into()),
            _ => Pattern::Service(format!("/{service}/").into()),
        }))
    }
}

/// The words that one of `known` begins with and that were meant by `start`.
fn meant_prefix(start: &str, known: &[&str]) -> Option<MethodPattern> {
    if start.len() > LONGEST {
        return None;
    }
    let own = known.iter().filter_map(|path| split(path)).map(|(_, own)| own);
    let near = own.flat_map(beginnings).filter(|words| is_near_prefix(start, words));
    let meant = near.min_by_key(|words| (distance(start, words), words.len()))?;
    Some(MethodPattern(Pattern::Prefix(meant.into())))
}

/// Of `GetOrder`: `Get` and `GetOrder`.
fn beginnings(own: &str) -> impl Iterator<Item = &str> {
    let ends = own.char_indices().skip(1).filter(|(_, letter)| letter.is_ascii_uppercase());
    ends.map(|(end, _)| end).chain([own.len()]).filter_map(|end| own.get(..end))
}

/// Whether somebody wrote `start` for `words`. Verbs are short: `Set` is no misspelled `Get`, nor is
/// `Lock` a misspelled `Look`, so that up to four letters one may be missing, there twice or in the
/// place of its neighbour, and none be another.
fn is_near_prefix(start: &str, words: &str) -> bool {
    let first = |text: &str| text.chars().next().map(|letter| letter.to_ascii_lowercase());
    let letters = |text: &str| {
        let mut letters: Vec<_> = text.to_ascii_lowercase().into_bytes();
        letters.sort_unstable();
        letters
    };
    let is_another = start.len() == words.len() && letters(start) != letters(words);
    first(start) == first(words)
        && is_near(start, words, OWN)
        && !(is_another && words.len() <= SHORT)
}

/// `/package.Service/Method` without its slashes.
fn split(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}

/// Whether the package or the service's own name, one of them, is misspelled.
fn is_near_service(name: &str, known: &str) -> bool {
    let parts = |name| str::rsplit_once(name, '.').unwrap_or(("", name));
    let ((package, own), (known_package, known_own)) = (parts(name), parts(known));
    match (package == known_package, own == known_own) {
        (true, false) => is_near(own, known_own, OWN),
        (false, true) => is_near(package, known_package, PACKAGE),
        _ => false,
    }
}

/// Whether somebody wrote `name` for `known`: no more than one letter in so many is wrong.
fn is_near(name: &str, known: &str, one_in: usize) -> bool {
    let unversioned = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    unversioned(name) != unversioned(known)
        && (name.eq_ignore_ascii_case(known)
            || distance(name, known).saturating_mul(one_in) <= known.len())
}

fn distance(name: &str, known: &str) -> usize {
    strsim::damerau_levenshtein(name, known)
}

/// Two services of three letters are no more alike than chance has it.
const OWN: usize = 3;

/// The most letters of a verb whose neighbours are verbs too.
const SHORT: usize = 4;

/// Packages of one company are much alike.
const PACKAGE: usize = 5;

/// Longer than a name that anybody writes, and short enough to compare with all of a table.
const LONGEST: usize = 128;
