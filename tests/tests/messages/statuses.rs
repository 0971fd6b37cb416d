//! This file knows the errors a caller of a gRPC client can find in a status, made by real calls.

use core::error::Error;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{BreakerPolicy, BudgetPolicy, Consecutive, Micros, RetryPolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Dial, Network, Peer, RawClient, Reason, Reply, Stub};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::connect::{self, DialError, NotConnected, Why};
use evenkeel_tonic::health::HealthChecker;
use evenkeel_tonic::{
    BudgetExhausted, Builder, CircuitOpen, Closed, DeadlinePassed, Factory, Kit, NoHealthyTargets,
    Pool, Resilient, Stopped, TransportError, cause,
};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tonic::transport::Channel;
use tonic::{ConnectError, Status};

use crate::Row;

const ECHO: &str = "/lab.v1.Lab/Echo";
const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn rows() -> Vec<Row> {
    let mut rows = local().await;
    rows.extend(late().await);
    rows.extend(pooled().await);
    rows.extend(transport().await);
    rows.extend(connecting().await);
    rows.extend(health().await);
    rows
}

fn orders() -> Builder {
    Resilient::builder().target("orders").methods(&METHODS)
}

async fn fails(service: Resilient<Stub>) -> Status {
    RawClient::of(ECHO, service).unary("ping").await.unwrap_err()
}

fn said<E: Error + 'static>(status: &Status) -> String {
    cause::<E>(status).unwrap_or_else(|| panic!("what is in {status:?}?")).to_string()
}

async fn local() -> Vec<Row> {
    let busy = || Reply::status(Status::unavailable("busy"));
    let stopped = orders().retry(RetryPolicy::DEFAULT).build(Stub::new([busy()])).unwrap();
    let mut unreadable = Status::unavailable("busy");
    unreadable.metadata_mut().insert("grpc-retry-pushback-ms", "soon".parse().unwrap());
    let unreadable =
        orders().retry(RetryPolicy::DEFAULT).build(Stub::new([Reply::status(unreadable)]));
    let unreadable = fails(unreadable.unwrap()).await;
    let never = orders().timeout(SECOND).unwrap().build(Stub::new([busy()])).unwrap();
    let never = fails(never).await;
    let once = BreakerPolicy::new(Consecutive::new(1).unwrap());
    let open = orders().breaker(once).build(Stub::new([busy()])).unwrap();
    fails(open.clone()).await;
    let open = fails(open).await;
    let spent = Arc::new(Budget::new(3 * SECOND, BudgetPolicy::DEFAULT).unwrap());
    tokio::time::sleep(SECOND * 16 / 5).await;
    let refused = orders().build(Stub::new([busy()])).unwrap();
    let strict = Budget::new(SECOND * 3 / 10, BudgetPolicy::DEFAULT.strict()).unwrap();
    let exceeded = with_budget(Some(spent), fails(refused.clone())).await;
    tokio::time::sleep(SECOND * 13 / 50).await;
    let too_near = with_budget(Some(Arc::new(strict)), fails(refused)).await;
    vec![
        Row::new(
            "Stopped",
            said::<Stopped>(&fails(stopped).await),
            "the status is the last attempt's own; the reason says why there was no other, and has \
             a row of its own below",
        ),
        Row::new(
            "Stopped",
            said::<Stopped>(&unreadable),
            "whoever writes that header has a fault to mend; the reason is `PushedBack`",
        ),
        Row::new(
            "Stopped",
            said::<Stopped>(&never),
            "neither `[retry]` nor `Builder::retry` is set. Of a method that a service config or \
             `RetryPolicy::OFF` does not retry it says \"this method\", and of a call with \
             `CallOptions::without_retry` \"this call\"; the reason is `NotRetryable`",
        ),
        Row::new(
            "CircuitOpen",
            said::<CircuitOpen>(&open),
            "the next attempt was not sent, and with `attempts` 0 nothing was. `retry_after` says \
             when to come back, `last` what the server said before; look at the server, not at \
             the breaker",
        ),
        Row::new(
            "BudgetExhausted",
            said::<BudgetExhausted>(&exceeded),
            "nothing was sent: what came before in this request used its time up. Look there, or \
             keep a reserve (`budget.reserve_for_next`)",
        ),
        Row::new(
            "BudgetExhausted",
            said::<BudgetExhausted>(&too_near),
            "the same, with `budget.mode = \"strict\"`: something is left, but less than \
             `budget.min_timeout`, which such a budget holds for too little to begin with. Lower \
             that, or use `floor`",
        ),
    ]
}

