//! This file knows what a generated client does not tell: which methods there are, what they
//! stream, and which of them may be repeated.
//!
//! A tonic client hands the layers below it a path and a body, nothing else. From those two a
//! request stream of one message looks like a unary call, and nothing says that `GetQuote` may be
//! sent twice and `Charge` may not. The `.proto` says both. A [`MethodTable`] carries the answer
//! to where it is needed: generated at build time by `evenkeel-tonic-build`, or read from
//! descriptor bytes when the program starts.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;

mod descriptor;

pub use descriptor::DescriptorError;

/// What is known about each of a set of methods, by full path.
///
/// ```
/// use evenkeel_tonic::{Idempotency, MethodInfo, MethodKind, MethodTable};
///
/// // What `evenkeel-tonic-build` writes beside the generated client; by hand it works the same.
/// const ROWS: &[MethodInfo] = &[
///     MethodInfo::new("/pay.v1.Pay/Charge", MethodKind::Unary, Idempotency::Unknown),
///     MethodInfo::new("/pay.v1.Pay/GetQuote", MethodKind::Unary, Idempotency::NoSideEffects),
/// ];
/// static METHODS: MethodTable = MethodTable::new(ROWS);
///
/// assert!(METHODS.get("/pay.v1.Pay/GetQuote").unwrap().is_idempotent());
/// assert!(!METHODS.get("/pay.v1.Pay/Charge").unwrap().is_idempotent());
///
/// // Only the whole path is a name: nothing is guessed.
/// assert!(METHODS.get("pay.v1.Pay/GetQuote").is_none());
/// assert!(METHODS.get("/prefix/pay.v1.Pay/GetQuote").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct MethodTable {
    methods: Cow<'static, [MethodInfo]>,
    /// Whether the paths ascend strictly, so that a binary search finds the only answer.
    ascending: bool,
}

impl MethodTable {
    /// A table over rows that are known at compile time.
    ///
    /// Rows in ascending order of their paths, as generated ones are, are found by binary search;
    /// in any other order the table answers the same, but walks through the rows. Of two rows with
    /// the same path the last one counts.
    pub const fn new(methods: &'static [MethodInfo]) -> Self {
        Self { methods: Cow::Borrowed(methods), ascending: ascends(methods) }
    }

    /// One table that answers for all of `tables`: a client usually has one table per package.
    ///
    /// Where two of them name the same method the later one counts, so a few rows written by hand
    /// can correct a generated table.
    ///
    /// ```
    /// use evenkeel_tonic::{Idempotency, MethodInfo, MethodKind, MethodTable};
    ///
    /// // Generated from a `.proto` of somebody else, who declares nothing.
    /// const THEIRS: &[MethodInfo] = &[
    ///     MethodInfo::new("/crm.Contacts/Find", MethodKind::Unary, Idempotency::Unknown),
    /// ];
    /// const WE_ASKED: &[MethodInfo] = &[
    ///     MethodInfo::new("/crm.Contacts/Find", MethodKind::Unary, Idempotency::NoSideEffects),
    /// ];
    /// let table = MethodTable::merged([&MethodTable::new(THEIRS), &MethodTable::new(WE_ASKED)]);
    /// assert!(table.get("/crm.Contacts/Find").unwrap().is_idempotent());
    /// ```
    pub fn merged<'a>(tables: impl IntoIterator<Item = &'a Self>) -> Self {
        tables.into_iter().flat_map(Self::methods).cloned().collect()
    }

    /// What is known about the method with this full path, `/package.Service/Method`.
    ///
    /// `None` for a method the table does not name, and for anything that is not exactly such a
    /// path. A client made with `with_origin(channel, "http://host/prefix")` sends
    /// `/prefix/package.Service/Method`; where the prefix ends cannot be told from the path, so
    /// take the names from the request's `tonic::GrpcMethod` extension, which has none.
    pub fn get(&self, path: &str) -> Option<&MethodInfo> {
        if !self.ascending {
            return self.methods.iter().rev().find(|method| method.path() == path);
        }
        let found = self.methods.binary_search_by(|method| method.path().cmp(path)).ok()?;
        self.methods.get(found)
    }

    /// All rows, in the order they were given to [`new`](Self::new), or in the order of their
    /// paths where the table was put together at run time.
    pub fn methods(&self) -> &[MethodInfo] {
        &self.methods
    }
}

