//! An answer and a deadline at the same moment.

use core::cell::Cell;
use core::future::pending;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use evenkeel_tokio::core::{Clock, Code, Deadline, Instant, Outcome};
use evenkeel_tokio::{Error, Shared, TokioClock, call, until};
use tokio::sync::oneshot;
use tokio::task::consume_budget;
use tokio::time::advance;

use crate::{Failed, Reply, UNAVAILABLE, classify, policy, run, since, within};

/// A call within 400 ms whose answer comes this many microseconds after it began.
async fn answered_after(micros: u64, reply: Reply) -> Result<u32, Error<Failed>> {
    let shared = Shared::new(policy(1, 100));
    let (answer, receiver) = oneshot::channel();
    let receiver = Cell::new(Some(receiver));
    let mut driven = pin!(call(shared.view(), within(400), classify, async |_| {
        receiver.take().unwrap().await.unwrap()
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(driven.as_mut().poll(&mut context).is_pending());
    advance(Duration::from_micros(micros)).await;
    answer.send(reply).unwrap();
    match driven.poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it has an answer"),
    }
}

/// At the deadline an answer is too late, and a microsecond before it is not.
#[tokio::test(start_paused = true)]
async fn an_answer_in_the_last_microsecond_counts() {
    for (micros, in_time) in [(399_999, true), (400_000, false), (400_001, false)] {
        let result = answered_after(micros, Ok(1)).await;
        let expected = if in_time { Ok(1) } else { Err(Error::DeadlineExceeded { last: None }) };
        assert_eq!(result, expected, "{micros} µs");
    }
}

/// Late or not, what the peer said is not lost: the answer is taken before the clock is looked at.
#[tokio::test(start_paused = true)]
async fn an_error_at_the_deadline_is_kept() {
    let error = Failed(Code::Unavailable);
    for micros in [400_000, 400_001, 500_000] {
        let result = answered_after(micros, UNAVAILABLE).await;
        assert_eq!(result, Err(Error::DeadlineExceeded { last: Some(error) }), "{micros} µs");
    }
    let result = answered_after(399_999, UNAVAILABLE).await;
    assert_eq!(result.unwrap_err().peer(), Some(&error));
}

/// The attempt's future is gone at its deadline, not when the call's is collected.
#[tokio::test(start_paused = true)]
async fn an_attempt_is_dropped_at_its_deadline() {
    struct Bell<'a>(&'a Cell<u64>, Instant);
    impl Drop for Bell<'_> {
        fn drop(&mut self) {
            self.0.set(since(self.1));
        }
    }
    let policy = policy(1, 100).with_attempt_timeout(Duration::from_millis(250)).unwrap();
    let (shared, dropped) = (Shared::new(policy), Cell::new(0));
    let began = TokioClock.now();
    let ended = run(shared.view(), Deadline::NONE, async |_| {
        let _bell = Bell(&dropped, began);
        pending().await
    });
    assert_eq!((ended.await.at, dropped.get()), (250, 250));
}

/// tokio gives a task a budget of steps and takes it off the timers too. An attempt that is never
/// idle, such as one that reads from a full channel, uses it up before the timer is asked.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_never_idles_is_cut_off_too() {
    let shared = Shared::new(policy(1, 100));
    let steps = Cell::new(0);
    let busy = async |_| {
        while steps.get() < 100_000 {
            consume_budget().await;
            steps.set(steps.get() + 1);
            // Time goes by without a pause in the work.
            let _ = pin!(advance(Duration::from_millis(1)))
                .poll(&mut Context::from_waker(Waker::noop()));
        }
        Ok::<_, ()>("never cut off")
    };
    let result = call(shared.view(), within(400), |_| Outcome::success(), busy).await;
    assert_eq!(result, Err(Error::DeadlineExceeded { last: None }));
    assert!(steps.get() < 1_000, "within the next breaths, not after {}", steps.get());
}

#[tokio::test(start_paused = true)]
async fn until_takes_what_is_there_before_it_looks_at_the_clock() {
    let over = Deadline::at(TokioClock.now());
    assert_eq!(until(over, async { 1 }).await, Some(1));
    assert_eq!(until(over, pending::<()>()).await, None);
    assert_eq!(until(Deadline::NONE, async { 1 }).await, Some(1));
    assert_eq!(until(within(5), pending::<()>()).await, None);
}
