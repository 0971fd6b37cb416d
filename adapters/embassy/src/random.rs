//! This file knows where a device's random numbers come from.
//!
//! A fleet that seeds from the time since boot has one seed: after a power cut it is the same on
//! all of them. So a seed comes from what tells one device from another, or from a hardware
//! generator that is asked once at boot; those block for tens of microseconds and more, so what
//! follows is software.

use core::cell::{RefCell, RefMut};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use evenkeel_core::rng::seed_from;
use evenkeel_core::{Random, SmallRng};

/// A seed for every call, in a static, for everybody.
///
/// ```
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use evenkeel_embassy::Seeds;
///
/// static SEEDS: Seeds<CriticalSectionRawMutex> = Seeds::new(0);
/// // At boot, from the chip's id or its MAC address:
/// SEEDS.of_device(b"\x02\x00\x00\x00\x00\x2a");
/// assert_ne!(SEEDS.next(), SEEDS.next());
/// ```
pub struct Seeds<R: RawMutex>(Mutex<R, RefCell<SmallRng>>);

impl<R: RawMutex> core::fmt::Debug for Seeds<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Seeds").finish_non_exhaustive()
    }
}

impl<R: RawMutex> Seeds<R> {
    /// The seeds that follow from `seed`: a placeholder in a static until the device is known.
    pub const fn new(seed: u32) -> Self {
        Self(Mutex::new(RefCell::new(SmallRng::seeded(seed))))
    }

    /// Starts over with the seeds of the device that `id` names.
    pub fn of_device(&self, id: &[u8]) {
        self.start(seed_from(id));
    }

    /// Starts over with a seed from a generator, such as a hardware one.
    pub fn drawn_from(&self, generator: &mut impl Random) {
        self.start(generator.next_u32());
    }

    /// The next seed.
    pub fn next(&self) -> u32 {
        self.0.lock(|rng| rng.try_borrow_mut().map_or(0, |mut rng| rng.next_u32()))
    }

    fn start(&self, seed: u32) {
        let begin = |mut rng: RefMut<'_, SmallRng>| *rng = SmallRng::seeded(seed);
        self.0.lock(|rng| _ = rng.try_borrow_mut().map(begin));
    }
}

/// A generator of rand_core 0.6 as a [`Random`].
///
/// One newtype for each version, because a chip's crate implements several of them side by side and
/// two blanket implementations cannot exist beside each other.
#[cfg(feature = "rand-core-06")]
#[derive(Clone, Debug)]
pub struct RandCore06<R>(pub R);

#[cfg(feature = "rand-core-06")]
impl<R: rand_core_06::RngCore> Random for RandCore06<R> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// A generator of rand_core 0.9 as a [`Random`].
#[cfg(feature = "rand-core-09")]
#[derive(Clone, Debug)]
pub struct RandCore09<R>(pub R);

#[cfg(feature = "rand-core-09")]
impl<R: rand_core_09::RngCore> Random for RandCore09<R> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// A generator of rand_core 0.10 as a [`Random`].
#[cfg(feature = "rand-core-10")]
#[derive(Clone, Debug)]
pub struct RandCore10<R>(pub R);

#[cfg(feature = "rand-core-10")]
impl<R: rand_core_10::Rng> Random for RandCore10<R> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
}
