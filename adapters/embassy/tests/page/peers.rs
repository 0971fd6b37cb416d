//! Peers that say nothing.

use core::future::pending;
use core::time::Duration;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use evenkeel_core::{
    BreakerPolicy, CallPolicy, Clock, Code, CodeSet, Consecutive, Deadline, Outcome, RetryPolicy,
    Single, ThrottlePolicy, checked,
};
use evenkeel_embassy::{AttemptInfo, EmbassyClock, Exchange, Peers, Tokens, call_with};

use crate::{PAGE, one_call, says};

/// A peer that takes every request and never answers.
#[derive(Default)]
struct Silent {
    asked: u16,
}

impl Exchange for Silent {
    type Reply = ();
    type Error = ();

    async fn attempt(&mut self, _attempt: AttemptInfo) -> Result<(), ()> {
        self.asked += 1;
        pending().await
    }

    fn classify(&self, _reply: &Result<(), ()>) -> Outcome {
        Outcome::success()
    }
}

const TWO_SECONDS: CallPolicy = checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(2)));
const AGAIN: RetryPolicy =
    RetryPolicy::DEFAULT.with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded));

const fn limited(policy: CallPolicy) -> CallPolicy {
    checked!(policy.with_attempt_timeout(Duration::from_millis(500)))
}

#[test]
fn a_silent_peer_is_asked_once_without_a_limit_and_a_code_for_it() {
    says("Without both, a peer that says nothing is asked once");
    let asked = |policy: &CallPolicy| {
        let mut silent = Silent::default();
        let _ = simulated::run(async {
            let deadline = policy.deadline(EmbassyClock.now(), Deadline::NONE);
            let upstream = Single::new(policy);
            call_with(7, upstream, deadline, &mut silent).await
        });
        silent.asked
    };
    let with_code = TWO_SECONDS.with_retry(AGAIN);
    let cases = [TWO_SECONDS, limited(TWO_SECONDS), with_code, limited(with_code)];
    assert_eq!(cases.each_ref().map(asked), [1, 1, 1, 3]);
}

#[test]
fn the_program_of_the_page_asks_a_silent_peer_three_times() {
    let (_, program) = include_str!("one_call.rs").split_once("\n\n").unwrap();
    assert!(PAGE.contains(&format!("```rust,ignore\n{program}```")), "the page shows another");
    let mut silent = Silent::default();
    let (reply, end) = simulated::run_from(0, one_call::ask(7, &mut silent));
    assert!(reply.is_err() && end <= 2_000_000, "{end}");
    assert_eq!(silent.asked, 3);
}

#[test]
fn a_throttle_lets_ten_retries_through_and_no_more() {
    says("with the default ten retries are saved up, and ten successes bring another");
    static DEFAULT: ThrottlePolicy = ThrottlePolicy::DEFAULT;
    assert_eq!((DEFAULT.max_millitokens(), DEFAULT.ratio() * 10), (10_000, 1_000));
    let (peers, tokens) = (Peers::<NoopRawMutex, u8, 1>::new(), Tokens::full(&DEFAULT));
    let patient = BreakerPolicy::new(checked!(Consecutive::new(1_000)));
    let policy = limited(TWO_SECONDS.with_retry(AGAIN));
    let mut silent = Silent::default();
    for seed in 0..20 {
        let _ = simulated::run(async {
            let deadline = policy.deadline(EmbassyClock.now(), Deadline::NONE);
            let peer = peers.view(0, &policy, &patient).with_throttle(&tokens);
            call_with(seed, peer, deadline, &mut silent).await
        });
    }
    assert_eq!((silent.asked, tokens.millitokens()), (20 + 10, 0));
}
