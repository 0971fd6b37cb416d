//! This file knows how a case is run: the client it needs, the calls, and what is observed.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::connect::{self, DialPolicy};
use evenkeel_tonic::core::{BreakerPolicy, BudgetPolicy, Code, CodeSet};
use evenkeel_tonic::{AllowList, Builder, CircuitOpen, Resilient, cause};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::Service;

use crate::cases::{Error, THREE, UNAVAILABLE};
use crate::native::NativeRetries;
use crate::pb::payments_client::PaymentsClient;
use crate::pb::{AuditRequest, ChargeRequest, Entry, ExportRequest, FetchRequest, QuoteRequest};
use crate::report::Observed;
use crate::server::Behaviour::{FailBefore, Hang, Work, WorkSlowly};
use crate::server::{Behaviour, Lab};
use crate::{pb, warnings};

type Outcome = Result<Observed, Error>;

pub(crate) fn client() -> Builder {
    Resilient::builder().target("payments")
}

pub(crate) fn default_codes() -> Builder {
    client().retry(THREE)
}

fn channel(lab: &Lab) -> Result<Channel, Error> {
    Ok(Endpoint::from_shared(lab.url())?.tcp_nodelay(true).connect_lazy())
}

pub(crate) async fn charge(builder: Builder, behaviours: &[Behaviour]) -> Outcome {
    let lab = Lab::started(behaviours)?;
    let mut payments = PaymentsClient::new(builder.build(channel(&lab)?)?);
    let began = now();
    let request = ChargeRequest { amount_cents: 1_999, ..ChargeRequest::default() };
    let reply = payments.charge(request).await;
    Ok(observed(&lab, began, reply.as_ref().err()))
}

pub(crate) async fn export(builder: Builder) -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE), Work])?;
    let mut payments = PaymentsClient::new(builder.build(channel(&lab)?)?);
    let began = now();
    let mut stream = payments.export(ExportRequest::default()).await?.into_inner();
    let (mut items, mut failed) = (Vec::new(), None);
    loop {
        match stream.message().await {
            Ok(Some(entry)) => items.push(f64::from(entry.seq)),
            Ok(None) => break,
            Err(status) => {
                failed = Some(status);
                break;
            }
        }
    }
    Ok(Observed { received: Some(items), ..observed(&lab, began, failed.as_ref()) })
}

pub(crate) async fn request_stream() -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE), Work])?;
    let service = default_codes().methods(&pb::METHODS).build(channel(&lab)?)?;
    let began = now();
    let entries = tokio_stream::iter((1..=3).map(|seq| Entry { seq, ..Entry::default() }));
    let reply = PaymentsClient::new(service).import(entries).await;
    Ok(observed(&lab, began, reply.as_ref().err()))
}

pub(crate) async fn budget_three_hops() -> Outcome {
    let lab = Lab::started(&[WorkSlowly(Duration::from_millis(350))])?;
    let service = client().timeout(Duration::from_secs(5))?.build(channel(&lab)?)?;
    let mut payments = PaymentsClient::new(service);
    let budget = Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT)?;
    let began = now();
    let reply = with_budget(Some(Arc::new(budget)), async {
        for _ in 0..3 {
            payments.fetch(FetchRequest::default()).await?;
        }
        Ok::<(), Status>(())
    })
    .await;
    Ok(with_seconds(&lab, observed(&lab, began, reply.as_ref().err())))
}

pub(crate) async fn budget_spent() -> Outcome {
    let lab = Lab::started(&[Work])?;
    let service = default_codes().build(channel(&lab)?)?;
    let budget = Budget::new(Duration::from_millis(150), BudgetPolicy::DEFAULT)?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = now();
    let mut payments = PaymentsClient::new(service);
    let call = payments.fetch(FetchRequest::default());
    let reply = with_budget(Some(Arc::new(budget)), call).await;
    Ok(observed(&lab, began, reply.as_ref().err()))
}

pub(crate) async fn budget_cap() -> Outcome {
    let lab = Lab::started(&[Work])?;
    let service = client().timeout(Duration::from_secs(5))?.build(channel(&lab)?)?;
    let mut payments = PaymentsClient::new(service);
    let budget = Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT)?
        .with_cap("/payments.v1.Payments/Audit", Duration::from_millis(500))?;
    let began = now();
    let reply = with_budget(Some(Arc::new(budget)), async {
        payments.fetch(FetchRequest::default()).await?;
        payments.audit(AuditRequest::default()).await?;
        Ok::<(), Status>(())
    })
    .await;
    Ok(with_seconds(&lab, observed(&lab, began, reply.as_ref().err())))
}

