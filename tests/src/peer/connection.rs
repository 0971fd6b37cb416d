//! This file knows the life of one connection of a peer.

use crate::peer::exchange::Exchange;
use crate::peer::tap::Tap;
use crate::peer::{Greeting, Transport};
use crate::script::Log;
use core::convert::Infallible;
use core::future::poll_fn;
use core::task::Poll;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use tokio::io::AsyncReadExt;

/// `PRI * HTTP/2.0`, two blank lines and an `SM`: what every client sends first.
const PREFACE: usize = 24;

/// Serves `io` until either side ends it.
pub(super) async fn run<T: Transport>(
    mut io: T,
    greeting: Greeting,
    max_streams: u32,
    number: usize,
    log: Arc<Log>,
) {
    match greeting {
        Greeting::Close => Tap::new(io).close(),
        Greeting::CloseAfterPreface => {
            if io.read_exact(&mut [0; PREFACE]).await.is_ok() {
                Tap::new(io).close();
            }
        }
        Greeting::Serve => serve(Tap::new(io), max_streams, number, log).await,
        Greeting::Silent => {
            let _ = tokio::io::copy(&mut io, &mut tokio::io::sink()).await;
        }
    }
}

/// Accepts requests and answers them, all in one task: the order in which the connection and its
/// exchanges are polled is what [`Tap::settle`] relies on.
async fn serve<T: Transport>(tap: Tap<T>, max_streams: u32, number: usize, log: Arc<Log>) {
    let mut server = h2::server::Builder::new();
    server.max_concurrent_streams(max_streams);
    let Ok(mut connection) = server.handshake(tap.clone()).await else { return };
    let mut exchanges = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let (parts, body) = request.into_parts();
                let (index, reply) = log.open(&parts, number);
                let exchange = Exchange::new(Arc::clone(&log), index, tap.clone(), respond);
                exchanges.push(exchange.run(reply, body));
            }
            never = idle(&tap) => match never {},
            Some(()) = exchanges.next() => {}
        }
    }
}

/// Is polled when the connection has nothing left to do, and says so.
async fn idle<T: Transport>(tap: &Tap<T>) -> Infallible {
    poll_fn(|_| {
        tap.announce();
        Poll::Pending
    })
    .await
}
