//! A gateway in front of three balanced, health-checked upstreams, while one member of one of them
//! is killed and comes back, and another says for a while that it is not serving.
//!
//! ```text
//! cargo run --release -p evenkeel-tests --example orders_gateway
//! ```
//!
//! Fifty callers ask all the time. The process exits with 1 if one of them noticed, if a member
//! that could be used got more than a tenth more or less than its share, or if calls went on to
//! the one that said no.
//!
//! It shows its metrics as Prometheus reads them, prints where, and exits with 1 as well if a name
//! that the dashboard asks for is not there at the end.

use core::error::Error;
use core::time::Duration;
use std::process::ExitCode;

use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{Factory, Kit, KitBuilder, Pool, PoolBuilder, Resilient};
use tokio::time::sleep;

mod callers;
mod gateway;
mod member;
#[path = "../../../adapters/tonic/examples/orders/pb.rs"]
mod pb;
mod report;
mod scrape;

use callers::Callers;
use member::Member;
use report::Report;
use scrape::Page;

type Failure = Box<dyn Error + Send + Sync>;
type Result<T, E = Failure> = core::result::Result<T, E>;

const UPSTREAMS: [(&str, usize); 3] = [("stock", 4), ("prices", 2), ("parcels", 2)];

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let page = Page::start().await?;
    let mut fleet = Vec::new();
    let mut factory = Factory::builder();
    for (name, size) in UPSTREAMS {
        let members = (1..=size).map(|number| Member::start(format!("{name}-{number}")));
        let members: Vec<Member> = members.collect::<Result<_>>()?;
        let mut pool = Pool::builder().insecure();
        for member in &members {
            pool = pool.target(member.address().to_string())?;
        }
        factory = factory.upstream(kit(name, pool, &page)?);
        fleet.push(members);
    }
    let factory = factory.build()?;
    if !factory.wait_until_ready(Duration::from_secs(10)).await {
        return Err("the members do not come up".into());
    }
    let gateway = gateway::start(&factory).await?;
    let callers = Callers::start(50, gateway).await?;
    println!("50 callers, 3 upstreams; about 15 s on a machine that is not busy\n");

    let mut report = Report::new();
    run(&mut fleet[0], &factory, &mut report).await?;
    report.callers(callers.stop().await);
    page.check(&mut report).await?;
    let drained = factory.close(Duration::from_secs(5)).await;
    report.check("every call under way ended before the close", drained);
    Ok(report.conclude())
}

/// Five seconds for a call and what is left of its caller's time, whichever is less; three attempts,
/// since the `.proto` calls the method harmless; a breaker that asks again soon.
fn kit(name: &str, pool: PoolBuilder, page: &Page) -> Result<KitBuilder> {
    let breaker = BreakerPolicy::DEFAULT.with_open_for(Duration::from_millis(500))?;
    let calls = Resilient::builder()
        .methods(&pb::METHODS)
        .timeout(Duration::from_secs(5))?
        .retry(RetryPolicy::DEFAULT)
        .breaker(breaker);
    let kit = Kit::builder(name).pool(pool).calls(page.counting(calls));
    Ok(kit.health(|checker| checker.mode(HealthMode::Watch)))
}

/// What happens to the members of the first upstream.
async fn run(stock: &mut [Member], factory: &Factory, report: &mut Report) -> Result<()> {
    let kit = factory.kit("stock")?.clone();
    report.spread("all four", stock, &[0, 1, 2, 3]).await;

    stock[1].kill();
    report.spread("stock-2 was killed", stock, &[0, 2, 3]).await;
    stock[1].restart()?;
    let back = stock[1].waits_for_calls().await;
    report.check("stock-2 is used again after its restart", back);
    report.spread("all four again", stock, &[0, 1, 2, 3]).await;

    let name = stock[2].address().to_string();
    let round_trip = stock[2].round_trip().await?;
    let mut changes = kit.health().ok_or("the kit checks nobody's health")?.changes();
    let began = report::now();
    stock[2].serving(false).await;
    while kit.health().is_some_and(|health| health.is_healthy(&name) != Ok(false)) {
        changes.changed().await;
    }
    let (noticed, then) = (report::now() - began, stock[2].calls());
    let round_trip = round_trip.max(stock[2].round_trip().await?);
    sleep(Duration::from_millis(200)).await;
    report.noticed(noticed, round_trip, stock[2].calls() - then);
    report.spread("stock-3 is not serving", stock, &[0, 1, 3]).await;
    stock[2].serving(true).await;
    let back = stock[2].waits_for_calls().await;
    report.check("stock-3 is used again when it serves", back);
    report.spread("all four at the end", stock, &[0, 1, 2, 3]).await;
    Ok(())
}
