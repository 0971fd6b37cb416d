//! Every call is trimmed to what is left of its request.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use evenkeel_tokio::core::{
    BudgetExhausted, BudgetPolicy, CallPolicy, Clock, Deadline, Instant, Micros, Outcome, checked,
};
use evenkeel_tokio::{Budget, RequestBudget, Shared, TokioClock, call, trim, with_budget};

use crate::{AUDIT, FETCH, granted, of, shared, within, work};

/// L1.
#[tokio::test(start_paused = true)]
async fn without_a_budget_a_deadline_is_untouched() {
    for deadline in [Deadline::NONE, within(0), within(2_000), Deadline::at(Instant::ZERO)] {
        let trimmed = trim(TokioClock.now(), FETCH, deadline, Micros::from_millis(500));
        assert_eq!(trimmed, Ok(deadline));
    }
}

/// L2, L3, L4, L14.
#[tokio::test(start_paused = true)]
async fn the_nearer_of_budget_and_deadline_counts() {
    let cases = [
        (1_500, None, 1_500),
        (10_000, Some(2_000), 2_000),
        (500, Some(10_000), 500),
        (50_000, Some(5_000), 5_000),
    ];
    for (budget, deadline, expected) in cases {
        let call = async || granted(FETCH, deadline.map_or(Deadline::NONE, within), 0);
        assert_eq!(with_budget(shared(budget), call()).await, Some(expected));
    }
}

/// L13, G57: three calls of 0.35 s each, in 3 s, configured to 5 s.
#[tokio::test(start_paused = true)]
async fn each_call_sees_what_the_last_left() {
    const POLICY: CallPolicy = checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(5)));
    let upstream = Shared::new(POLICY);
    let fetch = async || {
        let configured = POLICY.deadline(TokioClock.now(), Deadline::NONE);
        let deadline = trim(TokioClock.now(), FETCH, configured, Micros::ZERO)?;
        let judge = |_: &Result<_, ()>| Outcome::success();
        let seen = call(upstream.view(), deadline, judge, async |attempt| {
            let seen = attempt.deadline().remaining(TokioClock.now());
            work(350).await;
            Ok(seen.as_micros() / 1_000)
        });
        Ok::<_, BudgetExhausted>(seen.await.unwrap())
    };
    let seen = with_budget(shared(3_000), async {
        [fetch().await, fetch().await, fetch().await].map(Result::unwrap)
    });
    assert_eq!(seen.await, [3_000, 2_650, 2_300]);
}

/// L5, L16: spent before the call was made.
#[tokio::test(start_paused = true)]
async fn a_spent_budget_refuses_with_both_numbers() {
    let budget = shared(150);
    work(300).await;
    let refused = with_budget(budget, async {
        trim(TokioClock.now(), FETCH, within(5_000), Micros::ZERO).unwrap_err()
    });
    let refused = refused.await;
    assert_eq!(
        (refused.elapsed, refused.total),
        (Micros::from_millis(300), Micros::from_millis(150))
    );
    assert_eq!(refused.to_string(), "request budget spent: 0.30s elapsed, budget was 0.15s");
}

/// L22: 3 s, a second spent, half a second kept for the next call.
#[tokio::test(start_paused = true)]
async fn a_reserve_is_kept_for_those_after_it() {
    let budget = shared(3_000);
    work(1_000).await;
    let call = async { granted(FETCH, Deadline::NONE, 500) };
    assert_eq!(with_budget(budget, call).await, Some(1_500));
}

/// D14.
#[tokio::test(start_paused = true)]
async fn a_later_grant_is_shorter_by_the_time_between() {
    with_budget(shared(1_000), async {
        let first = granted(FETCH, Deadline::NONE, 0).unwrap();
        work(300).await;
        assert_eq!(granted(FETCH, Deadline::NONE, 0), Some(first - 300));
    })
    .await;
}

