//! What a host cannot show: that the core computes on a 32-bit core without a wide multiply as it
//! does on a 64-bit one.
#![no_std]
#![no_main]

use board as _;
use cortex_m as _;
use cortex_m_rt as _;
use defmt_semihosting as _;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("panic: {}", defmt::Display2Format(info));
    board::host::exit(101)
}

#[defmt_test::tests]
mod tests {
    use core::time::Duration;

    use evenkeel_core::presets::Coap;
    use evenkeel_core::rng::seed_from;
    use evenkeel_core::{
        Backoff, BreakerPolicy, BreakerTable, Consecutive, Deadline, Growth, Instant, Jitter,
        Micros, Random, Reconnect, ReconnectAction, ReconnectPolicy, SmallRng, Verdict, checked,
    };

    /// The numbers were written down on a 64-bit host.
    #[test]
    fn the_generator_and_the_seeds_are_those_of_the_host() {
        let mut rng = SmallRng::seeded(7);
        let drawn = [rng.next_u32(), rng.next_u32(), rng.next_u32()];
        defmt::assert_eq!(drawn, DRAWN);
        defmt::assert_eq!(seed_from(b"\x02\x00\x00\x00\x00\x01"), SEED);
    }

    #[test]
    fn long_waits_are_those_of_the_host() {
        let backoff = checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(1 << 27)));
        let backoff = checked!(backoff.with_jitter(Jitter::Proportional(500)));
        let backoff = checked!(backoff.with_multiplier(1_600));
        let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
        let mut sum = 0u64;
        for _ in 0..50 {
            sum = sum.wrapping_mul(31);
            sum = sum.wrapping_add(backoff.next_delay(&mut growth, &mut rng).as_micros());
        }
        defmt::assert_eq!(sum, WAITS);
    }

    #[test]
    fn a_breaker_opens_and_closes() {
        const POLICY: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(2)));
        let (mut table, now) = (BreakerTable::<u16, 8>::new(), Instant::from_micros(10));
        for _ in 0..2 {
            let Ok(permit) = table.admit(now, 1, Deadline::NONE, &POLICY) else { defmt::panic!() };
            let _ = table.record(now, 1, permit, Verdict::Failure, &POLICY);
        }
        let retry_at = now + Micros::from_millis(60_000);
        let refused = table.admit(now, 1, Deadline::NONE, &POLICY).err();
        defmt::assert_eq!(refused.map(|refused| refused.retry_at), Some(retry_at));
        let Ok(trial) = table.admit(retry_at, 1, Deadline::NONE, &POLICY) else { defmt::panic!() };
        let _ = table.record(retry_at, 1, trial, Verdict::Success, &POLICY);
        defmt::assert!(table.admit(retry_at, 1, Deadline::NONE, &POLICY).is_ok());
    }

    #[test]
    fn a_link_is_splayed_and_coap_doubles() {
        static POLICY: ReconnectPolicy = ReconnectPolicy::DEFAULT;
        let first = Reconnect::new(7).poll(Instant::ZERO, &POLICY);
        defmt::assert_eq!(first, ReconnectAction::WaitUntil(Instant::from_micros(SPLAY)));
        let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
        let first = Coap::RFC_7252.next_delay(&mut growth, &mut rng);
        defmt::assert_eq!(Coap::RFC_7252.next_delay(&mut growth, &mut rng), first.plus(first));
    }

    const DRAWN: [u32; 3] = [420_276_880, 260_816_735, 1_953_238_671];
    const SEED: u32 = 1_623_187_811;
    const WAITS: u64 = 14_720_463_592_690_350_593;
    const SPLAY: u64 = 1_957_066;
}
