//! This file knows the error of a call that no member of a pool could take, and how it says why.

use core::error::Error;
use core::fmt;

use tonic::Status;

use super::with_source;

/// There is no target to send it to. The status is `UNAVAILABLE`; of a call that waited for one to
/// its deadline it is `DEADLINE_EXCEEDED`, and this is in its
/// [`DeadlinePassed`](super::DeadlinePassed).
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NoHealthyTargets {
    /// The targets that were looked at.
    pub targets: Vec<String>,
    /// Of each of these, in the same order, what was last heard against it: how a health check
    /// went, how a dial failed, or why its name has no address; or which of these has not come to
    /// an end. `None` where nobody knows.
    pub last: Vec<Option<String>>,
}

impl NoHealthyTargets {
    /// Of targets, each with what was last heard against it.
    pub(crate) fn among(known: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let (targets, last) = known.into_iter().unzip();
        Self { targets, last }
    }
}

impl fmt::Display for NoHealthyTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.targets.is_empty() {
            return f.write_str("no target: the pool has no members");
        }
        f.write_str("no healthy target among ")?;
        let last = self.last.iter().map(Option::as_deref).chain(core::iter::repeat(None));
        let mut known: Vec<_> = self.targets.iter().zip(last).collect();
        // One reason stands behind all that share it; those of which nothing is known come last,
        // or it would seem to be theirs too.
        known.sort_by_key(|(_, last)| (last.is_none(), *last));
        let mut comma = "";
        let mut known = known.into_iter().peekable();
        while let Some((target, last)) = known.next() {
            write!(f, "{comma}{target}")?;
            comma = ", ";
            if let Some(last) = last
                && known.peek().is_none_or(|(_, next)| *next != Some(last))
            {
                write!(f, " (last: {last})")?;
            }
        }
        Ok(())
    }
}

impl Error for NoHealthyTargets {}

impl From<NoHealthyTargets> for Status {
    fn from(error: NoHealthyTargets) -> Self {
        with_source(Self::unavailable(error.to_string()), error)
    }
}

#[cfg(test)]
mod tests {
    use super::NoHealthyTargets;

    #[test]
    fn each_reason_is_said_once_behind_those_it_is_of() {
        let known = [("a", Some("x")), ("b", None), ("c", Some("w")), ("d", Some("x"))];
        let known = known.map(|(name, last)| (name.to_owned(), last.map(str::to_owned)));
        let nobody = NoHealthyTargets::among(known);
        let said = "no healthy target among c (last: w), a, d (last: x), b";
        assert_eq!(nobody.to_string(), said);
        assert_eq!(nobody.targets, ["a", "b", "c", "d"]);
        assert_eq!(nobody.last[3].as_deref(), Some("x"));
    }
}
