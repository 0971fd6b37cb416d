//! This file knows the page that Prometheus reads: what the gateway's clients count, as text over
//! HTTP.

use core::net::SocketAddr;
use std::collections::BTreeSet;
use std::net::TcpListener as StdListener;

use axum::Router;
use axum::routing::get;
use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy, ThrottlePolicy};
use evenkeel_tonic::{Builder, Metrics, Pool, Resilient};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::{Registry, TextEncoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::Channel;

use crate::pb::parts_client::PartsClient;
use crate::pb::{LookRequest, METHODS};
use crate::report::Report;
use crate::{Failure, Result};

pub(crate) struct Page {
    metrics: Metrics,
    address: SocketAddr,
    /// Who reads the instruments; they count for nobody once it is gone.
    _provider: SdkMeterProvider,
}

impl Page {
    /// Shows it, on loopback.
    pub(crate) async fn start() -> Result<Self> {
        let registry = Registry::new();
        let reader =
            opentelemetry_prometheus::exporter().with_registry(registry.clone()).build()?;
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        let metrics = Metrics::new(&provider.meter("orders_gateway"));
        let text = move || {
            let text = TextEncoder::new().encode_to_string(&registry.gather());
            core::future::ready(text.unwrap_or_else(|error| format!("# {error}\n")))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let page = Router::new().route("/metrics", get(text));
        tokio::spawn(async move { axum::serve(listener, page).await });
        println!("metrics: curl http://{address}/metrics\n");
        Ok(Self { metrics, address, _provider: provider })
    }

    /// Has these calls counted.
    pub(crate) fn counting(&self, calls: Builder) -> Builder {
        calls.metrics(&self.metrics)
    }

    /// Reads it as Prometheus would, and looks for every name the dashboard asks for.
    pub(crate) async fn check(&self, report: &mut Report) -> Result<()> {
        // There as long as the page is read: a client that is gone has no tokens to show.
        let _archive = self.fail().await?;
        let text = self.read().await?;
        let shown: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let asked = names(DASHBOARD).into_iter().filter(|name| !BY_ACCIDENT.contains(name));
        let asked: BTreeSet<&str> = asked.collect();
        let missing: Vec<&&str> = asked.difference(&shown).collect();
        println!(
            "\nthe page of metrics has {} names; the dashboard needs {}",
            shown.len(),
            asked.len()
        );
        if !missing.is_empty() {
            println!("  not there: {missing:?}");
        }
        report.check("every name of the dashboard is on the page", missing.is_empty());
        Ok(())
    }

    /// Calls to an upstream that is not there: so that what is only counted when something fails is
    /// on the page too, however well the rest went.
    async fn fail(&self) -> Result<Resilient<Channel>> {
        let nobody = StdListener::bind("127.0.0.1:0")?.local_addr()?;
        let nobody = Pool::builder().insecure().target(nobody.to_string())?;
        let calls = Resilient::builder()
            .target("archive")
            .methods(&METHODS)
            .retry(RetryPolicy::DEFAULT)
            .throttle(ThrottlePolicy::grpc(100, 100)?)
            .breaker(BreakerPolicy::DEFAULT);
        let archive = self.counting(calls).build_pool(nobody)?;
        for id in 0..3 {
            if PartsClient::new(archive.clone()).look(LookRequest { id }).await.is_ok() {
                return Err("somebody listens where nobody should".into());
            }
        }
        Ok(archive)
    }

    async fn read(&self) -> Result<String> {
        let mut page = TcpStream::connect(self.address).await?;
        page.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
        let mut text = String::new();
        page.read_to_string(&mut text).await?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or("an answer without an end")?;
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            _ => Err(Failure::from(head)),
        }
    }
}

/// The metrics a dashboard asks for: every word that begins like one, without what a histogram's
/// series end with.
fn names(dashboard: &str) -> BTreeSet<&str> {
    let words = dashboard.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = ["grpc_client_", "grpc_subchannel_", "rpc_client_", "resilience_"];
    let metrics = words.filter(|word| ours.iter().any(|start| word.starts_with(start)));
    let ends = ["_bucket", "_sum", "_count"];
    metrics.map(|word| ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)).collect()
}

/// What cannot be made to happen here: nothing is hedged, and transparent retries are for requests
/// that a server refused or that never left. Zeros are not reported (gRFC A96).
const BY_ACCIDENT: [&str; 2] = ["grpc_client_call_hedges", "grpc_client_call_transparent_retries"];

const DASHBOARD: &str = include_str!("../../../adapters/tonic/dashboards/evenkeel.json");
