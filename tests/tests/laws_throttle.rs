//! The laws of a throttle: on every short sequence, on random ones, and on fleets of calls that
//! share one.

use core::time::Duration;

use evenkeel_core::{
    Action, Attempt, Backoff, Call, CallPolicy, Code, CodeSet, Deadline, Instant, Micros, Next,
    Outcome, Pushback, Report, RetryPolicy, Single, StopReason, Throttle, ThrottlePolicy, Weight,
    checked,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use evenkeel_tests::model::tokens::Tokens;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What happens to a throttle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Ask,
    Book(Outcome, Weight),
}

const STOP: Outcome = Outcome::new(Code::NotFound).with_pushback(Pushback::Stop);
const EVENTS: [Event; 7] = [
    Event::Ask,
    Event::Book(Outcome::success(), Weight::Counts),
    Event::Book(Outcome::unavailable(), Weight::Counts),
    Event::Book(Outcome::unavailable(), Weight::CutShort),
    Event::Book(Outcome::unavailable(), Weight::Transparent),
    Event::Book(Outcome::new(Code::NotFound), Weight::Counts),
    Event::Book(STOP, Weight::Counts),
];
const TOKENS: [u16; 6] = [1, 2, 3, 10, 999, 1_000];
const RATIOS: [u32; 6] = [1, 100, 333, 1_000, 999_999, 1_000_000];

/// Plays `events` to `tokens` and to a throttle of `policy`.
fn follow(mut tokens: Tokens, policy: &ThrottlePolicy, events: &[Event]) -> Result<(), String> {
    let retryable = CodeSet::of(&[Code::Unavailable]);
    let mut throttle = Throttle::full(policy);
    for event in events {
        match *event {
            Event::Ask => {
                let (granted, due) = (throttle.allow(policy), tokens.ask());
                ensure!(granted == due, "granted: {granted}\n{tokens:?} on {events:?}");
            }
            Event::Book(outcome, weight) => {
                let report = Report { outcome, took: Micros::ZERO, weight };
                throttle.record(&report, retryable, policy);
                tokens.book(&report, retryable);
            }
        }
        tokens.compare(&throttle).map_err(|fault| format!("{fault} on {events:?}"))?;
    }
    Ok(())
}

#[test]
fn ratio_is_exact() {
    for (grpc, tokens, ratio) in [(true, 3, 333), (true, 1, 1_000_000), (false, 2, 499)] {
        let (tokens, policy) = Tokens::new(grpc, tokens, ratio);
        for number in 0..EVENTS.len().pow(5) {
            let nth = |place: u32| EVENTS[number / EVENTS.len().pow(place) % EVENTS.len()];
            let events: Vec<Event> = (0..5).map(nth).collect();
            follow(tokens, &policy, &events).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
    // Ten tokens, a tenth back: four retries, and no drift at the edge after any number of each.
    let retryable = CodeSet::RETRYABLE;
    let policy = checked!(ThrottlePolicy::grpc(10, 100));
    let mut throttle = Throttle::full(&policy);
    let mut after = |outcome, times: u32| {
        let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
        (0..times).for_each(|_| throttle.record(&report, retryable, &policy));
        (throttle.millitokens(), throttle.allow(&policy))
    };
    assert_eq!(after(Outcome::success(), 1_000_000), (10_000, true));
    assert_eq!(after(Outcome::unavailable(), 4), (6_000, true));
    assert_eq!(after(Outcome::unavailable(), 1), (5_000, false));
    assert_eq!(after(Outcome::unavailable(), 1_000), (0, false));
    assert_eq!(after(Outcome::success(), 60), (6_000, true));
    assert_eq!(after(Outcome::unavailable(), 1), (5_000, false));
    assert_eq!(after(Outcome::success(), 11), (6_100, true));
    assert_eq!(after(Outcome::unavailable(), 1), (5_100, true));
}

#[test]
fn no_overflow_in_any_profile() {
    let policies = (any::<bool>(), select(TOKENS.to_vec()), select(RATIOS.to_vec()));
    let events = vec(select(EVENTS.to_vec()), 0..400);
    on_random((policies, events), |((grpc, tokens, ratio), events)| {
        let (tokens, policy) = Tokens::new(grpc, tokens, ratio);
        assert_eq!(i64::from(policy.max_millitokens()), tokens.max);
        follow(tokens, &policy, &events)
    });
    for (tokens, ratio) in [(0, 1), (1_001, 1), (1, 0), (1, 1_000_001), (u16::MAX, u32::MAX)] {
        assert!(ThrottlePolicy::grpc(tokens, ratio).is_err());
        assert!(ThrottlePolicy::success_refilled(tokens, ratio).is_err());
    }
}

/// Three attempts, a second apart.
const CALLS: CallPolicy = CallPolicy::DEFAULT.unbounded().with_retry(
    RetryPolicy::DEFAULT
        .with_backoff(checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(1)))),
);

/// Calls that share a throttle, and the ledger of its tokens.
struct Fleet {
    now: Instant,
    policy: ThrottlePolicy,
    throttle: Throttle,
    tokens: Tokens,
    calls: Vec<(Call, Option<Attempt>)>,
}

