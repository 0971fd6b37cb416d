//! A bounded number of breakers by key: C10, C36 to C42, and G77.

use evenkeel_core::{BreakerState, BreakerTable, Deadline, Instant, Rejected, Transition, Verdict};

use crate::policies::{ms, opens_after};

/// A table whose attempts take no time and whose leases have passed before the next one.
struct Table<const N: usize> {
    table: BreakerTable<&'static str, N>,
    now: Instant,
}

impl<const N: usize> Table<N> {
    fn new() -> Self {
        Self { table: BreakerTable::new(), now: Instant::from_micros(7_000_000) }
    }

    fn attempt(
        &mut self,
        key: &'static str,
        verdict: Verdict,
    ) -> Result<Option<Transition>, Rejected> {
        let policy = opens_after(2);
        self.now = self.now + ms(200);
        let lease = Deadline::at(self.now + ms(100));
        let permit = self.table.admit(self.now, key, lease, &policy)?;
        Ok(self.table.record(self.now, key, permit, verdict, &policy))
    }

    fn use_once(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.attempt(key, Verdict::Success).unwrap();
        }
    }

    fn open(&mut self, key: &'static str) {
        self.attempt(key, Verdict::Failure).unwrap();
        self.attempt(key, Verdict::Failure).unwrap();
    }

    /// The keys that have a breaker, in the order of their names.
    fn keys(&self) -> Vec<&'static str> {
        let mut keys: Vec<_> = self.table.snapshots().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys
    }

    fn state(&self, key: &'static str) -> Option<BreakerState> {
        self.table.get(key).map(evenkeel_core::CircuitBreaker::state)
    }
}

#[test]
fn c10_keys_do_not_meet() {
    let mut table = Table::<4>::new();
    table.open("Pay");
    assert!(table.attempt("Pay", Verdict::Success).is_err());
    assert_eq!(table.attempt("Get", Verdict::Success), Ok(None));
}

#[test]
fn c36_the_least_recently_used_goes() {
    let mut table = Table::<2>::new();
    table.use_once(&["m1", "m2", "m3"]);
    assert_eq!(table.keys(), ["m2", "m3"]);
    table.use_once(&["m2", "m4"]);
    assert_eq!(table.keys(), ["m2", "m4"]);
}

#[test]
fn c37_an_open_circuit_outlives_any_churn() {
    let mut table = Table::<2>::new();
    table.open("down");
    table.use_once(&["a", "b", "c", "d", "e"]);
    assert_eq!(table.state("down"), Some(BreakerState::Open));
    assert!(table.attempt("down", Verdict::Success).is_err());
}

/// A server's table may grow for the newcomer; one of a fixed size cannot.
#[test]
fn c38_with_no_slot_to_spare_the_newcomer_is_let_through_and_counted() {
    let mut table = Table::<2>::new();
    table.open("down");
    table.open("out");
    assert_eq!(table.attempt("new", Verdict::Failure), Ok(None));
    assert_eq!(table.attempt("new", Verdict::Failure), Ok(None), "nothing remembers it");
    assert_eq!((table.keys(), table.table.untracked()), (vec!["down", "out"], 2));
    assert!(table.attempt("down", Verdict::Success).is_err());
    assert!(table.attempt("out", Verdict::Success).is_err());
}

#[test]
fn c40_of_closed_ones_with_failures_the_least_recently_used_goes() {
    let mut table = Table::<2>::new();
    table.attempt("a", Verdict::Failure).unwrap();
    table.attempt("b", Verdict::Failure).unwrap();
    table.use_once(&["c"]);
    assert_eq!(table.keys(), ["b", "c"]);
    // One with nothing counted goes before one with failures, however recently it was used.
    table.use_once(&["d"]);
    assert_eq!(table.keys(), ["b", "d"]);
}

#[test]
fn c42_a_half_open_circuit_is_never_evicted() {
    let mut table = Table::<2>::new();
    table.open("back");
    table.now = table.now + ms(10_000);
    table.attempt("back", Verdict::Ignored).unwrap();
    table.use_once(&["a", "b", "c"]);
    assert_eq!(table.state("back"), Some(BreakerState::HalfOpen));
}

