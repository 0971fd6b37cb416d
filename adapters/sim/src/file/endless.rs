//! This file knows which bounds a policy lacks without which its simulation looks better than it is.
//! Each setting is right by itself, and a client with a caller's deadline may do well without.

use evenkeel_core::Micros;

use crate::Policy;

/// What to warn about, each as a sentence without its stop.
pub(super) fn warnings(policy: &Policy) -> Vec<String> {
    let call = &policy.call;
    let mut warnings = Vec::new();
    if call.attempt_timeout().shorter(call.timeout()) >= Micros::SETTING_END {
        warnings.push("no timeout: every answer counts as good, however late".into());
    }
    let (attempts, waits) = (policy.possible_attempts(), !call.retry().backoff().max().is_zero());
    if attempts > MANY && !waits {
        warnings.push(format!(
            "no backoff: a call that fails at once makes all its {attempts} attempts at once"
        ));
    }
    warnings
}

/// gRPC A6 takes more for five.
const MANY: u16 = 5;
