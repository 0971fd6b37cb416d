//! A thousand devices come back after a power cut and meet one broker that takes a hundred sessions
//! a second and refuses the rest: each device is the adapter's own supervisor, in virtual time.
//!
//! The storm is printed for four policies, side by side. The exit status says whether the shipped
//! defaults kept what they promise: at most 30 dials in any 100 ms, all connected within 30 s.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use embassy_futures::select::select;
use evenkeel_embassy::core::rng::seed_from;
use evenkeel_embassy::core::{Backoff, Clock, Instant, Jitter, Micros, ReconnectPolicy, checked};
use evenkeel_embassy::{EmbassyClock, Link, sleep_until, supervise};
use futures_util::future::join_all;

const DEVICES: u16 = 1_000;
const PER_TENTH: usize = 10;
const HORIZON: u64 = 600;
const SECOND: u64 = 1_000_000;

static POLICIES: [(&str, ReconnectPolicy); 4] = [
    ("defaults: splay 20 s, full jitter", ReconnectPolicy::DEFAULT),
    ("no splay, full jitter", NO_SPLAY),
    ("splay 20 s, no jitter", NO_JITTER),
    ("neither", checked!(NO_JITTER.with_splay(Duration::ZERO))),
];
const NO_SPLAY: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
const NO_JITTER: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_backoff(checked!(
        checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(120)))
            .with_jitter(Jitter::None)
    )));

fn main() -> ExitCode {
    println!("policy                               peak/100 ms  half up    all up  dials/device");
    let mut kept = true;
    for (name, policy) in &POLICIES {
        let storm = storm(policy);
        println!("{name:36} {}", storm.line());
        if *policy == ReconnectPolicy::DEFAULT {
            kept = storm.peak() <= 30 && storm.up_after(usize::from(DEVICES)) <= Some(30 * SECOND);
        }
    }
    if kept {
        ExitCode::SUCCESS
    } else {
        println!("the defaults broke their promise: 30 dials in any 100 ms, all up within 30 s");
        ExitCode::FAILURE
    }
}

/// What a broker saw.
#[derive(Debug, Default)]
struct Storm {
    dials: RefCell<Vec<u64>>,
    connected: RefCell<Vec<u64>>,
    taken: Cell<(u64, usize)>,
}

impl Storm {
    /// Whether the broker takes a session now.
    fn takes(&self) -> bool {
        let now = simulated::now();
        self.dials.borrow_mut().push(now);
        let tenth = now / (SECOND / 10);
        let (last, taken) = self.taken.get();
        let taken = if last == tenth { taken + 1 } else { 1 };
        self.taken.set((tenth, taken));
        taken <= PER_TENTH
    }

    /// The most dials in any 100 ms.
    fn peak(&self) -> usize {
        let mut window = VecDeque::new();
        let mut peak = 0;
        for dial in self.dials.borrow().iter() {
            window.push_back(*dial);
            while window.front().is_some_and(|first| first + SECOND / 10 <= *dial) {
                window.pop_front();
            }
            peak = peak.max(window.len());
        }
        peak
    }

    /// When so many devices were connected.
    fn up_after(&self, devices: usize) -> Option<u64> {
        self.connected.borrow().get(devices - 1).copied()
    }

    fn line(&self) -> String {
        let seconds = |devices| match self.up_after(devices) {
            Some(at) => format!("{:6.1} s", at as f64 / SECOND as f64),
            None => format!("> {HORIZON} s"),
        };
        let devices = usize::from(DEVICES);
        let (half, all) = (seconds(devices / 2), seconds(devices));
        let dials = self.dials.borrow().len() as f64 / f64::from(DEVICES);
        format!("{:11}  {half:>8}  {all:>8}  {dials:12.1}", self.peak())
    }
}

/// One device, and the broker they share.
struct Device<'a>(&'a Storm);

impl Link for Device<'_> {
    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        let taken = self.0.takes();
        sleep_until(EmbassyClock.now() + Micros::from_millis(50)).await;
        if taken { Ok(()) } else { Err(None) }
    }

    async fn session(&mut self) -> Option<Micros> {
        self.0.connected.borrow_mut().push(simulated::now());
        std::future::pending().await
    }
}

fn storm(policy: &'static ReconnectPolicy) -> Storm {
    let storm = Storm::default();
    let devices = (0..DEVICES).map(|number| {
        let device = Device(&storm);
        async move {
            let mut device = device;
            let [high, low] = number.to_be_bytes();
            supervise(&mut device, policy, seed_from(&[2, 0, 0, 0, high, low])).await;
        }
    });
    let horizon = sleep_until(Instant::from_micros(HORIZON * SECOND));
    simulated::run(select(join_all(devices), horizon));
    storm
}
