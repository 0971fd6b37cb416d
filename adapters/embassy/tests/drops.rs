//! Every future of this crate, dropped at each of its polls, wherever virtual time has got to:
//! nothing is held afterwards, and what it worked on can be worked on anew.
//!
//! A dial that is cut off in a driver, or a trial whose caller went away, is where a link or a
//! breaker stands still for ever.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use evenkeel_core::{
    Backoff, BreakerPolicy, BreakerState, Call, CallPolicy, Clock, Consecutive, Deadline,
    Escalation, Jitter, Micros, Outcome, ReconnectPolicy, RetryPolicy, Rung, checked,
};
use evenkeel_embassy::{
    AttemptInfo, EmbassyClock, Exchange, Link, OnTime, Peers, call, drive, feed_while_on_time,
    sleep_until, supervise, until,
};

/// Polls `future` at most `count` times, each time it asks for it, and drops it.
async fn poll_n<F: Future>(count: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = count;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn wait(millis: u64) {
    sleep_until(in_millis(millis).instant()).await;
}

fn in_millis(millis: u64) -> Deadline {
    Deadline::at(EmbassyClock.now() + Micros::from_millis(millis))
}

/// What is held now, and what was under way when it was dropped.
#[derive(Default)]
struct World {
    held: Cell<i32>,
    cut: RefCell<BTreeSet<&'static str>>,
}

impl World {
    /// Holds something for so long.
    async fn hold(&self, name: &'static str, millis: u64) {
        let mut held = Held::new(self, name);
        wait(millis).await;
        held.ended = true;
    }

    fn cut(&self) -> Vec<&'static str> {
        self.cut.borrow().iter().copied().collect()
    }
}

struct Held<'a> {
    world: &'a World,
    name: &'static str,
    ended: bool,
}

impl<'a> Held<'a> {
    fn new(world: &'a World, name: &'static str) -> Self {
        world.held.set(world.held.get() + 1);
        Self { world, name, ended: false }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.world.held.set(self.world.held.get() - 1);
        if !self.ended {
            self.world.cut.borrow_mut().insert(self.name);
        }
    }
}

/// A link that takes a while for everything it does; every second dial fails.
struct Wire<'a> {
    world: &'a World,
    dials: u32,
}

impl Link for Wire<'_> {
    async fn ready(&mut self) {
        self.world.hold("ready", 1).await;
    }

    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        self.dials += 1;
        self.world.hold("dial", 2).await;
        if self.dials.is_multiple_of(2) { Ok(()) } else { Err(None) }
    }

    async fn session(&mut self) -> Option<Micros> {
        self.world.hold("session", 3).await;
        None
    }

    async fn close(&mut self) {
        self.world.hold("close", 1).await;
    }

    async fn escalate(&mut self, _: Escalation) {
        self.world.hold("escalate", 1).await;
    }
}

static QUICK: ReconnectPolicy = {
    const LADDER: &[Rung] = &[Rung::reset_peripheral(2)];
    let backoff = checked!(Backoff::new(Duration::from_millis(5), Duration::from_millis(20)));
    let full = checked!(backoff.with_jitter(Jitter::Full));
    let policy = checked!(ReconnectPolicy::DEFAULT.with_backoff(full));
    checked!(checked!(policy.with_splay(Duration::ZERO)).with_ladder(LADDER))
};

#[test]
fn a_supervisor_dropped_anywhere_lets_go_of_its_link() {
    let world = World::default();
    let mut most = 0;
    for polls in 0..200 {
        let mut wire = Wire { world: &world, dials: 0 };
        simulated::run(async {
            assert!(poll_n(polls, supervise(&mut wire, &QUICK, 7)).await.is_none());
            assert_eq!(world.held.get(), 0, "after {polls} polls");
            most = most.max(wire.dials);
            // And it can be supervised anew.
            let dials = wire.dials;
            _ = until(in_millis(100), supervise(&mut wire, &QUICK, 8)).await;
            assert!(wire.dials >= dials + 3, "{} dials after {polls} polls", wire.dials - dials);
            assert_eq!(world.held.get(), 0, "after {polls} polls");
        });
    }
    assert_eq!(world.cut(), ["close", "dial", "escalate", "ready", "session"]);
    assert!(most > 10, "{most} dials in 200 polls");
}

/// A modem that never says at once whether it is registered, and that nobody answers.
struct Modem {
    slow: u64,
    dials: u64,
}

impl Link for Modem {
    async fn ready(&mut self) {
        wait(self.slow).await;
    }

    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        self.dials += 1;
        Err(None)
    }

    async fn session(&mut self) -> Option<Micros> {
        None
    }
}

