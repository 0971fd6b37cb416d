//! A call as a future: cut off, closed, dropped anywhere, and shared with others.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use embassy_futures::join::join_array;
use embassy_sync::blocking_mutex::raw::{CriticalSectionRawMutex, NoopRawMutex};
use evenkeel_core::{
    BreakerPolicy, BreakerState, CallPolicy, Clock, Consecutive, Deadline, Instant, Micros,
    Outcome, RetryPolicy, Single, StopReason, ThrottlePolicy, checked,
};
use evenkeel_embassy::{
    AttemptInfo, CLOSE_LIMIT, EmbassyClock, Error, Exchange, Peers, Seeds, Tokens, call, call_with,
    sleep_until,
};

const MILLI: u64 = 1_000;

static CALLS: CallPolicy =
    checked!(CallPolicy::DEFAULT.with_attempt_timeout(Duration::from_millis(300)));
static BREAKER: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(3)));

fn classify(reply: &Result<u32, &'static str>) -> Outcome {
    if reply.is_ok() { Outcome::success() } else { Outcome::unavailable() }
}

fn deadline() -> Deadline {
    CALLS.deadline(EmbassyClock.now(), Deadline::NONE)
}

/// A peer that does not answer, with a socket that takes long to close.
#[derive(Default)]
struct Silent {
    attempts: u32,
    closed: Vec<u64>,
    goodbye: Option<u64>,
}

impl Exchange for Silent {
    type Reply = u32;
    type Error = &'static str;

    async fn attempt(&mut self, _attempt: AttemptInfo) -> Result<u32, &'static str> {
        self.attempts += 1;
        pending().await
    }

    fn classify(&self, reply: &Result<u32, &'static str>) -> Outcome {
        classify(reply)
    }

    async fn close(&mut self) {
        self.closed.push(simulated::now());
        match self.goodbye {
            Some(millis) => {
                let at = EmbassyClock.now() + Micros::from_millis(millis);
                sleep_until(at).await;
            }
            None => pending().await,
        }
    }
}

#[test]
fn an_attempt_is_cut_off_and_closed_with_a_bound() {
    static TIMEOUTS: CallPolicy = CALLS_WITH_TIMEOUTS;
    let mut silent = Silent::default();
    let ended = async { call_with(1, Single::new(&TIMEOUTS), deadline(), &mut silent).await };
    let (reply, end) = simulated::run_from(0, ended);
    assert_eq!(reply, Err(Error::DeadlineExceeded { last: None }));
    assert_eq!((silent.attempts, silent.closed.len()), (3, 3), "every attempt is closed");
    assert_eq!(silent.closed[0], 300 * MILLI, "at its deadline");
    // A goodbye that never ends costs its limit each time and no more.
    let limit = CLOSE_LIMIT.as_micros();
    assert!(silent.closed[1] - silent.closed[0] >= limit + 300 * MILLI);
    assert_eq!(end, silent.closed[2] + limit);
}

#[test]
fn a_slow_goodbye_is_no_slow_answer() {
    struct Quick(Vec<Micros>);
    impl Exchange for Quick {
        type Reply = u32;
        type Error = &'static str;
        async fn attempt(&mut self, _attempt: AttemptInfo) -> Result<u32, &'static str> {
            Ok(1)
        }
        fn classify(&self, reply: &Result<u32, &'static str>) -> Outcome {
            classify(reply)
        }
        async fn close(&mut self) {
            let at = EmbassyClock.now() + Micros::from_millis(90);
            sleep_until(at).await;
        }
        fn happened(&mut self, _event: evenkeel_core::Event) {
            self.0.push(EmbassyClock.now().since(Instant::ZERO));
        }
    }
    static TIGHT: CallPolicy =
        checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_millis(50)));
    let mut quick = Quick(Vec::new());
    let tight = TIGHT.deadline(Instant::ZERO, Deadline::NONE);
    let ended = call_with(1, Single::new(&TIGHT), tight, &mut quick);
    let (reply, end) = simulated::run_from(0, ended);
    assert_eq!(reply, Ok(1));
    assert_eq!(quick.0[0], Micros::ZERO, "booked before it was closed");
    assert_eq!(end, 90 * MILLI);
}

const CALLS_WITH_TIMEOUTS: CallPolicy = checked!(
    CallPolicy::DEFAULT
        .with_retry(RetryPolicy::DEFAULT.with_codes(
            evenkeel_core::CodeSet::RETRYABLE.with(evenkeel_core::Code::DeadlineExceeded)
        ))
        .with_attempt_timeout(Duration::from_millis(300))
);

#[test]
fn the_peers_last_error_is_never_lost() {
    let used_up =
        async { call(1, Single::new(&CALLS), deadline(), classify, async |_| Err("reset")).await };
    let due = Error::Peer { error: "reset", reason: StopReason::AttemptsUsedUp };
    assert_eq!(simulated::run(used_up), Err(due));

    let tries = Cell::new(0);
    let cut = async {
        call(1, Single::new(&CALLS), deadline(), classify, async |_| {
            tries.set(tries.get() + 1);
            if tries.get() == 1 { Err("busy") } else { pending().await }
        })
        .await
    };
    let error = simulated::run(cut).unwrap_err();
    assert_eq!(error.peer(), Some(&"busy"));
    assert_eq!(error.to_string(), "deadline exceeded");
}

