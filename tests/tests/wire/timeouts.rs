//! How much time a call is given, and by whom: G52 and L9 to L11.

use core::time::Duration;

use evenkeel_tests::{Listening, Reply};
use evenkeel_tonic::core::{Code as CoreCode, Micros, RetryPolicy};
use evenkeel_tonic::{BuildError, Builder, DeadlinePassed, TimeLimit, cause};
use tonic::{Code, Request, Status};

use crate::lab::{ECHO, EXPORT, Lab, PUT, code, in_millis, ok, timed, within};
use crate::policies::{also, bare, client, millis, opens_after, retries};

fn timeout(after: u64) -> Builder {
    client().timeout(millis(after)).unwrap()
}

/// What the server is told it has, in milliseconds.
async fn told(builder: Builder, request: Request<&'static str>) -> Option<u64> {
    let lab = Lab::new(builder, [ok()]);
    lab.request(ECHO, request).await.unwrap();
    lab.peer.requests()[0].timeout().map(in_millis)
}

#[tokio::test(start_paused = true)]
async fn g52_and_l09_the_smaller_of_the_callers_and_the_configured_time() {
    let plain = || Request::new("ping");
    let faster = |builder: Builder| builder.method_timeout(ECHO, Some(millis(1_000))).unwrap();
    assert_eq!(told(timeout(5_000), plain()).await, Some(5_000));
    assert_eq!(told(faster(timeout(10_000)), plain()).await, Some(1_000));
    assert_eq!(told(timeout(100_000), within(10_000)).await, Some(10_000));
    assert_eq!(told(timeout(5_000), within(100_000)).await, Some(5_000));
    assert_eq!(told(faster(client()), within(10_000)).await, Some(1_000));
}

#[tokio::test(start_paused = true)]
async fn l09_a_method_may_have_longer_than_the_default() {
    let builder = timeout(1_000).method_timeout(ECHO, Some(millis(3_000))).unwrap();
    let lab = Lab::new(builder, [ok()]);
    lab.unary(ECHO).await.unwrap();
    lab.unary(PUT).await.unwrap();
    assert_eq!(lab.slices(), [(0, 3_000), (0, 1_000)]);
}

#[tokio::test(start_paused = true)]
async fn l10_and_g52_none_is_no_deadline() {
    let plain = || Request::new("ping");
    let exempt = |builder: Builder| builder.method_timeout(ECHO, None).unwrap();
    assert_eq!(told(client(), plain()).await, None);
    assert_eq!(told(exempt(timeout(10_000)), plain()).await, None);
    // What the caller wants for itself is another matter.
    assert_eq!(told(exempt(timeout(10_000)), within(2_000)).await, Some(2_000));
    assert_eq!(told(bare(), within(2_000)).await, Some(2_000));
}

/// A subscription is ended by nothing but its caller, whatever attempts of other methods are given.
#[tokio::test(start_paused = true)]
async fn l10_none_by_name_is_no_limit_for_each_attempt_either() {
    let items = || {
        let begun = Reply::headers().message("1").wait(millis(3_000)).message("2");
        begun.end(Status::ok(""))
    };
    let limited = || timeout(2_000).attempt_timeout(millis(500)).unwrap();
    let lab = Lab::new(limited().method_timeout(EXPORT, None).unwrap(), [items()]);
    let response = lab.client(EXPORT).server_streaming("all").await.unwrap();
    let (read, status) = evenkeel_tests::drain(response.into_inner()).await;
    assert_eq!((read.len(), status.map(|status| status.code())), (2, None));
    // A default of none leaves attempts theirs.
    let lab = Lab::new(client().attempt_timeout(millis(500)).unwrap(), [items()]);
    let response = lab.client(EXPORT).server_streaming("all").await.unwrap();
    let (read, status) = evenkeel_tests::drain(response.into_inner()).await;
    assert_eq!((read.len(), status.unwrap().code()), (1, Code::DeadlineExceeded));
}

/// Without a timeout of ours the caller's own holds to the last message all the same.
#[tokio::test(start_paused = true)]
async fn l10_a_callers_deadline_holds_where_none_is_configured() {
    let reply = Reply::headers().message("1").wait(millis(1_000)).end(Status::ok(""));
    let lab = Lab::new(bare(), [reply]);
    let response = lab.client(EXPORT).server_streaming(within(400)).await.unwrap();
    let ((items, status), took) = timed(evenkeel_tests::drain(response.into_inner())).await;
    assert_eq!((items.len(), status.unwrap().code(), took), (1, Code::DeadlineExceeded, 400));
}

