//! What both images stand on: a clock from SysTick, and the end of a program.
#![no_std]

use board::host::exit;
use board::systick;
use evenkeel_core::{Clock, Instant};

/// SysTick's microseconds as the core's clock.
#[derive(Clone, Copy, Debug)]
pub struct SysTickClock;

impl Clock for SysTickClock {
    fn now(&self) -> Instant {
        Instant::from_micros(systick::micros())
    }
}

defmt::timestamp!("{=u64:us}", systick::micros());

/// Says what went wrong, and ends with a status that no test uses.
pub fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("panic: {}", defmt::Display2Format(info));
    exit(101)
}
