//! Futures of the tokio adapter.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{
    Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Clock, Consecutive, Deadline, Outcome,
    RetryPolicy,
};
use evenkeel_tests::drop_at_every_poll;
use evenkeel_tokio::{
    Budget, Shared, TokioClock, call_hedged, call_within, current_budget, sleep_until, until,
    with_budget,
};

use crate::{Holding, steps};

type Reply = Result<u16, &'static str>;

fn classify(reply: &Reply) -> Outcome {
    if reply.is_ok() { Outcome::success() } else { Outcome::unavailable() }
}

fn within(millis: u64) -> Deadline {
    Deadline::after(TokioClock.now(), Duration::from_millis(millis))
}

/// Three attempts, and a breaker that is half-open at once after each failure of a call.
fn shared(policy: CallPolicy) -> Shared {
    let at_once = Backoff::new(Duration::ZERO, Duration::from_millis(1)).unwrap();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(3).unwrap().with_backoff(at_once);
    let breaker = BreakerPolicy::new(Consecutive::new(9).unwrap());
    Shared::new(policy.with_retry(retry)).with_breaker(breaker)
}

#[tokio::test(start_paused = true)]
async fn a_call_within_a_deadline_dropped_anywhere_gives_its_place_back() {
    let (shared, held) = (shared(CallPolicy::DEFAULT), Arc::new(()));
    let start = || {
        call_within(shared.view(), within(1_000), classify, async |attempt| {
            let reply = if attempt.number() < 3 { Err("busy") } else { Ok(3) };
            Holding::new(&held, steps(reply)).await
        })
    };
    let polls = drop_at_every_poll(start, async |_| assert_eq!(Arc::strong_count(&held), 1));
    assert!(polls.await >= 9, "three attempts in steps");
    assert_eq!(shared.breaker().unwrap().trials, 0);
}

#[tokio::test(start_paused = true)]
async fn hedged_attempts_dropped_anywhere_give_their_places_back() {
    let policy = CallPolicy::DEFAULT.with_hedge_after(Duration::from_millis(2)).unwrap();
    let (shared, held) = (shared(policy), Arc::new(()));
    let start = || {
        call_hedged(shared.view(), within(1_000), classify, |attempt| {
            let reply = Ok(attempt.number());
            Holding::new(&held, steps(reply))
        })
    };
    let polls = drop_at_every_poll(start, async |_| assert_eq!(Arc::strong_count(&held), 1));
    assert!(polls.await >= 3);
    assert_eq!(shared.breaker().unwrap().trials, 0);
}

#[tokio::test(start_paused = true)]
async fn a_limit_dropped_anywhere_drops_what_it_limits() {
    let held = Arc::new(());
    for limit in [1_000, 2] {
        let start = || until(within(limit), Holding::new(&held, steps(())));
        let polls = drop_at_every_poll(start, async |_| assert_eq!(Arc::strong_count(&held), 1));
        assert!(polls.await >= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_dropped_anywhere_holds_nothing() {
    let start = || sleep_until(within(5).instant());
    let polls = drop_at_every_poll(start, async |_| ());
    assert_eq!(polls.await, 2);
    // A timer that was left behind would hold up time, or end somebody else's sleep.
    let began = TokioClock.now();
    sleep_until(within(60_000).instant()).await;
    assert_eq!(TokioClock.now().since(began).as_duration(), Duration::from_secs(60));
}

/// The budget of a scope is that of its task while it is polled, and while it is dropped, and never
/// afterwards.
#[tokio::test(start_paused = true)]
async fn a_scope_dropped_anywhere_is_left() {
    let held = Arc::new(());
    let budget = Arc::new(Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT).unwrap());
    let start = || {
        let inner = async {
            assert!(current_budget().is_some());
            steps(()).await;
            assert!(current_budget().is_some());
        };
        with_budget(Some(budget.clone()), Holding::new(&held, inner))
    };
    let polls = drop_at_every_poll(start, async |_| {
        assert!(current_budget().is_none());
        assert_eq!((Arc::strong_count(&held), Arc::strong_count(&budget)), (1, 1));
    });
    assert!(polls.await >= 4);
}
