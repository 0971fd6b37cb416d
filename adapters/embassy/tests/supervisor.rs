//! A link that is kept up for hours: cables, brokers that hang up, fleets, ladders.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use embassy_futures::join::join_array;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::watch::Watch;
use evenkeel_core::rng::seed_from;
use evenkeel_core::{
    Backoff, Clock, Escalation, Instant, Jitter, Micros, ReconnectPolicy, Rung, Setback, checked,
};
use evenkeel_embassy::{EmbassyClock, Link, OnTime, feed_while_on_time, sleep_until, supervise};

const SECOND: u64 = 1_000_000;

static DEFAULTS: ReconnectPolicy = ReconnectPolicy::DEFAULT;

async fn wait(span: Micros) {
    sleep_until(EmbassyClock.now() + span).await;
}

/// What a link does, and what was done to it.
#[derive(Default)]
struct Modem {
    /// The session lasts so long; a dial fails without one.
    session: Option<Micros>,
    /// How long a dial takes; a twentieth of a second.
    dial: Option<Micros>,
    /// A dial hangs until it is dropped.
    hangs: bool,
    asked: Option<Micros>,
    dials: Rc<RefCell<Vec<u64>>>,
    steps: Rc<RefCell<Vec<Escalation>>>,
    setbacks: Rc<RefCell<Vec<Setback>>>,
    closed: Rc<Cell<u32>>,
    cable: Option<Rc<Watch<NoopRawMutex, bool, 2>>>,
}

impl Link for Modem {
    async fn ready(&mut self) {
        if let Some(cable) = &self.cable {
            cable.receiver().unwrap().get_and(|up| *up).await;
        }
    }

    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        self.dials.borrow_mut().push(simulated::now());
        if self.hangs {
            std::future::pending::<()>().await;
        }
        wait(self.dial.unwrap_or(Micros::from_millis(50))).await;
        if self.session.is_some() { Ok(()) } else { Err(self.asked) }
    }

    async fn session(&mut self) -> Option<Micros> {
        wait(self.session.unwrap_or(Micros::ZERO)).await;
        self.asked
    }

    async fn close(&mut self) {
        self.closed.set(self.closed.get() + 1);
    }

    async fn escalate(&mut self, step: Escalation) {
        self.steps.borrow_mut().push(step);
    }

    fn set_back(&mut self, setback: Setback) {
        self.setbacks.borrow_mut().push(setback);
    }
}

/// Supervises for so many seconds; answers when it dialled.
fn supervised(mut modem: Modem, policy: &ReconnectPolicy, seconds: u64) -> Vec<u64> {
    let dials = Rc::clone(&modem.dials);
    simulated::run(select(
        supervise(&mut modem, policy, 7),
        sleep_until(Instant::from_micros(seconds * SECOND)),
    ));
    Rc::try_unwrap(dials).map_or_else(|dials| dials.borrow().clone(), RefCell::into_inner)
}

#[test]
fn a_broker_that_hangs_up_at_once_meets_growing_waits_for_hours() {
    let modem = Modem { session: Some(Micros::from_millis(200)), ..Modem::default() };
    let closed = Rc::clone(&modem.closed);
    let dials = supervised(modem, &DEFAULTS, 10 * 3_600);
    assert!(dials.len() < 900, "{} dials in ten hours", dials.len());
    assert!(dials.len() > 300, "and it does go on: {}", dials.len());
    assert_eq!(closed.get() as usize, dials.len(), "every session is closed");
    let waits: Vec<u64> = dials.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits[20..].iter().max() > Some(&(100 * SECOND)), "up to the cap");
}

/// sdk-nrf #12177: the wait was used between failed dials only.
#[test]
fn f136_a_proven_session_that_ends_is_not_dialled_at_once() {
    let modem = Modem { session: Some(Micros::from_millis(60_000)), ..Modem::default() };
    let dials = supervised(modem, &DEFAULTS, 3_600);
    for pair in dials.windows(2) {
        let wait = pair[1] - pair[0] - 60 * SECOND - 50_000;
        assert!((1..=SECOND).contains(&wait), "{wait} µs after a minute of session");
    }
}

