//! What the uplink firmware does, whatever board it runs on: requests over real TCP to a host that
//! misbehaves when it is asked to, and telemetry that survives while nobody listens.
//!
//! [`run`] answers with the number of surprises, which becomes the exit status of QEMU.
#![no_std]

mod ask;
mod script;
mod settings;
mod telemetry;

use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Stack, StaticConfigV4};

pub use settings::PEERS;

/// The machine that QEMU runs on, as its network shows it.
pub const HOST: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);

/// The address that QEMU's network expects.
pub fn network() -> Config {
    Config::ipv4_static(StaticConfigV4 {
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 2, 15), 24),
        gateway: Some(HOST),
        dns_servers: Default::default(),
    })
}

/// Runs the script against port `port` of the host, then sends telemetry; answers how often
/// something else came of it than expected.
pub async fn run(stack: Stack<'_>, port: u16, seed: u32) -> u32 {
    // A real device takes its chip id; in QEMU all of them are alike.
    settings::SEEDS.of_device(&seed.to_le_bytes());
    stack.wait_config_up().await;
    let surprises = script::run(stack, port).await;
    surprises + telemetry::run(stack, port).await
}
