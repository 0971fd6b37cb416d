//! This file knows where a `FileDescriptorSet` keeps what a method table needs.
//!
//! Those bytes are what `protoc --descriptor_set_out`, `tonic_prost_build`'s
//! `file_descriptor_set_path` and `buf build` write, and what servers with reflection embed. The
//! messages are defined in `google/protobuf/descriptor.proto`.

use alloc::borrow::Cow;
use core::{error, fmt};

use prost::Message;
use prost_types::method_options::IdempotencyLevel;
use prost_types::{FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto};

use super::{Idempotency, MethodInfo, MethodKind, MethodTable};

impl MethodTable {
    /// The methods of every service in an encoded `FileDescriptorSet`.
    ///
    /// For programs that have descriptors at run time anyway, and for those whose build cannot be
    /// changed. Meant to be called once, at start:
    ///
    /// ```no_run
    /// # fn start() -> Result<(), Box<dyn core::error::Error>> {
    /// use evenkeel_tonic::MethodTable;
    ///
    /// let methods = MethodTable::from_descriptor_bytes(&std::fs::read("payments.binpb")?)?;
    /// assert!(methods.get("/payments.v1.Payments/GetQuote").is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A set without services gives a table that names no method. A set that was cut off exactly
    /// between two of its files cannot be told from a shorter one.
    ///
    /// # Errors
    ///
    /// [`DescriptorError`] if the bytes are no `FileDescriptorSet`, hold no file, or name a method
    /// in a way that no request path can.
    pub fn from_descriptor_bytes(bytes: &[u8]) -> Result<Self, DescriptorError> {
        let set = FileDescriptorSet::decode(bytes).map_err(DescriptorError::Malformed)?;
        if set.file.is_empty() {
            return Err(DescriptorError::Empty);
        }
        set.file.iter().flat_map(methods_of).collect()
    }
}

/// Why bytes were refused as a `FileDescriptorSet`.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum DescriptorError {
    /// There is no file in it: the bytes are empty, or another message than a `FileDescriptorSet`.
    Empty,
    /// The bytes do not decode as a `FileDescriptorSet`; they may be cut off.
    Malformed(prost::DecodeError),
    /// A package, service or method is named by something that is no protobuf identifier. Holds
    /// the path the method would have had.
    Name(String),
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "no file in the descriptor set: it is empty, or another message than a \
                 FileDescriptorSet; write it with protoc --descriptor_set_out",
            ),
            Self::Malformed(_) => f.write_str(
                "the bytes are no FileDescriptorSet, or were cut off; write it with protoc \
                 --descriptor_set_out",
            ),
            Self::Name(path) => write!(
                f,
                "the descriptor set has a method {path:?}: must be \"/package.Service/Method\" of \
                 protobuf identifiers",
            ),
        }
    }
}

/// As it is displayed, and with what the bytes were refused for: a `main` that returns it prints
/// this.
impl fmt::Debug for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        if let Self::Malformed(decode) = self { write!(f, ": {decode}") } else { Ok(()) }
    }
}

impl error::Error for DescriptorError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Malformed(decode) => Some(decode),
            Self::Empty | Self::Name(_) => None,
        }
    }
}

fn methods_of(
    file: &FileDescriptorProto,
) -> impl Iterator<Item = Result<MethodInfo, DescriptorError>> {
    file.service.iter().flat_map(move |service| {
        let method_of = |method| method_info(file.package(), service.name(), method);
        service.method.iter().map(method_of)
    })
}

fn method_info(
    package: &str,
    service: &str,
    method: &MethodDescriptorProto,
) -> Result<MethodInfo, DescriptorError> {
    let dot = if package.is_empty() { "" } else { "." };
    let path = format!("/{package}{dot}{service}/{}", method.name());
    let named = (package.is_empty() || package.split('.').all(is_identifier))
        && is_identifier(service)
        && is_identifier(method.name());
    if !named {
        return Err(DescriptorError::Name(path));
    }
    let level = method.options.as_ref().map(|options| options.idempotency_level());
    Ok(MethodInfo {
        path: Cow::Owned(path),
        kind: match (method.client_streaming(), method.server_streaming()) {
            (true, true) => MethodKind::BidiStreaming,
            (true, false) => MethodKind::ClientStreaming,
            (false, true) => MethodKind::ServerStreaming,
            (false, false) => MethodKind::Unary,
        },
        idempotency: match level {
            Some(IdempotencyLevel::Idempotent) => Idempotency::Idempotent,
            Some(IdempotencyLevel::NoSideEffects) => Idempotency::NoSideEffects,
            Some(IdempotencyLevel::IdempotencyUnknown) | None => Idempotency::Unknown,
        },
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
