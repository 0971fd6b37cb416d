//! What is left of the request that a call is made for: L1 to L8, L13 to L23, G57 to G60 and D.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use evenkeel_tests::Reply;
use evenkeel_tokio::{Budget, RequestBudget, SharedBudget, TokioClock, with_budget};
use evenkeel_tonic::core::{BudgetExhausted as Spent, BudgetPolicy, Clock, Instant, Micros};
use evenkeel_tonic::{BudgetExhausted, Builder, DeadlinePassed, TimeLimit, cause};
use tonic::Code;

use crate::lab::{ECHO, KINDS, Lab, PUT, busy, code, method_of, ok, pass, within};
use crate::policies::{client, millis, opens_after, retries};

fn of(total: u64) -> Budget {
    Budget::new(millis(total), BudgetPolicy::DEFAULT).unwrap()
}

/// Runs a call within a budget of this many milliseconds.
async fn in_budget<T>(total: u64, call: impl Future<Output = T>) -> T {
    with_budget(Some(Arc::new(of(total))), call).await
}

/// What a call is given, in milliseconds, if its request has this much left.
async fn given(builder: Builder, budget: Budget) -> u64 {
    let lab = Lab::new(builder, [ok()]);
    with_budget(Some(Arc::new(budget)), lab.unary(ECHO)).await.unwrap();
    lab.slices()[0].1
}

#[tokio::test(start_paused = true)]
async fn l01_without_a_budget_nothing_changes() {
    let lab = Lab::new(client(), [ok()]);
    lab.unary(ECHO).await.unwrap();
    with_budget(None, lab.unary(ECHO)).await.unwrap();
    assert!(lab.peer.requests().iter().all(|seen| seen.timeout().is_none()));
}

#[tokio::test(start_paused = true)]
async fn l02_l03_l04_and_l14_the_nearer_of_budget_and_timeout() {
    let timeout = |after| client().timeout(millis(after)).unwrap();
    assert_eq!(given(client(), of(1_500)).await, 1_500);
    assert_eq!(given(timeout(2_000), of(10_000)).await, 2_000);
    assert_eq!(given(timeout(10_000), of(500)).await, 500);
    assert_eq!(given(timeout(5_000), of(50_000)).await, 5_000);
    let lab = Lab::new(timeout(5_000), [ok()]);
    in_budget(3_000, lab.request(ECHO, within(1_000))).await.unwrap();
    assert_eq!(lab.slices(), [(0, 1_000)]);
}

/// Of two that are as near it is the client's own, which somebody can set otherwise.
#[tokio::test(start_paused = true)]
async fn a_call_that_the_budget_cut_short_says_so() {
    for (timeout, budget, limit) in [
        (2_000, 150, TimeLimit::RequestBudget),
        (150, 150, TimeLimit::Timeout(Micros::from_millis(150))),
        (150, 2_000, TimeLimit::Timeout(Micros::from_millis(150))),
    ] {
        let lab = Lab::new(client().timeout(millis(timeout)).unwrap(), [Reply::hang()]);
        let failed = in_budget(budget, lab.unary(ECHO)).await.unwrap_err();
        assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().limit, limit, "{failed:?}");
        assert!(failed.message().starts_with(&limit.to_string()), "{failed:?}");
    }
    let lab = Lab::new(client(), [Reply::hang()]);
    let failed = in_budget(2_000, lab.request(ECHO, within(150))).await.unwrap_err();
    assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().limit, TimeLimit::Caller);
}

#[tokio::test(start_paused = true)]
async fn l05_l16_and_g58_a_spent_budget_sends_nothing() {
    let lab = Lab::new(client(), [ok()]);
    let failed = in_budget(150, async {
        pass(300).await;
        lab.unary(ECHO).await.unwrap_err()
    });
    let failed = failed.await;
    assert_eq!((failed.code(), lab.peer.count()), (Code::DeadlineExceeded, 0));
    let spent = cause::<BudgetExhausted>(&failed).unwrap();
    assert_eq!(&*spent.method, ECHO);
    assert_eq!((spent.elapsed, spent.total), (Micros::from_millis(300), Micros::from_millis(150)));
    for part in [ECHO, "0.30s elapsed", "budget was 0.15s"] {
        assert!(failed.message().contains(part), "{failed:?}");
    }
    assert!(lab.net.dials("a").is_empty());
}

