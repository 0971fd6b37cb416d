//! What a method table answers, and which bytes it refuses.

use evenkeel_tonic::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
use prost::Message;
use prost_types::{
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, MethodOptions,
    ServiceDescriptorProto,
};

const SORTED: &[MethodInfo] = &[
    MethodInfo::new("/a.S/M", MethodKind::Unary, Idempotency::Unknown),
    MethodInfo::new("/a.S/Mm", MethodKind::BidiStreaming, Idempotency::Idempotent),
    MethodInfo::new("/a.T/M", MethodKind::ServerStreaming, Idempotency::NoSideEffects),
];
const SHUFFLED: &[MethodInfo] = &[
    MethodInfo::new("/a.T/M", MethodKind::ServerStreaming, Idempotency::NoSideEffects),
    MethodInfo::new("/a.S/Mm", MethodKind::Unary, Idempotency::Unknown),
    MethodInfo::new("/a.S/M", MethodKind::Unary, Idempotency::Unknown),
    MethodInfo::new("/a.S/Mm", MethodKind::BidiStreaming, Idempotency::Idempotent),
];

#[test]
fn every_order_of_the_rows_answers_the_same() {
    let (sorted, shuffled) = (MethodTable::new(SORTED), MethodTable::new(SHUFFLED));
    let collected: MethodTable = SHUFFLED.iter().cloned().collect();
    for row in SORTED {
        assert_eq!(sorted.get(row.path()), Some(row));
        assert_eq!(shuffled.get(row.path()), Some(row));
        assert_eq!(collected.get(row.path()), Some(row));
    }
    assert_eq!(collected.methods(), SORTED);
}

#[test]
fn only_a_whole_path_is_a_name() {
    for table in [MethodTable::new(SORTED), MethodTable::new(SHUFFLED)] {
        for path in ["", "/", "a.S/M", "/a.S/", "/a.S/M/", "/a.S/m", "/a.S/Mmm", "/p/a.S/M"] {
            assert_eq!(table.get(path), None, "{path}");
        }
    }
    assert_eq!(MethodTable::default().get("/a.S/M"), None);
}

#[test]
fn of_merged_tables_the_later_one_counts() {
    const OURS: &[MethodInfo] = &[
        MethodInfo::new("/a.S/M", MethodKind::Unary, Idempotency::Idempotent),
        MethodInfo::new("/b.S/M", MethodKind::Unary, Idempotency::Unknown),
    ];
    let merged = MethodTable::merged([&MethodTable::new(SHUFFLED), &MethodTable::new(OURS)]);
    assert_eq!(merged.get("/a.S/M"), Some(&OURS[0]));
    assert_eq!(merged.get("/b.S/M"), Some(&OURS[1]));
    assert_eq!(merged.get("/a.S/Mm"), Some(&SORTED[1]));
    assert_eq!(merged.methods().len(), 4);
}

#[test]
fn levels_of_a_descriptor_are_read() {
    let levels = [None, Some(0), Some(1), Some(2), Some(3), Some(-1)];
    let methods = levels.iter().enumerate().map(|(n, level)| MethodDescriptorProto {
        name: Some(format!("M{n}")),
        options: Some(MethodOptions { idempotency_level: *level, ..Default::default() }),
        ..Default::default()
    });
    let table = read(&set("p", "S", methods.collect())).unwrap();
    let read: Vec<_> = table.methods().iter().map(MethodInfo::idempotency).collect();
    use Idempotency::{Idempotent, NoSideEffects, Unknown};
    assert_eq!(read, [Unknown, Unknown, NoSideEffects, Idempotent, Unknown, Unknown]);
    let repeatable: Vec<_> = table.methods().iter().map(MethodInfo::is_idempotent).collect();
    assert_eq!(repeatable, [false, false, true, true, false, false]);
}

#[test]
fn kinds_of_a_descriptor_are_read() {
    let streams =
        [(None, None), (None, Some(true)), (Some(true), Some(false)), (Some(true), Some(true))];
    let methods = streams.iter().enumerate().map(|(n, (client, server))| MethodDescriptorProto {
        client_streaming: *client,
        server_streaming: *server,
        ..method(&format!("M{n}"))
    });
    let table = read(&set("p", "S", methods.collect())).unwrap();
    let kinds: Vec<_> = table.methods().iter().map(MethodInfo::kind).collect();
    use MethodKind::{BidiStreaming, ClientStreaming, ServerStreaming, Unary};
    assert_eq!(kinds, [Unary, ServerStreaming, ClientStreaming, BidiStreaming]);
    let sides = kinds.iter().map(|kind| (kind.client_streaming(), kind.server_streaming()));
    assert!(sides.eq([(false, false), (false, true), (true, false), (true, true)]));
}

