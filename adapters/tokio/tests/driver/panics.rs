//! A panic in the caller's own code loses no permit, and is the peer's failure only where it came
//! from an attempt at that peer.

use std::sync::Arc;

use evenkeel_tokio::core::{BreakerState, Deadline};
use evenkeel_tokio::{Shared, call};
use tokio::task::yield_now;

use crate::{Reply, classify, due, guarded, policy, run, state, within};

/// Where the caller's code panics.
#[derive(Clone, Copy, Debug)]
enum Place {
    AtOnce,
    Classifier,
    Later,
}

const PLACES: [Place; 3] = [Place::AtOnce, Place::Classifier, Place::Later];

async fn panics(shared: &Arc<Shared>, place: Place) {
    let shared = Arc::clone(shared);
    let task = tokio::spawn(async move {
        let judge = |reply: &Reply| match place {
            Place::Classifier => panic!("no such reply"),
            Place::AtOnce | Place::Later => classify(reply),
        };
        let reply = call(shared.view(), within(10_000), judge, async |_| {
            if matches!(place, Place::Later) {
                yield_now().await;
            }
            if matches!(place, Place::Classifier) { Ok(1) } else { panic!("no such peer") }
        });
        let _ = reply.await;
    });
    let payload = task.await.unwrap_err().into_panic();
    let message = *payload.downcast::<&str>().unwrap();
    assert!(["no such peer", "no such reply"].contains(&message), "the panic itself goes on");
}

/// F83 d.
#[tokio::test(start_paused = true)]
async fn a_trial_that_panics_has_failed() {
    for place in PLACES {
        let shared = Arc::new(due(policy(3, 100)).await);
        panics(&shared, place).await;
        let snapshot = state(&shared);
        assert_eq!((snapshot.state, snapshot.reopenings), (BreakerState::Open, 1), "{place:?}");
        evenkeel_tokio::sleep_until(snapshot.retry_at.unwrap()).await;
        assert_eq!(run(shared.view(), within(1_000), async |_| Ok(1)).await.result, Ok(1));
        assert_eq!(state(&shared).state, BreakerState::Closed);
    }
}

/// F93.
#[tokio::test(start_paused = true)]
async fn ten_calls_work_after_a_panic() {
    for place in PLACES {
        let shared = Arc::new(guarded(policy(3, 100), 2));
        panics(&shared, place).await;
        assert_eq!(state(&shared).failures, 1, "{place:?} counts as a failure");
        for _ in 0..10 {
            assert_eq!(run(shared.view(), Deadline::NONE, async |_| Ok(1)).await.result, Ok(1));
        }
        assert_eq!(state(&shared).failures, 0);
    }
}

/// The call is dropped while its thread panics, but the panic is not of its making.
#[tokio::test(start_paused = true)]
async fn a_panic_next_door_is_no_verdict() {
    let shared = Arc::new(due(policy(3, 100)).await);
    let theirs = Arc::clone(&shared);
    let task = tokio::spawn(async move {
        let hang = async |_| core::future::pending::<Reply>().await;
        let trial = call(theirs.view(), Deadline::NONE, classify, hang);
        let next_door = async {
            yield_now().await;
            panic!("elsewhere in the task");
        };
        let ((), _) = tokio::join!(next_door, trial);
    });
    assert!(task.await.unwrap_err().is_panic());
    let snapshot = state(&shared);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::HalfOpen, 0));
}
