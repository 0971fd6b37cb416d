//! Calls that do not wait, and what the target's state says meanwhile.

use evenkeel_tokio::core::Micros;
use evenkeel_tonic::connect::{DialError, DialPolicy, NotConnected, State};
use http::Uri;
use tokio::time::sleep;
use tower::Service;

use crate::lab::{Mood, Site, UP, call, millis};

#[tokio::test(start_paused = true)]
async fn a_dead_target_refuses_at_once() {
    // G36, and F30: no loop of failed dials hides behind one call.
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    assert!(matches!(connectivity.state(), State::Idle));

    let error = call(&channel).await.unwrap_err();
    let refusal = NotConnected::of(&error).expect("typed, below tonic's own error");
    assert!(matches!(refusal.cause(), DialError::Connector(_)));
    assert_eq!(site.elapsed(), millis(0));
    assert_eq!(site.dials().len(), 1);

    let State::TransientFailure(failure) = connectivity.state() else { panic!("{connectivity:?}") };
    assert_eq!(failure.retry_at(), refusal.retry_at());
    let status = tonic::Status::from_error(Box::new(error));
    assert_eq!(status.code(), tonic::Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_calls_are_one_dial() {
    let site = Site::new(Mood::Refusing);
    let (channel, _) = site.channel();
    for _ in 0..200 {
        assert!(NotConnected::of(&call(&channel).await.unwrap_err()).is_some());
    }
    assert_eq!((site.elapsed(), site.dials().len()), (millis(0), 1));
}

#[tokio::test(start_paused = true)]
async fn calls_dial_when_the_pauses_end() {
    // G86: about 1, 1.6, 2.56 and 4.1 s apart, with a call every 10 ms.
    let site = Site::new(Mood::Refusing);
    let (channel, _) = site.channel();
    for _ in 0..1_000 {
        call(&channel).await.unwrap_err();
        sleep(millis(10)).await;
    }
    let dials = site.dials();
    assert_eq!(dials.len(), 5, "{dials:?}");
    for (pause, raw) in dials.windows(2).map(|pair| pair[1] - pair[0]).zip([1000, 1600, 2560, 4096])
    {
        let (early, late) = (millis(raw * 8 / 10), millis(raw * 12 / 10 + 10));
        assert!((early..=late).contains(&pause), "{pause:?} for {raw} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_appears_is_found_and_the_pauses_start_afresh() {
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    for _ in 0..400 {
        _ = call(&channel).await;
        sleep(millis(10)).await;
    }
    site.becomes(UP);
    while call(&channel).await.is_err() {
        sleep(millis(10)).await;
    }
    assert!(connectivity.is_ready());
    assert_eq!(site.served(), 1);

    site.becomes(Mood::Refusing);
    site.hang_up();
    sleep(millis(10)).await;
    assert!(matches!(connectivity.state(), State::Idle));
    let dials = site.dials().len();
    for _ in 0..150 {
        call(&channel).await.unwrap_err();
        sleep(millis(10)).await;
    }
    // At once, and once more after a first pause of 0.8 to 1.2 s.
    assert_eq!(site.dials().len(), dials + 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_after_every_answer_is_dialled_for_every_call() {
    // It is in order, if odd: no call may suffer a pause.
    let site = Site::new(UP);
    let (channel, _) = site.channel();
    for _ in 0..20 {
        call(&channel).await.unwrap();
        site.hang_up();
        sleep(millis(1)).await;
    }
    assert_eq!((site.served(), site.dials().len()), (20, 20));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_accepts_is_not_dialled_for_every_call() {
    let site = Site::new(Mood::Closing);
    let (channel, connectivity) = site.channel();
    for _ in 0..50 {
        call(&channel).await.unwrap_err();
        sleep(millis(10)).await;
    }
    assert_eq!(site.dials().len(), 1);
    let State::TransientFailure(failure) = connectivity.state() else { panic!("{connectivity:?}") };
    assert!(matches!(failure.cause(), DialError::LostEarly { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_never_ends_is_cut() {
    let site = Site::new(Mood::Hanging);
    let (channel, _) = site.channel();
    let error = call(&channel).await.unwrap_err();
    assert_eq!(site.elapsed(), millis(20_000));
    let Some(DialError::TimedOut { limit }) =
        NotConnected::of(&error).map(|refusal| refusal.cause())
    else {
        panic!("{error:?}");
    };
    assert_eq!(*limit, Micros::from_millis(20_000));
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_dial_can_be_set() {
    let policy = DialPolicy::DEFAULT.with_connect_timeout(millis(300)).unwrap();
    let site = Site::new(Mood::Hanging);
    let (mut connector, _) = site.connector(Uri::from_static("http://site"), policy);
    connector.call(Uri::from_static("http://site")).await.unwrap_err();
    assert_eq!(site.elapsed(), millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_connector_that_is_not_ready_or_panics_is_a_failed_dial() {
    // tonic gives a channel up for ever when its connector is once not ready.
    for mood in [Mood::Unready, Mood::Panicking] {
        let site = Site::new(mood);
        let (channel, _) = site.channel();
        assert!(NotConnected::of(&call(&channel).await.unwrap_err()).is_some(), "{mood:?}");
        site.becomes(UP);
        sleep(millis(1_201)).await;
        call(&channel).await.unwrap();
    }
}

#[test]
fn settings_that_would_dial_in_a_loop_are_refused() {
    let field =
        |refused: Result<DialPolicy, evenkeel_tokio::core::Invalid>| refused.unwrap_err().field();
    let (zero, second, ever) = (millis(0), millis(1_000), core::time::Duration::MAX);
    assert_eq!(field(DialPolicy::new(zero, second)), "dial.initial");
    assert_eq!(field(DialPolicy::new(ever, second)), "dial.initial");
    assert_eq!(field(DialPolicy::new(second, zero)), "dial.max");
    assert_eq!(field(DialPolicy::new(second, ever)), "dial.max");
    assert_eq!(field(DialPolicy::DEFAULT.with_waiting(zero)), "dial.waiting");
    assert_eq!(field(DialPolicy::DEFAULT.with_connect_timeout(zero)), "dial.connect_timeout");
    assert_eq!(DialPolicy::new(second, millis(120_000)), Ok(DialPolicy::DEFAULT));
}
