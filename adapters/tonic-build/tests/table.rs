//! The two forms of a method table, static and from descriptor bytes, on the same `.proto` files.

use std::fs::{self, File};
use std::time::UNIX_EPOCH;

use evenkeel_tonic::MethodTable;
use evenkeel_tonic_build::{method_table, write_method_table};
use prost::Message;
use prost_types::{
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};

const PROTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proto");
const FILES: [&str; 5] =
    ["admin.proto", "bare.proto", "keywords.proto", "orders.proto", "returns.proto"];

/// What [`method_table`] writes for them, compiled.
#[expect(unreachable_pub, reason = "a program exports it")]
mod written {
    include!("written/methods.rs");
}

#[test]
fn the_written_table_is_current() {
    let now = method_table(&descriptors(FILES));
    assert_eq!(
        now,
        include_str!("written/methods.rs"),
        "run `cargo run -p evenkeel-tests --bin codegen` and look at what changed"
    );
}

#[test]
fn both_forms_answer_the_same() {
    let bytes = descriptors(FILES).encode_to_vec();
    let read = MethodTable::from_descriptor_bytes(&bytes).unwrap();
    assert_eq!(read.methods(), written::METHODS.methods());
    assert_eq!(read.methods().len(), 13);
}

#[test]
fn names_are_those_of_the_proto() {
    for path in [
        "/Bare/Send",
        "/acme.v1.Orders/Get",
        "/acme.v1.Returns/Open",
        "/acme.v1.admin.Orders/Get",
        "/type.match.Self/Self",
        "/type.match.Self/async",
        "/type.match.fn/type",
    ] {
        assert_eq!(written::METHODS.get(path).map(|method| method.path()), Some(path));
    }
    assert!(written::METHODS.get("/acme.v1.Orders/Get").unwrap().is_idempotent());
    assert!(!written::METHODS.get("/acme.v1.admin.Orders/Get").unwrap().is_idempotent());
}

#[test]
fn the_order_of_the_files_changes_nothing() {
    let mut reversed = FILES;
    reversed.reverse();
    assert_eq!(method_table(&descriptors(FILES)), method_table(&descriptors(reversed)));
}

#[test]
fn a_name_cannot_break_out_of_its_literal() {
    let source = method_table(&one_method("p", "S\"),\\", "M\n\u{202e}"));
    assert!(source.contains(r#"        MethodInfo::new("/p.S\"),\\/M\n\u{202e}", MethodKind::"#));
}

#[test]
fn a_set_without_services_gives_an_empty_table() {
    let source = method_table(&FileDescriptorSet::default());
    assert!(source.contains("const ROWS: &[MethodInfo] = &[\n    ];"));
}

#[test]
fn a_file_that_would_not_change_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("methods.rs");
    let (old, new) = (one_method("p", "S", "M"), one_method("p", "S", "N"));

    write_method_table(&old, &path).unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(UNIX_EPOCH).unwrap();
    write_method_table(&old, &path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), UNIX_EPOCH);

    write_method_table(&new, &path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), method_table(&new));
}

fn descriptors(files: [&str; 5]) -> FileDescriptorSet {
    protox::compile(files, [PROTOS]).unwrap()
}

fn one_method(package: &str, service: &str, method: &str) -> FileDescriptorSet {
    let method = MethodDescriptorProto { name: Some(method.into()), ..Default::default() };
    let service = ServiceDescriptorProto {
        name: Some(service.into()),
        method: vec![method],
        ..Default::default()
    };
    let file = FileDescriptorProto {
        package: Some(package.into()),
        service: vec![service],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }
}
