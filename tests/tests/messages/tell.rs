//! This file knows the guide's own function that says whose an error is, and asks it about every
//! way a call can end badly.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{
    BreakerPolicy, BudgetPolicy, Code, CodeSet, Consecutive, RetryPolicy, StopReason,
};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, RawClient, Reply, Stub};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::{
    BudgetExhausted, Builder, CircuitOpen, Closed, DeadlinePassed, NoHealthyTargets, Pool,
    Resilient, Stopped, cause,
};
use tonic::{Request, Status};

const SECOND: Duration = Duration::from_secs(1);

fn tell(status: &Status) -> String {
    // In this order: what an error came of is among its sources.
    if let Some(open) = cause::<CircuitOpen>(status) {
        format!("our breaker, after {} attempt(s): {open}", open.attempts)
    } else if let Some(late) = cause::<DeadlinePassed>(status) {
        format!("our deadline, after {} attempt(s): {late}", late.attempts)
    } else if let Some(spent) = cause::<BudgetExhausted>(status) {
        format!("not sent: {spent}")
    } else if let Some(nobody) = cause::<NoHealthyTargets>(status) {
        format!("not sent: {nobody}")
    } else if let Some(closed) = cause::<Closed>(status) {
        format!("our client, after {} attempt(s): {closed}", closed.attempts)
    } else if let Some(stopped) = cause::<Stopped>(status) {
        // "busy: no further attempt after 3: all attempts were used up"
        format!("{}: {stopped}", status.message())
    } else {
        format!("nobody here had a say: {}", status.message())
    }
}

#[test]
fn it_stands_in_the_guide_as_it_stands_here() {
    let source = include_str!("tell.rs");
    let begins = source.find("\nfn tell").expect("above") + 1;
    let ends = begins + source[begins..].find("\n}\n").expect("its end") + 3;
    let guide = include_str!("../../../docs/guide.md");
    assert!(guide.contains(&source[begins..ends]), "docs/guide.md has another `tell`");
}

fn orders() -> Builder {
    Resilient::builder().target("orders").methods(&METHODS)
}

fn stub(reply: Reply) -> Stub {
    Stub::new([reply])
}

fn busy() -> Reply {
    Reply::status(Status::unavailable("busy"))
}

async fn told(service: Resilient<Stub>, timeout: Option<Duration>) -> String {
    let mut request = Request::new("ping");
    if let Some(timeout) = timeout {
        request.set_timeout(timeout);
    }
    tell(&RawClient::of("/lab.v1.Lab/Echo", service).unary(request).await.unwrap_err())
}

#[tokio::test(start_paused = true)]
async fn what_the_server_said_is_told_with_why_that_was_all() {
    let plain = orders().timeout(SECOND).unwrap().build(stub(busy())).unwrap();
    let why = "busy: no further attempt after 1: this client does not retry";
    assert_eq!(told(plain, None).await, why);
    let off = orders().retry(RetryPolicy::OFF).build(stub(busy())).unwrap();
    let why = "busy: no further attempt after 1: this client does not retry this method";
    assert_eq!(told(off, None).await, why);
    let retries = orders().retry(RetryPolicy::DEFAULT).build(stub(busy())).unwrap();
    let why = "busy: no further attempt after 3: all attempts were used up";
    assert_eq!(told(retries, None).await, why);
    let idle = Resilient::builder().build(stub(busy())).unwrap();
    assert_eq!(told(idle, None).await, "nobody here had a say: busy");
}

#[tokio::test(start_paused = true)]
async fn what_was_ours_is_told_as_ours() {
    let once = BreakerPolicy::new(Consecutive::new(1).unwrap());
    let open = orders().breaker(once).retry(RetryPolicy::DEFAULT).build(stub(busy())).unwrap();
    for attempts in [1, 0] {
        let begins = format!("our breaker, after {attempts} attempt(s): Circuit breaker for ");
        let told = told(open.clone(), None).await;
        assert!(told.starts_with(&begins), "{told}");
    }
    let hangs = orders().build(stub(Reply::hang())).unwrap();
    let late = "our deadline, after 1 attempt(s): deadline of the caller passed in the first attempt of \
                /lab.v1.Lab/Echo";
    assert_eq!(told(hangs.clone(), Some(SECOND)).await, late);
    let never = "our deadline, after 0 attempt(s): deadline of the caller passed before \
                 /lab.v1.Lab/Echo was sent";
    assert_eq!(told(hangs.clone(), Some(Duration::ZERO)).await, never);
    let spent = Arc::new(Budget::new(SECOND, BudgetPolicy::DEFAULT).unwrap());
    tokio::time::sleep(2 * SECOND).await;
    let told = with_budget(Some(spent), told(hangs, None)).await;
    assert!(told.starts_with("not sent: request deadline exceeded before "), "{told}");
}

/// An attempt that took all the time has failed like any other: `DeadlinePassed` is the reason
/// only where none could begin.
#[tokio::test(start_paused = true)]
async fn the_reason_of_a_call_whose_time_is_up_is_what_came_of_its_last_attempt() {
    let reason = async |retry: RetryPolicy, timeout| {
        let service = orders().retry(retry).build(stub(Reply::hang())).unwrap();
        let mut request = Request::new("ping");
        request.set_timeout(timeout);
        let client = RawClient::of("/lab.v1.Lab/Echo", service).unary(request).await;
        let status = client.unwrap_err();
        assert!(cause::<DeadlinePassed>(&status).is_some(), "ours, and no server's word");
        cause::<Stopped>(&status).map(|stopped| stopped.reason)
    };
    let late = CodeSet::RETRYABLE.with(Code::DeadlineExceeded);
    let retried = RetryPolicy::DEFAULT.with_codes(late);
    assert_eq!(reason(RetryPolicy::DEFAULT, SECOND).await, Some(StopReason::NotRetryable));
    assert_eq!(reason(retried, SECOND).await, Some(StopReason::DeadlineWouldPass));
    assert_eq!(reason(retried, Duration::ZERO).await, None, "nothing began that could stop");
}

#[tokio::test(start_paused = true)]
async fn who_was_not_there_is_told() {
    let net = Network::new();
    let pool = Pool::builder().insecure().connector(net.dialer()).target("a:50051").unwrap();
    let client = orders().build_pool(pool).unwrap();
    client.pool().unwrap().set_targets([]);
    let call = async || {
        let mut client = RawClient::of("/lab.v1.Lab/Echo", client.clone());
        tell(&client.unary("ping").await.unwrap_err())
    };
    assert_eq!(call().await, "not sent: no target: the pool has no members");
    client.pool().unwrap().close(SECOND).await;
    assert_eq!(call().await, "our client, after 0 attempt(s): client is closed: orders");
}