#[tokio::test(start_paused = true)]
async fn l06_a_spent_budget_refuses_calls_of_every_kind() {
    for kind in KINDS {
        let lab = Lab::new(client(), [ok()]);
        let failed = in_budget(100, async {
            pass(100).await;
            lab.call(kind).await.unwrap_err()
        });
        let failed = failed.await;
        assert_eq!((failed.code(), lab.peer.count()), (Code::DeadlineExceeded, 0), "{kind:?}");
        assert_eq!(&*cause::<BudgetExhausted>(&failed).unwrap().method, method_of(kind));
    }
}

/// A budget that writes down what it is asked.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<(String, Micros)>>);

impl RequestBudget for Asked {
    fn grant(&self, _: Instant, method: &str, reserve: Micros) -> Result<Micros, Spent> {
        self.0.lock().unwrap().push((method.to_owned(), reserve));
        Ok(Micros::from_millis(700))
    }

    fn remaining(&self, _: Instant) -> Micros {
        Micros::MAX
    }
}

#[tokio::test(start_paused = true)]
async fn l07_it_is_asked_by_the_full_name_and_with_the_reserve() {
    let asked = Arc::new(Asked::default());
    let lab = Lab::new(client().budget_reserve(millis(250)).unwrap(), [busy(), ok()]);
    let budget: SharedBudget = asked.clone();
    assert!(with_budget(Some(budget), lab.unary(ECHO)).await.is_err());
    assert_eq!(*asked.0.lock().unwrap(), [(ECHO.to_owned(), Micros::from_millis(250))]);
    assert_eq!(lab.slices(), [(0, 700)]);
}

#[test]
fn l08_a_reserve_that_cannot_be_meant_is_refused() {
    let refused = client().budget_reserve(Duration::MAX).unwrap_err();
    assert!(refused.to_string().contains("budget.reserve_for_next"), "{refused}");
}

/// With attempts, a call is still trimmed once: they share what it was given.
#[tokio::test(start_paused = true)]
async fn l13_and_g57_each_call_is_given_what_the_request_has_left() {
    let builder = client().timeout(millis(5_000)).unwrap().retry(retries(3, 50));
    let lab = Lab::new(builder, [ok().after(millis(350))]);
    in_budget(3_000, async {
        for _ in 0..3 {
            lab.unary(ECHO).await.unwrap();
        }
    })
    .await;
    assert_eq!(lab.slices(), [(0, 3_000), (350, 2_650), (700, 2_300)]);
}

#[tokio::test(start_paused = true)]
async fn l15_g60_and_d15_a_cap_is_for_the_method_it_names_in_full() {
    let lab = Lab::new(client().timeout(millis(5_000)).unwrap(), [ok()]);
    let capped = of(3_000).with_cap(PUT, millis(500)).unwrap();
    let capped = capped.with_cap("Echo", millis(1)).unwrap();
    with_budget(Some(Arc::new(capped)), async {
        lab.unary(ECHO).await.unwrap();
        lab.unary(PUT).await.unwrap();
    })
    .await;
    assert_eq!(lab.slices(), [(0, 3_000), (0, 500)]);
}

#[tokio::test(start_paused = true)]
async fn l20_a_task_inherits_it_only_through_the_helper() {
    let lab = Arc::new(Lab::new(client(), [ok()]));
    let call = |lab: &Arc<Lab>| {
        let lab = Arc::clone(lab);
        async move { lab.unary(ECHO).await.unwrap() }
    };
    in_budget(3_000, async {
        evenkeel_tokio::spawn(call(&lab)).await.unwrap();
        tokio::spawn(call(&lab)).await.unwrap();
        with_budget(None, call(&lab)).await;
        call(&lab).await;
    })
    .await;
    let told: Vec<_> = lab.peer.requests().iter().map(|seen| seen.timeout()).collect();
    assert_eq!(told, [Some(millis(3_000)), None, None, Some(millis(3_000))]);
}