/// Every answer was taken for a cable that had been out: the dial was put off each time, and it was
/// never made.
#[test]
fn a_link_whose_medium_is_slow_to_answer_is_dialled() {
    for slow in [1, 100, 10_000] {
        let mut modem = Modem { slow, dials: 0 };
        // A wait, five answers, and as long again for each time it is put off.
        let longest = 20 + 8 * slow;
        simulated::run(async {
            _ = until(in_millis(1_000 * longest), supervise(&mut modem, &QUICK, 7)).await;
        });
        assert!(modem.dials >= 1_000, "{} dials at {slow} ms", modem.dials);
    }
}

static CALLS: CallPolicy = {
    let backoff = checked!(Backoff::new(Duration::from_millis(5), Duration::from_millis(20)));
    let policy = CallPolicy::DEFAULT.with_retry(RetryPolicy::DEFAULT.with_backoff(backoff));
    checked!(policy.with_attempt_timeout(Duration::from_millis(300)))
};
static BREAKER: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(2)));

fn classify(reply: &Result<u32, &'static str>) -> Outcome {
    if reply.is_ok() { Outcome::success() } else { Outcome::unavailable() }
}

/// A peer that fails after a while, and a socket that takes a while to close.
struct Failing<'a>(&'a World);

impl Exchange for Failing<'_> {
    type Reply = u32;
    type Error = &'static str;

    async fn attempt(&mut self, _: AttemptInfo) -> Result<u32, &'static str> {
        self.0.hold("attempt", 2).await;
        Err("down")
    }

    fn classify(&self, reply: &Result<u32, &'static str>) -> Outcome {
        classify(reply)
    }

    async fn close(&mut self) {
        self.0.hold("close", 1).await;
    }
}

#[test]
fn a_call_dropped_anywhere_gives_its_place_back() {
    let world = World::default();
    let mut ended = 0;
    for (polls, half_open) in (0..16).flat_map(|polls| [(polls, false), (polls, true)]) {
        let peers = Peers::<NoopRawMutex, u16, 4>::new();
        let view = || peers.view(1, &CALLS, &BREAKER);
        simulated::run(async {
            let deadline = || CALLS.deadline(EmbassyClock.now(), Deadline::NONE);
            if half_open {
                _ = call(7, view(), deadline(), classify, async |_| Err("down")).await;
                assert_eq!(peers.snapshot(1).map(|shown| shown.state), Some(BreakerState::Open));
                wait(61_000).await;
            }
            let (mut machine, mut failing) = (Call::new(deadline(), 8), Failing(&world));
            let whole = poll_n(polls, drive(&mut machine, view(), &mut failing)).await;
            ended += u32::from(whole.is_some());
            assert_eq!(world.held.get(), 0, "after {polls} polls");
            let trials = peers.snapshot(1).map_or(0, |shown| shown.trials);
            assert_eq!(trials, 0, "after {polls} polls");
            // Whether it opened or not, a minute later the next one is let through.
            wait(61_000).await;
            let reply = call(9, view(), deadline(), classify, async |_| Ok(1)).await;
            assert_eq!(reply, Ok(1), "after {polls} polls");
        });
    }
    assert_eq!(world.cut(), ["attempt", "close"]);
    assert!(ended > 10, "{ended} of them ran to their end");
}

#[test]
fn a_watchdog_dropped_anywhere_is_not_fed() {
    let on_time = OnTime::<NoopRawMutex, 2>::new();
    for polls in 0..20 {
        let fed = Cell::new(0);
        simulated::run(async {
            let feed = || fed.set(fed.get() + 1);
            let period = Micros::from_millis(10);
            let feeding = feed_while_on_time(&on_time, period, Micros::ZERO, feed);
            assert!(poll_n(polls, feeding).await.is_none());
            wait(1_000).await;
        });
        assert_eq!(fed.get(), polls, "once for each poll, and never afterwards");
    }
}

#[test]
fn what_is_limited_and_dropped_anywhere_is_gone() {
    let world = World::default();
    for (limit, polls) in [2, 1_000].into_iter().flat_map(|limit| (0..6).map(move |n| (limit, n))) {
        simulated::run(async {
            let limited = async {
                world.hold("first", 1).await;
                world.hold("second", 3).await;
            };
            let ended = poll_n(polls, until(in_millis(limit), limited)).await;
            assert_eq!(world.held.get(), 0, "after {polls} polls");
            assert_eq!(ended.is_some(), polls >= 3, "after {polls} polls: {ended:?}");
        });
    }
    assert_eq!(world.cut(), ["first", "second"]);
}