/// Drops a call after each number of polls: its trial must be free again.
#[test]
fn a_call_may_be_dropped_at_every_await() {
    for polls in 0..40 {
        let peers = Peers::<NoopRawMutex, u16, 4>::new();
        simulated::run(async {
            for _ in 0..3 {
                let view = peers.view(1, &CALLS, &BREAKER);
                let _ = call(7, view, deadline(), classify, async |_| Err("down")).await;
            }
            assert_eq!(peers.snapshot(1).map(|shown| shown.state), Some(BreakerState::Open));
            sleep_until(EmbassyClock.now() + Micros::from_millis(61_000)).await;
            {
                let view = peers.view(1, &CALLS, &BREAKER);
                let trial = call(7, view, deadline(), classify, async |_| {
                    for _ in 0..10 {
                        embassy_futures::yield_now().await;
                    }
                    sleep_until(EmbassyClock.now() + Micros::from_millis(1)).await;
                    pending().await
                });
                let mut trial = pin!(trial);
                let mut context = Context::from_waker(Waker::noop());
                for _ in 0..polls {
                    assert!(trial.as_mut().poll(&mut context).is_pending());
                }
            }
            let shown = peers.snapshot(1).unwrap();
            assert_eq!(shown.trials, 0, "dropped after {polls} polls");
            let view = peers.view(1, &CALLS, &BREAKER);
            let reply = call(8, view, deadline(), classify, async |_| Ok(1)).await;
            assert_eq!(reply, Ok(1), "the next one is the trial");
        });
    }
}

#[test]
fn a_hundred_tasks_share_one_table_and_one_throttle() {
    static PEERS: Peers<CriticalSectionRawMutex, u16, 8> = Peers::new();
    static TOKENS: Tokens<CriticalSectionRawMutex> =
        Tokens::full(&ThrottlePolicy::SUCCESS_REFILLED);
    static SEEDS: Seeds<CriticalSectionRawMutex> = Seeds::new(1);
    let sent = RefCell::new([0u32; 10]);
    let task = |number: u16| {
        let sent = &sent;
        async move {
            let peer = number % 10;
            let view = PEERS.view(peer, &CALLS, &BREAKER).with_throttle(&TOKENS);
            let reply = call(SEEDS.next(), view, deadline(), classify, async |_| {
                sent.borrow_mut()[usize::from(peer)] += 1;
                embassy_futures::yield_now().await;
                Err::<u32, _>("down")
            })
            .await;
            matches!(reply, Err(Error::CircuitOpen { .. } | Error::Peer { .. }))
        }
    };
    let ends = simulated::run(join_array(std::array::from_fn::<_, 100, _>(|n| task(n as u16))));
    assert!(ends.iter().all(|end| *end));
    assert!(TOKENS.millitokens() < 1_000, "all retries there were are spent");
    let open = (0..10).filter_map(|peer| PEERS.snapshot(peer)).count();
    assert_eq!(open, 8, "never more than N");
    assert!(PEERS.untracked() >= 20, "two peers found no slot, and were let through");
}

/// A peer that is gone for good holds its slot, and whoever looks can see which, and give it back.
#[test]
fn a_peer_that_is_gone_holds_its_slot_until_somebody_resets_it() {
    let peers = Peers::<NoopRawMutex, u16, 1>::new();
    let ask = async |peer| {
        let view = peers.view(peer, &CALLS, &BREAKER);
        call(1, view, deadline(), classify, async |_| Err::<u32, _>("down")).await.unwrap_err();
    };
    simulated::run(async {
        ask(1).await;
        embassy_time::Timer::after_secs(86_400).await;
        ask(2).await;
        assert!(peers.untracked() > 0, "nobody guards the second");
        let mut held = Vec::new();
        peers.snapshots(|peer, snapshot| held.push((peer, snapshot.state)));
        assert_eq!(held, [(1, BreakerState::Open)]);

        assert!(peers.control(1, evenkeel_core::CircuitBreaker::reset).is_some());
        ask(2).await;
        assert!(peers.snapshot(1).is_none() && peers.snapshot(2).is_some());
    });
}

#[test]
fn a_table_that_is_in_use_further_up_guards_nobody_and_does_not_panic() {
    let peers = Peers::<NoopRawMutex, u16, 2>::new();
    let reply = simulated::run(async {
        let view = peers.view(1, &CALLS, &BREAKER);
        call(1, view, deadline(), classify, async |_| Err::<u32, _>("down")).await.unwrap_err();
        // Used again while it is being used, which a mutex that excludes nobody cannot stop.
        peers.control(1, |_breaker| peers.snapshot(1))
    });
    assert_eq!(reply, Some(None));
}

#[test]
fn same_seed_same_call() {
    let run = |seed| {
        simulated::run_from(0, async move {
            call(seed, Single::new(&CALLS), deadline(), classify, async |_| Err("down")).await
        })
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}

/// zenoh-pico #90: a fleet that seeds from the time since boot draws one number.
#[test]
fn f18_devices_that_boot_together_draw_different_seeds() {
    let mut firsts: Vec<u32> = (0..100u8)
        .map(|device| {
            let seeds = Seeds::<NoopRawMutex>::new(0);
            seeds.of_device(&[2, 0, 0, 0, 0, device]);
            seeds.next() % 1_000
        })
        .collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() >= 60, "{} of 100", firsts.len());
}
