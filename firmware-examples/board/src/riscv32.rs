//! This file knows how a program starts on RISC-V `virt`: interrupts, the executor, sleep.

use embassy_executor::{Executor, Spawner};
use riscv::interrupt::Interrupt;
use static_cell::StaticCell;

#[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    crate::clint::on_timer();
}

#[riscv_rt::core_interrupt(Interrupt::MachineExternal)]
fn external() {
    crate::virtio::on_interrupt();
}

/// Starts the executor, hands a spawner to `main`, and sleeps whenever there is nothing to do.
pub fn start(main: fn(Spawner)) -> ! {
    static TASKS: StaticCell<Executor> = StaticCell::new();
    // SAFETY: the handlers above exist, and no critical section depends on these being masked.
    unsafe {
        riscv::register::mie::set_mtimer();
        riscv::register::mie::set_mext();
        riscv::interrupt::enable();
    }
    TASKS.init(Executor::new()).run(main)
}
