//! This file knows what is known of targets: their health, what their calls say, and who is picked.

use core::hint::black_box;

use evenkeel_core::{
    Answer, Balancer, EjectionPolicy, FailurePercentage, Health, HealthChange, HealthPolicy,
    HealthWatch, Members, Outlier, OutlierPolicy, OutlierSweep, Standing, Strategy, SuccessRate,
    Target, check_weights,
};
use evenkeel_probe::{any, blur};

use crate::values::{Shaken, derived};

pub(crate) fn reach() {
    checks();
    watches();
    outliers();
    balancers();
}

fn checks() {
    let policy: HealthPolicy = any();
    let _ = HealthPolicy::default();
    let _ = HealthPolicy::interval(&policy);
    let _ = HealthPolicy::timeout(&policy);
    let _ = HealthPolicy::max_backoff(&policy);
    let _ = HealthPolicy::unimplemented(&policy);
    let _ = (HealthPolicy::rise(&policy), HealthPolicy::fall(&policy));
    let _ = HealthPolicy::deadline(&policy, any());
    derived(&policy);

    let mut health = if any() { Health::new() } else { Health::default() };
    blur(&mut health);
    if let Some(change) = Health::record(&mut health, any(), any(), &policy) {
        let _ = HealthChange::is_healthy(change);
    }
    let _ = Health::due(&health);
    let _ = Health::is_healthy(&health);
    let _ = Health::failures(&health);
    derived(&health);
    let _ = Answer::is_healthy(any(), &policy);
    let _ = Answer::proves_connection(any());
}

fn watches() {
    let policy: HealthPolicy = any();
    let mut watch = HealthWatch::new(any());
    blur(&mut watch);
    let _ = HealthWatch::message(&mut watch, any(), &policy);
    blur(&mut watch);
    let _ = HealthWatch::ended(&mut watch, any(), any(), &policy);
    let _ = HealthWatch::checked(&mut watch, any(), &policy);
    let _ = HealthWatch::due(&watch);
    let _ = HealthWatch::is_healthy(&watch);
    derived(&watch);
}

fn outliers() {
    let policy: OutlierPolicy = any();
    let _ = OutlierPolicy::default();
    let _ = OutlierPolicy::quarantine(&policy);
    let _ = OutlierPolicy::minds(&policy, &any());
    let _ = OutlierPolicy::quarantines(&policy, &any());
    let _ = OutlierPolicy::evidence(&policy, &any());
    black_box(OutlierPolicy::ejection(&policy));
    derived(&policy);

    let mut outlier = Outlier::new();
    blur(&mut outlier);
    let _ = Outlier::record(&mut outlier, any(), &any(), &policy);
    Outlier::add(&mut outlier, any(), any());
    let _ = Outlier::standing(&outlier, any());
    let _ = Outlier::until(&outlier);
    let _ = Outlier::ejections(&outlier);
    derived(&outlier);

    let ejection: EjectionPolicy = any();
    let _ = EjectionPolicy::default();
    let _ = EjectionPolicy::interval(&ejection);
    let _ = EjectionPolicy::time(&ejection, any());
    let mut sweep = OutlierSweep::starting(any(), &ejection);
    let mut targets = [outlier; 5];
    blur(&mut sweep);
    blur(&mut targets);
    let _ = OutlierSweep::due(&sweep);
    let targets = black_box(&mut targets[..]);
    OutlierSweep::run(
        &mut sweep,
        any(),
        targets,
        &ejection,
        |_| any(),
        |target, change| {
            black_box((target, change));
        },
    );
    let _ = (EjectionPolicy::base_time(&ejection), EjectionPolicy::max_time(&ejection));
    let _ = EjectionPolicy::max_percent(&ejection);
    if let Some(rate) = EjectionPolicy::success_rate(&ejection) {
        let _ = (SuccessRate::factor(rate), SuccessRate::min_hosts(rate));
        let _ = SuccessRate::min_requests(rate);
    }
    if let Some(share) = EjectionPolicy::failure_percentage(&ejection) {
        let _ = (FailurePercentage::threshold(share), FailurePercentage::min_hosts(share));
        let _ = FailurePercentage::min_requests(share);
    }
    let _ = SuccessRate::new(any(), any(), any());
    let _ = FailurePercentage::new(any(), any(), any());
}

fn balancers() {
    let mut members = [Standing::Up; 5];
    blur(&mut members);
    let members = black_box(&members[..]);
    let _ = Members::count(&members);
    let _ = Members::standing(&members, any());
    let _ = Members::in_flight(&members, any());
    let _ = Members::weight(&members, any());
    let _ = check_weights(black_box(&[0; 3][..]));

    let mut balancer = if any() { Balancer::new(any()) } else { Balancer::default() };
    balancer = Balancer::starting_at(balancer, any());
    blur(&mut balancer);
    let _ = Balancer::pick(&mut balancer, &members, any(), &mut Shaken, |_| Err(any()));
    let _ = Balancer::pick(&mut balancer, &Anything, any(), &mut Shaken, |_| Err(any()));
    let strategy: Strategy = Balancer::strategy(&balancer);
    black_box(strategy);
    derived(&balancer);
}

/// Members that say something else each time they are asked.
struct Anything;

impl Members for Anything {
    fn count(&self) -> u16 {
        any()
    }

    fn standing(&self, _target: Target) -> Standing {
        any()
    }

    fn in_flight(&self, _target: Target) -> u32 {
        any()
    }

    fn weight(&self, _target: Target) -> u32 {
        any()
    }
}
