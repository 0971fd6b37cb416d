//! This file knows the clients' retry budgets: the core's throttle, and the models beside it.

use core::hint::black_box;

use evenkeel_core::{Code, CodeSet, Report, Throttle, ThrottlePolicy};

use super::Memo;
use crate::Budget;
use crate::models::{
    Aws, AwsMemory, Envoy, EnvoyMemory, Finagle, FinagleMemory, MongoDb, MongoDbMemory, Requests,
    RequestsMemory,
};

/// One budget for each client, all of one kind.
#[derive(Debug)]
pub(super) enum Budgets {
    Aws(Aws, Vec<AwsMemory>),
    Envoy(Envoy, Vec<EnvoyMemory>),
    Finagle(Finagle, Vec<FinagleMemory>),
    MongoDb(MongoDb, Vec<MongoDbMemory>),
    None,
    Requests(Requests, Vec<RequestsMemory>),
    Shipped(ThrottlePolicy, Vec<Throttle>),
}

impl Budgets {
    pub(super) fn new(budget: &Budget, clients: usize) -> Self {
        match *budget {
            Budget::Aws(rule) => Self::Aws(rule, vec![AwsMemory::full(&rule); clients]),
            Budget::Envoy(rule) => Self::Envoy(rule, vec![EnvoyMemory::default(); clients]),
            Budget::Finagle(rule) => Self::Finagle(rule, vec![FinagleMemory::EMPTY; clients]),
            Budget::MongoDb(rule) => Self::MongoDb(rule, vec![MongoDbMemory::full(&rule); clients]),
            Budget::None => Self::None,
            Budget::Requests(rule) => {
                Self::Requests(rule, vec![RequestsMemory::new(&rule); clients])
            }
            Budget::Shipped(rule) => Self::Shipped(rule, vec![Throttle::full(&rule); clients]),
        }
    }

    /// The tokens left of a client, in thousandths, if it has the core's throttle.
    #[cfg(feature = "rehearse")]
    pub(super) fn millitokens(&self, client: usize) -> Option<u32> {
        match self {
            Self::Shipped(_, each) => Some(each[client].millitokens()),
            _ => None,
        }
    }

    /// Has a client's throttle brought from memory. A model's is left where it is.
    #[inline]
    pub(super) fn fetch(&self, client: usize) {
        if let Self::Shipped(_, each) = self {
            black_box(each[client].millitokens());
        }
    }

    /// A call has started.
    #[inline]
    pub(super) fn started(&mut self, now: u64, client: usize) {
        match self {
            Self::Envoy(_, each) => each[client].started(),
            Self::Finagle(rule, each) => each[client].started(now, rule),
            Self::Requests(rule, each) => each[client].started(rule),
            Self::Aws(..) | Self::MongoDb(..) | Self::None | Self::Shipped(..) => {}
        }
    }

    /// A call has ended.
    #[inline]
    pub(super) fn ended(&mut self, client: usize, memo: &mut Memo) {
        if let Self::Envoy(_, each) = self {
            each[client].ended(&mut memo.holds_retry);
        }
    }

    /// An attempt has ended.
    #[inline]
    pub(super) fn record(
        &mut self,
        client: usize,
        report: &Report,
        retryable: CodeSet,
        memo: &mut Memo,
    ) {
        let success = report.is_success();
        let timed_out = report.outcome.code == Code::DeadlineExceeded;
        match self {
            Self::Shipped(policy, each) => each[client].record(report, retryable, policy),
            Self::Aws(rule, each) if success => each[client].succeeded(rule, memo.paid),
            // Nothing says overload like an answer that says so; a timeout does not.
            Self::MongoDb(rule, each) => {
                each[client].ended(rule, success, !timed_out, memo.retried);
            }
            _ => {}
        }
        memo.timed_out = timed_out;
        memo.retried |= !success;
    }

    /// Whether the call may retry.
    #[inline]
    pub(super) fn allow(&mut self, now: u64, client: usize, memo: &mut Memo) -> bool {
        match self {
            Self::None => true,
            Self::Shipped(policy, each) => each[client].allow(policy),
            Self::Requests(_, each) => each[client].allow(),
            Self::MongoDb(_, each) => each[client].allow(),
            Self::Finagle(rule, each) => each[client].allow(now, rule),
            Self::Envoy(rule, each) => each[client].allow(rule, &mut memo.holds_retry),
            Self::Aws(rule, each) => {
                let paid = each[client].allow(rule, memo.timed_out);
                memo.paid = paid.unwrap_or(0);
                paid.is_some()
            }
        }
    }
}
