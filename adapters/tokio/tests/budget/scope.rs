//! Where the budget is there, and where it is not.

use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};
use std::panic::catch_unwind;
use std::sync::Arc;

use evenkeel_tokio::{BudgetExt, current_budget, in_budget, spawn, with_budget};
use tokio::task::yield_now;

use crate::{left, shared, work};

#[tokio::test]
async fn outside_there_is_none() {
    assert!(current_budget().is_none());
    assert!(std::thread::spawn(current_budget).join().unwrap().is_none());
}

/// L19: the outer one is back after the inner one, also after an error and after a panic.
#[tokio::test(start_paused = true)]
async fn nesting_restores() {
    with_budget(shared(3_000), async {
        with_budget(shared(1_000), async { assert_eq!(left(), Some(1_000)) }).await;
        assert_eq!(left(), Some(3_000));

        let failed = with_budget(shared(1_000), async { Err::<(), _>("no") });
        assert_eq!(failed.await, Err("no"));
        assert_eq!(left(), Some(3_000));

        let panics = with_budget(shared(1_000), async { panic!("in the inner scope") });
        let poll = || pin!(panics).poll(&mut Context::from_waker(Waker::noop())).is_ready();
        assert!(catch_unwind(AssertUnwindSafe(poll)).is_err());
        assert_eq!(left(), Some(3_000));
    })
    .await;
    assert_eq!(left(), None);
}

/// Two requests on one task take turns, and each sees its own.
#[tokio::test(start_paused = true)]
async fn interleaved_requests_do_not_mix() {
    let request = async |millis| {
        for _ in 0..5 {
            assert_eq!(left(), Some(millis));
            yield_now().await;
        }
    };
    let one = with_budget(shared(1_000), request(1_000));
    let other = with_budget(shared(2_000), request(2_000));
    tokio::join!(one, other);
}

/// L20, F120.
#[tokio::test(start_paused = true)]
async fn a_task_inherits_through_the_helper_alone() {
    with_budget(shared(3_000), async {
        assert_eq!(spawn(async { left() }).await.unwrap(), Some(3_000));
        assert_eq!(tokio::spawn(async { left() }.in_current_budget()).await.unwrap(), Some(3_000));
        assert_eq!(tokio::spawn(async { left() }).await.unwrap(), None, "a plain spawn loses it");
    })
    .await;
    assert_eq!(spawn(async { left() }).await.unwrap(), None, "made outside");
}

/// What is carried is the budget, not its time: it goes on running down.
#[tokio::test(start_paused = true)]
async fn a_task_spends_the_same_time() {
    let child = in_budget(shared(3_000), || {
        spawn(async {
            work(500).await;
            left()
        })
    });
    work(1_000).await;
    assert_eq!(child.await.unwrap(), Some(2_500), "read after half a second, scope long gone");
}

/// L20.
#[tokio::test(start_paused = true)]
async fn none_detaches() {
    with_budget(shared(3_000), async {
        with_budget(None, async {
            assert_eq!(left(), None);
            assert_eq!(spawn(async { left() }).await.unwrap(), None);
        })
        .await;
        async { assert_eq!(left(), None) }.with_budget(None).await;
        assert_eq!(in_budget(None, left), None);
        assert_eq!(left(), Some(3_000));
    })
    .await;
}

/// A response body is polled by whoever sends it; its budget is put around each poll.
#[tokio::test(start_paused = true)]
async fn a_polled_body_is_inside_the_scope() {
    let budget = shared(3_000);
    let poll_frame = || in_budget(budget.clone(), left);
    for expected in [3_000, 2_900, 2_800] {
        assert_eq!(poll_frame(), Some(expected));
        assert_eq!(left(), None, "nothing is left behind between the polls");
        work(100).await;
    }
}

/// A future that is dropped half way is dropped inside its scope too.
#[tokio::test(start_paused = true)]
async fn it_is_there_while_the_future_is_dropped() {
    struct LastWords(Arc<AtomicBool>);
    impl Drop for LastWords {
        fn drop(&mut self) {
            self.0.store(current_budget().is_some(), Ordering::Relaxed);
        }
    }
    let had_one = Arc::new(AtomicBool::new(false));
    let words = LastWords(Arc::clone(&had_one));
    let request = with_budget(shared(3_000), async move {
        let _words = words;
        core::future::pending::<()>().await;
    });
    assert_eq!(format!("{request:?}"), "WithBudget { .. }", "and not what it runs");
    let mut request = Box::pin(request);
    assert!(request.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(request);
    assert!(had_one.load(Ordering::Relaxed));
}
