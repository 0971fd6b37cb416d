//! This file knows how a method table is written down as Rust source.
//!
//! What a descriptor says is read the same way by `evenkeel_tonic::MethodTable`, at run time;
//! `tests/table.rs` holds the two against each other.

use alloc::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use prost_types::method_options::IdempotencyLevel;
use prost_types::{FileDescriptorSet, MethodOptions};

/// Rust source of one table, `pub static METHODS`, over every service in `fds`.
///
/// For builds that cannot let [`configure`](crate::configure) or
/// [`WithMethods`](crate::WithMethods) write a table per package beside the clients. The result
/// depends on nothing but the descriptors: rows stand in the order of their paths, and each path
/// once.
///
/// ```
/// use evenkeel_tonic_build::method_table;
/// use prost_types::{
///     FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
/// };
///
/// let method = MethodDescriptorProto { name: Some("Charge".into()), ..Default::default() };
/// let service = ServiceDescriptorProto {
///     name: Some("Payments".into()),
///     method: vec![method],
///     ..Default::default()
/// };
/// let file = FileDescriptorProto {
///     package: Some("payments.v1".into()),
///     service: vec![service],
///     ..Default::default()
/// };
/// let source = method_table(&FileDescriptorSet { file: vec![file] });
/// assert!(source.contains(r#"("/payments.v1.Payments/Charge", MethodKind::Unary, Idempotency::Unknown)"#));
/// ```
pub fn method_table(fds: &FileDescriptorSet) -> String {
    let mut rows = Rows::default();
    for file in &fds.file {
        for service in &file.service {
            for method in &service.method {
                let options = method.options.as_ref();
                rows.insert(
                    method_path(file.package(), service.name(), method.name()),
                    Row::new(method.client_streaming(), method.server_streaming(), options),
                );
            }
        }
    }
    rows.render()
}

/// Writes [`method_table`] to the file at `path`, unless that is what the file holds already.
///
/// In a build script with a `protoc` of its own:
///
/// ```no_run
/// use std::path::Path;
/// use evenkeel_tonic_build::{prost_types::FileDescriptorSet, tonic_prost_build};
/// use prost::Message;
///
/// fn main() -> Result<(), Box<dyn core::error::Error>> {
///     let out = std::env::var("OUT_DIR")?;
///     let descriptors = Path::new(&out).join("descriptors.binpb");
///     tonic_prost_build::configure()
///         .file_descriptor_set_path(&descriptors)
///         .compile_protos(&["proto/payments.proto"], &["proto"])?;
///     let fds = FileDescriptorSet::decode(&*std::fs::read(descriptors)?)?;
///     evenkeel_tonic_build::write_method_table(&fds, Path::new(&out).join("methods.rs"))?;
///     Ok(())
/// }
/// ```
///
/// The program includes it with `include!(concat!(env!("OUT_DIR"), "/methods.rs"))`.
///
/// # Errors
///
/// Those of writing a file.
pub fn write_method_table(fds: &FileDescriptorSet, path: impl AsRef<Path>) -> io::Result<()> {
    let source = method_table(fds);
    // A file that did not change must look so to cargo, or everything behind it is built again.
    if fs::read(&path).is_ok_and(|found| found == source.as_bytes()) {
        return Ok(());
    }
    fs::write(path, source)
}

/// The request path of a method, as tonic's generated client sends it.
pub(crate) fn method_path(package: &str, service: &str, method: &str) -> String {
    let dot = if package.is_empty() { "" } else { "." };
    format!("/{package}{dot}{service}/{method}")
}

/// The rows of one table by path: in order, and each path once, the last one counting.
#[derive(Debug, Default)]
pub(crate) struct Rows(BTreeMap<String, Row>);

/// What is written behind a path: names of variants in `evenkeel_tonic`.
#[derive(Debug)]
pub(crate) struct Row {
    kind: &'static str,
    idempotency: &'static str,
}

impl Rows {
    pub(crate) fn insert(&mut self, path: String, row: Row) {
        self.0.insert(path, row);
    }

    pub(crate) fn render(&self) -> String {
        let rows: String = self.0.iter().map(|(path, row)| row.render(path)).collect();
        format!(
            "\
/// What the `.proto` says of every method: its path, what it streams, whether it may be repeated.
pub static METHODS: ::evenkeel_tonic::MethodTable = {{
    use ::evenkeel_tonic::{{Idempotency, MethodInfo, MethodKind, MethodTable}};
    const ROWS: &[MethodInfo] = &[
{rows}    ];
    MethodTable::new(ROWS)
}};
"
        )
    }
}

impl Row {
    pub(crate) fn new(client: bool, server: bool, options: Option<&MethodOptions>) -> Self {
        let kind = match (client, server) {
            (true, true) => "BidiStreaming",
            (true, false) => "ClientStreaming",
            (false, true) => "ServerStreaming",
            (false, false) => "Unary",
        };
        let idempotency = match options.map(MethodOptions::idempotency_level) {
            Some(IdempotencyLevel::Idempotent) => "Idempotent",
            Some(IdempotencyLevel::NoSideEffects) => "NoSideEffects",
            Some(IdempotencyLevel::IdempotencyUnknown) | None => "Unknown",
        };
        Self { kind, idempotency }
    }

    fn render(&self, path: &str) -> String {
        let Self { kind, idempotency } = self;
        // Debug writes a valid Rust literal whatever the path holds.
        format!(
            "        MethodInfo::new({path:?}, MethodKind::{kind}, Idempotency::{idempotency}),\n"
        )
    }
}
