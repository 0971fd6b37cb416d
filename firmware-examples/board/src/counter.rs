//! This file knows how a short counter becomes a clock that does not wrap.
//!
//! A 32-bit counter at 25 MHz wraps every 171 s, one of 32,768 Hz every 36 h, and a fleet runs for
//! years. So an interrupt counts the wraps, and a reading looks at the flag of a wrap that nobody
//! has counted yet; without that, time goes back for as long as the interrupt is late.

/// Wraps counted so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Wraps(u32);

impl Wraps {
    /// None yet.
    pub const NONE: Self = Self(0);

    /// One more.
    #[must_use]
    pub const fn counted(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The full count. `read` gives the counter, counting up, and `pending` whether a wrap is not
    /// counted yet; both are asked again if a wrap comes in between.
    pub fn extend(self, read: impl Fn() -> u32, pending: impl Fn() -> bool) -> u64 {
        let before = pending();
        let mut low = read();
        let after = pending();
        if before != after {
            low = read();
        }
        let wraps = if after { self.counted() } else { self };
        u64::from(wraps.0) << 32 | u64::from(low)
    }
}

/// How long a timer that reaches `reach` is set for an alarm `ahead`: an alarm further away fires
/// early, finds nothing due, and is set again.
pub const fn armed(ahead: u64, reach: u32) -> u32 {
    if ahead < reach as u64 { ahead as u32 } else { reach }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::{Wraps, armed};

    /// A counter whose wrap interrupt is served late.
    struct Hardware {
        time: Cell<u64>,
        counted: Cell<Wraps>,
        flag: Cell<bool>,
    }

    impl Hardware {
        fn tick(&self, ticks: u64) {
            let time = self.time.get() + ticks;
            if time >> 32 != self.time.get() >> 32 {
                self.flag.set(true);
            }
            self.time.set(time);
        }

        fn serve(&self) {
            if self.flag.replace(false) {
                self.counted.set(self.counted.get().counted());
            }
        }

        fn now(&self, between: u64) -> u64 {
            let read = || {
                let low = self.time.get() as u32;
                // Time goes on while the flag is looked at.
                self.tick(between);
                low
            };
            self.counted.get().extend(read, || self.flag.get())
        }
    }

    /// embassy #1063: an instant that wraps makes `now > deadline` a coin toss.
    #[test]
    fn f103_a_32_bit_counter_is_extended_over_two_wraps_and_never_goes_back() {
        for late in [0, 1, 1_000] {
            for between in [0, 1, 7] {
                let time = Cell::new(u64::from(u32::MAX) - 5_000);
                let chip =
                    Hardware { time, counted: Cell::new(Wraps::NONE), flag: Cell::new(false) };
                let mut last = 0;
                for step in 0..30_000u64 {
                    let read = chip.now(between);
                    assert!(read >= last, "back from {last} to {read}");
                    assert!(chip.time.get() - read <= 2 * between, "{read}");
                    last = read;
                    if late == 0 || step % late == 0 {
                        chip.serve();
                    }
                    // Two wraps, each looked at closely.
                    chip.tick(if step == 15_000 { u64::from(u32::MAX) - 20_000 } else { 1 });
                }
                assert_eq!(last >> 32, 2);
            }
        }
    }

    /// rpc-perf #180: forty hours were more than the counter holds, and fired after 3.6.
    #[test]
    fn f108_an_alarm_beyond_the_counter_is_set_again_until_it_is_due() {
        let alarm = 40 * 3_600 * 32_768u64;
        let (mut now, mut times) = (0u64, 0);
        while now < alarm {
            now += u64::from(armed(alarm - now, u32::MAX));
            times += 1;
        }
        assert_eq!((now, times), (alarm, 2));
    }
}
