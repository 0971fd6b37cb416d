//! A caller who goes away, at any moment, leaves nothing behind.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use evenkeel_tokio::core::{
    Action, BreakerState, Call, Clock, Code, Deadline, Next, Outcome, StopReason, ThrottlePolicy,
};
use evenkeel_tokio::{Driven, TokioClock, call};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use crate::{Failed, Reply, UNAVAILABLE, classify, due, guarded, policy, run, state, within};

/// Polls `future` at most `n` times, then drops it at once; whether it was done by then.
async fn dropped_after<F: Future>(n: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|cx| {
        if polls == n {
            return Poll::Ready(None);
        }
        polls += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == n => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A peer with a few steps before it answers, some of them waits.
async fn in_steps(reply: Reply) -> Reply {
    yield_now().await;
    sleep(Duration::from_millis(5)).await;
    yield_now().await;
    reply
}

/// F83 a and b: dropped before the first poll, and then at every one after it.
#[tokio::test(start_paused = true)]
async fn a_trial_that_is_dropped_gives_its_place_back() {
    let mut polls = 0;
    loop {
        let shared = due(policy(1, 100)).await;
        let trial = call(shared.view(), within(1_000), classify, async |_| in_steps(Ok(1)).await);
        if dropped_after(polls, trial).await.is_some() {
            assert_eq!(state(&shared).state, BreakerState::Closed);
            break;
        }
        let expected = if polls == 0 { BreakerState::Open } else { BreakerState::HalfOpen };
        let snapshot = state(&shared);
        assert_eq!((snapshot.state, snapshot.trials), (expected, 0), "after {polls} polls");

        let next = run(shared.view(), within(1_000), async |_| Ok(2)).await;
        assert_eq!((next.result, next.at), (Ok(2), 0), "the next one is the trial");
        assert_eq!(state(&shared).state, BreakerState::Closed);
        polls += 1;
    }
    assert!(polls >= 4, "only {polls} polls: the peer has more steps");
}

/// At every poll of a call with three attempts and their waits: no verdict and no token for the
/// one under way, and nothing changed of those that had ended.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_no_verdict() {
    const TOKENS: ThrottlePolicy = ThrottlePolicy::SUCCESS_REFILLED;
    let mut polls = 0;
    loop {
        let shared = guarded(policy(3, 100), 10).with_throttle(TOKENS);
        let books = || (state(&shared), shared.throttle().unwrap().millitokens());
        let mut doomed = Box::pin(call(shared.view(), within(9_000), classify, async |attempt| {
            in_steps(if attempt.number() < 3 { UNAVAILABLE } else { Ok(3) }).await
        }));
        if dropped_after(polls, doomed.as_mut()).await.is_some() {
            assert_eq!(books().0.failures, 0, "the third succeeded");
            break;
        }
        let before = books();
        drop(doomed);
        assert_eq!(books(), before, "after {polls} polls");
        assert_eq!(u32::from(before.0.failures), (10_000 - before.1) / 1_000, "a token for each");
        polls += 1;
    }
    assert!(polls >= 12, "only {polls} polls: three attempts and two waits have more steps");
}

/// F83 c.
#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_call_gives_the_place_back() {
    let shared = due(policy(3, 100)).await;
    let hang = async |_| core::future::pending::<Reply>().await;
    let trial = call(shared.view(), Deadline::NONE, classify, hang);
    assert!(timeout(Duration::from_secs(3), trial).await.is_err());
    let snapshot = state(&shared);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::HalfOpen, 0));
    assert_eq!(run(shared.view(), within(1_000), async |_| Ok(1)).await.result, Ok(1));
}

/// F69, C51: of 120 calls at once forty go away, wherever they happen to be.
#[tokio::test(start_paused = true)]
async fn callers_who_walk_away_do_not_open_the_circuit() {
    let shared = guarded(policy(1, 100), 1);
    let caller = async |number: u64| {
        let peer = async |_| {
            sleep(Duration::from_millis(10 + number % 50)).await;
            Ok::<_, Failed>(1)
        };
        let call = call(shared.view(), within(10_000), classify, peer);
        let patience = if number.is_multiple_of(3) { number % 10 } else { 1_000 };
        timeout(Duration::from_millis(patience), call).await.is_ok()
    };
    let mut callers: Vec<_> = (0..120).map(|number| Box::pin(caller(number))).collect();
    let mut answered = 0;
    poll_fn(|cx| {
        callers.retain_mut(|caller| match caller.as_mut().poll(cx) {
            Poll::Ready(ok) => {
                answered += u32::from(ok);
                false
            }
            Poll::Pending => true,
        });
        if callers.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    assert_eq!(answered, 80);
    let snapshot = state(&shared);
    assert_eq!((snapshot.state, snapshot.failures, snapshot.trials), (BreakerState::Closed, 0, 0));
    assert_eq!(run(shared.view(), within(1_000), async |_| Ok(1)).await.result, Ok(1));
}

/// A future that outlives its runtime is dropped like any other.
#[test]
fn it_may_be_dropped_outside_a_runtime() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap();
    let shared = runtime.block_on(due(policy(1, 100)));
    let hang = async |_| core::future::pending::<Reply>().await;
    let mut trial = Box::pin(call(shared.view(), Deadline::NONE, classify, hang));
    assert!(runtime.block_on(dropped_after(1, trial.as_mut())).is_none());
    assert_eq!(state(&shared).trials, 1, "still held by the future");
    drop(runtime);
    drop(trial);
    assert_eq!(state(&shared).trials, 0);
}

/// What other adapters build on: the three arms as methods, and the drop.
#[tokio::test(start_paused = true)]
async fn a_driven_call_is_cancelled_once() {
    let shared = due(policy(1, 100)).await;
    let mut driven = Driven::new(Call::new(Deadline::NONE, 7), shared.view());
    let Action::Attempt(attempt) = driven.poll() else { panic!("it starts with an attempt") };
    assert!(driven.upstream_mut().take_changed().is_some(), "half-open");
    assert_eq!((driven.call().attempts(), state(&shared).trials), (1, 1));
    driven.cancel();
    assert_eq!(driven.poll(), Action::Finish(StopReason::Cancelled));
    let late = driven.complete(TokioClock.now(), attempt, Outcome::new(Code::Internal));
    assert_eq!(late, Next::Stop(StopReason::Cancelled));
    drop(driven);
    let snapshot = state(&shared);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::HalfOpen, 0));
}
