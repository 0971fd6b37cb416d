//! Callbacks that fail, and checks that panic: H16, H17.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use evenkeel_tests::Network;
use evenkeel_tonic::health::HealthChecker;
use tonic::Status;
use tonic::transport::Channel;

use crate::lab::{Channels, Lab, asked, err, every, pass, serving};
use crate::logged::Log;

#[tokio::test(start_paused = true)]
async fn h16_a_callback_that_fails_is_told_in_the_log_and_changes_nothing() {
    let (log, _guard) = Log::listen();
    for panics in [false, true] {
        let lab = Lab::new(|builder| {
            builder.targets(["a"]).policy(every(1_000)).on_status_change(move |target, healthy| {
                assert!(!panics, "no thanks");
                Err::<(), _>(format!("not {target}, not {healthy}"))
            })
        });
        let peer = lab.peer("a", [serving(), serving(), err(), serving()]);
        let checked = lab.checker.check_health("a").await;
        assert!(checked.unwrap(), "swallowed here too");
        lab.checker.start();
        pass(2_500).await;
        let asked = asked(&peer);
        assert_eq!((asked, lab.checker.is_healthy("a")), (vec![0, 0, 1_000, 2_000], Ok(true)));
    }
    assert_eq!(log.about("the callback for health changes failed"), 6);
    assert_eq!((log.about("not a, not true"), log.about("no thanks")), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn h16_fail_fast_hands_it_to_whoever_asked() {
    let lab = Lab::new(|builder| {
        let builder = builder.targets(["a"]).fail_fast_callback().policy(every(1_000));
        builder.on_status_change(|_, healthy| if healthy { Ok(()) } else { Err("no") })
    });
    let peer = lab.peer("a", [serving(), err(), err(), serving()]);
    assert!(lab.checker.check_health("a").await.unwrap());
    let failed = lab.checker.check_health("a").await.unwrap_err();
    assert_eq!((&*failed.target, failed.healthy), ("a", false));
    assert_eq!(core::error::Error::source(&failed).unwrap().to_string(), "no");
    assert_eq!(lab.checker.is_healthy("a"), Ok(false), "it is recorded all the same");
    // A verdict that has not changed is nothing to tell; and the loop outlives all of it.
    assert!(!lab.checker.check_health("a").await.unwrap());
    lab.checker.start();
    pass(3_500).await;
    assert_eq!((peer.count(), lab.checker.is_healthy("a")), (7, Ok(true)));
}

#[tokio::test(start_paused = true)]
async fn h17_a_check_that_cannot_be_made_is_a_failed_one() {
    let (log, _guard) = Log::listen();
    let (net, made) = (Network::new(), Arc::new(AtomicUsize::new(0)));
    let (network, count) = (net.clone(), Arc::clone(&made));
    let checker = HealthChecker::builder(move |target: &str| -> Result<Channel, Status> {
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("no channel today"),
            1 => Err(Status::invalid_argument("no such target")),
            _ => Ok(network.channel(target)),
        }
    });
    let checker = checker.targets(["a"]).policy(every(1_000)).build();
    let peer = evenkeel_tests::Peer::new([serving()]).listen(&net, "a");
    checker.start();
    pass(1).await;
    assert_eq!(checker.is_healthy("a"), Ok(false));
    pass(3_000).await;
    assert_eq!((asked(&peer), checker.is_healthy("a")), (vec![3_000], Ok(true)));
    assert_eq!((log.about("no channel today"), log.about("no such target")), (1, 1));
}

/// A service of the user's own may panic in the middle of a check.
#[tokio::test(start_paused = true)]
async fn h17_a_check_that_panics_is_a_failed_one() {
    #[derive(Clone)]
    struct Panics<S>(S, Arc<AtomicUsize>);

    impl<S: tower::Service<http::Request<tonic::body::Body>>>
        tower::Service<http::Request<tonic::body::Body>> for Panics<S>
    {
        type Response = S::Response;
        type Error = S::Error;
        type Future = S::Future;

        fn poll_ready(
            &mut self,
            cx: &mut core::task::Context<'_>,
        ) -> core::task::Poll<Result<(), S::Error>> {
            self.0.poll_ready(cx)
        }

        fn call(&mut self, request: http::Request<tonic::body::Body>) -> S::Future {
            assert!(self.1.fetch_add(1, Ordering::Relaxed) != 1, "not this one");
            self.0.call(request)
        }
    }

    let (net, channels, calls) = (Network::new(), Channels::default(), Arc::default());
    let make = channels.maker(&net);
    let checker = HealthChecker::builder(move |target: &str| {
        make(target).map(|channel| Panics(channel, Arc::clone(&calls)))
    });
    let checker = checker.targets(["a"]).policy(every(1_000)).build();
    let peer = evenkeel_tests::Peer::new([serving()]).listen(&net, "a");
    checker.start();
    pass(500).await;
    assert_eq!(checker.is_healthy("a"), Ok(true));
    pass(1_000).await;
    assert_eq!((checker.is_healthy("a"), channels.count("a")), (Ok(false), (1, 0)));
    pass(1_000).await;
    assert_eq!((checker.is_healthy("a"), peer.count()), (Ok(true), 2));
}
