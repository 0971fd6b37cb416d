//! This file knows when the addresses of a name are looked up again.

use core::net::SocketAddr;
use std::sync::{Arc, Weak};

use evenkeel_tokio::core::{Backoff, Clock, Deadline, Growth, Jitter, Micros, SmallRng, checked};
use evenkeel_tokio::{TokioClock, fresh_seed, sleep_until, until};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::Pool;
use super::resolve::Resolve;
use crate::target::TargetName;
use crate::warn::named;

/// One name whose addresses are members.
pub(super) struct Name {
    /// Whose members they are, for the log.
    pub(super) upstream: Arc<str>,
    pub(super) target: TargetName,
    pub(super) host: Arc<str>,
    pub(super) port: u16,
    pub(super) resolver: Arc<dyn Resolve>,
    /// Somebody could not reach one of its addresses, or it is said to be unwell.
    pub(super) nudge: Arc<Notify>,
    /// As long as a dial may.
    pub(super) limit: Micros,
}

/// Keeps the addresses of `name` in `pool` up to date, until the pool is gone.
pub(super) async fn keep<S: Clone + Send + 'static>(pool: Weak<Pool<S>>, name: Name) {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(fresh_seed()));
    let mut known = false;
    loop {
        let answer = ask(&name).await;
        let Some(pool) = pool.upgrade() else { return };
        let failed = match answer {
            Ok(addresses) => {
                growth = Growth::START;
                known = true;
                pool.resolved(&name.target, &addresses);
                false
            }
            Err(why) => {
                tracing::warn!(
                    target: "evenkeel",
                    upstream = named(&name.upstream),
                    name = %name.target,
                    why = &*why,
                    "a name could not be looked up; what was known of it stays",
                );
                pool.not_resolved(&name.target, &why);
                true
            }
        };
        drop(pool);
        let pause = if known { LEAST_PAUSE } else { BACKOFF.next_delay(&mut growth, &mut rng) };
        sleep_until(TokioClock.now().after(pause)).await;
        if !failed {
            name.nudge.notified().await;
        }
    }
}

/// The addresses of `name`, each once; or why there are none.
async fn ask(name: &Name) -> Result<Vec<SocketAddr>, String> {
    let Name { host, port, resolver, .. } = name;
    let (resolver, host, port) = (Arc::clone(resolver), Arc::clone(host), *port);
    // A task of its own, because the resolver is somebody else's code and may panic.
    let asked = async move { resolver.resolve(&host, port).await };
    let asked = Asked(tokio::spawn(asked));
    let limit = Deadline::at(TokioClock.now().after(name.limit));
    let mut addresses = match until(limit, asked).await {
        Some(Ok(Ok(addresses))) => addresses,
        Some(Ok(Err(error))) => return Err(error.to_string()),
        Some(Err(_)) => return Err("the resolver panicked".to_owned()),
        None => return Err(format!("no answer within {}", name.limit)),
    };
    addresses.sort_unstable();
    addresses.dedup();
    if addresses.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    if addresses.len() > MOST_ADDRESSES {
        tracing::warn!(
            target: "evenkeel",
            upstream = named(&name.upstream),
            name = %name.target,
            addresses = addresses.len(),
            used = MOST_ADDRESSES,
            "a name has too many addresses; the others are not used",
        );
        addresses.truncate(MOST_ADDRESSES);
    }
    Ok(addresses)
}

/// A resolver at work; stopped when nobody waits for it any more.
struct Asked<T>(JoinHandle<T>);

impl<T> Future for Asked<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(
        mut self: core::pin::Pin<&mut Self>,
        cx: &mut core::task::Context<'_>,
    ) -> core::task::Poll<Self::Output> {
        core::pin::Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// gRPC's: not more often, however many connections fail.
const LEAST_PAUSE: Micros = Micros::from_millis(30_000);

/// While nothing is known: as often as a connection is dialled that fails.
const BACKOFF: Backoff = checked!(
    checked!(
        checked!(Backoff::new(
            core::time::Duration::from_secs(1),
            core::time::Duration::from_secs(120)
        ))
        .with_multiplier(1_600)
    )
    .with_jitter(Jitter::Proportional(200))
);

/// Far above what is balanced by DNS; each costs a connection.
const MOST_ADDRESSES: usize = 256;