/// A log in which all limits read the same sends people to the wrong setting.
#[tokio::test(start_paused = true)]
async fn what_was_too_short_is_named() {
    let of_attempt = |after, attempt| timeout(after).attempt_timeout(millis(attempt)).unwrap();
    let own = |builder: Builder| builder.method_timeout(ECHO, Some(millis(300))).unwrap();
    let two = retries(2, 100).with_codes(also(&[CoreCode::DeadlineExceeded]));
    let cases: [(Builder, Option<u64>, TimeLimit, &str); 10] = [
        (timeout(2_000), None, TimeLimit::Timeout(Micros::from_millis(2_000)), "2.00s"),
        (own(timeout(2_000)), None, TimeLimit::Timeout(Micros::from_millis(300)), "0.30s"),
        (timeout(2_000), Some(1_000), TimeLimit::Caller, "of the caller"),
        (client(), Some(1_000), TimeLimit::Caller, "of the caller"),
        (timeout(1_000), Some(2_000), TimeLimit::Timeout(Micros::from_millis(1_000)), "1.00s"),
        (timeout(1_000), Some(1_000), TimeLimit::Timeout(Micros::from_millis(1_000)), "1.00s"),
        (
            of_attempt(2_000, 200),
            None,
            TimeLimit::AttemptTimeout(Micros::from_millis(200)),
            "0.20s",
        ),
        (of_attempt(200, 200), None, TimeLimit::Timeout(Micros::from_millis(200)), "0.20s"),
        // The second attempt has all of its time, and then only what the call has left.
        (
            of_attempt(2_000, 200).retry(two),
            None,
            TimeLimit::AttemptTimeout(Micros::from_millis(200)),
            "attempt_timeout of 0.20s passed after 2 attempts of ",
        ),
        (
            of_attempt(400, 200).retry(two),
            None,
            TimeLimit::Timeout(Micros::from_millis(400)),
            "timeout of 0.40s passed after 2 attempts of ",
        ),
    ];
    for (builder, asked, limit, said) in cases {
        let lab = Lab::new(builder, [Reply::hang()]);
        let request = asked.map_or_else(|| Request::new("ping"), within);
        let failed = lab.request(ECHO, request).await.unwrap_err();
        assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().limit, limit, "{failed:?}");
        assert!(failed.message().starts_with(&limit.to_string()), "{failed:?}");
        assert!(failed.message().contains(said), "{failed:?}");
    }
}

/// Zero is not none: there is no time, and so nothing is sent.
#[tokio::test(start_paused = true)]
async fn l10_a_callers_zero_is_refused_at_once() {
    let exempt = timeout(1_000).method_timeout(ECHO, None).unwrap();
    for builder in [timeout(1_000).breaker(opens_after(1)), exempt, bare(), client()] {
        let lab = Lab::new(builder.retry(RetryPolicy::DEFAULT), [ok()]);
        let failed = lab.request(ECHO, within(0)).await.unwrap_err();
        assert_eq!((failed.code(), lab.peer.count()), (Code::DeadlineExceeded, 0));
        let passed = cause::<DeadlinePassed>(&failed).unwrap();
        assert_eq!((&*passed.method, passed.attempts), (ECHO, 0));
        assert_eq!(passed.limit, TimeLimit::Caller);
        assert!(failed.message().contains(ECHO), "{failed:?}");
        assert!(lab.net.dials("a").is_empty());
    }
    let lab = Lab::new(bare(), [ok()]);
    assert_eq!(code(&lab.request(ECHO, within(0)).await), Code::DeadlineExceeded);
    assert_eq!(lab.peer.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_that_cannot_be_read_is_none() {
    let listening = Listening::begin();
    for malformed in ["82f", "", "123456789S", "-1S", "1"] {
        let mut request = Request::new("ping");
        request.metadata_mut().insert("grpc-timeout", malformed.parse().unwrap());
        assert_eq!(told(timeout(5_000), request).await, Some(5_000), "{malformed:?}");
        let warnings = listening.take_warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(ECHO), "{warnings:?}");
    }
}

#[test]
fn l10_and_l11_what_cannot_be_meant_is_refused_by_name() {
    let refused = bare().timeout(Duration::ZERO).unwrap_err();
    assert!(refused.to_string().contains("none"), "{refused}");
    for wrong in [Duration::ZERO, Duration::MAX] {
        assert!(bare().timeout(wrong).is_err());
        let refused = bare().method_timeout(ECHO, Some(wrong)).unwrap_err();
        assert!(refused.to_string().contains(ECHO), "{refused}");
        let BuildError::MethodSetting { method, invalid } = refused else { panic!("{refused}") };
        assert_eq!((&*method, invalid.field()), (ECHO, "timeout.per_method"));
    }
    assert!(matches!(bare().method_timeout("Echo", None), Err(BuildError::Method(_))));
}

/// The longest there is goes out as it came in.
#[tokio::test(start_paused = true)]
async fn a_deadline_in_eleven_thousand_years_is_one() {
    let lab = Lab::new(client(), [ok()]);
    let mut request = Request::new("ping");
    request.metadata_mut().insert("grpc-timeout", "99999999H".parse().unwrap());
    lab.request(ECHO, request).await.unwrap();
    assert_eq!(lab.peer.requests()[0].header("grpc-timeout"), Some("99999999H"));
}
