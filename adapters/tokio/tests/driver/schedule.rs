//! When attempts start, how much time each is given, and when the call ends.

use core::time::Duration;

use evenkeel_tokio::core::{
    BreakerState, CallPolicy, Clock, Code, CodeSet, Deadline, RetryPolicy, StopReason,
    ThrottlePolicy, checked,
};
use evenkeel_tokio::{Error, Shared, TokioClock, call_within};
use tokio::sync::mpsc;
use tokio::time::{advance, sleep};

use crate::{Failed, UNAVAILABLE, after, classify, guarded, policy, run, state, within};

fn stopped(reason: StopReason) -> Result<u32, Error<Failed>> {
    Err(Error::Peer { error: Failed(Code::Unavailable), reason })
}

const CUT_OFF: Result<u32, Error<Failed>> = Err(Error::DeadlineExceeded { last: None });

/// R1, R3.
#[tokio::test(start_paused = true)]
async fn it_tries_until_it_succeeds() {
    for failures in 0..3 {
        let shared = Shared::new(policy(3, 100));
        let ended = run(shared.view(), Deadline::NONE, async |number| {
            if number > failures { Ok(number.into()) } else { UNAVAILABLE }
        });
        let ended = ended.await;
        assert_eq!(ended.starts(), [0, 100, 300][..=usize::from(failures)]);
        assert_eq!(ended.result, Ok(u32::from(failures) + 1));
    }
}

/// R19.
#[tokio::test(start_paused = true)]
async fn what_attempts_take_is_taken_off() {
    let shared = Shared::new(policy(3, 50));
    let ended = run(shared.view(), within(5_000), async |_| after(25, UNAVAILABLE).await).await;
    assert_eq!(ended.attempts, [(0, Some(5_000)), (75, Some(4_925)), (200, Some(4_800))]);
}

/// R23.
#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_is_cut_off_at_the_calls_deadline() {
    let codes = CodeSet::RETRYABLE.with(Code::DeadlineExceeded);
    let shared = Shared::new(policy(4, 100).with_retry(RetryPolicy::DEFAULT.with_codes(codes)));
    let ended = run(shared.view(), within(400), async |_| core::future::pending().await).await;
    assert_eq!((ended.attempts, ended.at), (vec![(0, Some(400))], 400));
    assert_eq!(ended.result, CUT_OFF);
}

/// What the peer said before it fell silent is not lost.
#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives() {
    let shared = Shared::new(policy(3, 100));
    let ended = run(shared.view(), within(1_000), async |number| match number {
        1 => UNAVAILABLE,
        2 => Err(Failed(Code::ResourceExhausted)),
        _ => core::future::pending().await,
    });
    let ended = ended.await;
    assert_eq!((ended.starts(), ended.at), (vec![0, 100, 300], 1_000));
    let last = Some(Failed(Code::ResourceExhausted));
    assert_eq!(ended.result, Err(Error::DeadlineExceeded { last }));
}

/// R24: and nothing else makes one up, however long the peer takes.
#[tokio::test(start_paused = true)]
async fn without_a_deadline_attempts_carry_none() {
    let shared = Shared::new(policy(2, 100));
    let a_year = 365 * 24 * 3_600 * 1_000;
    let ended = run(shared.view(), Deadline::NONE, async |_| after(a_year, UNAVAILABLE).await);
    assert_eq!(ended.await.attempts, [(0, None), (a_year + 100, None)]);
}

/// R25.
#[tokio::test(start_paused = true)]
async fn each_attempt_is_given_what_is_left() {
    let shared = Shared::new(policy(4, 300));
    let ended = run(shared.view(), within(2_000), async |_| UNAVAILABLE).await;
    assert_eq!(ended.attempts, [(0, Some(2_000)), (300, Some(1_700)), (900, Some(1_100))]);
    assert_eq!((ended.at, ended.result), (900, stopped(StopReason::DeadlineWouldPass)));
}