#[test]
fn a_package_may_be_nested_or_missing() {
    for (package, path) in [("", "/S/M"), ("a", "/a.S/M"), ("a.b_2.c", "/a.b_2.c.S/M")] {
        let table = read(&set(package, "S", vec![method("M")])).unwrap();
        assert_eq!(table.methods()[0].path(), path);
    }
}

#[test]
fn bytes_of_something_else_are_refused() {
    assert_eq!(MethodTable::from_descriptor_bytes(&[]).unwrap_err(), DescriptorError::Empty);
    let one_file = set("p.v1", "S", vec![method("M")]).file.remove(0).encode_to_vec();
    for bytes in [&one_file[..], b"syntax = \"proto3\";", b"{\"file\": []}", &[0xff; 64], &[0; 8]] {
        let error = MethodTable::from_descriptor_bytes(bytes).unwrap_err();
        assert!(matches!(error, DescriptorError::Malformed(_)), "{bytes:?}: {error:?}");
        assert!(
            format!("{error:?}").starts_with(&format!("{error}: ")),
            "and what it was refused for"
        );
        assert!(core::error::Error::source(&error).is_some());
    }
}

#[test]
fn a_set_cut_off_inside_its_file_is_refused() {
    let bytes = set("p.v1", "S", vec![method("M"), method("N")]).encode_to_vec();
    for end in 1..bytes.len() {
        let error = MethodTable::from_descriptor_bytes(&bytes[..end]).unwrap_err();
        assert!(matches!(error, DescriptorError::Malformed(_)), "{end}: {error:?}");
    }
}

#[test]
fn names_that_no_path_can_carry_are_refused() {
    for (package, service, name, path) in [
        ("p", "", "M", "/p./M"),
        ("p", "S", "", "/p.S/"),
        ("p..q", "S", "M", "/p..q.S/M"),
        ("p", "S/T", "M", "/p.S/T/M"),
        ("p", "S", "M\n", "/p.S/M\n"),
        ("p", "2S", "M", "/p.2S/M"),
    ] {
        let error = read(&set(package, service, vec![method(name)])).unwrap_err();
        assert_eq!(error, DescriptorError::Name(path.into()));
        let named = format!("the descriptor set has a method {path:?}: must be");
        assert!(error.to_string().starts_with(&named), "{error}");
    }
}

/// Every byte of it replaced by every other.
#[test]
fn a_damaged_set_is_refused_or_names_only_paths() {
    let whole = set("p.v1", "S", vec![method("M"), method("N")]).encode_to_vec();
    let mut read = 0;
    for (at, byte) in (0..whole.len()).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        let Ok(table) = MethodTable::from_descriptor_bytes(&bytes) else { continue };
        read += 1;
        for row in table.methods() {
            let path = row.path();
            assert_eq!(path.matches('/').count(), 2, "{path:?}: {byte:#x} at {at}");
            assert_eq!(table.get(path), Some(row), "{path:?}: {byte:#x} at {at}");
        }
    }
    assert!(read > whole.len(), "only {read} tables were read");
}

fn read(set: &FileDescriptorSet) -> Result<MethodTable, DescriptorError> {
    MethodTable::from_descriptor_bytes(&set.encode_to_vec())
}

fn set(package: &str, service: &str, method: Vec<MethodDescriptorProto>) -> FileDescriptorSet {
    let service =
        ServiceDescriptorProto { name: Some(service.into()), method, ..Default::default() };
    let package = (!package.is_empty()).then(|| package.into());
    let name = Some("some/dir/file.proto".into());
    let file = FileDescriptorProto { name, package, service: vec![service], ..Default::default() };
    FileDescriptorSet { file: vec![file] }
}

fn method(name: &str) -> MethodDescriptorProto {
    MethodDescriptorProto { name: Some(name.into()), ..Default::default() }
}
