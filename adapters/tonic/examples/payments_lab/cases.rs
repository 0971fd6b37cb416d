//! This file knows the cases: what the policy is, what the server does, and what should come of it.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::connect::{self, DialPolicy};
use evenkeel_tonic::core::{
    Backoff, BreakerPolicy, BudgetPolicy, Code, CodeSet, Consecutive, Jitter, RetryPolicy, checked,
};
use evenkeel_tonic::{AllowList, Builder, CircuitOpen, Resilient, cause};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::Service;

use crate::native::NativeRetries;
use crate::pb::payments_client::PaymentsClient;
use crate::pb::{AuditRequest, ChargeRequest, Entry, ExportRequest, FetchRequest, QuoteRequest};
use crate::report::{Expected, Observed, Received};
use crate::server::Behaviour::{
    FailAfter, FailBefore, FailLate, Hang, KillAfter, Work, WorkSlowly,
};
use crate::server::{Behaviour, Lab};
use crate::{pb, warnings};

type Error = Box<dyn core::error::Error>;
type Outcome = Result<Observed, Error>;

/// Three attempts with short waits, so that the lab is quick.
const THREE: RetryPolicy = RetryPolicy::DEFAULT.with_backoff(checked!(
    checked!(Backoff::new(Duration::from_millis(20), Duration::from_millis(100)))
        .with_jitter(Jitter::None)
));
const TWO_FAILURES: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(2)));
const UNAVAILABLE: tonic::Code = tonic::Code::Unavailable;
const INTERNAL: tonic::Code = tonic::Code::Internal;

