//! Hedged calls: several attempts at once are still one call, and the losers are no errors.

use evenkeel_tests::{Reply, drop_at_every_poll};
use evenkeel_tonic::{Builder, HedgePolicy};

use crate::figures::Figures;
use crate::lab::{ECHO, Lab, busy, client, counted, millis, ok};
use crate::tracer::Tracer;

/// After 20 ms a second attempt, and after 20 more a third.
fn hedged(builder: Builder) -> Builder {
    builder.hedge(HedgePolicy::after(millis(20)).unwrap().with_max_attempts(3).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_hedge_is_counted_as_one_and_its_loser_as_cancelled() {
    let figures = Figures::new();
    let lab = Lab::new(hedged(counted(&figures)), [Reply::hang(), Reply::hang(), ok()]);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    let hedges = "grpc.client.call.hedges";
    assert_eq!((read.of(hedges, &[]), read.sum(hedges, &[])), (1.0, 2.0));
    assert!(read.series("grpc.client.call.retries").is_empty());
    assert!(read.series("grpc.client.call.retry_delay").is_empty(), "one was always under way");
    let attempts = "grpc.client.attempt.duration";
    assert_eq!(read.of("grpc.client.attempt.started", &[]), 3.0);
    assert_eq!(read.of(attempts, &[("grpc.status", "OK")]), 1.0);
    assert_eq!(read.of(attempts, &[("grpc.status", "CANCELLED")]), 2.0);
    let lost = read.sum(attempts, &[("grpc.status", "CANCELLED")]);
    assert!((lost - 0.06).abs() < 1e-9, "40 ms and 20 ms, not {lost}");
    assert_eq!(read.of("resilience.calls", &[("status", "success")]), 1.0);
    assert_eq!(read.of("resilience.calls.active", &[]), 0.0);
    let kind = [("outcome", "successful_with_retry")];
    assert_eq!(read.of("resilience.retry.calls", &kind), 1.0);
}

#[tokio::test(start_paused = true)]
async fn attempts_side_by_side_are_spans_side_by_side() {
    let tracer = Tracer::begin();
    let lab = Lab::new(hedged(client().spans()), [Reply::hang(), ok()]);
    lab.unary(ECHO).await.unwrap();
    assert_eq!(tracer.spans("call").len(), 1);
    let attempts = tracer.spans("attempt");
    let shown: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            assert_eq!((attempt.parent, attempt.closed), (Some(0), true));
            ["previous-rpc-attempts", "hedge", "rpc.status_code"]
                .map(|field| attempt.field(field).unwrap())
        })
        .collect();
    assert_eq!(shown, [["0", "false", "CANCELLED"], ["1", "true", "OK"]]);
    let hedges = tracer.events("hedge");
    let [hedge] = &*hedges else { panic!("{hedges:?}") };
    let told = ["attempts", "upstream"].map(|field| hedge.field(field).unwrap());
    assert_eq!((hedge.parent, told), (Some(0), ["1", "lab"]));
    assert!(tracer.events("retry").is_empty());
}

/// A failure brings the next attempt forward: that is no backoff.
#[tokio::test(start_paused = true)]
async fn a_hedge_after_a_failure_is_told_as_one() {
    let tracer = Tracer::begin();
    let lab = Lab::new(hedged(client().spans()), [busy(), ok()]);
    lab.unary(ECHO).await.unwrap();
    let retries = tracer.events("retry");
    let [retry] = &*retries else { panic!("{retries:?}") };
    let told = ["attempts", "because", "code", "wait"].map(|field| retry.field(field).unwrap());
    assert_eq!(told, ["1", "hedge", "UNAVAILABLE", "0ns"]);
    assert!(tracer.events("hedge").is_empty(), "none was under way");
    assert_eq!(tracer.spans("attempt")[1].field("hedge"), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn a_hedged_call_that_is_dropped_at_any_poll_leaves_nothing() {
    let figures = Figures::new();
    let lab = Lab::new(hedged(counted(&figures)), [Reply::hang(), ok()]);
    let none_is_left = async |_| {
        let read = figures.read();
        assert_eq!(read.of("resilience.calls.active", &[]), 0.0);
        let ended = read.of("grpc.client.attempt.duration", &[]);
        assert_eq!(read.of("grpc.client.attempt.started", &[]), ended);
    };
    assert!(drop_at_every_poll(|| lab.unary(ECHO), none_is_left).await > 2);
}
