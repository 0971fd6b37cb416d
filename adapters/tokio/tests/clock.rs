//! tokio's clock and timers, over years of paused time.

use core::cell::Cell;
use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use evenkeel_std::StdClock;
use evenkeel_tokio::core::{
    BreakerPolicy, CallPolicy, Clock, Consecutive, Deadline, Instant, Micros, Outcome, RetryPolicy,
};
use evenkeel_tokio::{Error, Shared, TokioClock, sleep_until, until};
use tokio::time::{advance, sleep, timeout};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How often `future` was polled until it was done.
async fn polls(future: impl Future<Output = ()>) -> u32 {
    let (mut future, polls) = (pin!(future), Cell::new(0));
    poll_fn(|cx| {
        polls.set(polls.get() + 1);
        future.as_mut().poll(cx)
    })
    .await;
    polls.get()
}

fn later(span: Duration) -> Instant {
    TokioClock.now() + Micros::from_duration(span)
}

/// D20: the readings are of tokio's monotonic clock, to the microsecond, and of no other.
#[tokio::test(start_paused = true)]
async fn f111_it_moves_with_tokios_clock_alone() {
    let (began, real) = (TokioClock.now(), StdClock.now());
    assert_eq!(TokioClock.now(), began);
    advance(Duration::from_micros(300)).await;
    assert_eq!(TokioClock.now().since(began), Micros::from_micros(300));
    advance(1_000 * DAY).await;
    let passed = Micros::from_duration(1_000 * DAY).plus(Micros::from_micros(300));
    assert_eq!(TokioClock.now().since(began), passed);
    assert!(StdClock.now().since(real) < Micros::from_duration(DAY), "std's does not follow");
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_instant_or_later() {
    for micros in [1, 999, 1_000, 1_001, 5_500] {
        let at = later(Duration::from_micros(micros));
        sleep_until(at).await;
        let late = TokioClock.now().since(at);
        assert!(TokioClock.now() >= at && late <= Micros::from_millis(1), "{micros} µs: {late}");
    }
    for over in [Instant::ZERO, TokioClock.now()] {
        assert_eq!(polls(sleep_until(over)).await, 1);
    }
}

/// F107: tokio has lost timers after twelve days, two years, and at the edge of its wheel.
#[tokio::test(start_paused = true)]
async fn a_short_wait_is_short_however_long_the_process_runs() {
    let wheel = Duration::from_millis((1 << 36) - 5);
    let began = TokioClock.now();
    for uptime in [13 * DAY, wheel, 796 * DAY, wheel + 800 * DAY] {
        let passed = TokioClock.now().since(began).as_duration();
        advance(uptime - passed).await;
        let before = TokioClock.now();
        sleep_until(later(Duration::from_millis(10))).await;
        assert_eq!(TokioClock.now().since(before), Micros::from_millis(10), "after {uptime:?}");
    }
}

/// F107: and a wait of eight years is made of pieces that every wheel can hold.
#[tokio::test(start_paused = true)]
async fn a_long_wait_is_made_in_pieces() {
    let span = 8 * 365 * DAY;
    let began = TokioClock.now();
    let pieces = polls(sleep_until(later(span))).await;
    assert_eq!(TokioClock.now().since(began), Micros::from_duration(span));
    assert!(pieces > 8, "{pieces} polls: no piece is longer than a year");
}

/// F106: what never comes does not come, costs no timer, and can be given up.
#[tokio::test(start_paused = true)]
async fn without_end_is_without_end() {
    let polled = Cell::new(0);
    let endless = async {
        let mut endless = pin!(sleep_until(Instant::MAX));
        poll_fn(|cx| {
            polled.set(polled.get() + 1);
            endless.as_mut().poll(cx)
        })
        .await;
    };
    assert!(timeout(31 * 365 * DAY, endless).await.is_err());
    assert!(polled.get() <= 2, "nothing wakes it: {} polls", polled.get());

    // Further off than the platform's clock can say.
    let far = Instant::from_micros(u64::MAX - 1);
    assert!(timeout(31 * 365 * DAY, sleep_until(far)).await.is_err());
    let none = until(Deadline::NONE, core::future::pending::<()>());
    assert!(timeout(31 * 365 * DAY, none).await.is_err());
}

/// Without a limit there is nothing around the future.
#[tokio::test(start_paused = true)]
async fn no_deadline_is_no_timer() {
    let began = TokioClock.now();
    let long = until(Deadline::NONE, sleep(3_000 * DAY));
    assert_eq!(long.await, Some(()));
    assert!(TokioClock.now().since(began) >= Micros::from_duration(3_000 * DAY));
}

/// Outside any runtime, and in a thread that never saw one.
#[test]
fn it_can_be_read_anywhere() {
    let before = TokioClock.now();
    let theirs = std::thread::spawn(|| TokioClock.now()).join().unwrap();
    assert!(before <= theirs && theirs <= TokioClock.now());
}

/// A wait may be made before there is a runtime; it is polled inside one.
#[test]
fn a_wait_may_be_made_outside_a_runtime() {
    let wait = sleep_until(TokioClock.now());
    assert_eq!(format!("{wait:?}"), format!("SleepUntil {{ at: {:?}, .. }}", wait.at()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut wait = pin!(wait);
        let first = poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx))).await;
        assert_eq!(first, Poll::Ready(()));
    });
}

