//! Limits on how many may go at once, ours and those of the layer below.

use crate::parts::{Gauge, answer, data, framed, refusal, service, trailers};
use crate::{ECHO, circuit, guarded, opens_after};
use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use evenkeel_core::BreakerState;
use evenkeel_tests::{RawClient, poll_n};
use evenkeel_tonic::Resilient;
use std::sync::Arc;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Status;
use tower::ServiceExt;
use tower::limit::ConcurrencyLimit;

/// F87: 64 calls on four threads, let go at once in the moment in which one trial is admitted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f87_one_trial_is_one_trial_however_many_ask() {
    for _ in 0..20 {
        let (gauge, all_asked) = (Gauge::default(), Arc::new(Notify::new()));
        let (inside, asked) = (gauge.clone(), Arc::clone(&all_asked));
        let inner = service(move |call, _| {
            let (inside, asked) = (inside.clone(), Arc::clone(&asked));
            async move {
                if call == 0 {
                    return refusal(Status::unavailable("down"));
                }
                let _inside = inside.enter();
                asked.notified().await;
                answer([data(framed(b"pong")), trailers(&Status::ok(""))])
            }
        });
        // Open for no time at all: its first trial is due at once.
        let breaker = opens_after(1, Duration::ZERO);
        let service = Resilient::builder().breaker(breaker).build(inner).unwrap();
        RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();

        let (barrier, refused) = (Arc::new(Barrier::new(64)), Arc::new(AtomicUsize::new(0)));
        let mut calls = JoinSet::new();
        for _ in 0..64 {
            let mut client = RawClient::of(ECHO, service.clone());
            let (barrier, refused) = (Arc::clone(&barrier), Arc::clone(&refused));
            let all_asked = Arc::clone(&all_asked);
            calls.spawn(async move {
                barrier.wait().await;
                let answer = client.unary("ping").await;
                if answer.is_err() && refused.fetch_add(1, Ordering::SeqCst) + 1 == 63 {
                    all_asked.notify_one();
                }
                answer.is_ok()
            });
        }
        let answered = calls.join_all().await.into_iter().filter(|ok| *ok).count();
        assert_eq!((answered, gauge.peak()), (1, 1));
        let snapshot = circuit(&service, ECHO);
        assert_eq!((snapshot.state, snapshot.trials), (BreakerState::Closed, 0));
    }
}

/// F118: what the layer below lets through at a time stays its own business, and waiting for it
/// is no spinning.
#[tokio::test(start_paused = true)]
async fn f118_a_limit_below_is_kept_and_its_places_come_back() {
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let inner = service(move |_, _| {
        let inside = inside.clone();
        async move {
            let _inside = inside.enter();
            tokio::time::sleep(Duration::from_millis(10)).await;
            answer([data(framed(b"pong")), trailers(&Status::ok(""))])
        }
    });
    let limited = ConcurrencyLimit::new(inner, 4);
    let service = guarded().build(limited.clone()).unwrap();
    let polls = Arc::new(AtomicUsize::new(0));
    let mut calls = JoinSet::new();
    for number in 0..64_u64 {
        let mut client = RawClient::of(ECHO, service.clone());
        let polls = Arc::clone(&polls);
        calls.spawn(async move {
            let mut call = pin!(client.unary("ping"));
            let counted = poll_fn(|cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                call.as_mut().poll(cx)
            });
            // Every fourth is given up, mostly while it waits for a place.
            let patience = if number.is_multiple_of(4) { 5 + number } else { 10_000 };
            let answer = timeout(Duration::from_millis(patience), counted).await;
            answer.is_ok_and(|answer| answer.is_ok())
        });
    }
    let answered = calls.join_all().await.into_iter().filter(|ok| *ok).count();
    assert!(answered >= 48, "{answered}");
    assert_eq!(gauge.peak(), 4);
    assert!(polls.load(Ordering::Relaxed) < 64 * 6, "{polls:?}");
    // All four places are free at once.
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut place = limited.clone();
        assert!(poll_n(1, place.ready()).await.is_some());
        held.push(place);
    }
    assert_eq!(circuit(&service, ECHO).failures, 0);
}
