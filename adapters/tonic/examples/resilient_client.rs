//! The start in ten lines: one service under an unchanged generated client.
//!
//! ```text
//! cargo run -p evenkeel-tonic --example resilient_client
//! ```
//!
//! The server is in here too. It fails two requests of three, and the caller does not notice: that
//! is told in the log, on standard error.

use core::error::Error;
use core::time::Duration;

use evenkeel_tonic::Resilient;
use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
use tonic::transport::Endpoint;

use pb::LookRequest;
use pb::parts_client::PartsClient;

#[path = "orders/pb.rs"]
mod pb;
mod shaky;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let server = shaky::start().await?;

    let channel = Endpoint::from_shared(format!("http://{}", server.address()))?.connect_lazy();
    let channel = Resilient::builder()
        .target("parts") // its name in logs and metrics
        .methods(&pb::METHODS) // what may be repeated, as the .proto says
        .timeout(Duration::from_secs(2))? // for the whole call, retries included
        .retry(RetryPolicy::DEFAULT)
        .breaker(BreakerPolicy::DEFAULT)
        .spans() // each decision is told to whoever listens
        .build(channel)?;
    let mut client = PartsClient::new(channel);

    for id in 1..=3 {
        let part = client.look(LookRequest { id }).await?.into_inner();
        println!("call {id}: {}, after {} requests", part.member, server.asked());
    }
    Ok(())
}