pub(crate) async fn not_ready_fail_fast() -> Outcome {
    let lab = Lab::reserved(&[Work])?;
    let service = client().timeout(Duration::from_secs(10))?.build(channel(&lab)?)?;
    quote(&lab, service).await
}

pub(crate) async fn wait_for_ready() -> Outcome {
    let lab = Lab::reserved(&[Work])?;
    let service = waiting(&lab, Duration::from_secs(3))?;
    let later = lab.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        later.start()
    });
    quote(&lab, service).await
}

pub(crate) async fn never_ready() -> Outcome {
    let lab = Lab::reserved(&[Work])?;
    let service = waiting(&lab, Duration::from_secs(1))?;
    let mut observed = quote(&lab, service.clone()).await?;
    let states = service.circuit_breaker_states();
    let failures: u32 =
        states.values().flat_map(|methods| methods.values()).map(|s| u32::from(s.failures)).sum();
    if failures != 1 {
        observed.wrong = Some(format!("the circuit should count 1 failure, not {failures}"));
    }
    Ok(observed)
}

/// A client whose connector reports readiness and dials on one schedule for all calls.
fn waiting(lab: &Lab, timeout: Duration) -> Result<Resilient<Channel>, Error> {
    let seed = evenkeel_tokio::fresh_seed();
    let endpoint = Endpoint::from_shared(lab.url())?;
    let uri = endpoint.uri().clone();
    let (connector, connectivity) =
        connect::connector(connect::tcp(), uri, DialPolicy::default(), seed);
    let channel = endpoint.connect_with_connector_lazy(connector);
    let builder = client().timeout(timeout)?.wait_for_ready(true).connectivity(connectivity);
    Ok(builder.breaker(BreakerPolicy::DEFAULT).build(channel)?)
}

pub(crate) async fn native_times_ours() -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE)])?;
    let native = NativeRetries::over(channel(&lab)?);
    quote(&lab, default_codes().build(native)?).await
}

pub(crate) async fn stacked_twice() -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE)])?;
    let inner = default_codes().build(channel(&lab)?)?;
    let before = warnings::seen();
    let mut observed = quote(&lab, default_codes().build(inner)?).await?;
    let given = warnings::seen() - before;
    if given != 1 {
        observed.wrong = Some(format!("one warning should be seen, not {given}"));
    }
    Ok(observed)
}

pub(crate) async fn tutorial_per_attempt() -> Outcome {
    let lab = Lab::started(&[Hang, Work])?;
    let codes = CodeSet::RETRYABLE.with(Code::DeadlineExceeded);
    let service = client()
        .retry(THREE.with_codes(codes))
        .idempotent(AllowList::new(["Get*", "List*"])?)
        .attempt_timeout(Duration::from_millis(300))?
        .build(channel(&lab)?)?;
    quote(&lab, service).await
}

async fn quote<S>(lab: &Lab, service: S) -> Outcome
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Status> + Clone + Send + 'static,
    S::Future: Send,
{
    let began = now();
    let reply = PaymentsClient::new(service).get_quote(QuoteRequest::default()).await;
    Ok(observed(lab, began, reply.as_ref().err()))
}

fn observed(lab: &Lab, began: Instant, failed: Option<&Status>) -> Observed {
    let script = lab.script();
    let outcome = match failed {
        None => "OK".to_owned(),
        Some(status) if cause::<CircuitOpen>(status).is_some() => "CIRCUIT_OPEN".to_owned(),
        Some(status) => Code::from_number(status.code().into()).name().to_owned(),
    };
    Observed {
        outcome,
        attempts: script.attempts,
        charges: script.charges,
        seconds: now().duration_since(began).as_secs_f64(),
        ..Observed::default()
    }
}

fn with_seconds(lab: &Lab, observed: Observed) -> Observed {
    Observed { received: Some(lab.script().seconds_left.clone()), ..observed }
}

#[expect(clippy::disallowed_methods, reason = "the lab times real calls on a real network")]
fn now() -> Instant {
    Instant::now()
}
