//! This file knows an HTTP server that misbehaves by the path it is asked for.

use core::convert::Infallible;
use core::mem::take;
use core::net::SocketAddr;
use std::collections::HashSet;
use std::io;

use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::RETRY_AFTER;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    since_asked: usize,
    paths: HashSet<String>,
}

pub(crate) async fn start() -> io::Result<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = Server { address: listener.local_addr()?, seen: Arc::default() };
    let seen = Arc::clone(&server.seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            let answer = service_fn(move |request: Request<Incoming>| {
                let answer = answer(&seen, request.uri().path());
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(server)
}

impl Server {
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came since the last time.
    pub(crate) fn asked(&self) -> usize {
        take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner).since_asked)
    }
}

fn answer(seen: &Mutex<Seen>, path: &str) -> Response<Full<Bytes>> {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.since_asked += 1;
    let first = seen.paths.insert(path.to_owned());
    let mut response = Response::new(Full::from("here you are"));
    let status = match path {
        "/busy-once" if first => {
            response.headers_mut().insert(RETRY_AFTER, 1.into());
            StatusCode::TOO_MANY_REQUESTS
        }
        "/bad-request" => StatusCode::BAD_REQUEST,
        "/broken" => StatusCode::INTERNAL_SERVER_ERROR,
        "/down" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    *response.status_mut() = status;
    response
}
