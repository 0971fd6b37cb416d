//! Runs the uplink firmware under QEMU against a server that misbehaves when the firmware asks it
//! to, pulls the cable when it asks for that, and checks what arrived.
//!
//!     host BOARD ELF SEED        BOARD: an385, an386, lm3s or virt
//!
//! QEMU and `defmt-print` are looked for as `QEMU_ARM`, `QEMU_RISCV32` and `DEFMT_PRINT` in the
//! environment, then on the path. The exit status is the number of surprises, the firmware's own
//! and those of this side; 124 when it takes too long.

mod board;
mod cable;
mod ledger;
mod server;

use std::process::{Child, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use board::Board;
use cable::{Cable, Socket};
use ledger::Ledger;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [board, elf, seed] = arguments.as_slice() else {
        eprintln!("host BOARD ELF SEED");
        return ExitCode::from(2);
    };
    let Some(board) = Board::named(board) else {
        eprintln!("no board is called {board}");
        return ExitCode::from(2);
    };
    match run(board, elf, seed) {
        Ok(status) => ExitCode::from(status),
        Err(fault) => {
            eprintln!("host: {fault}");
            ExitCode::from(125)
        }
    }
}

fn run(board: Board, elf: &str, seed: &str) -> std::io::Result<u8> {
    let ledger = Arc::new(Ledger::default());
    let socket = Socket::new(std::process::id());
    let port = server::start(Arc::clone(&ledger), Cable::new(&socket))?;
    let (mut qemu, mut console) = board.run(elf, &format!("{port} {seed}"), socket.path())?;
    let status = wait(&mut qemu)?;
    let _ = console.wait();
    let faults = ledger.faults();
    for fault in &faults {
        eprintln!("host: {fault}");
    }
    Ok(status.saturating_add(u8::try_from(faults.len()).unwrap_or(u8::MAX)))
}

/// QEMU's exit status, which is the firmware's, or 124 when it does not come.
fn wait(qemu: &mut Child) -> std::io::Result<u8> {
    for _ in 0..LONGEST_RUN.as_millis() / STEP.as_millis() {
        if let Some(status) = qemu.try_wait()? {
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(126));
        }
        thread::sleep(STEP);
    }
    qemu.kill()?;
    qemu.wait()?;
    Ok(124)
}

const STEP: Duration = Duration::from_millis(20);
const LONGEST_RUN: Duration = Duration::from_secs(60);
