//! Futures that are dropped at every one of their polls, wherever virtual time has got to: nothing
//! of them is left.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use evenkeel_core::{
    Backoff, Clock, Deadline, Escalation, Micros, ReconnectPolicy, Setback, checked,
};
use evenkeel_embassy::{EmbassyClock, Link, OnTime, feed_while_on_time, sleep_until, supervise, until};

/// Polls `future` at most `count` times, each time it asks for it, and drops it.
async fn poll_n<F: Future>(count: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = count;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn wait(millis: u64) {
    sleep_until(EmbassyClock.now() + Micros::from_millis(millis)).await;
}

/// Something that is held until it is dropped.
struct Held<'a>(&'a Cell<i32>);

impl<'a> Held<'a> {
    fn new(count: &'a Cell<i32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A link that holds something in everything it does; every second dial fails.
struct Wire<'a> {
    held: &'a Cell<i32>,
    dials: u32,
}

impl Link for Wire<'_> {
    async fn ready(&mut self) {
        let _held = Held::new(self.held);
        wait(1).await;
    }

    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        let _held = Held::new(self.held);
        self.dials += 1;
        wait(2).await;
        if self.dials.is_multiple_of(2) { Ok(()) } else { Err(None) }
    }

    async fn session(&mut self) -> Option<Micros> {
        let _held = Held::new(self.held);
        wait(3).await;
        None
    }

    async fn close(&mut self) {
        let _held = Held::new(self.held);
        wait(1).await;
    }

    async fn escalate(&mut self, _: Escalation) {
        let _held = Held::new(self.held);
        wait(1).await;
    }

    fn set_back(&mut self, _: Setback) {}
}

#[test]
fn a_supervisor_dropped_at_every_poll_lets_go_of_its_link() {
    const BACKOFF: Backoff =
        checked!(Backoff::new(Duration::from_millis(5), Duration::from_millis(20)));
    static POLICY: ReconnectPolicy =
        checked!(ReconnectPolicy::DEFAULT.with_backoff(BACKOFF).with_splay(Duration::ZERO));
    let mut most = 0;
    for polls in 0..60 {
        let held = Cell::new(0);
        let mut wire = Wire { held: &held, dials: 0 };
        simulated::run(async {
            assert!(poll_n(polls, supervise(&mut wire, &POLICY, 7)).await.is_none());
        });
        assert_eq!(held.get(), 0, "after {polls} polls");
        most = most.max(wire.dials);
        // And it can be supervised anew.
        let dials = wire.dials;
        simulated::run(async {
            _ = until(Deadline::at(EmbassyClock.now() + Micros::from_millis(100)), supervise(&mut wire, &POLICY, 8)).await;
        });
        assert!(wire.dials > dials && held.get() == 0, "after {polls} polls");
    }
    assert!(most > 4, "{most} dials: it was dropped in none of them");
}

#[test]
fn a_watchdog_dropped_at_every_poll_is_not_fed() {
    let on_time = OnTime::<NoopRawMutex, 2>::new();
    let period = Micros::from_millis(10);
    for polls in 0..20 {
        let fed = Cell::new(0);
        simulated::run(async {
            let feed = || fed.set(fed.get() + 1);
            let feeding = feed_while_on_time(&on_time, period, Micros::ZERO, feed);
            assert!(poll_n(polls, feeding).await.is_none());
            wait(1_000).await;
        });
        assert_eq!(fed.get(), polls, "once for each poll, and never afterwards");
    }
}

#[test]
fn what_is_limited_and_dropped_at_every_poll_is_gone() {
    for deadline in [2, 1_000] {
        for polls in 0..8 {
            let held = Cell::new(0);
            simulated::run(async {
                let limited = async {
                    let _held = Held::new(&held);
                    wait(1).await;
                    wait(3).await;
                };
                let deadline = Deadline::at(EmbassyClock.now() + Micros::from_millis(deadline));
                _ = poll_n(polls, until(deadline, limited)).await;
                assert_eq!(held.get(), 0, "after {polls} polls");
                // A timer that was left behind would end this one early.
                let began = EmbassyClock.now();
                wait(50).await;
                assert!(EmbassyClock.now().since(began) >= Micros::from_millis(50));
            });
        }
    }
}
