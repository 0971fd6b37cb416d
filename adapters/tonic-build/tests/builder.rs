//! What a one-line build script leaves in its output directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Result};
use std::path::Path;

use evenkeel_tonic::MethodTable;
use evenkeel_tonic_build::{Builder, WithMethods, configure, prost_build, tonic_prost_build};
use tempfile::TempDir;

const PROTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proto");

#[test]
fn each_package_gets_one_table_of_its_own_methods() {
    let files = generated(|builder| builder, &["admin.proto", "bare.proto", "returns.proto"]);
    let rows: BTreeMap<_, _> =
        files.iter().map(|(name, source)| (name.as_str(), paths_in_table(source))).collect();

    assert_eq!(rows["_.rs"], ["/Bare/Send"]);
    assert_eq!(rows["acme.v1.admin.rs"], ["/acme.v1.admin.Orders/Get"]);
    // Of two files, one of them only imported.
    let acme = &rows["acme.v1.rs"];
    assert!(acme.contains(&"/acme.v1.Orders/List") && acme.contains(&"/acme.v1.Returns/Open"));
    assert_eq!(acme.len(), 8);
    assert_eq!(rows.len(), 3);
}

#[test]
fn the_table_stands_beside_client_and_server() {
    let files = generated(|builder| builder, &["keywords.proto"]);
    let source = &files["r#type.r#match.rs"];
    for item in ["pub struct Impl", "pub mod fn_client", "pub mod fn_server", "pub static METHODS"]
    {
        assert_eq!(source.matches(item).count(), 1, "{item}");
    }
    assert_eq!(
        paths_in_table(source),
        ["/type.match.Self/Self", "/type.match.Self/async", "/type.match.fn/type"]
    );
}

#[test]
fn a_package_without_services_gets_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let messages = "syntax = 'proto3'; package plain; message Message {}";
    fs::write(dir.path().join("plain.proto"), messages).unwrap();
    into(&dir).compile(&["plain.proto"], &[dir.path()]).unwrap();
    let source = fs::read_to_string(dir.path().join("plain.rs")).unwrap();
    assert!(source.contains("pub struct Message") && !source.contains("METHODS"));
}

#[test]
fn settings_of_tonic_and_prost_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let tonic = tonic_prost_build::configure()
        .build_server(false)
        .message_attribute(".", "#[doc = \"tonic was here\"]")
        .out_dir(&dir);
    let mut prost = prost_build::Config::new();
    prost.message_attribute(".", "#[doc = \"prost was here\"]");
    configure().tonic(tonic).prost(prost).compile(&["bare.proto"], &[PROTOS]).unwrap();

    let source = fs::read_to_string(dir.path().join("_.rs")).unwrap();
    assert!(source.contains("tonic was here") && source.contains("prost was here"));
    assert!(source.contains("bare_client") && !source.contains("bare_server"));
    assert_eq!(paths_in_table(&source), ["/Bare/Send"]);
}

#[test]
fn the_descriptors_can_be_kept_for_run_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("descriptors.binpb");
    into(&dir).descriptor_set_path(&path).compile(&["returns.proto"], &[PROTOS]).unwrap();

    let table = MethodTable::from_descriptor_bytes(&fs::read(path).unwrap()).unwrap();
    let read: Vec<_> = table.methods().iter().map(|method| method.path()).collect();
    let source = fs::read_to_string(dir.path().join("acme.v1.rs")).unwrap();
    assert_eq!(read, paths_in_table(&source));
}

#[test]
fn a_build_that_drives_prost_writes_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let fds = protox::compile(["returns.proto"], [PROTOS]).unwrap();
    let tonic = tonic_prost_build::configure().service_generator();
    prost_build::Config::new()
        .service_generator(Box::new(WithMethods::around(tonic)))
        .out_dir(dir.path())
        .compile_fds(fds)
        .unwrap();
    assert_eq!(sources(dir.path()), generated(|builder| builder, &["returns.proto"]));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("broken.proto"), "syntax = 'proto3';\nmessage M {\n  Gone g = 1;\n}")
        .unwrap();
    for (file, place) in [("broken.proto", "broken.proto:3:3"), ("gone.proto", "gone.proto")] {
        let error = into(&dir).compile(&[file], &[dir.path()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(place), "{error}");
    }
}

fn generated(set: impl FnOnce(Builder) -> Builder, protos: &[&str]) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    set(into(&dir)).compile(protos, &[PROTOS]).unwrap();
    sources(dir.path())
}

fn into(dir: &TempDir) -> Builder {
    configure().tonic(tonic_prost_build::configure().out_dir(dir))
}

fn sources(dir: &Path) -> BTreeMap<String, String> {
    let read = |entry: Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    fs::read_dir(dir).unwrap().map(read).collect()
}

/// The paths in `METHODS`, wherever the formatting put them.
fn paths_in_table(source: &str) -> Vec<&str> {
    let (_, table) = source.split_once("pub static METHODS").expect("a table");
    table.split('"').filter(|text| text.starts_with('/')).collect()
}
