//! This file knows how hedging is configured, and what it needs.

use evenkeel_settings::Hedging;

use super::{Builder, checked_name};
use crate::error::BuildError;
use crate::hedge::Hedges;
use crate::{AllowList, HedgePolicy};

impl Builder {
    /// The hedging block: methods that may be executed twice get another attempt beside one that
    /// has not answered in time, and the first answer wins. They are hedged *instead of* retried
    /// (gRPC A6); all other methods are retried as the retry block says, if there is one.
    ///
    /// Which methods those are, [`idempotent`](Self::idempotent) or [`methods`](Self::methods) must
    /// say: a hedge executes twice although nothing has failed. Hedged are calls whose request is
    /// one message within the [replay limit](Self::replay_limit); a response stream, until the
    /// first server has sent its headers. Hedges cost throttle tokens as retries do, and go to
    /// members that the call has not tried.
    ///
    /// ```
    /// use evenkeel_tonic::core::ThrottlePolicy;
    /// use evenkeel_tonic::{AllowList, HedgePolicy, Resilient};
    ///
    /// # let channel = ();
    /// let channel = Resilient::builder()
    ///     .idempotent(AllowList::new(["/search.v1.Search/*"])?)
    ///     .hedge(HedgePolicy::DEFAULT)
    ///     .throttle(ThrottlePolicy::success_refilled(10, 100)?) // so that an overload is not doubled
    ///     .build(channel)?;
    /// # let _ = channel;
    ///
    /// let unlisted = Resilient::builder().hedge(HedgePolicy::DEFAULT).build(());
    /// assert!(unlisted.unwrap_err().to_string().starts_with("hedging: needs a list"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hedge(mut self, policy: HedgePolicy) -> Self {
        let hedges = self.hedges.get_or_insert_default();
        (hedges.policy, hedges.coded) = (Some(policy), true);
        self
    }

    /// Another hedging for one method, given as `/package.Service/Method`; `None` has it retried
    /// instead. The service is not built unless a method that is to be hedged is on the list of
    /// those that may be executed twice.
    ///
    /// # Errors
    ///
    /// Refuses a name of another form.
    pub fn method_hedge(
        mut self,
        method: &str,
        policy: Option<HedgePolicy>,
    ) -> Result<Self, BuildError> {
        let name = checked_name(method)?;
        let hedges = self.hedges.get_or_insert_default();
        hedges.coded |= policy.is_some();
        hedges.per_method.insert(name, policy);
        Ok(self)
    }

    /// What a settings file says. It may leave the list to others, who may forget it: that is
    /// warned about, because a file is no reason not to start.
    pub(super) fn hedging_of(mut self, section: &Hedging) -> Self {
        self.hedges.get_or_insert_default().policy = Some(section.into());
        self.hedging_is_configured = true;
        self
    }

    /// The most attempts that a hedged method may have, if any is hedged.
    pub(crate) fn most_hedged(&self) -> Option<u16> {
        self.listed()?;
        let hedges = self.hedges.iter();
        let coded = hedges.flat_map(|hedges| hedges.per_method.values().chain([&hedges.policy]));
        let configured = self.service_config.methods().filter_map(|(_, method)| method.hedging());
        let attempts = coded.flatten().map(HedgePolicy::max_attempts);
        attempts.chain(configured.map(|hedging| hedging.policy().max_attempts())).max()
    }

    /// The list of methods that may be executed twice, if there is one.
    pub(crate) fn listed(&self) -> Option<AllowList> {
        let declared = || AllowList::declared(&self.methods);
        let list = self.idempotent.clone();
        list.or_else(|| (!self.methods.methods().is_empty()).then(declared))
    }

    /// The hedging block with the list it needs.
    ///
    /// # Errors
    ///
    /// [`BuildError::Refused`] where code asks for hedging without one, or for that of a method
    /// that is not on it.
    pub(super) fn checked_hedges(&self) -> Result<Option<Hedges>, BuildError> {
        let Some(list) = self.listed() else {
            return if self.hedges.as_ref().is_some_and(|hedges| hedges.coded) {
                let rule = "needs a list of the methods that may be executed twice \
                            (Builder::methods or Builder::idempotent)";
                Err(BuildError::Refused { field: "hedging", rule: rule.into() })
            } else {
                Ok(None)
            };
        };
        let mut hedges = match &self.hedges {
            Some(hedges) => hedges.clone(),
            None if self.hedging_is_configured => Hedges::default(),
            None => return Ok(None),
        };
        let named = hedges.per_method.iter().filter(|(_, policy)| policy.is_some());
        let named = named.map(|(method, _)| method);
        if let Some(method) = named.filter(|method| !list.contains(method)).min() {
            let rule = format!("{method} is not on the list of methods that may be executed twice");
            return Err(BuildError::Refused { field: "hedging", rule: rule.into() });
        }
        hedges.idempotent = list;
        Ok(Some(hedges))
    }
}
