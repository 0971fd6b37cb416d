//! This file knows why a call went no further, and the errors of whoever calls without gRPC.

use core::time::Duration;

use evenkeel_core::{BudgetPolicy, DeadlineBudget, Instant, Micros, Refusal, Rejected, StopReason};
use evenkeel_std::Error;

use crate::Row;

const LATER: Instant = Instant::from_micros(5_000_000);

/// All of them. One that is added does not compile until `about` has its words, and the page lacks it
/// until it stands here.
pub(crate) fn rows() -> Vec<Row> {
    use StopReason::*;
    let hint = Micros::from_millis(600_000);
    [
        NotRetryable,
        NotIdempotent,
        NotReplayable,
        AttemptsUsedUp,
        Throttled,
        DeadlineWouldPass,
        PushedBack,
        HintTooLong { hint },
        CircuitOpen { retry_at: LATER },
        NoTarget,
        DeadlinePassed,
        Cancelled,
        Succeeded,
    ]
    .map(|reason| {
        let (of, to_do) = about(reason);
        Row::new(of, reason, to_do)
    })
    .into()
}

fn about(reason: StopReason) -> (&'static str, &'static str) {
    match reason {
        StopReason::AttemptsUsedUp => (
            "StopReason::AttemptsUsedUp",
            "it was retried, and each attempt failed: the fault is not a passing one. More \
             attempts seldom help; see [retries](guide/retries.md)",
        ),
        StopReason::Cancelled => {
            ("StopReason::Cancelled", "the future was dropped, or `cancel` was called; no verdict")
        }
        StopReason::CircuitOpen { .. } => (
            "StopReason::CircuitOpen",
            "see `CircuitOpen`; if one call opened it, `breaker.fail_threshold` is no more than \
             `retry.max_attempts`",
        ),
        StopReason::DeadlinePassed => (
            "StopReason::DeadlinePassed",
            "no attempt could begin before it: no time was left, a call waited for a member to the \
             end, or the program woke too late from a wait. An attempt that took all the time ends \
             as one that failed with `DEADLINE_EXCEEDED`: see `NotRetryable` and \
             `DeadlineWouldPass`",
        ),
        StopReason::DeadlineWouldPass => (
            "StopReason::DeadlineWouldPass",
            "a retry would have begun after the deadline, or the server asked for more time than \
             is left: a longer deadline, a shorter backoff, or a limit for each attempt",
        ),
        StopReason::HintTooLong { .. } => (
            "StopReason::HintTooLong",
            "come back yourself when the server asked for it, or raise `retry.max_hint`",
        ),
        StopReason::NoTarget => ("StopReason::NoTarget", "see `NoHealthyTargets`"),
        StopReason::NotIdempotent => (
            "StopReason::NotIdempotent",
            "it may have been done. Ask for its state before you repeat it; if it is harmless, say \
             so with `idempotency_level` in the `.proto` or `retry.idempotent_methods`. A limit \
             that passed before there was a connection counts like one that passed after; \
             `connecting` and `unconnected` of a `DeadlinePassed` in its sources tell which",
        ),
        StopReason::NotReplayable => (
            "StopReason::NotReplayable",
            "a request stream that was read, or a message above `retry.replay_limit`: repeat the \
             call yourself. Or a response that had begun: of a stream its items would come a second \
             time, so only you know from where to go on",
        ),
        StopReason::NotRetryable => (
            "StopReason::NotRetryable",
            "the code is not in `retry.codes`; [retries](guide/retries.md) says which belong \
             there. Where there are none at all, neither `[retry]` nor `Builder::retry` is set, and \
             the error says that the client does not retry. For `DEADLINE_EXCEEDED` look for a \
             `DeadlinePassed` in the sources first: then the deadline was ours, and no server's \
             word; its `limit` says which",
        ),
        StopReason::PushedBack => (
            "StopReason::PushedBack",
            "the server said not to retry (`grpc-retry-pushback-ms`); it knows why",
        ),
        StopReason::Succeeded => ("StopReason::Succeeded", "nothing"),
        StopReason::Throttled => (
            "StopReason::Throttled",
            "too many calls to this upstream fail, and the throttle holds retries back: that is an \
             outage; look at the server",
        ),
    }
}

pub(crate) fn plain() -> Vec<Row> {
    let retry_at = LATER;
    let three = Duration::from_secs(3);
    let budget = DeadlineBudget::new(Instant::ZERO, three, BudgetPolicy::DEFAULT).unwrap();
    let spent = budget.grant(LATER, Micros::ZERO, None).expect_err("five seconds later");
    type Io = Error<std::io::Error>;
    let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    vec![
        Row::new(
            "Error::Peer",
            Io::Peer { error, reason: StopReason::AttemptsUsedUp },
            "the peer's own last error; the reason is one of those above",
        ),
        Row::new(
            "Error::CircuitOpen",
            Io::CircuitOpen { retry_at, retry_after: Micros::from_millis(5_000), last: None },
            "the next attempt was not made; `retry_after` says when to come back, `last` what the \
             peer said before",
        ),
        Row::new(
            "Error::DeadlineExceeded",
            Io::DeadlineExceeded { last: None },
            "during an attempt, or before one could start; `last` is what the peer said, if it did",
        ),
        Row::new("Error::NoTarget", Io::NoTarget, "the upstream of your own has nobody to name"),
        Row::new(
            "Rejected",
            Rejected { retry_at },
            "a breaker was asked for leave and said no until `retry_at`",
        ),
        Row::new(
            "Refusal::CircuitOpen",
            Refusal::CircuitOpen { retry_at },
            "each target's breaker said no; `retry_at` is the soonest",
        ),
        Row::new("Refusal::NoTarget", Refusal::NoTarget, "nobody may be used: none is up"),
        Row::new(
            "BudgetExhausted",
            spent,
            "what came before in this request used its time up; nothing is sent",
        ),
    ]
}
