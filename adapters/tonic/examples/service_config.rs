//! The policies of a client from a gRPC service config, the same file that clients in other
//! languages read.
//!
//! ```text
//! cargo run -p evenkeel-tonic --features json --example service_config
//! ```

use core::error::Error;

use evenkeel_tonic::evenkeel_settings::ServiceConfig;
use evenkeel_tonic::{Resilient, Stopped, cause};
use tonic::transport::Endpoint;

use pb::LookRequest;
use pb::parts_client::PartsClient;

#[path = "orders/pb.rs"]
mod pb;
mod shaky;

const CONFIG: &str = r#"{
    "methodConfig": [
        {
            "name": [{ "service": "orders.v1.Parts" }],
            "timeout": "2s",
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.05s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"]
            }
        }
    ],
    "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 },
    "somethingNewer": true
}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = ServiceConfig::from_json(CONFIG)?;
    // What was skipped, as gRPC would skip it, is not kept to itself.
    for note in config.notes() {
        println!("note: {note}");
    }
    let server = shaky::start().await?;
    let channel = Endpoint::from_shared(format!("http://{}", server.address()))?.connect_lazy();
    let channel =
        Resilient::builder().methods(&pb::METHODS).service_config(&config).build(channel)?;
    let mut client = PartsClient::new(channel.clone());
    // Two requests of three fail. The config's throttle bears that twice, and then lets none be
    // repeated until calls succeed again.
    for id in 1..=3 {
        let reply = client.look(LookRequest { id }).await;
        let tokens = channel.throttle_millitokens().unwrap_or_default();
        let asked = server.asked();
        match reply {
            Ok(part) => println!("call {id}: {}", part.into_inner().member),
            Err(status) => match cause::<Stopped>(&status) {
                Some(stopped) => println!("call {id}: {}; {stopped}", status.message()),
                None => println!("call {id}: {}", status.message()),
            },
        }
        println!("        {asked} requests, {tokens} millitokens left");
    }
    Ok(())
}
