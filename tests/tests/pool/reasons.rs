//! What an error says of those that could not be called: no dial's error is lost.

use core::time::Duration;
use std::io;

use evenkeel_tests::{Dial, Network, Peer, RawClient, Reply};
use evenkeel_tonic::connect::NotConnected;
use evenkeel_tonic::pool::{Resolve, Resolving};
use evenkeel_tonic::{DeadlinePassed, Kit, NoHealthyTargets, PoolBuilder, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, Lab, pass, plain, pool_of};

const LATE: &str = "timeout of 3.00s passed before /lab.v1.Lab/Echo was sent";

/// A resolver that knows nobody.
struct Unknown;

impl Resolve for Unknown {
    fn resolve(&self, _: &str, _: u16) -> Resolving {
        Box::pin(async { Err(io::Error::other("no such host")) })
    }
}

async fn call(kit: &Kit) -> Status {
    RawClient::of(ECHO, kit.channel()).unary("ping").await.unwrap_err()
}

fn waiting(pool: PoolBuilder) -> Kit {
    let calls = plain().wait_for_ready(true).timeout(Duration::from_secs(3)).unwrap();
    Kit::builder("stock").pool(pool).calls(calls).health(|checker| checker).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_checked_members_says_what_their_checks_said() {
    let net = Network::new();
    let kit = waiting(pool_of(&net, &["a", "b"]));
    let late = call(&kit).await;
    assert_eq!(late.code(), Code::DeadlineExceeded);
    let said = "no healthy target among a:1, b:1 (last: connection refused)";
    assert_eq!(late.message(), format!("{LATE}; {said}"));
    let passed = cause::<DeadlinePassed>(&late).unwrap();
    assert_eq!((passed.attempts, passed.nobody.as_ref().unwrap().to_string()), (0, said.into()));
    let nobody = cause::<NoHealthyTargets>(&late).expect("in the sources too");
    assert_eq!(nobody.targets, ["a:1", "b:1"]);
    assert_eq!(nobody.last, [(); 2].map(|()| Some("connection refused".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn each_member_has_a_reason_of_its_own() {
    let net = Network::new();
    let _b = Peer::new([Reply::ok(vec![8, 2])]).listen(&net, "b");
    net.on_dial("c", [Dial::Hang]);
    let kit = waiting(pool_of(&net, &["a", "b", "c"]));
    let late = call(&kit).await;
    let said = "no healthy target among b:1 (last: answered NOT_SERVING), a:1 (last: connection \
                refused), c:1 (last: no health check was answered yet)";
    assert_eq!(late.message(), format!("{LATE}; {said}"), "nothing was heard of c in 3 s");
    let patient = call(&kit).await;
    assert!(patient.message().contains("c:1 (last: no answer within 5.00s)"), "{patient:?}");

    // And so does the error of a call that waits for nobody.
    let calls = plain().wait_for_ready(false);
    let kit = Kit::builder("stock").pool(pool_of(&net, &["a", "b"])).calls(calls);
    let kit = kit.health(|checker| checker).build().unwrap();
    pass(10).await;
    let refused = call(&kit).await;
    assert_eq!(refused.code(), Code::Unavailable);
    let said = "no healthy target among b:1 (last: answered NOT_SERVING), a:1 (last: connection \
                refused)";
    assert_eq!(refused.message(), said);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_a_dial_says_how_every_members_last_one_failed() {
    let lab = Lab::new(&["a", "b"], plain().wait_for_ready(true));
    ["a", "b"].iter().for_each(|name| lab.kill(name));
    let late = lab.call().await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded);
    let said = "; no healthy target among a:1, b:1 (last: connection refused)";
    assert!(late.message().ends_with(said), "{late:?}");
    assert!(NotConnected::of(&late).is_some(), "the dial's own error is among the sources");
}

/// A machine that is away swallows the dial: whether the call would wait for it or not, the call
/// was never sent, and says so.
#[tokio::test(start_paused = true)]
async fn a_call_whose_first_dial_hangs_to_the_end_says_that_it_does() {
    for waits in [true, false] {
        let lab = Lab::new(&["a"], plain().wait_for_ready(waits));
        lab.net.on_dial("a", [Dial::Hang]);
        let late = lab.call().await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded);
        let said =
            "in the first attempt of /lab.v1.Lab/Echo; the connection to a:1 was still being made";
        assert!(late.message().ends_with(said), "{late:?}");
        let passed = cause::<DeadlinePassed>(&late).unwrap();
        assert_eq!((passed.connecting.as_deref(), &passed.nobody), (Some("a:1"), &None));
        assert_eq!(lab.count("a"), 0);
    }
}

/// Another machine is away, which is no matter to who was answered by none of both.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_sent_does_not_blame_a_dial_elsewhere() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.warm_up().await;
    lab.serve_with("a", [Reply::hang()]);
    lab.kill("b");
    lab.net.on_dial("b", [Dial::Hang]);
    let late = lab.call().await.unwrap_err();
    assert_eq!(late.message(), "timeout of 10.00s passed in the first attempt of /lab.v1.Lab/Echo");
    assert_eq!(cause::<DeadlinePassed>(&late).unwrap().connecting, None);
}

/// It waited, was sent, and was not answered: that it had waited before is no reason.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_sent_at_last_does_not_blame_the_connection() {
    let lab = Lab::new(&["a"], plain().wait_for_ready(true));
    lab.kill("a");
    let hangs = lab.peers["a"].clone();
    hangs.replace([Reply::hang()]);
    lab.net.after(Duration::from_millis(500), move |net| drop(hangs.listen(net, "a")));
    let late = lab.call().await.unwrap_err();
    assert_eq!(late.message(), "timeout of 10.00s passed in the first attempt of /lab.v1.Lab/Echo");
    assert_eq!(lab.peers["a"].count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_name_without_an_address_says_why_it_has_none() {
    let net = Network::new();
    let pool = pool_of(&net, &[]).target("dns:///stock.internal:50051").unwrap();
    let kit = waiting(pool.resolver(Unknown));
    let late = call(&kit).await;
    let said = "no healthy target among dns:///stock.internal:50051 (last: no such host)";
    assert_eq!(late.message(), format!("{LATE}; {said}"));
}

/// No dial was ever made: there is nothing to be said, and nothing is invented.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_had_passed_before_blames_nobody() {
    let lab = Lab::new(&["a"], plain().wait_for_ready(true));
    let mut request = tonic::Request::new("ping");
    request.set_timeout(Duration::ZERO);
    let late = RawClient::of(ECHO, lab.service.clone()).unary(request).await.unwrap_err();
    assert_eq!(late.message(), "deadline of the caller passed before /lab.v1.Lab/Echo was sent");
    assert_eq!(lab.pool().members(), ["a:1"]);
}