#[test]
fn g77_the_thousand_and_first_name_takes_the_place_of_a_clean_one() {
    let mut table = BreakerTable::<u16, 1_000>::new();
    let policy = opens_after(1);
    let mut now = Instant::from_micros(7_000_000);
    for name in 0..1_001 {
        now = now + ms(200);
        let lease = Deadline::at(now + ms(100));
        let permit = table.admit(now, name, lease, &policy).unwrap();
        let verdict = if name == 0 { Verdict::Failure } else { Verdict::Success };
        table.record(now, name, permit, verdict, &policy);
    }
    assert_eq!((table.len(), table.untracked()), (1_000, 0));
    assert_eq!(table.get(0).map(evenkeel_core::CircuitBreaker::state), Some(BreakerState::Open));
    assert!(table.get(1).is_none() && table.get(1_000).is_some());
}

/// An attempt that is still under way keeps its breaker, so that its result has somewhere to go;
/// however long ago the clock started, and wherever in the circle of its coarse time it stands.
#[test]
fn a_breaker_with_an_attempt_under_way_is_not_evicted() {
    let policy = opens_after(1);
    for start in [0, 7_000_000, (1 << 47) - 1, (1 << 48) - 1, 1 << 60] {
        let now = Instant::from_micros(start);
        let mut table = BreakerTable::<&str, 1>::new();
        let permit = table.admit(now, "slow", Deadline::at(now + ms(5_000)), &policy).unwrap();
        let later = now + ms(1_000);
        assert!(table.admit(later, "new", Deadline::NONE, &policy).is_ok());
        assert_eq!(table.untracked(), 1, "{start}");
        table.record(later, "slow", permit, Verdict::Success, &policy);

        let lease_over = now + ms(5_200);
        assert!(table.admit(lease_over, "new", Deadline::NONE, &policy).is_ok());
        assert_eq!((table.untracked(), table.get("slow")), (1, None), "{start}");
    }
}

/// A lease of a hundred years is one that has not passed, not one that looks like the past.
#[test]
fn an_enormous_lease_keeps_its_breaker() {
    let (policy, now) = (opens_after(1), Instant::from_micros(7_000_000));
    let mut table = BreakerTable::<&str, 1>::new();
    let century = Deadline::at(now + ms(100 * 365 * 86_400_000));
    let permit = table.admit(now, "slow", century, &policy).unwrap();
    assert!(table.admit(now + ms(365 * 86_400_000), "new", Deadline::NONE, &policy).is_ok());
    let changed = table.record(now, "slow", permit, Verdict::Failure, &policy);
    assert_eq!(changed, Some(Transition::Opened));
}

/// A key that was evicted and came back is guarded by a new breaker, which leave of the old one
/// does not touch.
#[test]
fn leave_of_an_evicted_breaker_means_nothing_to_its_successor() {
    let policy = opens_after(1);
    let mut table = BreakerTable::<&str, 1>::new();
    let mut now = Instant::from_micros(7_000_000);
    let mut admit = |table: &mut BreakerTable<_, 1>, key| {
        now = now + ms(200);
        table.admit(now, key, Deadline::at(now + ms(100)), &policy).unwrap()
    };
    let straggler = admit(&mut table, "a");
    let _evicts = admit(&mut table, "b");
    let current = admit(&mut table, "a");
    assert_eq!(table.record(now, "a", straggler, Verdict::Failure, &policy), None);
    let changed = table.record(now, "a", current, Verdict::Failure, &policy);
    assert_eq!(changed, Some(Transition::Opened));
}

/// A permit that its breaker did not give keeps no slot: that of an attempt that was let through
/// without one, or whose breaker was forgotten since.
#[test]
fn a_permit_of_nobody_keeps_no_slot() {
    let policy = opens_after(2);
    let mut table = BreakerTable::<u8, 1>::new();
    let start = Instant::from_micros(7_000_000);
    let at = |millis| start + ms(millis);
    let _held = table.admit(at(0), 1, Deadline::at(at(100)), &policy).unwrap();
    let untracked = table.admit(at(0), 2, Deadline::NONE, &policy).unwrap();
    assert_eq!((table.untracked(), table.get(2).is_some()), (1, false));

    let permit = table.admit(at(200), 2, Deadline::at(at(210)), &policy).unwrap();
    table.renew(at(205), 2, &untracked, &policy);
    assert_eq!(table.record(at(205), 2, permit, Verdict::Success, &policy), None);
    _ = table.admit(at(400), 3, Deadline::at(at(410)), &policy).unwrap();
    assert_eq!((table.untracked(), table.get(3).is_some()), (1, true));
}
