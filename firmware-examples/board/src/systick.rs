//! This file knows time on any Cortex-M: SysTick at 1 kHz.
//!
//! Readings have microseconds, from the counter. Alarms are served on the tick: never early, and a
//! millisecond late at most.

use core::cell::Cell;

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use critical_section::{CriticalSection, Mutex};

struct Time {
    millis: Cell<u64>,
    /// Cycles in 16 microseconds.
    cycles: Cell<u32>,
}

static TIME: Mutex<Time> = Mutex::new(Time { millis: Cell::new(0), cycles: Cell::new(0) });

/// Starts time on a core with a clock of `hz`; once.
pub fn start(hz: u32) {
    let Some(mut core) = cortex_m::Peripherals::take() else { return };
    core.SYST.set_clock_source(SystClkSource::Core);
    core.SYST.set_reload(hz / 1_000 - 1);
    core.SYST.clear_current();
    critical_section::with(|cs| TIME.borrow(cs).cycles.set(hz / 62_500));
    core.SYST.enable_interrupt();
    core.SYST.enable_counter();
}

/// Microseconds since [`start`].
pub fn micros() -> u64 {
    critical_section::with(at)
}

/// How many cycles of SysTick's clock are left of this millisecond; counts down, for measuring.
pub fn cycles_left() -> u32 {
    SYST::get_current()
}

fn at(cs: CriticalSection<'_>) -> u64 {
    let time = TIME.borrow(cs);
    let cycles = time.cycles.get();
    if cycles == 0 {
        return 0;
    }
    let mut left = SYST::get_current();
    // A tick that is not counted yet: look at the counter again, it has started over.
    let pending = SCB::is_pendst_pending();
    if pending {
        left = SYST::get_current();
    }
    let millis = time.millis.get() + u64::from(pending);
    // Zero is where a millisecond begins: the tick is pending from here on, or time has just begun.
    let gone = if left == 0 { 0 } else { SYST::get_reload() - left };
    let micros = gone * 16 / cycles;
    millis * 1_000 + u64::from(micros.min(999))
}

/// Counts a millisecond; the SysTick exception's whole business without an executor.
pub fn on_tick() {
    critical_section::with(|cs| {
        let millis = &TIME.borrow(cs).millis;
        millis.set(millis.get() + 1);
        #[cfg(feature = "executor")]
        embassy::serve(cs);
    });
}

#[cfg(feature = "executor")]
mod embassy {
    use core::cell::{Cell, RefCell};
    use core::task::Waker;

    use critical_section::{CriticalSection, Mutex};
    use embassy_time_driver::{Driver, time_driver_impl};
    use embassy_time_queue_utils::Queue;

    struct SysTick {
        next: Mutex<Cell<u64>>,
        queue: Mutex<RefCell<Queue>>,
    }

    time_driver_impl!(static DRIVER: SysTick = SysTick {
        next: Mutex::new(Cell::new(u64::MAX)),
        queue: Mutex::new(RefCell::new(Queue::new())),
    });

    impl Driver for SysTick {
        fn now(&self) -> u64 {
            super::micros()
        }

        fn schedule_wake(&self, at: u64, waker: &Waker) {
            critical_section::with(|cs| {
                if self.queue.borrow_ref_mut(cs).schedule_wake(at, waker) {
                    self.next.borrow(cs).set(0);
                }
            });
        }
    }

    /// Wakes what is due, when anything can be.
    pub(super) fn serve(cs: CriticalSection<'_>) {
        let (now, next) = (super::at(cs), DRIVER.next.borrow(cs));
        if now >= next.get() {
            next.set(DRIVER.queue.borrow_ref_mut(cs).next_expiration(now));
        }
    }
}
