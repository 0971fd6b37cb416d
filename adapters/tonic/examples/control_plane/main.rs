//! A client whose endpoints and policies come from a control plane: our service over a channel that
//! is not ours.
//!
//! ```text
//! cargo run -p evenkeel-tonic --example control_plane
//! ```
//!
//! Where one machine's configuration is outgrown, a control plane says for all of them who is there
//! and how requests are routed, and its channel takes the place of our pool. The deadline of the
//! call, the budget, the breaker, and what may be repeated stay with the client. One of the two
//! should retry, not both: the last steps show what happens otherwise.
//!
//! The channel here is written by hand, and told by a stream in this process, so that nobody must
//! build Envoy's messages to build this; its type is the one that `tonic_xds::XdsChannelGrpc`
//! (0.1.0-alpha.4) is another name of, and that goes in the same place. The process exits with 1 if
//! anything is not as it says.

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeSet;
use std::process::ExitCode;

use evenkeel_tonic::core::{BreakerPolicy, Consecutive, RetryPolicy};
use evenkeel_tonic::{Builder, Resilient};
use tonic::Code;

use backend::Backend;
use channel::{ControlPlane, PlaneChannel, World};
use pb::LookRequest;
use pb::parts_client::PartsClient;

mod backend;
mod channel;
#[path = "../orders/pb.rs"]
mod pb;
#[path = "../payments_lab/warnings.rs"]
mod warnings;

type Result<T, E = Box<dyn Error + Send + Sync>> = core::result::Result<T, E>;
type Parts = PartsClient<Resilient<PlaneChannel>>;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    tracing::subscriber::set_global_default(warnings::Counter)?;
    let mut faults = 0;
    let mut check = |what: &str, holds: bool| {
        faults += u32::from(!holds);
        println!("  {what} {}", if holds { "✓" } else { "✗" });
    };
    let (one, two) = (Backend::start("one").await?, Backend::start("two").await?);
    let both = vec![one.address(), two.address()];

    println!("the control plane names two endpoints, and tries each request once");
    let plane = ControlPlane::start(World { endpoints: both, tries: 1 });
    let mut parts = PartsClient::new(calls(3)?.build(plane.channel())?);
    check("both are called", asked(&mut parts).await == names(&["one", "two"]));
    plane.becomes(World { endpoints: vec![two.address()], tries: 1 });
    check("one that it names no more is not", asked(&mut parts).await == names(&["two"]));

    println!("the endpoint fails, and the client makes three attempts");
    two.fails();
    check("the endpoint was asked 3 times", attempts(&mut parts, &two).await == 3);
    check("nobody was warned of anything", warnings::seen() == 0);

    println!("now the control plane has each request tried three times as well");
    plane.becomes(World { endpoints: vec![two.address()], tries: 3 });
    let mut parts = PartsClient::new(calls(3)?.native_retries().build(plane.channel())?);
    check("a client that is told of it warns", warnings::seen() == 1);
    check("the endpoint was asked 3 x 3 = 9 times", attempts(&mut parts, &two).await == 9);
    check("and one warning was all", warnings::seen() == 1);

    println!("one retry loop, the control plane's; the client keeps its deadline and its breaker");
    let mut parts = PartsClient::new(calls(1)?.native_retries().build(plane.channel())?);
    check("the endpoint was asked 3 times", attempts(&mut parts, &two).await == 3);
    check("and there was nothing to warn of", warnings::seen() == 1);
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What stays with the client.
fn calls(attempts: u16) -> Result<Builder> {
    Ok(Resilient::builder()
        .target("parts")
        .methods(&pb::METHODS)
        .timeout(Duration::from_secs(10))?
        .retry(RetryPolicy::DEFAULT.with_max_attempts(attempts)?)
        .breaker(BreakerPolicy::new(Consecutive::new(100)?)))
}

/// Who answered twenty calls.
async fn asked(parts: &mut Parts) -> BTreeSet<String> {
    let mut answered = BTreeSet::new();
    for id in 0..20 {
        let answer = parts.look(LookRequest { id }).await;
        answered.insert(answer.map_or_else(|no| no.to_string(), |part| part.into_inner().member));
    }
    answered
}

/// How often `backend` was asked for one call that failed.
async fn attempts(parts: &mut Parts, backend: &Backend) -> u64 {
    let before = backend.asked();
    match parts.look(LookRequest { id: 0 }).await.map_err(|status| status.code()) {
        Err(Code::Unavailable) => backend.asked() - before,
        _ => 0,
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