/// At its deadline it is over, whoever noticed first.
#[test]
fn a_dial_that_is_answered_at_its_deadline_is_a_failed_one() {
    let session = Some(Micros::from_millis(600_000));
    let dial = Some(DEFAULTS.dial_timeout());
    let modem = Modem { session, dial, ..Modem::default() };
    let (closed, setbacks) = (Rc::clone(&modem.closed), Rc::clone(&modem.setbacks));
    let dials = supervised(modem, &DEFAULTS, 300);
    assert!(dials.len() >= 3, "no session began: {dials:?}");
    assert!(closed.get() as usize >= dials.len() - 1, "and each dial is closed");
    let told: Vec<u16> = setbacks.borrow().iter().map(|setback| setback.failures).collect();
    let failures: Vec<u16> = (1..=closed.get() as u16).collect();
    assert_eq!(told, failures, "and told of");
    let just_in_time = dial.map(|limit| limit.minus(Micros::from_micros(1)));
    let modem = Modem { session, dial: just_in_time, ..Modem::default() };
    assert_eq!(supervised(modem, &DEFAULTS, 300).len(), 1);
}

/// cenkalti/backoff #188: the window in which a link is given up counted the hours it had worked.
#[test]
fn f37_the_hours_a_session_lasted_are_not_in_the_window() {
    static ENDING: ReconnectPolicy =
        checked!(ReconnectPolicy::DEFAULT.with_give_up_after(Duration::from_secs(60)));
    const HOUR: u64 = 3_600 * SECOND;
    let modem = Modem { session: Some(Micros::from_micros(2 * HOUR)), ..Modem::default() };
    let dials = supervised(modem, &ENDING, 11 * 3_600);
    assert_eq!(dials.len(), 6, "dialled again after each session: {dials:?}");

    // And from the first failure on it is a minute.
    let mut dead = Modem::default();
    let dials = Rc::clone(&dead.dials);
    let (_, end) = simulated::run_from(0, supervise(&mut dead, &ENDING, 7));
    let first = dials.borrow()[0];
    assert!(end <= first + 60 * SECOND + 50_000, "{end} after {first}");
    assert!(dials.borrow().len() > 3, "and is used: {dials:?}");
}

/// `PicoMQTT` #74: a fixed period, or no jitter at the cap, brought a fleet back as one pulse.
#[test]
fn f137_at_the_cap_a_fleet_is_still_spread() {
    let mut buckets = [0u32; 600];
    for device in 0..200 {
        let mut modem = Modem::default();
        let dials = Rc::clone(&modem.dials);
        simulated::run(select(
            supervise(&mut modem, &DEFAULTS, seed_from(&[2, 0, 0, 0, 0, device])),
            sleep_until(Instant::from_micros(1_200 * SECOND)),
        ));
        for dial in dials.borrow().iter() {
            if let Some(bucket) = (dial / SECOND).checked_sub(600) {
                buckets[bucket as usize] += 1;
            }
        }
    }
    // Ten seconds each: two hundred devices that wait a minute on average make 33 dials.
    let tens: Vec<u32> = buckets.chunks(10).map(|ten| ten.iter().sum()).collect();
    let mean = tens.iter().sum::<u32>() / 60;
    assert!(tens.iter().all(|ten| *ten <= 3 * mean), "{mean} on average: {tens:?}");
    assert!(tens.iter().all(|ten| *ten > 0), "{tens:?}");
}

/// meshmonitor #3241: five clients of one broker had five timers.
#[test]
fn f135_five_clients_and_one_supervisor_dial_like_one() {
    let alone = supervised(Modem::default(), &DEFAULTS, 600).len();
    let up = Watch::<NoopRawMutex, bool, 5>::new();
    let mut modem = Modem::default();
    let dials = Rc::clone(&modem.dials);
    let clients = join_array(std::array::from_fn::<_, 5, _>(|_| async {
        let mut there = up.receiver().unwrap();
        there.get_and(|up| *up).await;
    }));
    let end = Instant::from_micros(600 * SECOND);
    simulated::run(select(select(supervise(&mut modem, &DEFAULTS, 7), clients), sleep_until(end)));
    assert_eq!(dials.borrow().len(), alone);
    assert!(alone < 30, "{alone} dials in ten minutes");
}

