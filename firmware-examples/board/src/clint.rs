//! This file knows time on RISC-V `virt`: the CLINT's 64-bit counter of 10 MHz and its compare.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, time_driver_impl};
use embassy_time_queue_utils::Queue;

use crate::mmio::Reg;

const fn reg(offset: usize) -> Reg {
    // SAFETY: QEMU virt's CLINT, and offsets within it.
    unsafe { Reg::new(0x0200_0000 + offset) }
}

const COMPARE_LOW: Reg = reg(0x4000);
const COMPARE_HIGH: Reg = reg(0x4004);
const TIME_LOW: Reg = reg(0xbff8);
const TIME_HIGH: Reg = reg(0xbffc);
const COUNTS_PER_TICK: u64 = 10;

struct Clint(Mutex<RefCell<Queue>>);

time_driver_impl!(static DRIVER: Clint = Clint(Mutex::new(RefCell::new(Queue::new()))));

fn counts() -> u64 {
    loop {
        let (high, low) = (TIME_HIGH.read(), TIME_LOW.read());
        // Read again when the lower half has just overflowed.
        if high == TIME_HIGH.read() {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

fn serve(cs: CriticalSection<'_>) {
    let next = DRIVER.0.borrow_ref_mut(cs).next_expiration(counts() / COUNTS_PER_TICK);
    let compare = next.saturating_mul(COUNTS_PER_TICK);
    // High first and highest, so that no half-written value is in the past.
    COMPARE_HIGH.write(u32::MAX);
    COMPARE_LOW.write(compare as u32);
    COMPARE_HIGH.write((compare >> 32) as u32);
}

impl Driver for Clint {
    fn now(&self) -> u64 {
        counts() / COUNTS_PER_TICK
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            if DRIVER.0.borrow_ref_mut(cs).schedule_wake(at, waker) {
                serve(cs);
            }
        });
    }
}

/// The timer interrupt.
pub(crate) fn on_timer() {
    critical_section::with(serve);
}