/// Threads that block and tasks may use one upstream: each gives the other's open circuit and
/// deadline exactly as long as its own.
#[tokio::test]
async fn what_std_and_tokio_share_has_one_time() {
    const OPEN: Duration = Duration::from_secs(1_800);
    let before = StdClock.now();
    let between = TokioClock.now();
    assert!(before <= between && between <= StdClock.now());

    let policy = CallPolicy::DEFAULT.with_retry(RetryPolicy::OFF);
    let once = Consecutive::new(1).unwrap();
    let breaker = BreakerPolicy::new(once).with_open_for(OPEN).unwrap();
    let classify = |result: &Result<(), Outcome>| match result {
        Ok(()) => Outcome::success(),
        Err(outcome) => *outcome,
    };
    let block = |shared: &Shared, deadline, result: Result<(), Outcome>| {
        evenkeel_std::call(&StdClock, shared.view(), deadline, 7, classify, |_| result)
    };
    let wait = async |shared: &Shared, deadline, result: Result<(), Outcome>| {
        evenkeel_tokio::call(shared.view(), deadline, classify, async |_| result).await
    };
    let down = Err(Outcome::unavailable());
    let open_until = |error: Error<Outcome>| match error {
        Error::CircuitOpen { retry_at, .. } => retry_at,
        other => panic!("{other:?}"),
    };

    let (by_thread, by_task) =
        (Shared::new(policy).with_breaker(breaker), Shared::new(policy).with_breaker(breaker));
    block(&by_thread, Deadline::NONE, down).unwrap_err();
    wait(&by_task, Deadline::NONE, down).await.unwrap_err();
    let to_the_task = open_until(wait(&by_thread, Deadline::NONE, Ok(())).await.unwrap_err());
    let to_the_thread = open_until(block(&by_task, Deadline::NONE, Ok(())).unwrap_err());
    for retry_at in [to_the_task, to_the_thread] {
        assert!(retry_at.since(StdClock.now()) <= Micros::from_duration(OPEN), "{retry_at:?}");
        assert!(retry_at.since(TokioClock.now()) <= Micros::from_duration(OPEN), "{retry_at:?}");
    }

    let fresh = Shared::new(policy);
    let of_a_thread = Deadline::after(StdClock.now(), OPEN);
    assert_eq!(wait(&fresh, of_a_thread, Ok(())).await, Ok(()));
    assert!(of_a_thread.remaining(TokioClock.now()) <= Micros::from_duration(OPEN));
    let of_a_task = Deadline::after(TokioClock.now(), OPEN);
    assert_eq!(block(&fresh, of_a_task, Ok(())), Ok(()));
    assert!(of_a_task.remaining(StdClock.now()) <= Micros::from_duration(OPEN));
}