/// Of one server that hangs, and of each limit that there is.
async fn late() -> Vec<Row> {
    let hangs = |builder: Builder| builder.build(Stub::new([Reply::hang()])).unwrap();
    let late = fails(hangs(orders().timeout(SECOND).unwrap())).await;
    let cut_short = orders().timeout(SECOND).unwrap().attempt_timeout(SECOND / 5).unwrap();
    let cut_short = fails(hangs(cut_short)).await;
    let mut asked = tonic::Request::new("ping");
    asked.set_timeout(SECOND);
    let asked = RawClient::of(ECHO, hangs(orders())).unary(asked).await.unwrap_err();
    let short = Arc::new(Budget::new(SECOND / 2, BudgetPolicy::DEFAULT).unwrap());
    let trimmed = with_budget(Some(short), fails(hangs(orders()))).await;
    vec![
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&late),
            "the time was too short or the server too slow: compare with the method's usual times, \
             and with `attempts`; `limit` says which time. In a channel of tonic's own a dial that \
             hangs looks the same; with `Builder::connectivity`, and in a pool, it has a row of its \
             own below",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&cut_short),
            "`limit` is `TimeLimit::AttemptTimeout`: the call itself had more time. It is retried \
             only with `DEADLINE_EXCEEDED` in `retry.codes`: [deadlines](guide/deadlines.md)",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&asked),
            "`TimeLimit::Caller`: what was set on the request, with `Request::set_timeout`",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&trimmed),
            "`TimeLimit::RequestBudget`: what the request had left, when the call was begun, for \
             this call; its other calls, or who called it, used up the rest",
        ),
    ]
}

async fn pooled() -> Vec<Row> {
    let net = Network::new();
    let members = || Pool::builder().insecure().connector(net.dialer()).target("a:50051").unwrap();
    let client = orders().build_pool(members()).unwrap();
    client.pool().unwrap().set_targets([]);
    let call = async |service| RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    let nobody = call(client.clone()).await;
    let unchecked = Kit::builder("orders").pool(members()).calls(orders()).health(|health| health);
    let unwell = call(unchecked.build().unwrap().channel()).await;
    let waits = orders().wait_for_ready(true).timeout(3 * SECOND).unwrap();
    let waits = Kit::builder("orders").pool(members()).calls(waits).health(|health| health);
    let late = call(waits.build().unwrap().channel()).await;
    let single = orders().wait_for_ready(true).timeout(3 * SECOND).unwrap();
    let single = RawClient::of(ECHO, single.build(net.channel("a")).unwrap());
    let unconnected = { single }.unary("ping").await.unwrap_err();
    net.on_dial("a", [Dial::Hang]);
    let hung = orders().timeout(SECOND).unwrap().build_pool(members()).unwrap();
    let hung = call(hung).await;
    client.pool().unwrap().close(SECOND).await;
    let closed = call(client).await;
    let factory = Factory::builder().upstream(Kit::builder("orders").pool(members()));
    let unknown = factory.build().unwrap().channel("order").unwrap_err();
    vec![
        Row::new(
            "NoHealthyTargets",
            said::<NoHealthyTargets>(&unwell),
            "a health check says no, or has not answered yet: wait with `wait_until_ready` when \
             you start, look at the members otherwise",
        ),
        Row::new(
            "NoHealthyTargets",
            said::<NoHealthyTargets>(&nobody),
            "whoever names the members named none: a discovery, a DNS answer, `set_targets`",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&late),
            "a call that waited for a connection, and no member had one: `nobody` says what was \
             last heard of each, from its dial or its health check",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&unconnected),
            "nothing was sent: it waited for the connection of its one channel to the end, and \
             `unconnected` is how the last dial failed. `attempts` counts it",
        ),
        Row::new(
            "DeadlinePassed",
            said::<DeadlinePassed>(&hung),
            "nothing was sent: `connecting` does not answer. A firewall, a machine that is gone; \
             `channel.connect_timeout` gives it up sooner",
        ),
        Row::new("Closed", said::<Closed>(&closed), "somebody closed this client; build another"),
        Row::new("UnknownUpstream", unknown, "a typing error, or an upstream that was not added"),
    ]
}

