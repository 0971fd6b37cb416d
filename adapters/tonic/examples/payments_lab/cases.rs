//! This file knows the cases: what the policy is, what the server does, and what should come of it.

use core::time::Duration;

use evenkeel_tonic::AllowList;
use evenkeel_tonic::core::{
    Backoff, BreakerPolicy, Code, CodeSet, Consecutive, Jitter, RetryPolicy, checked,
};

use crate::pb;
use crate::report::{Expected, Observed, Received};
use crate::runs::{
    budget_cap, budget_spent, budget_three_hops, charge, client, default_codes, export,
    native_times_ours, never_ready, not_ready_fail_fast, request_stream, stacked_twice,
    tutorial_per_attempt, wait_for_ready,
};
use crate::server::Behaviour::{FailAfter, FailBefore, FailLate, KillAfter, Work};

pub(crate) type Error = Box<dyn core::error::Error>;

/// Three attempts with short waits, so that the lab is quick.
pub(crate) const THREE: RetryPolicy = RetryPolicy::DEFAULT.with_backoff(checked!(
    checked!(Backoff::new(Duration::from_millis(20), Duration::from_millis(100)))
        .with_jitter(Jitter::None)
));
const TWO_FAILURES: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(2)));
pub(crate) const UNAVAILABLE: tonic::Code = tonic::Code::Unavailable;
const INTERNAL: tonic::Code = tonic::Code::Internal;

/// Runs every case in turn and hands each row on as soon as it is there.
pub(crate) async fn run_all(
    mut row: impl FnMut(&'static str, &'static str, Expected, Observed),
) -> Result<(), Error> {
    let ok = |attempts, charges| Expected::new("OK", attempts, charges);
    let unavailable = |attempts, charges| Expected::new("UNAVAILABLE", attempts, charges);
    let late = |attempts, charges| Expected::new("DEADLINE_EXCEEDED", attempts, charges);

    let observed = charge(default_codes(), &[FailBefore(UNAVAILABLE), Work]).await?;
    row(
        "refused_then_ok",
        "The server was not ready once; the caller never learns of it.",
        ok(2, Some(1)),
        observed,
    );

    let observed = charge(default_codes(), &[FailAfter(INTERNAL)]).await?;
    row(
        "internal_default",
        "INTERNAL may mean that the work was done: it is not repeated.",
        Expected::new("INTERNAL", 1, Some(1)),
        observed,
    );

    let internal = THREE.with_codes(CodeSet::RETRYABLE.with(Code::Internal));
    let observed = charge(client().retry(internal), &[FailAfter(INTERNAL)]).await?;
    row(
        "internal_retryable",
        "Made retryable, INTERNAL charges three times. Know what you ask for.",
        Expected::new("INTERNAL", 3, Some(3)),
        observed,
    );

    let observed = charge(default_codes(), &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "unavailable_after_charge",
        "So does UNAVAILABLE after the work: no list says not to repeat a charge.",
        unavailable(3, Some(3)),
        observed,
    );

    let unlisted = default_codes().idempotent(AllowList::declared(&pb::METHODS));
    let observed = charge(unlisted, &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "unavailable_not_idempotent",
        "With the list of the .proto, which does not call Charge idempotent: once.",
        unavailable(1, Some(1)),
        observed,
    );

    let nothing = default_codes().idempotent(AllowList::empty());
    let observed = charge(nothing, &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "empty_allow_list",
        "An empty list means that nothing may be repeated.",
        unavailable(1, Some(1)),
        observed,
    );

    let observed = charge(default_codes().methods(&pb::METHODS), &[KillAfter]).await?;
    row(
        "killed_after_charge",
        "With the list, a lost connection ends it: the charge may have been made.",
        unavailable(1, Some(1)),
        observed,
    );

    let late_then_fails = [FailLate(Duration::from_millis(1_500), UNAVAILABLE)];
    let two_seconds = default_codes().timeout(Duration::from_secs(2))?;
    let observed = charge(two_seconds, &late_then_fails).await?;
    row(
        "deadline_divided",
        "Two seconds are two seconds, however many attempts share them.",
        late(2, Some(0)).within(2.0..=2.5),
        observed,
    );

    let observed = charge(default_codes().breaker(TWO_FAILURES), &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "breaker_below_attempts",
        "The circuit opens under its own call: UNAVAILABLE, its cause CircuitOpen.",
        Expected::new("CIRCUIT_OPEN", 2, Some(2)),
        observed,
    );

    let observed =
        charge(default_codes().breaker(TWO_FAILURES), &[FailBefore(UNAVAILABLE), Work]).await?;
    row(
        "breaker_recoverable",
        "One failure is below the threshold: the retry goes out.",
        ok(2, Some(1)),
        observed,
    );

    let observed = export(default_codes().methods(&pb::METHODS)).await?;
    row(
        "stream_default",
        "Items the caller has seen cannot be taken back: the error is passed on.",
        unavailable(1, None).receiving(Received::Items(&[1.0, 2.0])),
        observed,
    );

    let observed = export(default_codes().methods(&pb::METHODS).retry_streaming()).await?;
    row(
        "stream_restarted",
        "With the opt-in the stream begins anew, and items repeat.",
        ok(2, None).receiving(Received::Items(&[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
        observed,
    );

    let observed = request_stream().await?;
    row(
        "request_stream",
        "A stream that was read cannot be sent again.",
        unavailable(1, None),
        observed,
    );

    let observed = budget_three_hops().await?;
    row(
        "budget_three_hops",
        "Each call gets what the whole request has left, not its own 5 s.",
        ok(3, None).receiving(Received::Seconds(&[3.0, 2.65, 2.29])),
        observed,
    );

    let observed = budget_spent().await?;
    row("budget_spent", "A request without time left sends nothing.", late(0, None), observed);

    let observed = budget_cap().await?;
    row(
        "budget_cap",
        "A cap keeps the side call from eating the request's time.",
        ok(2, None).receiving(Received::Seconds(&[3.0, 0.5])),
        observed,
    );

    let observed = not_ready_fail_fast().await?;
    row(
        "not_ready_fail_fast",
        "Nothing listens: without wait-for-ready the call fails at once.",
        unavailable(0, None).within(0.0..=0.2),
        observed,
    );

    let observed = wait_for_ready().await?;
    row(
        "wait_for_ready",
        "The server came 0.4 s later; the call waited and was sent once.",
        ok(1, None).within(0.4..=0.9),
        observed,
    );

    let observed = never_ready().await?;
    row(
        "never_ready",
        "It never came: the deadline ends the wait, and the circuit counts it.",
        late(0, None).within(1.0..=1.5),
        observed,
    );

    let observed = native_times_ours().await?;
    row(
        "native_times_ours",
        "Two retry loops multiply: 3 x 3. Keep one.",
        unavailable(9, None),
        observed,
    );

    let observed = stacked_twice().await?;
    row(
        "stacked_twice",
        "Our own service stacked by accident: the inner one stands down.",
        unavailable(3, None),
        observed,
    );

    let observed = tutorial_per_attempt().await?;
    row(
        "tutorial_per_attempt",
        "A limit for each attempt frees the call from one that hangs.",
        ok(2, None),
        observed,
    );
    Ok(())
}
