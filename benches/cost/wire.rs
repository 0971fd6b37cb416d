//! This file knows the same calls over a real connection, to a server that does as little as it can.
//!
//! Raw tonic and the full chain take turns, with one caller and with many. Printed are two ratios:
//! how many calls there are in the same time, and how much of its processor the client's thread
//! takes for one, the kernel's part of it included. In the last line a message stands for a call.

use core::net::SocketAddr;
use std::fs::read_to_string;

use bytes::Bytes;
use evenkeel_std::StdClock;
use evenkeel_tonic::core::Clock;
use h2::RecvStream;
use h2::server::{SendResponse, handshake};
use http::{HeaderMap, HeaderValue, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{self, Endpoint};

use crate::calls::{Channel, NONE, SET, full, over, request};
use crate::growth::crowd;
use crate::pb::lab_client::LabClient;
use crate::report::median;
use crate::stub::MESSAGE;

pub(crate) fn print() {
    let server = runtime();
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
    let address = listener.local_addr().expect("it was bound");
    std::thread::spawn(move || server.block_on(serve(listener)));
    println!("{:<34} {:>10} {:>10}", "over loopback, of raw tonic", "calls/s", "CPU each");
    let client = runtime();
    let connect = || client.block_on(async { connect(address) });
    let raw = LabClient::new(connect());
    let ours = LabClient::new(over(connect(), full));
    // The chain has a timeout: it stands beside raw tonic without one, and with one.
    for (callers, timeout, of) in [(1, NONE, ""), (64, NONE, ""), (64, SET, ", with set_timeout")] {
        print_ratios(
            &format!("callers: {callers}{of}"),
            || client.block_on(crowd(&raw, timeout, callers, CALLS)),
            || client.block_on(crowd(&ours, NONE, callers, CALLS)),
        );
    }
    print_ratios(
        "a stream, its messages",
        || client.block_on(stream(&raw)),
        || client.block_on(stream(&ours)),
    );
    println!();
}

/// One line: what both take, in turns.
fn print_ratios(what: &str, raw: impl Fn(), ours: impl Fn()) {
    let rounds = || {
        let (raw, ours) = (Cost::of(&raw), Cost::of(&ours));
        (raw.nanos / ours.nanos, raw.cpu.zip(ours.cpu).map(|(raw, ours)| ours / raw))
    };
    // The first connects.
    rounds();
    let ratios: Vec<_> = core::iter::repeat_with(rounds).take(ROUNDS).collect();
    let cpu: Option<Vec<f64>> = ratios.iter().map(|(_, cpu)| *cpu).collect();
    println!(
        "  {what:<32} {:>10.3} {:>10}",
        median(ratios.iter().map(|(throughput, _)| *throughput).collect()),
        cpu.map_or_else(|| "-".into(), |cpu| format!("{:.3}", median(cpu))),
    );
}

/// One call whose response has as many messages as there are calls otherwise.
async fn stream<S: Channel>(client: &LabClient<S>) {
    let response = client.clone().export(request(None)).await.expect("the server answers");
    let mut stream = response.into_inner();
    while stream.message().await.expect("the server ends well").is_some() {}
}

/// What a number of calls took.
struct Cost {
    nanos: f64,
    /// Of this thread. `None` where the system does not tell.
    cpu: Option<f64>,
}

impl Cost {
    fn of(calls: impl FnOnce()) -> Self {
        let (began, cpu) = (StdClock.now(), thread_nanos());
        calls();
        let nanos = StdClock.now().since(began).as_micros() as f64 * 1_000.0;
        Self { nanos, cpu: thread_nanos().zip(cpu).map(|(after, before)| after - before) }
    }
}

/// How long this thread has run, as Linux tells it.
fn thread_nanos() -> Option<f64> {
    let told = read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok()
}

fn connect(address: SocketAddr) -> transport::Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address is a URI");
    endpoint.tcp_nodelay(true).connect_lazy()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime needs little")
}

async fn serve(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(connection(socket));
    }
}

async fn connection(socket: TcpStream) -> Result<(), Box<dyn core::error::Error + Send + Sync>> {
    socket.set_nodelay(true)?;
    let mut connection = handshake(socket).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        let streams = request.uri().path().ends_with("/Export");
        let messages = if streams { CALLS } else { 1 };
        tokio::spawn(answer(request.into_body(), respond, messages));
    }
    Ok(())
}

async fn answer(
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    messages: u64,
) -> Result<(), h2::Error> {
    while let Some(data) = body.data().await {
        body.flow_control().release_capacity(data?.len())?;
    }
    let mut head = Response::new(());
    head.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let mut stream = respond.send_response(head, false)?;
    for _ in 0..messages {
        stream.send_data(Bytes::from_static(MESSAGE), false)?;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)
}

const ROUNDS: usize = 9;
const CALLS: u64 = 6_400;