impl Fleet {
    fn new(size: u32, (tokens, policy): (Tokens, ThrottlePolicy)) -> Self {
        let call = |seed| (Call::new(Deadline::NONE, seed), None);
        let calls = (0..size).map(call).collect();
        Self { now: Instant::ZERO, policy, throttle: Throttle::full(&policy), tokens, calls }
    }

    /// Polls every call; none may touch a token.
    fn poll(&mut self) -> Result<usize, String> {
        let mut launched = 0;
        for (call, under_way) in &mut self.calls {
            let mut upstream = Single::new(&CALLS).with_throttle(&mut self.throttle, &self.policy);
            if let Action::Attempt(attempt) = call.poll(self.now, &mut upstream) {
                *under_way = Some(attempt);
                launched += 1;
            }
        }
        self.tokens.compare(&self.throttle)?;
        Ok(launched)
    }

    /// Ends the attempt of one call; the answer is whether a retry was granted.
    fn end(&mut self, place: usize, outcome: Outcome) -> Result<bool, String> {
        let (call, under_way) = &mut self.calls[place];
        let Some(attempt) = under_way.take() else { return Ok(false) };
        let mut upstream = Single::new(&CALLS).with_throttle(&mut self.throttle, &self.policy);
        let next = call.complete(self.now, &mut upstream, attempt, outcome);
        let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
        self.tokens.book(&report, CALLS.retry().codes());
        let wanted = outcome.code == Code::Unavailable && call.attempts() < 3;
        let granted = wanted && self.tokens.ask();
        let due = match (wanted, granted) {
            (true, false) => matches!(next, Next::Stop(StopReason::Throttled)),
            (true, true) => matches!(next, Next::Retry { at, .. } if at > self.now),
            (false, _) => matches!(next, Next::Stop(_)),
        };
        ensure!(due, "{next:?}, wanted: {wanted}, granted: {granted}");
        self.tokens.compare(&self.throttle)?;
        Ok(granted)
    }
}

#[test]
fn granted_at_failure_time() {
    let outcome = select(vec![
        Outcome::unavailable(),
        Outcome::unavailable(),
        Outcome::success(),
        Outcome::new(Code::NotFound),
    ]);
    let steps = vec((0..6usize, outcome, select(vec![0, 0, 400_000, 1_100_000])), 0..60);
    let policies = (any::<bool>(), 1..6u16, select(RATIOS.to_vec()));
    on_random((policies, steps), |((grpc, tokens, ratio), steps)| {
        let mut fleet = Fleet::new(6, Tokens::new(grpc, tokens, ratio));
        for (place, outcome, pass) in steps {
            // `poll` and `end` compare the tokens: only the end of an attempt moves any.
            fleet.poll()?;
            fleet.end(place, outcome)?;
            fleet.now = fleet.now + Micros::from_micros(pass);
        }
        Ok(())
    });
    // A grant is kept, whatever becomes of the tokens while it waits; and so is a refusal.
    let mut fleet = Fleet::new(3, Tokens::new(false, 1, 1_000));
    assert_eq!(fleet.poll(), Ok(3));
    assert_eq!(fleet.end(0, Outcome::unavailable()), Ok(true));
    assert_eq!(fleet.end(1, Outcome::unavailable()), Ok(false));
    assert_eq!(fleet.end(2, Outcome::success()), Ok(false));
    fleet.now = fleet.now + Micros::from_millis(1_200);
    assert_eq!(fleet.poll(), Ok(1), "the granted one, and no other");
}

#[test]
fn waiting_retries_count() {
    for (grpc, granted) in [(true, 4), (false, 10)] {
        // A hundred calls fail at once: nobody has been sent again, but the tokens are gone.
        let mut fleet = Fleet::new(100, Tokens::new(grpc, 10, 100));
        assert_eq!(fleet.poll(), Ok(100));
        let retries = (0..100).filter(|place| fleet.end(*place, Outcome::unavailable()).unwrap());
        assert_eq!(retries.count(), granted);
        assert_eq!(fleet.poll(), Ok(0));
        fleet.now = fleet.now + Micros::from_millis(2_000);
        assert_eq!(fleet.poll(), Ok(granted));
    }
    // A hedge is a retry that waits for nothing: without tokens it stays, and harms nobody.
    let hedged = checked!(CALLS.with_hedge_after(Duration::from_millis(20)));
    let policy = checked!(ThrottlePolicy::success_refilled(1, 1));
    let mut throttle = Throttle::full(&policy);
    assert!(throttle.allow(&policy));
    let mut upstream = Single::new(&hedged).with_throttle(&mut throttle, &policy);
    let mut call = Call::<2>::with_room(Deadline::NONE, 1);
    let Action::Attempt(first) = call.poll(Instant::ZERO, &mut upstream) else { panic!() };
    let due = Instant::from_micros(20_000);
    assert_eq!(call.poll(Instant::ZERO, &mut upstream), Action::WaitUntil(due));
    assert!(matches!(call.poll(due, &mut upstream), Action::WaitUntil(at) if at > due));
    let next = call.complete(due, &mut upstream, first, Outcome::success());
    assert_eq!((next, call.attempts()), (Next::Stop(StopReason::Succeeded), 1));
}
