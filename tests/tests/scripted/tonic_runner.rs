//! This file knows how a scenario is played by the gRPC service, over a real channel to a peer
//! that does what it is told, on tokio's paused clock.

use core::task::{Context, Poll};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use evenkeel_core::{Clock, Code, Deadline, Instant, Micros};
use evenkeel_scripted::{
    Call, Circuit, End, Look, Need, Scenario, Seen, Sent, Shows, Trace, What, When, why,
};
use evenkeel_tests::{Network, RawClient, Seen as Request, drain, pb};
use evenkeel_tokio::{SharedBudget, TokioClock, sleep_until, until, with_budget};
use evenkeel_tonic::connect::{Connectivity, DialPolicy, connector};
use evenkeel_tonic::{
    BudgetExhausted, CallOptions, CircuitOpen, DeadlinePassed, Resilient, Stopped, cause,
};
use futures_util::future::join_all;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::Service;

use crate::tokio_runner::{budget, paused};
use crate::tonic_peer::{CALL, HOST, number, raise};

pub(crate) fn run(scenario: &'static Scenario) -> Seen {
    paused(async {
        let stage = Stage::new(scenario);
        let calls = join_all((0..scenario.calls().len()).map(|index| stage.call(index)));
        let looks = join_all(scenario.looks().iter().map(|look| stage.look(look)));
        let (ends, looks) = futures_util::join!(calls, looks);
        let calls = ends.into_iter().enumerate();
        let calls = calls.map(|(index, end)| Trace { sent: stage.tap.sent(index), end });
        Seen { calls: calls.collect(), looks }
    })
}

struct Stage {
    scenario: &'static Scenario,
    began: Instant,
    service: Resilient<Tap>,
    tap: Tap,
    budget: Option<SharedBudget>,
}

impl Stage {
    fn new(scenario: &'static Scenario) -> Self {
        let began = TokioClock.now();
        let net = Network::new();
        let (channel, connectivity) = channel(&net, scenario);
        let tap = Tap { inner: channel, began, seen: Arc::default() };
        let builder = Resilient::builder().target(HOST).methods(&pb::METHODS);
        let mut builder = builder.settings(scenario.settings());
        if let Some(connectivity) = connectivity {
            builder = builder.map(|builder| builder.connectivity(connectivity));
        }
        let service = builder.and_then(|builder| builder.build(tap.clone()));
        raise(&net, scenario);
        Self {
            scenario,
            began,
            service: service.expect("its settings were checked when they were read"),
            tap,
            budget: budget(scenario, began),
        }
    }

    async fn call(&self, index: usize) -> End {
        let call = &self.scenario.calls()[index];
        sleep_until(self.began.after(call.at)).await;
        let goes = call.cancel.map_or(Deadline::NONE, |at| Deadline::at(self.began.after(at)));
        let budget = self.budget.clone().filter(|_| call.in_budget);
        let ended = with_budget(budget, until(goes, self.made(index, call))).await;
        let at = TokioClock.now().since(self.began);
        match ended {
            None => End::gone(at),
            Some(Ok(())) => End { at: When::at(at), what: What::Code(Code::Ok), why: None },
            Some(Err(status)) => self.end(at, &status),
        }
    }

    async fn made(&self, index: usize, call: &Call) -> Result<(), Status> {
        let message = if call.once { Bytes::from(vec![0; TOO_LONG]) } else { Bytes::from("ping") };
        let mut request = tonic::Request::new(message);
        let number = index.to_string().parse().expect("digits are a header's value");
        request.metadata_mut().insert(CALL, number);
        if let Some(within) = call.within {
            request.set_timeout(within.as_duration());
        }
        if let Some(waits) = call.waits {
            request.extensions_mut().insert(CallOptions::new().wait_for_ready(waits));
        }
        let mut client = RawClient::of(call.method, self.service.clone());
        if !call.is_stream() {
            return client.unary(request).await.map(drop);
        }
        let response = client.server_streaming(request).await?;
        drain(response.into_inner()).await.1.map_or(Ok(()), Err)
    }

    fn end(&self, at: Micros, status: &Status) -> End {
        if let Some(open) = cause::<CircuitOpen>(status) {
            return End::refused(at, open.retry_at.since(self.began));
        }
        if let Some(spent) = cause::<BudgetExhausted>(status) {
            let what = What::Spent(spent.elapsed, spent.total);
            return End { at: When::at(at), what, why: None };
        }
        let passed = cause::<DeadlinePassed>(status).filter(|passed| passed.attempts == 0);
        let reason = cause::<Stopped>(status).and_then(|stopped| why(stopped.reason));
        let what = What::Code(Code::from_number(status.code().into()));
        End { at: When::at(at), what, why: passed.map(|_| "deadline passed").or(reason) }
    }

    async fn look(&self, look: &Look) -> Look {
        sleep_until(self.began.after(look.at)).await;
        let shows = match look.shows {
            Shows::Breaker(method, _) => {
                let states = self.service.circuit_breaker_states();
                let shown = states.get(HOST).and_then(|methods| methods.get(method));
                let circuit = shown.map(|shown| Circuit::of(shown, self.began));
                Shows::Breaker(method, circuit.unwrap_or(Circuit::NEW))
            }
            Shows::Tokens(_) => Shows::Tokens(self.service.throttle_millitokens().unwrap_or(0)),
        };
        Look { at: look.at, shows }
    }
}

/// The channel, and what knows of its connection where somebody may wait for one.
fn channel(net: &Network, scenario: &Scenario) -> (Channel, Option<Connectivity>) {
    if !Need::Connection.is_of(scenario) {
        return (net.channel(HOST), None);
    }
    let endpoint = net.endpoint(HOST);
    let (dialer, target) = (net.dialer(), endpoint.uri().clone());
    let (connector, connectivity) = connector(dialer, target, DialPolicy::DEFAULT, SEED);
    (endpoint.connect_with_connector_lazy(connector), Some(connectivity))
}

/// The channel, and what went into it: also what never reached the peer.
#[derive(Clone)]
struct Tap {
    inner: Channel,
    began: Instant,
    seen: Arc<Mutex<Vec<(Micros, Request)>>>,
}

impl Tap {
    fn sent(&self, index: usize) -> Vec<Sent> {
        let seen = self.seen.lock().expect("nobody panicked with it");
        let mut before = None;
        let of_it = seen.iter().filter(|(_, request)| number(request) == index);
        let sent = of_it.map(|(at, request)| {
            let told = request.header("grpc-previous-rpc-attempts").unwrap_or("0").to_owned();
            let left =
                request.timeout().map_or(When::NEVER, |left| When::at(Micros::from_duration(left)));
            let again = before.as_ref() == Some(&told);
            before = Some(told);
            Sent { at: When::at(*at), left, again }
        });
        sent.collect()
    }
}

impl Service<http::Request<Body>> for Tap {
    type Response = <Channel as Service<http::Request<Body>>>::Response;
    type Error = <Channel as Service<http::Request<Body>>>::Error;
    type Future = <Channel as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let seen = Request { headers: request.headers().clone(), ..Request::default() };
        let at = TokioClock.now().since(self.began);
        self.seen.lock().expect("nobody panicked with it").push((at, seen));
        self.inner.call(request)
    }
}

/// More than is kept for a second attempt unless a policy says so.
const TOO_LONG: usize = 300 << 10;
/// Spreads the pauses between dials.
const SEED: u32 = 7;
