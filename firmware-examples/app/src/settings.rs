//! This file knows the policies of the firmware, and what its tasks share.

use core::time::Duration;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use evenkeel_embassy::core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Consecutive, Jitter, RetryPolicy, checked,
};
use evenkeel_embassy::{Peers, Seeds};

/// Two seconds for a request, 300 ms for each of at most four attempts.
pub(crate) static CALL: CallPolicy = checked!(
    checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(2)))
        .with_retry(
            checked!(RetryPolicy::DEFAULT.with_max_attempts(4))
                // The host's requests may all be repeated, so a silent attempt is tried again.
                .with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded))
                .with_backoff(BACKOFF)
        )
        .with_attempt_timeout(Duration::from_millis(300))
);
const BACKOFF: Backoff = checked!(
    checked!(Backoff::new(Duration::from_millis(40), Duration::from_millis(320)))
        .with_jitter(Jitter::Equal)
);

/// Five failures in a row leave a port alone for 400 ms.
pub(crate) static BREAKER: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(5))).with_open_for(Duration::from_millis(400))
);

/// The breakers, one for each port of the host.
pub static PEERS: Peers<CriticalSectionRawMutex, u16, 4> = Peers::new();

/// A seed for each call.
pub(crate) static SEEDS: Seeds<CriticalSectionRawMutex> = Seeds::new(0);
