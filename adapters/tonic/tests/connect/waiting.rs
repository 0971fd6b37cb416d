//! Calls that wait for the connection.

use core::time::Duration;

use evenkeel_tokio::core::Deadline;
use evenkeel_tonic::connect::{DeadlinePassed, State};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use crate::lab::{Mood, Site, UP, call, millis, patient_call, within};

/// So many calls wait for a server that starts 0.5 s later: the dials, when the last was done,
/// and how often calls were handed to the channel.
async fn crowd(size: usize) -> (Vec<Duration>, Duration, usize) {
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    site.becomes_in(millis(500), UP);
    let calls: Vec<_> = (0..size)
        .map(|_| {
            let (channel, connectivity) = (channel.clone(), connectivity.clone());
            tokio::spawn(async move {
                patient_call(&channel, &connectivity, within(millis(3_000))).await.unwrap()
            })
        })
        .collect();
    let mut handed = 0;
    for call in calls {
        handed += call.await.unwrap();
    }
    assert_eq!(site.served(), size, "each call exactly once");
    assert_eq!(connectivity.waiting(), 0);
    (site.dials(), site.elapsed(), handed)
}

#[tokio::test(start_paused = true)]
async fn a_crowd_makes_the_dials_of_one() {
    // F135; without a schedule 64 calls that waited half a second made 384 dials.
    let (one, crowd) = (crowd(1).await, crowd(64).await);
    assert_eq!(crowd.0, one.0);
    assert_eq!(crowd.1, one.1);
    assert_eq!(crowd.2, 64, "no call was handed over before there was a connection");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_late_is_found_within_one_pause() {
    // W11, G65. The longest pause before 0.4 s is 210 ms ± 20 %.
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    site.becomes_in(millis(400), UP);
    patient_call(&channel, &connectivity, within(millis(3_000))).await.unwrap();
    assert!((millis(400)..=millis(660)).contains(&site.elapsed()), "{:?}", site.elapsed());
    assert_eq!(site.served(), 1);
}

#[tokio::test(start_paused = true)]
async fn f124_one_change_of_state_is_not_readiness() {
    let site = Site::new(Mood::Serving(millis(300)));
    let (_channel, connectivity) = site.channel();
    let mut watching = connectivity.clone();
    let waiting = tokio::spawn(async move { connectivity.wait(within(millis(1_000))).await });
    assert!(matches!(watching.changed().await, State::Connecting));
    assert!(!waiting.is_finished());
    assert!(matches!(watching.changed().await, State::Ready));
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert_eq!(site.elapsed(), millis(300));
}

#[tokio::test(start_paused = true)]
async fn f133_a_wait_ends_at_its_deadline() {
    // G67, refused and hanging alike.
    for mood in [Mood::Hanging, Mood::Refusing] {
        let site = Site::new(mood);
        let (_channel, connectivity) = site.channel();
        assert_eq!(connectivity.wait(within(millis(300))).await, Err(DeadlinePassed));
        assert_eq!((site.elapsed(), connectivity.waiting()), (millis(300), 0), "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_dials_nothing() {
    let site = Site::new(UP);
    let (_channel, connectivity) = site.channel();
    assert_eq!(connectivity.wait(within(millis(0))).await, Err(DeadlinePassed));
    sleep(millis(100)).await;
    assert!(site.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn f133_a_wait_dropped_anywhere_leaves_nothing_behind() {
    // Dials refuse for 150 ms and then take 50 ms: 400 ms pass through every
    // state a wait can be in, and every millisecond of it is a place to drop it.
    for lived in 0..400 {
        let site = Site::new(Mood::Refusing);
        let (channel, connectivity) = site.channel();
        site.becomes_in(millis(150), Mood::Serving(millis(50)));
        let bystander = connectivity.clone();
        let bystander = tokio::spawn(async move { bystander.wait(Deadline::NONE).await });
        yield_now().await;
        assert_eq!(connectivity.waiting(), 1);
        let waiting = timeout(millis(lived), connectivity.wait(Deadline::NONE)).await;
        assert_eq!(connectivity.waiting(), usize::from(!bystander.is_finished()));
        // Nor does it take anything with it: the other one is served as ever.
        if waiting.is_err() {
            bystander.await.unwrap().unwrap();
        }
        assert!(site.elapsed() < millis(400));
        call(&channel).await.unwrap();
        assert_eq!(connectivity.waiting(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_during_its_dial_does_not_stop_it() {
    // tonic polls a dial for the call that caused it: with the call, the dial stood still.
    let site = Site::new(Mood::Serving(millis(100)));
    let (channel, connectivity) = site.channel();
    timeout(millis(50), call(&channel)).await.unwrap_err();
    assert!(matches!(connectivity.state(), State::Connecting));
    patient_call(&channel, &connectivity, within(millis(1_000))).await.unwrap();
    assert_eq!((site.elapsed(), site.dials().len()), (millis(100), 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_begins_to_wait_does_not_sit_out_the_ordinary_pause() {
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    call(&channel).await.unwrap_err();
    site.becomes(UP);
    patient_call(&channel, &connectivity, within(millis(500))).await.unwrap();
    assert!(site.elapsed() <= millis(25), "{:?}", site.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_wait_fails_inside_the_pause_of_those_that_do() {
    let site = Site::new(Mood::Refusing);
    let (channel, connectivity) = site.channel();
    let patient = connectivity.clone();
    let patient = tokio::spawn(async move { patient.wait(within(millis(2_000))).await });
    sleep(millis(300)).await;
    let (before, began) = (site.dials().len(), site.elapsed());
    call(&channel).await.unwrap_err();
    assert_eq!((site.dials().len(), site.elapsed()), (before, began));
    assert_eq!(patient.await.unwrap(), Err(DeadlinePassed));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_comes_and_goes_is_found_each_time() {
    let site = Site::new(UP);
    let (channel, connectivity) = site.channel();
    for served in 1..=20 {
        patient_call(&channel, &connectivity, within(millis(1_000))).await.unwrap();
        assert_eq!(site.served(), served);
        site.becomes(Mood::Refusing);
        site.hang_up();
        sleep(millis(5)).await;
        site.becomes_in(millis(100), UP);
    }
    // Each outage begins with short pauses: 0, 20, 52, 103 and 185 ms, ± 20 %.
    assert!((21..=120).contains(&site.dials().len()), "{}", site.dials().len());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_accepts_is_not_dialled_in_a_loop() {
    // Each wait ends well and each call badly.
    let site = Site::new(Mood::Closing);
    let (channel, connectivity) = site.channel();
    let deadline = within(millis(2_000));
    while connectivity.wait(deadline).await.is_ok() {
        call(&channel).await.unwrap_err();
    }
    // At once and after each short pause: eight of these add up to 1.4 s, nine to 2.3 s, ± 20 %.
    assert!((9..=10).contains(&site.dials().len()), "{:?}", site.dials());
}