/// Runs every case in turn and hands each row on as soon as it is there.
pub(crate) async fn run_all(
    mut row: impl FnMut(&'static str, &'static str, Expected, Observed),
) -> Result<(), Error> {
    let ok = |attempts, charges| Expected::new("OK", attempts, charges);
    let unavailable = |attempts, charges| Expected::new("UNAVAILABLE", attempts, charges);
    let late = |attempts, charges| Expected::new("DEADLINE_EXCEEDED", attempts, charges);

    let observed = charge(default_codes(), &[FailBefore(UNAVAILABLE), Work]).await?;
    row(
        "refused_then_ok",
        "The server was not ready once; the caller never learns of it.",
        ok(2, Some(1)),
        observed,
    );

    let observed = charge(default_codes(), &[FailAfter(INTERNAL)]).await?;
    row(
        "internal_default",
        "INTERNAL may mean that the work was done: it is not repeated.",
        Expected::new("INTERNAL", 1, Some(1)),
        observed,
    );

    let internal = THREE.with_codes(CodeSet::RETRYABLE.with(Code::Internal));
    let observed = charge(client().retry(internal), &[FailAfter(INTERNAL)]).await?;
    row(
        "internal_retryable",
        "Made retryable, INTERNAL charges three times. Know what you ask for.",
        Expected::new("INTERNAL", 3, Some(3)),
        observed,
    );

    let observed = charge(default_codes(), &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "unavailable_after_charge",
        "So does UNAVAILABLE, if it comes after the work.",
        unavailable(3, Some(3)),
        observed,
    );

    let unlisted = default_codes().idempotent(AllowList::declared(&pb::METHODS));
    let observed = charge(unlisted, &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "unavailable_not_idempotent",
        "The .proto does not call Charge idempotent: one attempt.",
        unavailable(1, Some(1)),
        observed,
    );

    let nothing = default_codes().idempotent(AllowList::empty());
    let observed = charge(nothing, &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "empty_allow_list",
        "An empty list means that nothing may be repeated.",
        unavailable(1, Some(1)),
        observed,
    );

    let observed = charge(default_codes().methods(&pb::METHODS), &[KillAfter]).await?;
    row(
        "killed_after_charge",
        "A lost connection proves nothing: it may have been executed.",
        unavailable(1, Some(1)),
        observed,
    );

    let late_then_fails = [FailLate(Duration::from_millis(1_500), UNAVAILABLE)];
    let two_seconds = default_codes().timeout(Duration::from_secs(2))?;
    let observed = charge(two_seconds, &late_then_fails).await?;
    row(
        "deadline_divided",
        "Two seconds are two seconds, however many attempts share them.",
        late(2, Some(0)).within(2.0..=2.5),
        observed,
    );

    let observed = charge(default_codes().breaker(TWO_FAILURES), &[FailAfter(UNAVAILABLE)]).await?;
    row(
        "breaker_below_attempts",
        "The circuit opens under the call that tripped it, and says so.",
        Expected::new("CIRCUIT_OPEN", 2, Some(2)),
        observed,
    );

    let observed =
        charge(default_codes().breaker(TWO_FAILURES), &[FailBefore(UNAVAILABLE), Work]).await?;
    row(
        "breaker_recoverable",
        "One failure is below the threshold: the retry goes out.",
        ok(2, Some(1)),
        observed,
    );

    let observed = export(default_codes().methods(&pb::METHODS)).await?;
    row(
        "stream_default",
        "Items the caller has seen cannot be taken back: the error is passed on.",
        unavailable(1, None).receiving(Received::Items(&[1.0, 2.0])),
        observed,
    );

    let observed = export(default_codes().methods(&pb::METHODS).retry_streaming()).await?;
    row(
        "stream_restarted",
        "With the opt-in the stream begins anew, and items repeat.",
        ok(2, None).receiving(Received::Items(&[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
        observed,
    );

    let observed = request_stream().await?;
    row(
        "request_stream",
        "A stream that was read cannot be sent again.",
        unavailable(1, None),
        observed,
    );

    let observed = budget_three_hops().await?;
    row(
        "budget_three_hops",
        "Each call gets what the whole request has left, not its own 5 s.",
        ok(3, None).receiving(Received::Seconds(&[3.0, 2.65, 2.29])),
        observed,
    );

    let observed = budget_spent().await?;
    row("budget_spent", "A request without time left sends nothing.", late(0, None), observed);

    let observed = budget_cap().await?;
    row(
        "budget_cap",
        "A cap keeps the side call from eating the request's time.",
        ok(2, None).receiving(Received::Seconds(&[3.0, 0.5])),
        observed,
    );

    let observed = not_ready_fail_fast().await?;
    row(
        "not_ready_fail_fast",
        "Nothing listens: without wait-for-ready the call fails at once.",
        unavailable(0, None).within(0.0..=0.2),
        observed,
    );

    let observed = wait_for_ready().await?;
    row(
        "wait_for_ready",
        "The server came 0.4 s later; the call waited and was sent once.",
        ok(1, None).within(0.4..=0.9),
        observed,
    );

    let observed = never_ready().await?;
    row(
        "never_ready",
        "It never came: the deadline ends the wait, and the circuit counts it.",
        late(0, None).within(1.0..=1.5),
        observed,
    );

    let observed = native_times_ours().await?;
    row(
        "native_times_ours",
        "Two retry loops multiply: 3 x 3. Keep one.",
        unavailable(9, None),
        observed,
    );

    let observed = stacked_twice().await?;
    row(
        "stacked_twice",
        "Our own service stacked by accident: the inner one stands down.",
        unavailable(3, None),
        observed,
    );

    let observed = tutorial_per_attempt().await?;
    row(
        "tutorial_per_attempt",
        "A limit for each attempt frees the call from one that hangs.",
        ok(2, None),
        observed,
    );
    Ok(())
}

fn client() -> Builder {
    Resilient::builder().target("payments")
}

fn default_codes() -> Builder {
    client().retry(THREE)
}

fn channel(lab: &Lab) -> Result<Channel, Error> {
    Ok(Endpoint::from_shared(lab.url())?.tcp_nodelay(true).connect_lazy())
}

async fn charge(builder: Builder, behaviours: &[Behaviour]) -> Outcome {
    let lab = Lab::started(behaviours)?;
    let mut payments = PaymentsClient::new(builder.build(channel(&lab)?)?);
    let began = now();
    let request = ChargeRequest { amount_cents: 1_999, ..ChargeRequest::default() };
    let reply = payments.charge(request).await;
    Ok(observed(&lab, began, reply.as_ref().err()))
}

async fn export(builder: Builder) -> Outcome {
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

async fn request_stream() -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE), Work])?;
    let service = default_codes().methods(&pb::METHODS).build(channel(&lab)?)?;
    let began = now();
    let entries = tokio_stream::iter((1..=3).map(|seq| Entry { seq, ..Entry::default() }));
    let reply = PaymentsClient::new(service).import(entries).await;
    Ok(observed(&lab, began, reply.as_ref().err()))
}

async fn budget_three_hops() -> Outcome {
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

async fn budget_spent() -> Outcome {
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

async fn budget_cap() -> Outcome {
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

async fn not_ready_fail_fast() -> Outcome {
    let lab = Lab::reserved(&[Work])?;
    let service = client().timeout(Duration::from_secs(10))?.build(channel(&lab)?)?;
    quote(&lab, service).await
}

async fn wait_for_ready() -> Outcome {
    let lab = Lab::reserved(&[Work])?;
    let service = waiting(&lab, Duration::from_secs(3))?;
    let later = lab.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        later.start()
    });
    quote(&lab, service).await
}

async fn never_ready() -> Outcome {
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

async fn native_times_ours() -> Outcome {
    let lab = Lab::started(&[FailBefore(UNAVAILABLE)])?;
    let native = NativeRetries::over(channel(&lab)?);
    quote(&lab, default_codes().build(native)?).await
}

async fn stacked_twice() -> Outcome {
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

async fn tutorial_per_attempt() -> Outcome {
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
