//! A modem that never joins, and the ladder that is to reset it.

use core::future::pending;
use core::time::Duration;

use embassy_futures::select::select;
use evenkeel_core::{Clock, Deadline, Escalation, Instant, Micros, ReconnectPolicy, Rung, checked};
use evenkeel_embassy::{EmbassyClock, Link, sleep_until, supervise, until};

use crate::says;

/// A modem that hangs while it joins the network.
struct Joining {
    /// How long it is waited for.
    limit: Option<Duration>,
    dials: u16,
    resets: u16,
}

impl Link for Joining {
    async fn ready(&mut self) {
        let end = |limit| Deadline::after(EmbassyClock.now(), limit);
        let _ = until(self.limit.map_or(Deadline::NONE, end), pending::<()>()).await;
    }

    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        self.dials += 1;
        Err(None)
    }

    async fn session(&mut self) -> Option<Micros> {
        None
    }

    async fn escalate(&mut self, step: Escalation) {
        self.resets += u16::from(step == Escalation::ResetPeripheral);
    }
}

#[test]
fn a_modem_that_never_joins_is_reset_only_if_waiting_for_it_has_an_end() {
    says("Nothing is counted while `ready` waits");
    const LADDER: &[Rung] = &[Rung::reset_peripheral(3)];
    static CLIMBING: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_ladder(LADDER));
    let hours = |hours: u64, limit| {
        let mut modem = Joining { limit, dials: 0, resets: 0 };
        let end = sleep_until(Instant::from_micros(hours * 3_600_000_000));
        let _ = simulated::run(select(supervise(&mut modem, &CLIMBING, 7), end));
        (modem.dials, modem.resets)
    };
    assert_eq!(hours(24, None), (0, 0));
    let (dials, resets) = hours(1, Some(Duration::from_secs(30)));
    // Four waits of half a minute to a dial, three dials to a rung.
    assert!(dials > 15 && resets == dials / 3, "{dials} dials, {resets} resets");
}