/// R26.
#[tokio::test(start_paused = true)]
async fn time_spent_in_attempts_counts() {
    let shared = Shared::new(policy(5, 100));
    let ended = run(shared.view(), within(10_000), async |_| after(50, UNAVAILABLE).await).await;
    let slices = [(0, 10_000), (150, 9_850), (400, 9_600), (850, 9_150), (1_700, 8_300)];
    assert_eq!(ended.attempts, slices.map(|(at, left)| (at, Some(left))));
    assert_eq!((ended.at, ended.result), (1_750, stopped(StopReason::AttemptsUsedUp)));
}

/// R27, R36, F25, F26: a wait that cannot end in time is not begun.
#[tokio::test(start_paused = true)]
async fn a_doomed_wait_is_not_begun() {
    for (initial, timeout, starts, at) in
        [(100, 150, vec![0, 100], 100), (300, 250, vec![0], 0), (3_000, 2_000, vec![0], 0)]
    {
        let shared = Shared::new(policy(4, initial));
        let ended = run(shared.view(), within(timeout), async |_| UNAVAILABLE).await;
        assert_eq!((ended.starts(), ended.at), (starts, at));
        assert_eq!(ended.result, stopped(StopReason::DeadlineWouldPass));
    }
}

/// F27: a peer that always fails quickly holds nobody beyond the deadline.
#[tokio::test(start_paused = true)]
async fn the_whole_call_is_over_by_its_deadline() {
    let shared = Shared::new(policy(u16::MAX, 1));
    let ended = run(shared.view(), within(5_000), async |_| after(3, UNAVAILABLE).await).await;
    assert!(ended.at < 5_000 && ended.attempts.len() > 5, "{ended:?}");
    assert_eq!(ended.result, stopped(StopReason::DeadlineWouldPass));
}

/// F31: always the nearer of the attempt's own limit and what is left.
#[tokio::test(start_paused = true)]
async fn an_attempts_limit_never_widens_the_callers() {
    let policy = policy(1, 100).with_attempt_timeout(Duration::from_millis(200)).unwrap();
    let shared = Shared::new(policy);
    for (caller, limit) in [(50, 50), (500, 200)] {
        let hang = async |_| core::future::pending().await;
        let ended = run(shared.view(), within(caller), hang).await;
        assert_eq!((ended.attempts, ended.at), (vec![(0, Some(limit))], limit));
        assert_eq!(ended.result, CUT_OFF);
    }
}

/// F32, F33: an attempt's own expiry is retried where the codes say so, after its wait.
#[tokio::test(start_paused = true)]
async fn after_an_attempt_timed_out_there_is_a_wait() {
    let codes = CodeSet::RETRYABLE.with(Code::DeadlineExceeded);
    let policy = policy(4, 1_000);
    let retry = policy.retry().with_codes(codes);
    let policy = policy.with_retry(retry).with_attempt_timeout(Duration::from_secs(1)).unwrap();
    let shared = Shared::new(policy);
    let ended = run(shared.view(), within(10_000), async |number| {
        if number < 3 { core::future::pending().await } else { after(10, Ok(3)).await }
    });
    let ended = ended.await;
    assert_eq!(ended.attempts, [0, 2_000, 5_000].map(|at| (at, Some(1_000))));
    assert_eq!((ended.at, ended.result), (5_010, Ok(3)));
}

/// F29: nobody waits for a retry that the throttle forbids.
#[tokio::test(start_paused = true)]
async fn a_throttled_call_ends_at_once() {
    const ONE: ThrottlePolicy = checked!(ThrottlePolicy::grpc(1, 1));
    let shared = Shared::new(policy(4, 100)).with_throttle(ONE);
    let ended = run(shared.view(), within(15_000), async |_| after(4, UNAVAILABLE).await).await;
    assert_eq!((ended.at, ended.result), (4, stopped(StopReason::Throttled)));
}

