//! This file knows time on the MPS2 boards: CMSDK TIMER0 counts, TIMER1 is the alarm.
//!
//! Both are 32 bits, count down, and run at 25 MHz in QEMU; a tick is a microsecond. Writing RELOAD
//! also loads VALUE, so RELOAD is written first.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, time_driver_impl};
use embassy_time_queue_utils::Queue;

use crate::counter::{Wraps, armed};
use crate::mmio::Reg;

const CYCLES_PER_TICK: u32 = 25;
const ENABLE: u32 = 1;
const ENABLE_INTERRUPT: u32 = 1 << 3;

/// The interrupt lines of the two timers.
pub(crate) const TIMER0_IRQ: u16 = 8;
pub(crate) const TIMER1_IRQ: u16 = 9;

struct Timer {
    control: Reg,
    value: Reg,
    reload: Reg,
    interrupt: Reg,
}

const fn timer(base: usize) -> Timer {
    // SAFETY: called below with the bases of TIMER0 and TIMER1 of these boards.
    unsafe {
        Timer {
            control: Reg::new(base),
            value: Reg::new(base + 4),
            reload: Reg::new(base + 8),
            interrupt: Reg::new(base + 12),
        }
    }
}

const TIMER0: Timer = timer(0x4000_0000);
const TIMER1: Timer = timer(0x4000_1000);

struct Cmsdk {
    wraps: Mutex<Cell<Wraps>>,
    queue: Mutex<RefCell<Queue>>,
}

time_driver_impl!(static DRIVER: Cmsdk = Cmsdk {
    wraps: Mutex::new(Cell::new(Wraps::NONE)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Cmsdk {
    fn ticks(&self, cs: CriticalSection<'_>) -> u64 {
        let wraps = self.wraps.borrow(cs).get();
        let cycles = wraps.extend(|| !TIMER0.value.read(), || TIMER0.interrupt.read() & 1 != 0);
        cycles / u64::from(CYCLES_PER_TICK)
    }

    /// Sets the alarm; `false` if `at` has passed already.
    fn arm(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        TIMER1.control.write(0);
        TIMER1.interrupt.write(1);
        if at == u64::MAX {
            return true;
        }
        let Some(ahead) = at.checked_sub(self.ticks(cs)).filter(|ahead| *ahead > 0) else {
            return false;
        };
        TIMER1.reload.write(u32::MAX);
        TIMER1.value.write(armed(ahead, u32::MAX / CYCLES_PER_TICK) * CYCLES_PER_TICK);
        TIMER1.control.write(ENABLE | ENABLE_INTERRUPT);
        true
    }

    fn serve(&self, cs: CriticalSection<'_>) {
        let mut queue = self.queue.borrow_ref_mut(cs);
        while !self.arm(cs, queue.next_expiration(self.ticks(cs))) {}
    }
}

impl Driver for Cmsdk {
    fn now(&self) -> u64 {
        critical_section::with(|cs| self.ticks(cs))
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            if self.queue.borrow_ref_mut(cs).schedule_wake(at, waker) {
                self.serve(cs);
            }
        });
    }
}

/// Starts time.
pub(crate) fn start() {
    TIMER0.control.write(0);
    TIMER0.reload.write(u32::MAX);
    TIMER0.control.write(ENABLE | ENABLE_INTERRUPT);
}

/// TIMER0's interrupt: the counter has wrapped.
pub(crate) fn on_wrap() {
    critical_section::with(|cs| {
        TIMER0.interrupt.write(1);
        let wraps = DRIVER.wraps.borrow(cs);
        wraps.set(wraps.get().counted());
    });
}

/// TIMER1's interrupt: the alarm.
pub(crate) fn on_alarm() {
    critical_section::with(|cs| DRIVER.serve(cs));
}