/// L15, D15, G60: a cap is one method's, under its full name.
#[tokio::test(start_paused = true)]
async fn a_cap_applies_to_its_method_alone() {
    let half = Duration::from_millis(500);
    let capped = of(3_000).with_cap(AUDIT, half).unwrap().with_cap("audit", half).unwrap();
    with_budget(Some(Arc::new(capped)), async {
        assert_eq!(granted(FETCH, Deadline::NONE, 0), Some(3_000));
        assert_eq!(granted(AUDIT, Deadline::NONE, 0), Some(500));
        assert_eq!(granted("/shop.v1.Audit/audit", Deadline::NONE, 0), Some(3_000));
    })
    .await;
    assert_eq!(of(1).with_cap(AUDIT, Duration::ZERO).unwrap_err().field(), "budget.call_caps");
}

/// D16: a budget that is in use has its own caps.
#[tokio::test(start_paused = true)]
async fn what_is_built_from_it_later_changes_nothing() {
    let budget = of(3_000);
    let installed: Arc<Budget> = Arc::new(budget.clone());
    let other = budget.with_cap(AUDIT, Duration::from_millis(1)).unwrap();
    let call = async { granted(AUDIT, Deadline::NONE, 0) };
    assert_eq!(with_budget(Some(installed), call).await, Some(3_000));
    assert_eq!(other.plain().total(), Micros::from_millis(3_000));
}

/// G59, D9: a nearly spent budget makes one useful call, and a strict one none.
#[tokio::test(start_paused = true)]
async fn a_little_left_is_made_useful() {
    let strict = Budget::new(Duration::from_millis(120), BudgetPolicy::DEFAULT.strict()).unwrap();
    let generous = shared(120);
    work(100).await;
    let call = async || granted(FETCH, within(5_000), 0);
    assert_eq!(with_budget(generous, call()).await, Some(100));
    assert_eq!(with_budget(Some(Arc::new(strict)), call()).await, None);
}

/// A request that came in with a deadline, and one that came in with none.
#[tokio::test(start_paused = true)]
async fn a_budget_is_made_from_an_incoming_deadline() {
    let margin = Duration::from_millis(50);
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(margin).unwrap();
    assert!(Budget::until(Deadline::NONE, policy).is_none());
    let budget = Budget::until(within(1_000), policy).unwrap();
    assert_eq!(budget.remaining(TokioClock.now()), Micros::from_millis(950));
    work(950).await;
    assert!(budget.is_expired(TokioClock.now()));
    let too_near = Budget::until(within(40), policy).unwrap();
    assert!(too_near.is_expired(TokioClock.now()), "spent, not an error");
}

/// L7: a budget of one's own is asked with the method's full name and the reserve.
#[tokio::test(start_paused = true)]
async fn a_budget_of_ones_own_is_asked_the_same() {
    #[derive(Debug, Default)]
    struct Ledger(Mutex<Vec<(String, u64)>>);
    impl RequestBudget for Ledger {
        fn grant(
            &self,
            _now: Instant,
            method: &str,
            reserve: Micros,
        ) -> Result<Micros, BudgetExhausted> {
            let mut asked = self.0.lock().unwrap();
            asked.push((method.into(), reserve.as_micros() / 1_000));
            match asked.len() {
                1 => Ok(Micros::from_millis(70)),
                _ => Err(BudgetExhausted { elapsed: Micros::ZERO, total: Micros::ZERO }),
            }
        }
        fn remaining(&self, _now: Instant) -> Micros {
            Micros::ZERO
        }
    }
    let ledger = Arc::new(Ledger::default());
    with_budget(Some(ledger.clone()), async {
        assert_eq!(granted(FETCH, Deadline::NONE, 250), Some(70));
        assert_eq!(granted(AUDIT, Deadline::NONE, 0), None);
    })
    .await;
    let asked = ledger.0.lock().unwrap();
    assert_eq!(*asked, [(FETCH.into(), 250), (AUDIT.into(), 0)]);
    assert!(ledger.is_expired(TokioClock.now()));
}