async fn transport() -> Vec<Row> {
    let net = Network::new();
    let _peer = Peer::new([Reply::hang().reset(Reason::REFUSED_STREAM)]).listen(&net, "a");
    let service = orders().build(net.channel("a")).unwrap();
    let reset = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    let refused = ConnectError(io::Error::from(io::ErrorKind::ConnectionRefused).into());
    let of = "TransportError";
    vec![
        Row::new(
            of,
            TransportError::before_headers(refused),
            "nothing was sent; its source is the dial. It is retried for any method",
        ),
        Row::new(
            of,
            said::<TransportError>(&reset),
            "nothing was executed: with retries it is repeated once by itself. The server is at a \
             limit, or shutting down",
        ),
        Row::new(
            of,
            TransportError::before_headers(closing().await),
            "nothing was executed: with retries it is repeated by itself, on another connection",
        ),
        Row::new(
            of,
            TransportError::in_body(io::Error::from(io::ErrorKind::ConnectionReset)),
            "nobody knows: repeated only for methods that may be executed twice. With a frame error \
             at its end (`frame with invalid size`), on a new connection: not a gRPC port, or TLS on \
             one side only. `UNKNOWN`, with no transport's error behind it: a layer of tower's below \
             this client refused with an error of its own (`load_shed`, `timeout`). It counts against \
             the server; `map_err` it into the `tonic::Status` that it should count as",
        ),
    ]
}

/// A request that was still in the queue of a connection that went away.
async fn closing() -> hyper::Error {
    let (near, _far) = tokio::io::duplex(1 << 16);
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near));
    let (mut sender, connection) = handshake.await.unwrap();
    drop(connection);
    sender.send_request(http::Request::new(Full::<Bytes>::default())).await.unwrap_err()
}

async fn connecting() -> Vec<Row> {
    let net = Network::new();
    let pool = Pool::builder().insecure().connector(net.dialer()).target("a:50051").unwrap();
    let service = orders().build_pool(pool).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    let refused = NotConnected::of(&status).expect("a dial that failed");
    // The pause is spread; nothing else of it is another each time.
    let text = refused.to_string();
    let (words, _) = text.split_once(" in ").expect("when the next try is");
    let io = io::Error::from(io::ErrorKind::ConnectionRefused);
    vec![
        Row::new(
            "NotConnected",
            format!("{words} in 1.00s"),
            "nothing was sent; how the last dial ended is its source. `wait_for_ready` waits \
             for the next one in place of failing",
        ),
        Row::new(
            "DialError::Connector",
            DialError::Connector(Arc::new(io)),
            "its source is the connector's own error: an address, a port, a socket. A handshake of \
             TLS comes later: `DialError::LostEarly`",
        ),
        Row::new(
            "DialError::TimedOut",
            DialError::TimedOut { limit: Micros::from_millis(20_000) },
            "nobody answered: a firewall, a wrong address, or `channel.connect_timeout` is short",
        ),
        Row::new(
            "DialError::LostEarly",
            DialError::LostEarly { after: Micros::from_millis(30), why: Why::default() },
            "it accepts and hangs up: not a gRPC server, TLS on one side only, a proxy without a \
             server behind it; or a certificate is not trusted, or is for another name. Which of \
             these is its source, once a call has come for the connection: what TLS says, such as \
             `invalid peer certificate: UnknownIssuer`. A server that wants another certificate of \
             this client says so when the handshake is over for this side, and nothing of that \
             comes through: see the server's log",
        ),
        Row::new(
            "DialError::Abandoned",
            DialError::Abandoned,
            "a connector of yours panicked, or the runtime it was made in is gone: keep the \
             runtime as long as its clients",
        ),
        Row::new(
            "DeadlinePassed",
            connect::DeadlinePassed,
            "a waiting call never got a connection: look at the dial's own error, or at the deadline",
        ),
    ]
}

async fn health() -> Vec<Row> {
    let no_channel = |_: &str| -> Result<Channel, Status> { Err(Status::unavailable("none")) };
    let checker = HealthChecker::builder(no_channel).build();
    let unknown = checker.is_healthy("orders:50051").unwrap_err();
    let failing = HealthChecker::builder(no_channel)
        .targets(["orders:50051"])
        .fail_fast_callback()
        .on_status_change(|_, _| Err::<(), _>("no"));
    let failed = failing.build().check_health("orders:50051").await.unwrap_err();
    vec![
        Row::new(
            "NothingRuns",
            unknown,
            "start the checker, or do not ask it; said once in the log as well",
        ),
        Row::new(
            "CallbackFailed",
            failed,
            "your callback returned an error or panicked, which is the source; the verdict stands",
        ),
    ]
}
