//! This file knows which methods may be executed twice.
//!
//! The list decides about one thing only: whether an attempt that *may have been executed* is
//! repeated. What was certainly not executed is safe for every method.

use evenkeel_settings::MethodPattern;

use crate::MethodTable;
use crate::error::BuildError;

/// The methods that may be repeated, by name, by pattern, or as their `.proto` declares.
///
/// An empty list means that nothing may be repeated. (In grpc-client-kit it means everything,
/// which is how a list that was filtered down to nothing once doubled payments.)
///
/// ```
/// use evenkeel_tonic::AllowList;
///
/// let list = AllowList::new(["/orders.v1.Orders/Get", "/catalogue.v1.Catalogue/*", "List*"])?;
/// assert!(list.contains("/orders.v1.Orders/Get"));
/// assert!(list.contains("/catalogue.v1.Catalogue/Search"));
/// assert!(list.contains("/orders.v1.Orders/ListRecent"));
/// assert!(!list.contains("/orders.v1.Orders/Cancel"));
///
/// assert!(!AllowList::empty().contains("/orders.v1.Orders/Get"));
/// assert!(AllowList::new(["orders.v1.Orders/Get"]).is_err(), "a name begins with a slash");
/// # Ok::<(), evenkeel_tonic::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AllowList {
    patterns: Vec<MethodPattern>,
}

impl AllowList {
    /// Nothing may be repeated.
    pub const fn empty() -> Self {
        Self { patterns: Vec::new() }
    }

    /// The methods that match one of `patterns`: a full name (`/package.Service/Method`), all of a
    /// service (`/package.Service/*`), or a naming convention (`Get*`).
    ///
    /// # Errors
    ///
    /// [`BuildError::Pattern`] names the pattern that is none of these.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, BuildError> {
        let parsed = |pattern: P| {
            let text = pattern.as_ref();
            text.parse().map_err(|_| BuildError::Pattern(text.to_owned()))
        };
        patterns.into_iter().map(parsed).collect()
    }

    /// The methods that `table` declares `IDEMPOTENT` or `NO_SIDE_EFFECTS`.
    ///
    /// ```
    /// use evenkeel_tonic::{AllowList, Idempotency, MethodInfo, MethodKind, MethodTable};
    ///
    /// const ROWS: &[MethodInfo] = &[
    ///     MethodInfo::new("/pay.v1.Pay/Charge", MethodKind::Unary, Idempotency::Unknown),
    ///     MethodInfo::new("/pay.v1.Pay/GetQuote", MethodKind::Unary, Idempotency::NoSideEffects),
    /// ];
    /// let list = AllowList::declared(&MethodTable::new(ROWS));
    /// assert!(list.contains("/pay.v1.Pay/GetQuote"));
    /// assert!(!list.contains("/pay.v1.Pay/Charge"));
    /// ```
    pub fn declared(table: &MethodTable) -> Self {
        let declared = table.methods().iter().filter(|method| method.is_idempotent());
        declared.map(|method| MethodPattern::method(method.path())).collect()
    }

    /// The methods of either list.
    pub fn or(mut self, other: Self) -> Self {
        self.patterns.extend(other.patterns);
        self
    }

    /// Whether the method with this full path is on it.
    pub fn contains(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(path))
    }

    pub(crate) fn patterns(&self) -> &[MethodPattern] {
        &self.patterns
    }

    /// Whether nothing may be repeated.
    pub const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

impl FromIterator<MethodPattern> for AllowList {
    fn from_iter<I: IntoIterator<Item = MethodPattern>>(patterns: I) -> Self {
        Self { patterns: patterns.into_iter().collect() }
    }
}
