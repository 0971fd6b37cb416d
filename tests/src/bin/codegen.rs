//! Writes the generated code that is checked in; with `--check` it only says what is not current.
//!
//! It is checked in so that examples and tests build without a build script, and so that a change
//! in what is generated shows in a diff. The test `generated_code_is_current` runs the check.
//!
//! cargo builds this package's library first, `pb.rs` included: a change that makes the old file
//! uncompilable has to be made there by hand once.

use core::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use evenkeel_tonic_build::{configure, method_table, tonic_prost_build};

type Result<T> = core::result::Result<T, Box<dyn Error>>;

fn main() -> Result<ExitCode> {
    let check = std::env::args().any(|arg| arg == "--check");
    let mut exit = ExitCode::SUCCESS;
    for (file, source) in sources()? {
        let found = fs::read_to_string(root(file)).unwrap_or_default();
        if found == source {
            continue;
        }
        if check {
            let line = first_difference(&found, &source);
            eprintln!("{file}, line {line}: not what `{COMMAND}` would write");
            exit = ExitCode::FAILURE;
        } else {
            fs::write(root(file), source)?;
            println!("wrote {file}");
        }
    }
    Ok(exit)
}

/// Every checked-in file, and what it should hold.
fn sources() -> Result<[(&'static str, String); 4]> {
    let tables = protox::compile(TABLES, [root("adapters/tonic-build/tests/proto")])?;
    let payments = "adapters/tonic/examples/payments_lab/proto";
    let orders = "adapters/tonic/examples/orders/proto";
    Ok([
        ("adapters/tonic-build/tests/written/methods.rs", method_table(&tables)),
        ("adapters/tonic/examples/orders/pb.rs", module(orders, "orders.proto", "orders.v1")?),
        (
            "adapters/tonic/examples/payments_lab/pb.rs",
            module(payments, "payments.proto", "payments.v1")?,
        ),
        ("tests/src/pb.rs", module("tests/proto", "lab.proto", "lab.v1")?),
    ])
}

/// What a build script would generate for `package`, as a module that is formatted and lint-free.
fn module(dir: &str, proto: &str, package: &str) -> Result<String> {
    let out = tempfile::tempdir()?;
    // Not `compile`: that speaks to cargo, which is not listening here.
    let descriptors = protox::compile([proto], [root(dir)])?;
    let tonic = tonic_prost_build::configure().out_dir(&out);
    configure().tonic(tonic).compile_fds(descriptors)?;
    let generated = fs::read_to_string(out.path().join(format!("{package}.rs")))?;
    format_source(&format!("{}{generated}", header(proto)))
}

fn header(proto: &str) -> String {
    format!(
        "\
//! Messages, client, server and methods of `proto/{proto}`.
//!
//! Written by `{COMMAND}`; a change made by hand is lost.
#![allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    clippy::std_instead_of_core,
    reason = \"generated\"
)]

"
    )
}

/// As `cargo fmt` would leave it: a module is formatted like everything else.
fn format_source(source: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("rustfmt, a component of the toolchain, does not run: {error}"))?;
    // The pipe is closed at the end of this statement; rustfmt reads all before it writes.
    rustfmt.stdin.take().ok_or("rustfmt has no input")?.write_all(source.as_bytes())?;
    let output = rustfmt.wait_with_output()?;
    if !output.status.success() {
        return Err("rustfmt refused what was generated".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The number of the first line in which two texts differ.
fn first_difference(found: &str, source: &str) -> usize {
    1 + found.lines().zip(source.lines()).take_while(|(old, new)| old == new).count()
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

const COMMAND: &str = "cargo run -p evenkeel-tests --bin codegen";

/// The files behind the table in the tests of `evenkeel-tonic-build`.
const TABLES: [&str; 5] =
    ["admin.proto", "bare.proto", "keywords.proto", "orders.proto", "returns.proto"];
