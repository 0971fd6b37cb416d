//! This file knows the status codes and the sets of them that rules are written in.
//!
//! The codes are gRPC's, because they are the best worked-out vocabulary for "what kind of
//! failure was this" there is; nothing else here is about gRPC. For a plain driver the
//! constructors of [`Outcome`](crate::Outcome) choose one for you.

use core::fmt;

/// A gRPC status code; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Code {
    /// It worked.
    Ok = 0,
    /// The caller walked away.
    Cancelled = 1,
    /// An error nobody could name.
    Unknown = 2,
    /// The request is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// The deadline passed before it was done; it may have happened all the same.
    DeadlineExceeded = 4,
    /// What was asked for is not there.
    NotFound = 5,
    /// What was to be created is there already.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// A quota, or room somewhere, is used up.
    ResourceExhausted = 8,
    /// The system is not in the state the request needs.
    FailedPrecondition = 9,
    /// It lost against a concurrent operation.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// Nobody here does this.
    Unimplemented = 12,
    /// The peer broke.
    Internal = 13,
    /// The peer is not there right now.
    Unavailable = 14,
    /// Data is gone.
    DataLoss = 15,
    /// The caller is nobody.
    Unauthenticated = 16,
}

impl Code {
    /// All codes, by number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The code with this number; [`Unknown`](Self::Unknown) for numbers gRPC does not define.
    pub const fn from_number(number: i32) -> Self {
        let mut rest = Self::ALL.as_slice();
        while let Some((code, tail)) = rest.split_first() {
            if code.number() == number {
                return *code;
            }
            rest = tail;
        }
        Self::Unknown
    }

    /// The code with this name in any case, such as `UNAVAILABLE`; `None` for other words.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// The number on the wire.
    #[expect(clippy::as_conversions, reason = "a fieldless enum has no other way to its number")]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The name as the protocol spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    const fn bit(self) -> u32 {
        #[expect(clippy::as_conversions, reason = "a fieldless enum has no other way")]
        1u32.wrapping_shl(self as u32)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of codes in one word.
///
/// ```
/// use evenkeel_core::{Code, CodeSet};
///
/// const RETRY: CodeSet = CodeSet::RETRYABLE.with(Code::Aborted);
/// assert!(RETRY.contains(Code::Unavailable));
/// assert!(!RETRY.contains(Code::Internal));
/// assert_eq!(format!("{RETRY:?}"), "{RESOURCE_EXHAUSTED, ABORTED, UNAVAILABLE}");
/// ```
#[derive(Clone, Copy, Default, Eq, Hash, PartialEq)]
pub struct CodeSet(u32);

impl CodeSet {
    /// No code.
    pub const EMPTY: Self = Self(0);
    /// The codes that are tried again by default: `UNAVAILABLE` and `RESOURCE_EXHAUSTED`.
    ///
    /// With these the handler has hardly ever run; with every other it may well have, so repeating
    /// it could do the work twice.
    pub const RETRYABLE: Self = Self::of(&[Code::Unavailable, Code::ResourceExhausted]);
    /// The codes that speak against a peer's health, and that a breaker counts by default.
    ///
    /// Everything else, such as `NOT_FOUND`, is an answer a healthy peer gives.
    pub const FAILURES: Self = Self::of(&[
        Code::Unavailable,
        Code::DeadlineExceeded,
        Code::Internal,
        Code::ResourceExhausted,
        Code::Aborted,
        Code::Unknown,
        Code::DataLoss,
    ]);

    /// The set of these codes.
    pub const fn of(codes: &[Code]) -> Self {
        let mut set = Self::EMPTY;
        let mut rest = codes;
        while let Some((code, tail)) = rest.split_first() {
            set = set.with(*code);
            rest = tail;
        }
        set
    }

    /// The set with `code` in it.
    pub const fn with(self, code: Code) -> Self {
        Self(self.0 | code.bit())
    }

    /// The set with `code` not in it.
    pub const fn without(self, code: Code) -> Self {
        Self(self.0 & !code.bit())
    }

    /// Whether `code` is in it.
    pub const fn contains(self, code: Code) -> bool {
        self.0 & code.bit() != 0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The codes in it, by number.
    pub fn iter(self) -> impl Iterator<Item = Code> {
        Code::ALL.into_iter().filter(move |code| self.contains(*code))
    }
}

impl FromIterator<Code> for CodeSet {
    fn from_iter<I: IntoIterator<Item = Code>>(codes: I) -> Self {
        codes.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for CodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let mut comma = "";
        for code in self.iter() {
            write!(f, "{comma}{code}")?;
            comma = ", ";
        }
        f.write_str("}")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for CodeSet {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "CodeSet({=u32:#b})", self.0);
    }
}
