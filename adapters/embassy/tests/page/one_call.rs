//! The program of the page's chapter about one call, which compiles here.

use core::time::Duration;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use evenkeel_core::{
    BreakerPolicy, CallPolicy, Clock, Code, CodeSet, Deadline, RetryPolicy, checked,
};
use evenkeel_embassy::{EmbassyClock, Error, Exchange, Peers, Seeds, call_with};

/// What may be repeated: two seconds for the call, half a second for each of its three attempts.
static CALL: CallPolicy = checked!(
    checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(2)))
        .with_retry(RETRY)
        .with_attempt_timeout(Duration::from_millis(500))
);
const RETRY: RetryPolicy =
    RetryPolicy::DEFAULT.with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded));
static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static PEERS: Peers<CriticalSectionRawMutex, u16, 8> = Peers::new();
static SEEDS: Seeds<CriticalSectionRawMutex> = Seeds::new(0);

pub(crate) async fn ask<X: Exchange>(
    port: u16,
    request: &mut X,
) -> Result<X::Reply, Error<X::Error>> {
    let deadline = CALL.deadline(EmbassyClock.now(), Deadline::NONE);
    let peer = PEERS.view(port, &CALL, &BREAKER);
    call_with(SEEDS.next(), peer, deadline, request).await
}
