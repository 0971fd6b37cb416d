//! The laws of outliers: random fleets against a model in floats and plain sums.

use core::time::Duration;

use evenkeel_core::{
    Balancer, Code, EjectionPolicy, FailurePercentage, Instant, Micros, Outcome, Outlier,
    OutlierChange, OutlierPolicy, OutlierSweep, Permit, Report, SmallRng, Standing, Strategy as By,
    SuccessRate, Target, Tried, Weight,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The settings of a model, and the policy of them.
#[derive(Clone, Copy, Debug)]
struct Settings {
    base: u64,
    max: u64,
    max_percent: u8,
    factor: Option<u32>,
    threshold: Option<u8>,
    min_hosts: u16,
    min_requests: u32,
}

impl Settings {
    fn policy(&self) -> EjectionPolicy {
        let (base, max) = (Duration::from_secs(self.base), Duration::from_secs(self.max));
        let mut policy = EjectionPolicy::DEFAULT
            .without_success_rate()
            .without_failure_percentage()
            .with_times(base, max)
            .and_then(|policy| policy.with_max_percent(self.max_percent))
            .unwrap();
        if let Some(factor) = self.factor {
            let rule = SuccessRate::new(factor, self.min_hosts, self.min_requests);
            policy = policy.with_success_rate(rule.unwrap());
        }
        if let Some(threshold) = self.threshold {
            let rule = FailurePercentage::new(threshold, self.min_hosts, self.min_requests);
            policy = policy.with_failure_percentage(rule.unwrap());
        }
        policy
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    let rules = (
        select(vec![None, Some(0), Some(500), Some(1_900), Some(1_000_000)]),
        select(vec![None, Some(0), Some(50), Some(85), Some(100)]),
    );
    let volumes = (select(vec![1u16, 3, 5]), select(vec![1u32, 10, 100]));
    let times = (select(vec![1u64, 30, 400]), select(vec![0u64, 100, 300]));
    (times, select(vec![0u8, 10, 34, 50, 100]), rules, volumes).prop_map(
        |((base, max), max_percent, (factor, threshold), (min_hosts, min_requests))| Settings {
            base,
            max,
            max_percent,
            factor,
            threshold,
            min_hosts,
            min_requests,
        },
    )
}

/// One target of the model.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    until: u64,
    out: bool,
    times: u64,
}

/// One interval of one target: its calls, and whether a health check has nothing against it.
type Calls = (u32, u32, bool);

/// What a sweep at `now` (seconds) should do; `None` if floats cannot tell.
fn due(
    settings: &Settings,
    hosts: &mut [Host],
    calls: &[Calls],
    now: u64,
) -> Option<Vec<(u16, OutlierChange)>> {
    let mut changes = Vec::new();
    let volume = |calls: &Calls| calls.0 + calls.1;
    let judged: Vec<&Calls> =
        calls.iter().filter(|one| volume(one) >= settings.min_requests).collect();
    let enough = judged.len() >= usize::from(settings.min_hosts);
    let rate = |calls: &Calls| f64::from(calls.0) / f64::from(volume(calls));
    let mut deserved: Vec<Vec<bool>> = Vec::new();
    if let Some(factor) = settings.factor {
        let count = judged.len() as f64;
        let mean = judged.iter().map(|one| rate(one)).sum::<f64>() / count;
        let variance = judged.iter().map(|one| (rate(one) - mean).powi(2)).sum::<f64>() / count;
        let limit = mean - variance.sqrt() * f64::from(factor) / 1_000.0;
        let edge = judged
            .iter()
            .any(|one| (rate(one) - limit).abs() < 1e-3 * (1.0 + f64::from(factor) / 1_000.0));
        // All alike is no edge: nobody is below the mean.
        if enough && edge && variance > 0.0 {
            return None;
        }
        deserved
            .push(calls.iter().map(|one| enough && variance > 0.0 && rate(one) < limit).collect());
    }
    if let Some(threshold) = settings.threshold {
        let above =
            |one: &Calls| u64::from(one.1) * 100 > u64::from(threshold) * u64::from(volume(one));
        deserved.push(calls.iter().map(|one| enough && above(one)).collect());
    }
    for deserved in deserved {
        for at in 0..hosts.len() {
            let ejected = hosts.iter().filter(|host| host.out).count();
            let limit = (hosts.len() * usize::from(settings.max_percent) / 100).max(1);
            let others = (0..hosts.len()).filter(|other| *other != at);
            let others_up = others.filter(|one| calls[*one].2 && now >= hosts[*one].until).count();
            let is_judged = volume(&calls[at]) >= settings.min_requests;
            if deserved[at] && is_judged && !hosts[at].out && ejected < limit && others_up > 0 {
                let host = &mut hosts[at];
                host.out = true;
                host.times += 1;
                let span = (settings.base * host.times).min(settings.base.max(settings.max));
                host.until = now + span;
                changes.push((at as u16, OutlierChange::Ejected));
            }
        }
    }
    for (at, host) in hosts.iter_mut().enumerate() {
        if !host.out {
            host.times = host.times.saturating_sub(1);
        } else if now >= host.until {
            host.out = false;
            changes.push((at as u16, OutlierChange::Returned));
        }
    }
    Some(changes)
}

const fn at(seconds: u64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

#[test]
fn who_is_ejected_and_for_how_long() {
    let calls = || (select(vec![0u32, 1, 9, 50, 100, 1_000]), select(vec![0u32, 0, 0, 1, 40, 900]));
    let calls = move || (calls(), prop::bool::weighted(0.8)).prop_map(|((s, f), h)| (s, f, h));
    let fleet = (1..12usize).prop_flat_map(move |hosts| vec(vec(calls(), hosts), 1..30));
    let seen = core::cell::Cell::new((0u32, 0u32));
    on_random((settings(), fleet), |(settings, intervals)| {
        let policy = settings.policy();
        let mut outliers = vec![Outlier::new(); intervals[0].len()];
        let mut hosts = vec![Host::default(); outliers.len()];
        let mut sweep = OutlierSweep::starting(at(0), &policy);
        for (number, calls) in intervals.iter().enumerate() {
            let seconds = 10 * (number as u64 + 1);
            ensure!(sweep.due() == at(seconds), "due at {:?}", sweep.due());
            for (outlier, (successes, failures, _)) in outliers.iter_mut().zip(calls) {
                outlier.add(*successes, *failures);
            }
            let Some(expected) = due(&settings, &mut hosts, calls, seconds) else {
                return Ok(());
            };
            let mut told = Vec::new();
            let healthy = |target: Target| calls[usize::from(target.number())].2;
            let tell = |target: Target, change| told.push((target.number(), change));
            sweep.run(at(seconds), &mut outliers, &policy, healthy, tell);
            let ejected = told.iter().filter(|(_, one)| *one == OutlierChange::Ejected).count();
            seen.set((seen.get().0 + 1, seen.get().1 + ejected as u32));
            ensure!(told == expected, "at {seconds}: {told:?}, not {expected:?}");
            for (outlier, host) in outliers.iter().zip(&hosts) {
                let out = outlier.standing(at(seconds)) == Standing::Suspect;
                ensure!(out == (seconds < host.until), "{outlier:?} and {host:?}");
                ensure!(u64::from(outlier.ejections()) == host.times, "{outlier:?} and {host:?}");
            }
        }
        Ok(())
    });
    let (sweeps, ejections) = seen.get();
    assert!(sweeps > 500 && ejections > 200, "{sweeps} sweeps compared, {ejections} ejections");
}

/// However broken the fleet is: as long as one target is healthy, there is one to ask.
#[test]
fn doubt_leaves_nobody_without_a_target() {
    let events = vec((0..6u16, select(vec![0, 1_000_000, 11_000_000]), any::<bool>()), 0..300);
    on_random((events, vec(any::<bool>(), 6)), |(events, healthy)| {
        let ejection = EjectionPolicy::DEFAULT
            .with_failure_percentage(FailurePercentage::new(0, 1, 1).unwrap())
            .with_max_percent(100)
            .unwrap();
        let policy = OutlierPolicy::DEFAULT.with_ejection(ejection);
        let mut outliers = [Outlier::new(); 6];
        let (mut balancer, mut rng) = (Balancer::new(By::Random), SmallRng::seeded(1));
        let (mut now, mut sweep) = (Instant::ZERO, OutlierSweep::starting(at(0), &ejection));
        for (target, pass, good) in events {
            now = now + Micros::from_micros(pass);
            let outcome = if good { Outcome::success() } else { Outcome::unavailable() };
            let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
            outliers[usize::from(target)].record(now, &report, &policy);
            let is_healthy = |target: Target| healthy[usize::from(target.number())];
            let up = |outliers: &[Outlier; 6]| {
                let up =
                    |one: &usize| healthy[*one] && outliers[*one].standing(now) == Standing::Up;
                (0..6).filter(up).count()
            };
            let before = up(&outliers);
            sweep.run(now, &mut outliers, &ejection, is_healthy, |_, _| {});
            ensure!(before == 0 || up(&outliers) > 0, "the last one up was ejected");

            let standings: Vec<Standing> = outliers
                .iter()
                .zip(&healthy)
                .map(|(one, good)| if *good { one.standing(now) } else { Standing::Down })
                .collect();
            let ask = |_| Ok(Permit::UNTRACKED);
            let picked = balancer.pick(&&standings[..], Tried::NONE, &mut rng, ask);
            ensure!(picked.is_ok() == healthy.contains(&true), "{picked:?} of {standings:?}");
        }
        Ok(())
    });
}

#[test]
fn what_quarantines_and_what_counts() {
    let policy = OutlierPolicy::DEFAULT;
    let counting = policy.with_ejection(EjectionPolicy::DEFAULT);
    for code in Code::ALL {
        for weight in [Weight::Cancelled, Weight::Counts, Weight::CutShort, Weight::Transparent] {
            let report = Report { outcome: Outcome::new(code), took: Micros::ZERO, weight };
            let counts = weight == Weight::Counts;
            let unreachable = matches!(code, Code::Unavailable | Code::DeadlineExceeded);
            let mut outlier = Outlier::new();
            let change = outlier.record(at(7), &report, &policy);
            let out = (counts && unreachable).then_some(OutlierChange::Quarantined);
            assert_eq!(change, out, "{code} {weight:?}");
            assert_eq!(policy.minds(&report), out.is_some());
            assert_eq!(outlier == Outlier::new(), out.is_none(), "it minds, or nothing is booked");

            let mut outlier = Outlier::new();
            outlier.record(at(7), &report, &counting);
            assert_eq!(outlier == Outlier::new(), !counting.minds(&report), "{code} {weight:?}");
            assert!(!OutlierPolicy::OFF.minds(&report));
        }
    }
}

/// What speaks for a target, what against it, and what of neither: no success of `NOT_FOUND` either.
#[test]
fn answers_are_evidence_and_what_is_no_failure_is_none() {
    let policy = OutlierPolicy::DEFAULT.with_ejection(EjectionPolicy::DEFAULT);
    let report = |code, weight| Report { outcome: Outcome::new(code), took: Micros::ZERO, weight };
    let codes = [
        (Code::Ok, Some(true)),
        (Code::NotFound, None),
        (Code::Cancelled, None),
        (Code::Unavailable, Some(false)),
        (Code::Internal, Some(false)),
    ];
    for (code, evidence) in codes {
        assert_eq!(policy.evidence(&report(code, Weight::Counts)), evidence, "{code}");
        assert_eq!(policy.evidence(&report(code, Weight::Cancelled)), None, "{code}");
        let (mut booked, mut counted) = (Outlier::new(), Outlier::new());
        booked.record(at(7), &report(code, Weight::Counts), &policy);
        counted.record(at(7), &report(code, Weight::Cancelled), &policy);
        assert_eq!(counted, Outlier::new(), "{code}");
        counted.add(u32::from(evidence == Some(true)), u32::from(evidence == Some(false)));
        assert_eq!(format!("{booked:?}").contains("successes: 1"), evidence == Some(true));
        assert_eq!(format!("{booked:?}").contains("failures: 1"), evidence == Some(false));
        if booked.standing(at(7)) == Standing::Up {
            assert_eq!(booked, counted, "{code}");
        }
    }
}

#[test]
fn a_quarantine_is_never_shortened_and_told_once() {
    let events = vec(select(vec![0u64, 1, 4_999_999, 5_000_000, 70_000_000]), 0..60);
    on_random((events, any::<bool>()), |(passes, back)| {
        let policy = OutlierPolicy::DEFAULT;
        let report =
            Report { outcome: Outcome::unavailable(), took: Micros::ZERO, weight: Weight::Counts };
        let (mut outlier, mut now, mut until) = (Outlier::new(), 1_000_000_000u64, 0u64);
        for (number, pass) in passes.into_iter().enumerate() {
            // Every third step the clock goes back a little.
            now = if back && number % 3 == 2 { now - 1_000 } else { now + pass };
            let told = outlier.record(Instant::from_micros(now), &report, &policy);
            ensure!(told.is_some() == (now >= until), "{told:?} at {now}, out until {until}");
            until = until.max(now + 5_000_000);
            ensure!(outlier.until().as_micros() == until, "{outlier:?}, not {until}");
        }
        Ok(())
    });
}

/// The largest numbers there are: a fleet of 65,535 with full counters, at the end of time.
#[test]
fn no_overflow_in_any_profile() {
    let longest = Duration::from_micros((1 << 48) - 1);
    let policy = EjectionPolicy::DEFAULT
        .with_success_rate(SuccessRate::new(1_000_000, 1, 1).unwrap())
        .with_failure_percentage(FailurePercentage::new(0, 1, 1).unwrap())
        .with_times(longest, longest)
        .unwrap();
    let mut outliers = vec![Outlier::new(); usize::from(u16::MAX) + 5];
    for outlier in &mut outliers {
        outlier.add(u32::MAX, u32::MAX);
        outlier.add(1, 1);
    }
    outliers[9].add(0, u32::MAX);
    let mut sweep = OutlierSweep::starting(Instant::from_micros(u64::MAX - 1), &policy);
    assert_eq!(sweep.due(), Instant::MAX);
    let mut ejected = 0;
    let tell = |_, change| ejected += u32::from(change == OutlierChange::Ejected);
    sweep.run(Instant::MAX, &mut outliers, &policy, |_| true, tell);
    assert_eq!(ejected, 6_553, "a tenth of 65,535, and the others are left alone");

    // All of them perfect: nothing to compare, and no product overflows.
    let mut outliers = vec![Outlier::new(); usize::from(u16::MAX)];
    outliers.iter_mut().for_each(|outlier| outlier.add(u32::MAX, 0));
    let mut sweep = OutlierSweep::starting(at(0), &policy);
    sweep.run(at(20), &mut outliers, &policy, |_| true, |_, _| panic!("ejected"));
}
