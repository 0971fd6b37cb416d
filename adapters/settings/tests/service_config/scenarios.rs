//! The scenarios of gRPC A6, by their names, through the core's own call.

use evenkeel_core::{
    Action, Call, Code, CodeSet, Deadline, Growth, Instant, Outcome, Single, SmallRng,
};
use evenkeel_settings::{ServiceConfig, Settings};

use crate::{read, retry};

/// How many requests a server sees that always answers with `code`.
fn requests(config: &ServiceConfig, code: Code) -> u32 {
    let policy = config.call_policy("/a.B/C");
    let mut upstream = Single::new(&policy);
    let mut call = Call::new(Deadline::NONE, 1);
    let (mut now, mut requests) = (Instant::ZERO, 0);
    loop {
        match call.poll(now, &mut upstream) {
            Action::Attempt(attempt) => {
                requests += 1;
                call.complete(now, &mut upstream, attempt, Outcome::new(code));
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(_) => return requests,
        }
    }
}

#[test]
fn g1_four_attempts_are_four_requests() {
    assert_eq!(requests(&read(&retry("maxAttempts", "4")), Code::Unavailable), 4);
    assert_eq!(requests(&read(&retry("maxAttempts", "4")), Code::NotFound), 1, "G8");
}

#[test]
fn g2_nine_attempts_are_five_and_nine_of_our_own_are_nine() {
    let config = read(&retry("maxAttempts", "9"));
    assert_eq!(requests(&config, Code::Unavailable), 5);
    assert_eq!(
        config.notes()[0].to_string(),
        "line 1, column 65: methodConfig[0].retryPolicy.maxAttempts = 9: is used as 5"
    );
    let ours = Settings::from_json(r#"{"retry": {"max_attempts": 9}}"#).unwrap();
    assert_eq!(ours.call_policy("/a.B/C").retry().max_attempts(), 9);
    for many in ["5", "\"5\"", "5.0", "4294967295"] {
        assert_eq!(requests(&read(&retry("maxAttempts", many)), Code::Unavailable), 5, "{many}");
    }
}

#[test]
fn g3_one_attempt_is_refused() {
    for few in ["0", "1", "-1", "1.5", "\"1\"", "[]", "\"many\""] {
        let refused = ServiceConfig::from_json(&retry("maxAttempts", few)).unwrap_err();
        let [problem] = refused.problems() else { panic!("{refused}") };
        assert_eq!(problem.path(), "methodConfig[0].retryPolicy.maxAttempts");
        assert_eq!(problem.rule(), "must be a whole number above 1");
    }
}

/// The pauses of 500 calls, in milliseconds, and the range each lies in.
#[test]
fn g4_g5_pauses_keep_their_range_and_the_cap() {
    let config = read(&retry("maxAttempts", "5"));
    let backoff = *config.call_policy("/a.B/C").retry().backoff();
    let ranges = [80..=120, 160..=240, 320..=480, 640..=960, 800..=1_000];
    let mut widest = [(u64::MAX, 0); 5];
    for seed in 0..500 {
        let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(seed));
        for (range, (least, most)) in ranges.iter().zip(&mut widest) {
            let pause = backoff.next_delay(&mut growth, &mut rng).as_micros();
            assert!(range.contains(&(pause / 1_000)), "{pause} {range:?}");
            (*least, *most) = ((*least).min(pause), (*most).max(pause));
        }
    }
    // Spread over nearly all of it, not merely within.
    for (range, (least, most)) in ranges.iter().zip(widest) {
        let width = (range.end() - range.start()) * 1_000;
        assert!(most - least > width * 9 / 10, "{range:?}: {least} to {most}");
    }
}

#[test]
fn g6_what_cannot_be_meant_is_refused_by_its_name() {
    let cases = [
        ("initialBackoff", "\"0s\"", "must be longer than zero"),
        ("maxBackoff", "\"0s\"", "must be longer than zero"),
        ("backoffMultiplier", "0", "must be a number from 1 to 65535"),
        ("retryableStatusCodes", "[]", "must not be empty"),
        ("retryableStatusCodes", "[\"NOPE\"]", "must be status codes, and \"NOPE\" is none"),
        (
            "backoffMultiplier",
            "0.5",
            "is legal in gRPC and refused here: below 1 waits shrink; must be from 1 to 65535",
        ),
    ];
    for (member, value, rule) in cases {
        let refused = ServiceConfig::from_json(&retry(member, value)).unwrap_err();
        let [problem] = refused.problems() else { panic!("{refused}") };
        assert_eq!(problem.path(), format!("methodConfig[0].retryPolicy.{member}"));
        assert_eq!(problem.rule(), rule);
    }
}

#[test]
fn g7_codes_are_alike_however_they_are_written() {
    for written in ["[14]", "[\"UNAVAILABLE\"]", "[\"unavailable\"]", "[14, \"Unavailable\"]"] {
        let config = read(&retry("retryableStatusCodes", written));
        let codes = config.call_policy("/a.B/C").retry().codes();
        assert_eq!(codes, CodeSet::of(&[Code::Unavailable]), "{written}");
    }
}
