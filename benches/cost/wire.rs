//! This file knows the same calls over a real connection, to a server that does as little as it can.
//!
//! Raw tonic and the full chain take turns, with one caller and with many. Printed are two ratios:
//! how many calls there are in the same time, and how much of its processor the client's thread
//! takes for one, the kernel's part of it included.

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
use tonic::transport::{Channel, Endpoint};

use crate::calls::{full, over};
use crate::growth::crowd;
use crate::pb::lab_client::LabClient;
use crate::stub::MESSAGE;

pub(crate) fn print() {
    let server = runtime();
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
    let address = listener.local_addr().expect("it was bound");
    std::thread::spawn(move || server.block_on(serve(listener)));
    println!("{:<34} {:>10} {:>10}", "over loopback, of raw tonic", "calls/s", "CPU each");
    for callers in [1, 64] {
        let client = runtime();
        let connect = || client.block_on(async { connect(address) });
        let raw = LabClient::new(connect());
        let ours = LabClient::new(over(connect(), full));
        let rounds = || {
            let raw = Cost::of(|| client.block_on(crowd(&raw, callers, CALLS)));
            let ours = Cost::of(|| client.block_on(crowd(&ours, callers, CALLS)));
            (raw.nanos / ours.nanos, raw.cpu.zip(ours.cpu).map(|(raw, ours)| ours / raw))
        };
        // The first connects.
        rounds();
        let ratios: Vec<_> = core::iter::repeat_with(rounds).take(ROUNDS).collect();
        let cpu: Option<Vec<f64>> = ratios.iter().map(|(_, cpu)| *cpu).collect();
        println!(
            "  {:<32} {:>10.3} {:>10}",
            format!("callers: {callers}"),
            median(ratios.iter().map(|(throughput, _)| *throughput).collect()),
            cpu.map_or_else(|| "-".into(), |cpu| format!("{:.3}", median(cpu))),
        );
    }
    println!();
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

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn connect(address: SocketAddr) -> Channel {
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
        tokio::spawn(answer(request.into_body(), respond));
    }
    Ok(())
}

async fn answer(mut body: RecvStream, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    while let Some(data) = body.data().await {
        body.flow_control().release_capacity(data?.len())?;
    }
    let mut head = Response::new(());
    head.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let mut stream = respond.send_response(head, false)?;
    stream.send_data(Bytes::from_static(MESSAGE), false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)
}

const ROUNDS: usize = 9;
const CALLS: u64 = 6_400;