/// embassy #3112: with the cable out, connecting was tried in a busy loop or for ever.
#[test]
fn f138_without_a_cable_nothing_is_dialled_and_hardly_anything_polled() {
    static QUICK: ReconnectPolicy = checked!(
        checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO))
            .with_dial_timeout(Duration::from_secs(5))
    );
    let cable = Rc::new(Watch::<NoopRawMutex, bool, 2>::new());
    cable.sender().send(true);
    let mut modem = Modem { hangs: true, cable: Some(Rc::clone(&cable)), ..Modem::default() };
    let (dials, setbacks) = (Rc::clone(&modem.dials), Rc::clone(&modem.setbacks));
    let world = async {
        // Out while connecting, and for a minute.
        wait(Micros::from_millis(2_000)).await;
        cable.sender().send(false);
        wait(Micros::from_millis(60_000)).await;
        assert_eq!(dials.borrow().len(), 1, "dialled without a cable");
        assert_eq!(setbacks.borrow().len(), 1, "the dial ended");
        assert!(simulated::polls() < 20, "{} polls in a minute", simulated::polls());
        cable.sender().send(true);
        wait(Micros::from_millis(1_100)).await;
        assert_eq!(dials.borrow().len(), 2, "within one step of the backoff");
        assert!(dials.borrow()[1] > 62 * SECOND, "but not in the instant it was back");
    };
    let done = simulated::run(select(supervise(&mut modem, &QUICK, 7), world));
    assert!(matches!(done, Either::Second(())));
}

#[test]
fn the_ladder_is_climbed_and_the_link_given_up() {
    const LADDER: &[Rung] = &[Rung::reset_peripheral(3), Rung::reboot(2)];
    static CLIMBING: ReconnectPolicy = {
        let backoff = checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(1)));
        let exact = checked!(backoff.with_jitter(Jitter::None));
        let policy =
            checked!(checked!(ReconnectPolicy::DEFAULT.with_ladder(LADDER)).with_backoff(exact));
        checked!(policy.with_give_up_after(Duration::from_secs(12)))
    };
    let mut modem = Modem::default();
    let (steps, dials) = (Rc::clone(&modem.steps), Rc::clone(&modem.dials));
    let (_, end) = simulated::run_from(0, supervise(&mut modem, &CLIMBING, 7));
    use Escalation::{Reboot, ResetPeripheral};
    assert_eq!(*steps.borrow(), [ResetPeripheral, Reboot, Reboot, Reboot, Reboot]);
    let first = dials.borrow()[0];
    assert!(end <= first + 12 * SECOND + 200_000, "given up in time");
}

#[test]
fn a_hint_is_waited_for_and_not_in_step() {
    let hint = Some(Micros::from_millis(30_000));
    let firsts: Vec<u64> = (0..50)
        .map(|seed| {
            let mut modem = Modem { asked: hint, ..Modem::default() };
            let dials = Rc::clone(&modem.dials);
            let end = Instant::from_micros(60 * SECOND);
            simulated::run(select(supervise(&mut modem, &DEFAULTS, seed), sleep_until(end)));
            let dials = dials.borrow();
            dials[1] - dials[0]
        })
        .collect();
    assert!(firsts.iter().all(|wait| *wait >= 30 * SECOND));
    let (low, high) = (firsts.iter().min().unwrap(), firsts.iter().max().unwrap());
    assert!(high - low > SECOND / 2, "spread over the own wait");
}

#[test]
fn the_dog_is_fed_only_while_everything_is_on_time() {
    let on_time = OnTime::<NoopRawMutex, 2>::new();
    let fed = RefCell::new(Vec::new());
    let (period, grace) = (Micros::from_millis(100), Micros::from_millis(50));
    let dog =
        feed_while_on_time(&on_time, period, grace, || fed.borrow_mut().push(simulated::now()));
    let work = async {
        // One that is on time, then one that hangs for a second beyond its deadline.
        let promise = on_time.promise(deadline_in(500));
        wait(Micros::from_millis(400)).await;
        drop(promise);
        let late = on_time.promise(deadline_in(200));
        wait(Micros::from_millis(1_200)).await;
        drop(late);
        wait(Micros::from_millis(200)).await;
    };
    simulated::run(select(dog, work));
    let fed = fed.borrow();
    // Late from 600 ms on, forgiven to 650, and over at 1600.
    assert!(fed.contains(&600_000) && fed.contains(&1_700_000), "{fed:?}");
    assert!(!fed.iter().any(|at| (650_000..1_600_000).contains(at)), "{fed:?}");
}

fn deadline_in(millis: u64) -> evenkeel_core::Deadline {
    evenkeel_core::Deadline::at(EmbassyClock.now() + Micros::from_millis(millis))
}
