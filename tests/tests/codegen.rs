//! The generated code in the repository is what the generators write.

use std::process::Command;

#[test]
fn generated_code_is_current() {
    let check = Command::new(env!("CARGO_BIN_EXE_codegen")).arg("--check").output().unwrap();
    let said = String::from_utf8_lossy(&check.stderr);
    assert!(check.status.success(), "{said}");
}
