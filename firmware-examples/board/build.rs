//! Puts the memory map of the chosen board, and names for its interrupts, where the linker looks.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=memory");
    let Some(board) = ["mps2", "lm3s", "microbit", "virt"]
        .into_iter()
        .find(|board| env::var_os(format!("CARGO_FEATURE_{}", board.to_uppercase())).is_some())
    else {
        return;
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy(format!("memory/{board}.x"), out.join("memory.x")).expect("every board has a map");
    let names = ["TIMER0", "TIMER1", "ETHERNET", "EXECUTOR"];
    let device: String = names.map(|name| format!("PROVIDE({name} = DefaultHandler);\n")).concat();
    fs::write(out.join("device.x"), device).expect("OUT_DIR is writable");
    println!("cargo:rustc-link-search={}", out.display());
}