/// C44, C46: the breaker's word ends the call, with the peer's last error behind it.
#[tokio::test(start_paused = true)]
async fn an_open_circuit_ends_the_call() {
    let shared = guarded(policy(3, 100), 2);
    let ended = run(shared.view(), within(10_000), async |_| UNAVAILABLE).await;
    let (retry_at, last) = (state(&shared).retry_at.unwrap(), Some(Failed(Code::Unavailable)));
    assert_eq!((ended.starts(), ended.at), (vec![0, 100], 300));
    let retry_after = retry_at.since(TokioClock.now());
    assert_eq!(ended.result, Err(Error::CircuitOpen { retry_at, retry_after, last }));

    let ended = run(shared.view(), within(10_000), async |_| UNAVAILABLE).await;
    assert_eq!((ended.attempts, ended.at), (vec![], 0));
    assert_eq!(ended.result, Err(Error::CircuitOpen { retry_at, retry_after, last: None }));
}

/// C48.
#[tokio::test(start_paused = true)]
async fn a_timeout_counts() {
    let shared = guarded(policy(1, 100), 1);
    run(shared.view(), within(200), async |_| core::future::pending().await).await;
    assert_eq!(state(&shared).state, BreakerState::Open);
}

/// tokio's paused clock jumps when nothing can run, and only then: work that hands over from task to
/// task meets no limit.
#[tokio::test(start_paused = true)]
async fn f113_a_limit_does_not_pass_while_something_runs() {
    let policy = policy(1, 100).with_attempt_timeout(Duration::from_millis(10)).unwrap();
    let shared = Shared::new(policy);
    let ended = run(shared.view(), within(10_000), async |_| {
        let (there, mut inbox) = mpsc::channel(1);
        let (back, mut answers) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(number) = inbox.recv().await {
                back.send(number + 1).await.unwrap();
            }
        });
        let mut number = 0;
        for _ in 0..8 {
            there.send(number).await.unwrap();
            number = answers.recv().await.unwrap();
        }
        Ok(number)
    });
    let ended = ended.await;
    assert_eq!((ended.result, ended.at), (Ok(8), 0));
}

/// F112: after an hour asleep one attempt is late, and none is made up for; a deadline that passed
/// meanwhile has passed.
#[tokio::test(start_paused = true)]
async fn f112_after_an_hour_asleep_one_attempt_is_late() {
    const HOUR: u64 = 3_600_000;
    let shared = Shared::new(policy(4, 100));
    let sleeper = || async {
        sleep(Duration::from_millis(50)).await;
        advance(Duration::from_millis(HOUR)).await;
    };
    let call = run(shared.view(), Deadline::NONE, async |_| UNAVAILABLE);
    let (ended, ()) = tokio::join!(call, sleeper());
    let late = HOUR + 50;
    assert_eq!(ended.starts(), [0, late, late + 200, late + 600]);

    let call = run(shared.view(), within(10_000), async |_| UNAVAILABLE);
    let (ended, ()) = tokio::join!(call, sleeper());
    assert_eq!((ended.starts(), ended.at), (vec![0], late));
    assert_eq!(ended.result, stopped(StopReason::DeadlinePassed));
}

/// The policy's time runs from the first poll, not from when the future was made; the caller's own
/// deadline is where it was.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_within_runs_from_its_first_poll() {
    let policy = CallPolicy::DEFAULT.with_timeout(Duration::from_secs(2)).unwrap();
    let shared = Shared::new(policy);
    let given = |caller: Deadline| {
        let shared = &shared;
        async move {
            let call = call_within(shared.view(), caller, classify, async |attempt| {
                Ok(attempt.deadline().remaining(TokioClock.now()).as_micros().try_into().unwrap())
            });
            sleep(Duration::from_secs(1)).await;
            call.await.unwrap()
        }
    };
    assert_eq!(given(Deadline::NONE).await, 2_000_000);
    let soon = Deadline::after(TokioClock.now(), Duration::from_millis(1_500));
    assert_eq!(given(soon).await, 500_000);
}

/// Nothing is left at the first poll: no attempt goes out.
#[tokio::test(start_paused = true)]
async fn a_call_within_a_deadline_that_is_over_asks_nobody() {
    let shared = Shared::new(CallPolicy::DEFAULT);
    let over = Deadline::at(TokioClock.now());
    let call = call_within(shared.view(), over, classify, async |_| unreachable!("it is over"));
    assert_eq!(call.await, Err(Error::DeadlineExceeded { last: None }));
}
