//! This file knows how a service is made of what its builder was told.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use evenkeel_tokio::{SharedTable, SharedThrottle};

use super::Builder;
use crate::error::BuildError;
use crate::observe::Subchannel;
use crate::pool::{Pool, PoolBuilder};
use crate::settings::{Retry, Settings};
use crate::upstream::Route;
use crate::warn::Given;
use crate::{Resilient, contradictions};

impl Builder {
    /// The service over `inner`, usually a `tonic::transport::Channel`.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be right.
    pub fn build<S>(self, inner: S) -> Result<Resilient<S>, BuildError> {
        let settings = self.checked(false)?;
        Ok(Resilient::new(Route::One(inner), Arc::new(settings)))
    }

    /// The service over the members of a pool: each attempt picks one anew, and each has circuit
    /// breakers of its own. What [`connectivity`](Self::connectivity) says of one channel is not
    /// asked.
    ///
    /// Outside a tokio runtime it is made as well; its lookups then begin with its first call.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be right.
    pub fn build_pool<S>(self, pool: PoolBuilder<S>) -> Result<Resilient<S>, BuildError>
    where
        S: Clone + Send + 'static,
    {
        self.build_over(pool).map(|(service, _)| service)
    }

    /// The service, and the pool it is over.
    pub(crate) fn build_over<S>(
        mut self,
        pool: PoolBuilder<S>,
    ) -> Result<(Resilient<S>, Arc<Pool<S>>), BuildError>
    where
        S: Clone + Send + 'static,
    {
        self.targets = pool.targets.len();
        if pool.configured {
            self = self.without_warning_of(&["channel", "balancing"]);
        }
        if pool.checked {
            // By whoever was told to, in code.
            self = self.without_warning_of(&["health"]);
        }
        let settings = self.checked(true)?;
        let counts = Subchannel::of(&settings);
        let pool = pool.build(&settings, counts)?;
        Ok((Resilient::new(Route::Pool(Arc::clone(&pool)), Arc::new(settings)), pool))
    }

    pub(crate) fn checked(self, pooled: bool) -> Result<Settings, BuildError> {
        contradictions::warn(&self);
        let hedges = self.checked_hedges()?;
        let (idempotent, streaming) = (self.listed(), self.restarts_streams);
        let retry = self.retry.map(|policy| Retry { policy, idempotent, streaming });
        let mut timeouts = HashMap::new();
        for (method, timeout) in self.timeouts {
            let policy = match timeout {
                Some(timeout) => self.call.with_timeout(timeout)?,
                None => self.call.endless(),
            };
            timeouts.insert(method, policy);
        }
        let breaker = match self.breaker {
            Some(policy) => {
                let table = SharedTable::new(self.max_methods)?;
                let table = match self.idle_ttl {
                    Some(ttl) => table.with_idle_ttl(ttl)?,
                    None => table,
                };
                Some((policy, table))
            }
            None => None,
        };
        let methods = self.methods.methods().iter();
        let declared = methods.map(|method| (method.path().into(), OnceLock::new())).collect();
        Ok(Settings {
            observing: self.observing.shared(&self.target),
            target: self.target.into(),
            call: self.call,
            timeouts,
            budget_reserve: self.budget_reserve,
            ready: self.ready,
            retry,
            replay_limit: self.replay_limit,
            commit: self.commit,
            hedges,
            breaker,
            throttle: self.throttle.map(SharedThrottle::new),
            methods: self.methods,
            connectivity: self.connectivity,
            pooled,
            service_config: self.service_config,
            warned: Given::default(),
            declared,
            met: RwLock::default(),
        })
    }
}