#[tokio::test(start_paused = true)]
async fn l22_and_d05_the_reserve_is_kept_back() {
    let lab = Lab::new(client().budget_reserve(millis(500)).unwrap(), [ok()]);
    in_budget(3_000, async {
        pass(1_000).await;
        lab.unary(ECHO).await.unwrap();
    })
    .await;
    assert_eq!(lab.slices(), [(1_000, 1_500)]);
}

/// Neither the breaker nor the retries hear of a call that was not made.
#[tokio::test(start_paused = true)]
async fn l23_a_call_refused_for_its_budget_is_nobodys_failure() {
    let builder = client().retry(retries(3, 100)).breaker(opens_after(1));
    let throttle = evenkeel_tonic::core::ThrottlePolicy::grpc(10, 100).unwrap();
    let lab = Lab::new(builder.throttle(throttle), [ok()]);
    in_budget(100, async {
        pass(100).await;
        let (failed, took) = crate::lab::timed(lab.unary(ECHO)).await;
        assert_eq!((code(&failed), took), (Code::DeadlineExceeded, 0));
    })
    .await;
    assert!(lab.breaker(ECHO).retry_at.is_none());
    assert_eq!(lab.breaker(ECHO).failures, 0);
    assert_eq!(lab.service.throttle_millitokens(), Some(10_000));
    lab.unary(ECHO).await.unwrap();
}

/// And a trial that it would have been is still to be had.
#[tokio::test(start_paused = true)]
async fn l23_a_call_refused_for_its_budget_takes_no_trial() {
    let lab = Lab::new(client().breaker(opens_after(1)), [busy(), ok()]);
    assert!(lab.unary(ECHO).await.is_err());
    pass(10_000).await;
    let refused = in_budget(100, async {
        pass(100).await;
        lab.unary(ECHO).await
    });
    assert_eq!(code(&refused.await), Code::DeadlineExceeded);
    lab.unary(ECHO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn g59_and_d06_a_little_left_is_one_call_of_the_floor_and_nothing_left_is_none() {
    let lab = Lab::new(client(), [ok()]);
    in_budget(1_000, async {
        pass(980).await;
        lab.unary(ECHO).await.unwrap();
        pass(20).await;
        assert!(cause::<BudgetExhausted>(&lab.unary(ECHO).await.unwrap_err()).is_some());
    })
    .await;
    assert_eq!(lab.slices(), [(980, 100)]);
}

#[tokio::test(start_paused = true)]
async fn a_strict_budget_has_no_floor() {
    let strict = Budget::new(millis(1_000), BudgetPolicy::DEFAULT.strict()).unwrap();
    let lab = Lab::new(client(), [ok()]);
    with_budget(Some(Arc::new(strict)), async {
        pass(901).await;
        let refused = lab.unary(ECHO).await.unwrap_err();
        let said = cause::<BudgetExhausted>(&refused).unwrap().to_string();
        let left = "request deadline too near for /lab.v1.Lab/Echo: 0.09s of 1.00s left, ";
        assert!(said.starts_with(left) && said.contains("budget.min_timeout"), "{said}");
        pass(99).await;
        let refused = lab.unary(ECHO).await.unwrap_err();
        let said = cause::<BudgetExhausted>(&refused).unwrap().to_string();
        assert!(said.ends_with(": 1.00s elapsed, budget was 1.00s"), "{said}");
    })
    .await;
    assert_eq!(lab.peer.count(), 0);
}

/// A stream is within the budget of its request to its last message.
#[tokio::test(start_paused = true)]
async fn l06_a_stream_ends_with_its_budget() {
    let lab = Lab::new(client(), [Reply::headers().message("1")]);
    let began = TokioClock.now();
    let (items, status) = in_budget(700, lab.export()).await;
    assert_eq!((items.len(), status.unwrap().code()), (1, Code::DeadlineExceeded));
    assert_eq!(TokioClock.now().since(began), Micros::from_millis(700));
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_budgets_alone() {
    let lab = Lab::new(client().without_budget(), [ok()]);
    in_budget(100, async {
        pass(500).await;
        lab.unary(ECHO).await.unwrap();
    })
    .await;
    assert_eq!(lab.peer.requests()[0].timeout(), None);
}
