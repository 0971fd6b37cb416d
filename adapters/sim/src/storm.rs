//! This file knows the reconnect storm: a fleet of devices that all lost their link at once.
//!
//! At time 0 every device dials. The server accepts so many a second and refuses the rest at once;
//! a refused device waits as its [`Backoff`] says, with the core's own machine, and dials again.
//! A device is sixteen bytes, so a million fit into a cache's neighbourhood.

use evenkeel_core::{Backoff, Growth, Micros, SmallRng};

use crate::Agenda;
use crate::chance::subseed;
use crate::record::Fnv;

/// A storm to be run.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// How many devices dial at time 0.
    pub devices: u32,
    /// In how many seconds the server could accept them all if they came evenly.
    pub ideal: u32,
    /// The waits between dials.
    pub backoff: Backoff,
    /// How long before the first dial a device waits at most, evenly spread; zero for none.
    pub splay: Micros,
    /// When the run ends, whoever is still waiting.
    pub horizon: Micros,
}

/// How a storm went.
#[derive(Clone, Debug, PartialEq)]
pub struct StormReport {
    /// Dials, the refused ones included.
    pub attempts: u64,
    /// When each hundredth of the fleet had connected, in microseconds; shorter than 100 if the
    /// run ended before.
    pub hundredths: Vec<u64>,
    /// Devices connected at the end.
    pub connected: u32,
    /// The most dials in a tenth of a second after the first second, over what the server accepts
    /// in one.
    pub peak: f64,
    /// Dials in each tenth of a second.
    pub tenths: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Device {
    growth: Growth,
    rng: SmallRng,
}

impl Storm {
    /// The standard one: what the server accepts in 50 s, at most 1200 s, no splay.
    pub const fn new(devices: u32, backoff: Backoff) -> Self {
        let horizon = Micros::from_millis(1_200_000);
        Self { devices, ideal: 50, backoff, splay: Micros::ZERO, horizon }
    }

    /// Runs it.
    pub fn run(&self, seed: u64) -> StormReport {
        let mut agenda = Agenda::new();
        let mut fleet = Vec::with_capacity(self.devices as usize);
        for index in 0..self.devices {
            let mut rng = SmallRng::seeded(subseed(seed, index.into()) as u32);
            let splay = self.splay.as_micros();
            let first = if splay == 0 { 0 } else { spread(&mut rng, splay) };
            fleet.push(Device { growth: Growth::START, rng });
            agenda.push(first, index);
        }
        let mut door = Door::new(self.devices, self.ideal);
        let mut report = StormReport::new(self.horizon.as_micros());
        while let Some((now, index)) = agenda.pop() {
            if now >= self.horizon.as_micros() {
                break;
            }
            report.dialled(now);
            if door.accepts(now) {
                report.accepted(now, self.devices);
                continue;
            }
            let device = &mut fleet[index as usize];
            let wait = self.backoff.next_delay(&mut device.growth, &mut device.rng);
            // A refusal takes no time, and a wait of nothing at all would never end.
            agenda.push(now + wait.as_micros().max(1), index);
        }
        report.find_peak(f64::from(self.devices) / f64::from(self.ideal.max(1)) / 10.0);
        report
    }
}

/// Lets so many in per second, the ones of the last tenth of a second at once.
struct Door {
    /// Microseconds for each.
    gap: f64,
    /// When the next is due, if they came evenly.
    due: f64,
}

impl Door {
    fn new(devices: u32, ideal: u32) -> Self {
        Self { gap: f64::from(ideal) * 1e6 / f64::from(devices.max(1)), due: 0.0 }
    }

    fn accepts(&mut self, now: u64) -> bool {
        let now = now as f64;
        if self.due < now - TENTH as f64 {
            self.due = now - TENTH as f64;
        }
        let open = self.due <= now;
        if open {
            self.due += self.gap;
        }
        open
    }
}

impl StormReport {
    fn new(horizon: u64) -> Self {
        let tenths = vec![0; horizon.div_ceil(TENTH) as usize];
        Self { attempts: 0, hundredths: Vec::new(), connected: 0, peak: 0.0, tenths }
    }

    fn dialled(&mut self, now: u64) {
        self.attempts += 1;
        self.tenths[(now / TENTH) as usize] += 1;
    }

    fn accepted(&mut self, now: u64, devices: u32) {
        self.connected += 1;
        while self.hundredths.len() < 100
            && u64::from(self.connected) * 100
                >= u64::from(devices) * (self.hundredths.len() as u64 + 1)
        {
            self.hundredths.push(now);
        }
    }

    fn find_peak(&mut self, accepted_in_a_tenth: f64) {
        let most = self.tenths.iter().skip(10).max().copied().unwrap_or(0);
        self.peak = f64::from(most) / accepted_in_a_tenth;
    }

    /// Seconds until this many per cent of the fleet had connected.
    pub fn seconds(&self, percent: usize) -> Option<f64> {
        self.hundredths.get(percent.saturating_sub(1)).map(|micros| *micros as f64 / 1e6)
    }

    /// One number for the whole report: equal runs have equal digests, on any platform.
    pub fn digest(&self) -> u64 {
        let mut hash = Fnv::START;
        hash.eat(self.attempts);
        hash.eat(self.connected.into());
        for micros in &self.hundredths {
            hash.eat(*micros);
        }
        for tenth in &self.tenths {
            hash.eat((*tenth).into());
        }
        hash.0
    }
}

fn spread(rng: &mut SmallRng, span: u64) -> u64 {
    use evenkeel_core::Random;
    ((u128::from(span) * u128::from(rng.next_u32())) >> 32) as u64
}

const TENTH: u64 = 100_000;
