//! Bytes and instructions: those of the limits that are held elsewhere, and sizes of types.

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use evenkeel_core::{
    Attempt, BreakerTable, Call, CircuitBreaker, Consecutive, Dial, Growth, LastN, Reconnect,
    SmallRng, Throttle, TimeWindow, Trip,
};
use evenkeel_embassy::Peers;

use crate::says;

const FLASH: &str = include_str!("../../../../tests/probe/flash.limits");
const COSTS: &str = include_str!("../../../../firmware-examples/costs.limits");
const SIZES: &str = include_str!("../../../../firmware-examples/sizes.limits");

/// The numbers behind a name in a file of limits.
fn limits(file: &str, name: &str) -> Vec<u64> {
    let line = file.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("nothing is called {name}"));
    line.split(' ').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn the_page_has_the_numbers_of_the_limits() {
    let flash = |name| {
        let bytes = limits(FLASH, name)[0];
        if bytes < 1_000 {
            bytes.to_string()
        } else {
            format!("{},{:03}", bytes / 1_000, bytes % 1_000)
        }
    };
    says(&format!("| {} B of flash; {} with full jitter |", flash("uplink"), flash("spread")));
    says(&format!("| a link (`Reconnect`) alone | {} B |", flash("link")));
    let steps = ["poll", "complete", "admit", "record", "backoff", "link-poll"];
    let steps = steps.map(|name| limits(COSTS, name)[0].to_string()).join(", ");
    says(&format!("backoff, a poll of a link | {steps} |"));
    let uplink = limits(SIZES, "uplink-lm3s");
    let kib = |at: usize| uplink[at] as f64 / 1_024.0;
    says(&format!("| {} KiB of flash, {} KiB of static RAM |", kib(0), kib(1)));
}

/// None of these holds a pointer, and their alignment is the same on a Cortex-M and here.
#[test]
fn the_page_has_the_sizes_of_the_types() {
    let sizes = [
        size_of::<Call>(),
        size_of::<CircuitBreaker>(),
        size_of::<Reconnect>(),
        size_of::<Throttle>(),
    ];
    let sizes = sizes.map(|bytes| bytes.to_string()).join(", ");
    says(&format!("| RAM: a call, a breaker, a link, a throttle | {sizes} B |"));
    let tokens = (size_of::<Option<Attempt>>(), size_of::<Option<Dial>>());
    says(&format!("`Option<Attempt>`, `Option<Dial>` | {}, {} B |", tokens.0, tokens.1));
    let rules = [
        size_of::<CircuitBreaker<Consecutive>>(),
        size_of::<CircuitBreaker<LastN>>(),
        size_of::<CircuitBreaker<TimeWindow>>(),
    ];
    let rules = rules.map(|bytes| bytes.to_string()).join(", ");
    says(&format!("`Consecutive` (as above), `LastN`, `TimeWindow` | {rules} B |"));
    let schedule = (size_of::<Growth>(), size_of::<SmallRng>());
    says(&format!("`Growth`, `SmallRng` | {}, {} B |", schedule.0, schedule.1));
}

#[test]
fn the_page_has_the_sizes_of_tables() {
    says("| RAM: a table of `N`, by its key: `u8`, `u16`, `u32` | 34, 36, 40 B × `N`, and 12 |");
    says("with `LastN` each place takes 8 bytes more, with `TimeWindow` 40");
    says("It is rounded up to a multiple of 8, and `Peers` is 8 bytes more");
    fn table<K: Copy + Eq, const N: usize>(place: usize) {
        of_rule::<K, N, Consecutive>(place);
        of_rule::<K, N, LastN>(place + 8);
        of_rule::<K, N, TimeWindow>(place + 40);
    }
    fn of_rule<K: Copy + Eq, const N: usize, T: Trip>(place: usize) {
        let size = (place * N + 12).next_multiple_of(8);
        assert_eq!(size_of::<BreakerTable<K, N, T>>(), size);
        assert_eq!(size_of::<Peers<CriticalSectionRawMutex, K, N, T>>(), size + 8);
    }
    table::<u8, 4>(34);
    table::<u8, 16>(34);
    table::<u16, 1>(36);
    table::<u16, 8>(36);
    table::<u32, 3>(40);
    table::<u32, 8>(40);
}
