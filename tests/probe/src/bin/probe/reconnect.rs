//! This file knows a link under every policy, and the schedules of others.

use core::hint::black_box;

use evenkeel_core::presets::{Coap, Dhcp4, Dhcp6, FREERTOS};
use evenkeel_core::{
    Backoff, Dial, Growth, Reconnect, ReconnectAction, ReconnectPolicy, Rung, SmallRng,
};
use evenkeel_probe::{any, blur};

use crate::values::derived;

pub(crate) fn reach() {
    link();
    policy();
    presets();
}

fn link() {
    let policy: ReconnectPolicy = any();
    let mut link = Reconnect::new(any());
    blur(&mut link);
    if let ReconnectAction::Dial(mut dial) = Reconnect::poll(&mut link, any(), &policy) {
        blur(&mut dial);
        blur(&mut link);
        let _ = Dial::deadline(&dial);
        let _ = Dial::number(&dial);
        if any() {
            black_box(Reconnect::connected(&mut link, any(), dial, &policy));
        } else {
            black_box(Reconnect::failed(&mut link, any(), dial, any(), &policy));
        }
    }
    blur(&mut link);
    black_box(Reconnect::lost(&mut link, any(), any(), &policy));
    blur(&mut link);
    Reconnect::carrier_back(&mut link, any(), &policy);
    let _ = Reconnect::failures(&link);
    let _ = Reconnect::is_connected(&link);
    derived(&link);
}

fn policy() {
    let policy = if any() { any() } else { ReconnectPolicy::default() };
    let _ = ReconnectPolicy::splay(&policy);
    let _ = ReconnectPolicy::backoff(&policy);
    let _ = ReconnectPolicy::stable_after(&policy);
    let _ = ReconnectPolicy::dial_timeout(&policy);
    let _ = ReconnectPolicy::max_hint(&policy);
    let _ = ReconnectPolicy::give_up_after(&policy);
    for rung in ReconnectPolicy::ladder(&policy) {
        derived(rung);
    }
    derived(&policy);
    derived(&Rung::reset_peripheral(any()));
    derived(&Rung::reboot(any()));
}

fn presets() {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(any()));
    blur(&mut growth);
    blur(&mut rng);
    black_box(Backoff::next_delay(&FREERTOS, &mut growth, &mut rng));
    blur(&mut growth);
    black_box(Coap::next_delay(&Coap::RFC_7252, &mut growth, &mut rng));
    blur(&mut growth);
    black_box(Dhcp4::next_delay(&Dhcp4::RFC_2131, &mut growth, &mut rng));
    blur(&mut growth);
    let message = if any() { Dhcp6::SOLICIT } else { Dhcp6::RELEASE };
    black_box(Dhcp6::next_delay(&message, &mut growth, &mut rng));
}