impl Default for MethodTable {
    /// A table that names no method, so that every answer is `None`.
    fn default() -> Self {
        Self::new(&[])
    }
}

impl FromIterator<MethodInfo> for MethodTable {
    /// Puts rows in any order into a table; of two with the same path the last one counts.
    fn from_iter<I: IntoIterator<Item = MethodInfo>>(methods: I) -> Self {
        let by_path: BTreeMap<_, _> =
            methods.into_iter().map(|method| (method.path.clone(), method)).collect();
        Self { methods: by_path.into_values().collect(), ascending: true }
    }
}

/// What a `.proto` says about one method.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MethodInfo {
    path: Cow<'static, str>,
    kind: MethodKind,
    idempotency: Idempotency,
}

impl MethodInfo {
    /// The method with this full path, `/package.Service/Method`, or `/Service/Method` without a
    /// package.
    ///
    /// The path is taken as it is: one that no request carries is never asked for.
    pub const fn new(path: &'static str, kind: MethodKind, idempotency: Idempotency) -> Self {
        Self { path: Cow::Borrowed(path), kind, idempotency }
    }

    /// The full path, `/package.Service/Method`.
    pub const fn path(&self) -> &str {
        match &self.path {
            Cow::Borrowed(path) => path,
            Cow::Owned(path) => path.as_str(),
        }
    }

    /// Which side streams.
    pub const fn kind(&self) -> MethodKind {
        self.kind
    }

    /// What repeating it would do, as far as the `.proto` says.
    pub const fn idempotency(&self) -> Idempotency {
        self.idempotency
    }

    /// Whether the `.proto` declares that calling it twice does no more than calling it once.
    pub const fn is_idempotent(&self) -> bool {
        self.idempotency.is_idempotent()
    }
}

/// Which side of a call sends a stream of messages instead of one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MethodKind {
    /// Both sides stream.
    BidiStreaming,
    /// A stream of requests, one response.
    ClientStreaming,
    /// One request, a stream of responses.
    ServerStreaming,
    /// One request, one response.
    Unary,
}

impl MethodKind {
    /// Whether the client sends a stream. Such a call is never repeated once its stream was read.
    pub const fn client_streaming(self) -> bool {
        matches!(self, Self::BidiStreaming | Self::ClientStreaming)
    }

    /// Whether the server answers with a stream.
    pub const fn server_streaming(self) -> bool {
        matches!(self, Self::BidiStreaming | Self::ServerStreaming)
    }
}

/// What calling a method twice does: the `idempotency_level` of its `.proto`.
///
/// ```proto
/// service Payments {
///   rpc GetQuote(QuoteRequest) returns (Quote) { option idempotency_level = NO_SIDE_EFFECTS; }
///   rpc Authorize(AuthorizeRequest) returns (Receipt) { option idempotency_level = IDEMPOTENT; }
///   rpc Charge(ChargeRequest) returns (Receipt);  // Nothing said: unknown.
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Idempotency {
    /// `IDEMPOTENT`: it changes something, but a second time changes nothing more.
    Idempotent,
    /// `NO_SIDE_EFFECTS`: it changes nothing.
    NoSideEffects,
    /// Nothing was declared, so a second time may do the work twice. Also what a level that a
    /// later protobuf adds is read as.
    #[default]
    Unknown,
}

impl Idempotency {
    /// Whether a call that may have been executed can be sent again.
    pub const fn is_idempotent(self) -> bool {
        matches!(self, Self::Idempotent | Self::NoSideEffects)
    }
}

/// Whether every path is greater than the one before it. `str` cannot be compared in `const` yet.
const fn ascends(methods: &[MethodInfo]) -> bool {
    let mut at = 1;
    while at < methods.len() {
        if !is_less(methods[at - 1].path().as_bytes(), methods[at].path().as_bytes()) {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_less(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}
