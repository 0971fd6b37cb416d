//! This file knows a hedged call: one future in a box, from the message to the first answer.

use core::future::poll_fn;

use evenkeel_tokio::Driven;
use evenkeel_tokio::core::{Attempt, Code, Deadline, Instant};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;

use super::flights::{Flights, HedgedFlow, Landed, Landing};
use crate::attempt::Ended;
use crate::below::Below;
use crate::drive::drive;
use crate::flow::{Concluded, Flow, Step};
use crate::future::answered;
use crate::pool::Connected;
use crate::reading::{Read, Reading};
use crate::request::Payload;
use crate::stream::StreamBody;
use crate::upstream::MethodUpstream;

/// What a hedged call begins with.
pub(crate) struct Hedge<S> {
    pub(crate) upstream: MethodUpstream<S>,
    pub(crate) deadline: Deadline,
    /// Whether attempts wait for a connection.
    pub(crate) waits: bool,
}

/// The first answer to the message that `reading` reads. What turns out not to be one message that
/// is kept cannot be sent twice: it has one attempt at a time.
pub(crate) async fn hedge<S: Below>(
    hedge: Hedge<S>,
    mut request: Request<Body>,
    mut reading: Reading,
) -> Result<Response<Body>, Status> {
    let Hedge { mut upstream, deadline, waits } = hedge;
    match poll_fn(|cx| reading.poll(request.body_mut(), cx)).await {
        Read::Failed(status) => {
            upstream.over(Err(&status));
            Err(status)
        }
        Read::Message(message) => {
            let call = upstream.call(deadline);
            let mut flow = HedgedFlow::new(Driven::new(call, upstream), waits);
            flow.keep(&mut request, Payload::Message(message));
            race(flow).await
        }
        Read::Other(body) => {
            let call = upstream.call(deadline);
            let mut flow = Flow::<S>::new(Driven::new(call, upstream), waits);
            flow.keep(&mut request, Payload::stream(body));
            answered(drive(flow, None).await)
        }
    }
}

/// Keeps attempts going until one has answered. The others are then dropped, which resets them.
async fn race<S: Below>(mut flow: HedgedFlow<S>) -> Result<Response<Body>, Status> {
    let mut flights = Flights::new();
    let mut first = FirstAttempt::default();
    let mut changes = flow.driven.upstream().pool().map(|pool| pool.changes());
    loop {
        if let Some(changes) = &mut changes {
            changes.borrow_and_update();
        }
        match flow.poll() {
            Step::Attempt(attempt) => {
                first.begins(&attempt);
                flights.send(&mut flow, attempt, None);
            }
            Step::WaitUntil(at) => flights.progress(at, changes.as_mut()).await,
            Step::Over(status) => {
                first.is_over(&flow);
                return Err(status);
            }
        }
        while let Some(landing) = flights.landing() {
            first.lands(&landing);
            match land(&mut flow, &mut flights, landing) {
                Concluded::Again | Concluded::WaitReady(_) => {}
                Concluded::Over(result) => {
                    first.is_over(&flow);
                    return result.map(|mut held| held.give_on());
                }
                Concluded::Stream(response, attempt) => {
                    first.is_over(&flow);
                    flow.driven.commit(&attempt);
                    return Ok(StreamBody::watch(response, flow, attempt));
                }
            }
        }
    }
}

/// Books what has come of an attempt; one that only waited goes on.
fn land<S: Below>(
    flow: &mut HedgedFlow<S>,
    flights: &mut Flights<S>,
    landing: Landing,
) -> Concluded {
    let Landing { attempt, pauses, landed } = landing;
    let concluded = match landed {
        Landed::Connected(Connected::This) => {
            flights.send(flow, attempt, pauses);
            return Concluded::Again;
        }
        Landed::Connected(Connected::Another) => flow.move_on(attempt),
        Landed::Connected(Connected::Closed) => Concluded::Over(Err(flow.closed())),
        Landed::Connected(Connected::Late) => flow.never_connected(attempt),
        Landed::Ended(ended) => flow.conclude(attempt, ended),
    };
    match concluded {
        Concluded::WaitReady(attempt) => {
            flights.wait_ready(flow, attempt, pauses);
            Concluded::Again
        }
        concluded => concluded,
    }
}

/// When the first attempt began, for as long as it may still say how fast the method is.
#[derive(Default)]
struct FirstAttempt(Option<Instant>);

impl FirstAttempt {
    fn begins(&mut self, attempt: &Attempt) {
        if attempt.number() == 1 {
            self.0 = Some(attempt.started());
        }
    }

    /// A failure may be fast or slow, and says nothing of how long an answer takes.
    fn lands(&mut self, landing: &Landing) {
        let failed = match &landing.landed {
            Landed::Ended(Ended::Complete { code, .. }) => *code != Code::Ok,
            Landed::Ended(Ended::Lost(_)) => true,
            Landed::Ended(_) | Landed::Connected(_) => false,
        };
        if failed && landing.attempt.number() == 1 {
            self.0 = None;
        }
    }

    fn is_over<S>(&self, flow: &HedgedFlow<S>) {
        if let (Some(started), Some(hedged)) = (self.0, flow.driven.upstream().hedged()) {
            hedged.record_since(started);
        }
    }
}
