//! Attempts side by side.

use core::cell::{Cell, RefCell};
use core::time::Duration;

use evenkeel_tokio::core::{CallPolicy, Clock, Code, Deadline, StopReason};
use evenkeel_tokio::{Error, Shared, TokioClock, call_hedged};
use tokio::time::sleep;

use crate::{Ended, Failed, Reply, UNAVAILABLE, classify, guarded, policy, since, state};

const HOUR: Duration = Duration::from_secs(3_600);

fn shared(attempts: u16, delay: u64) -> Shared {
    let delay = Duration::from_millis(delay);
    guarded(policy(attempts, 0).with_hedge_after(delay).unwrap(), 5)
}

/// A call that starts now, whose n-th attempt is `peer(n)`.
async fn run(shared: &Shared, peer: impl AsyncFn(u16) -> Reply) -> Ended {
    let began = TokioClock.now();
    let attempts = RefCell::new(Vec::new());
    let deadline = shared.call_policy().deadline(began, Deadline::NONE);
    let result = call_hedged(shared.view(), deadline, classify, async |attempt| {
        attempts.borrow_mut().push((since(began), None));
        peer(attempt.number()).await
    })
    .await;
    Ended { attempts: attempts.into_inner(), at: since(began), result }
}

async fn ms(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_reply_wins_and_the_others_are_dropped() {
    struct Dropped<'a>(&'a Cell<u32>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let (shared, dropped) = (shared(5, 20), Cell::new(0));
    let ended = run(&shared, async |number| {
        let _held = Dropped(&dropped);
        if number < 3 {
            sleep(HOUR).await;
        }
        Ok(u32::from(number))
    })
    .await;
    assert_eq!((ended.starts(), ended.at, ended.result), (vec![0, 20, 40], 40, Ok(3)));
    assert_eq!(dropped.get(), 3);
    assert_eq!(state(&shared).failures, 0, "a loser is no verdict");
}

#[tokio::test(start_paused = true)]
async fn failures_bring_the_next_one_forward_or_end_the_call() {
    let forward = shared(3, 20);
    let ended = run(&forward, async |number| match number {
        1 => {
            sleep(HOUR).await;
            Ok(1)
        }
        2 => {
            ms(5).await;
            UNAVAILABLE
        }
        _ => Ok(3),
    });
    let ended = ended.await;
    assert_eq!((ended.starts(), ended.at, ended.result), (vec![0, 20, 25], 25, Ok(3)));

    let fatal = Failed(Code::NotFound);
    let ended = run(&shared(3, 20), async |number| {
        if number == 2 {
            return Err(fatal);
        }
        sleep(HOUR).await;
        Ok(1)
    })
    .await;
    assert_eq!((ended.starts(), ended.at), (vec![0, 20], 20));
    let reason = StopReason::NotRetryable;
    assert_eq!(ended.result, Err(Error::Peer { error: fatal, reason }));
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_all_are_over() {
    let hanging = shared(3, 20);
    let ended = run(&hanging, async |_| {
        sleep(HOUR).await;
        Ok(1)
    });
    let ended = ended.await;
    assert_eq!((ended.starts(), ended.at), (vec![0, 20, 40], 10_000));
    assert_eq!(ended.result, Err(Error::DeadlineExceeded { last: None }));
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_it_is_an_ordinary_call() {
    let plain = Shared::new(CallPolicy::DEFAULT);
    let deadline = plain.call_policy().deadline(TokioClock.now(), Deadline::NONE);
    let reply = call_hedged(plain.view(), deadline, classify, async |attempt| {
        ms(500).await;
        if attempt.number() < 3 { UNAVAILABLE } else { Ok(u32::from(attempt.number())) }
    });
    assert_eq!(reply.await, Ok(3));
}
