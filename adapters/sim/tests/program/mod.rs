//! This file knows how the command is run by a test, and where that test keeps its files.

use std::path::Path;
use std::process::Command;

/// A path beside the files of this test.
pub(crate) fn path(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name).to_str().unwrap().into()
}

/// A file there, with this text.
pub(crate) fn file(name: &str, text: &str) -> String {
    let path = path(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Both outputs of a run that ends with this status.
pub(crate) fn evenkeel(arguments: &[&str], status: i32) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(arguments).output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}{errors}");
    (text, errors)
}
