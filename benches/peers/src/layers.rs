//! This file knows a call that does nothing, guarded: a timeout, retries, a breaker.

use core::convert::Infallible;
use core::hint::black_box;
use core::time::Duration;

use evenkeel_std::Shared;
use evenkeel_tokio::call_within;
use evenkeel_tokio::core::{BreakerPolicy, CallPolicy, Deadline, Outcome};
use tokio::runtime::{Builder, Runtime};
use tower::retry::Policy;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

use crate::case::{Case, Group};

pub(crate) fn groups() -> Vec<Group> {
    let cases = vec![
        Case::new("tower: timeout, retry", |times| {
            let service = ServiceBuilder::new().retry(Twice(2)).timeout(LIMIT);
            ask(times, service.service(service_fn(nothing)));
        }),
        Case::new("the same and tower-resilience", |times| {
            let breaker = CircuitBreakerLayer::builder().build().expect("its defaults are valid");
            let service = ServiceBuilder::new().retry(Twice(2)).layer(breaker).timeout(LIMIT);
            ask(times, service.service(service_fn(nothing)));
        }),
        Case::new("evenkeel: timeout, retry, breaker", |times| {
            let shared = Shared::new(CallPolicy::DEFAULT).with_breaker(BreakerPolicy::DEFAULT);
            let judge = |_: &Result<(), Infallible>| Outcome::success();
            runtime().block_on(async {
                for _ in 0..times {
                    let call = call_within(shared.view(), Deadline::NONE, judge, async |_| Ok(()));
                    _ = black_box(call.await);
                }
            });
        }),
        Case::new("evenkeel: timeout, retry", |times| {
            let shared = Shared::new(CallPolicy::DEFAULT);
            let judge = |_: &Result<(), Infallible>| Outcome::success();
            runtime().block_on(async {
                for _ in 0..times {
                    let call = call_within(shared.view(), Deadline::NONE, judge, async |_| Ok(()));
                    _ = black_box(call.await);
                }
            });
        }),
    ];
    vec![Group { title: "around a call that does nothing", cases }]
}

fn ask<S>(times: u64, mut service: S)
where
    S: Service<(), Response = ()>,
    S::Error: core::fmt::Debug,
{
    runtime().block_on(async {
        for _ in 0..times {
            let ready = service.ready().await.expect("it always is");
            ready.call(()).await.expect("nothing fails");
        }
    });
}

async fn nothing((): ()) -> Result<(), BoxError> {
    Ok(())
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("threads and a clock")
}

#[derive(Clone)]
struct Twice(u32);

impl<E> Policy<(), (), E> for Twice {
    type Future = core::future::Ready<()>;

    fn retry(&mut self, (): &mut (), result: &mut Result<(), E>) -> Option<Self::Future> {
        if result.is_ok() || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(core::future::ready(()))
    }

    fn clone_request(&mut self, (): &()) -> Option<()> {
        Some(())
    }
}

const LIMIT: Duration = Duration::from_secs(10);
