//! The uplink firmware: embassy, real TCP, retries, breakers, telemetry. QEMU's `-append` gives the
//! host's port and a seed; the exit status is the number of surprises.
#![no_std]
#![no_main]

use board::Ethernet;
use board::host::{arguments, exit};
use defmt_semihosting as _;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use static_cell::StaticCell;

#[cfg(not(feature = "virt"))]
#[cortex_m_rt::entry]
fn entry() -> ! {
    board::start(main)
}

#[cfg(feature = "virt")]
#[riscv_rt::entry]
fn entry() -> ! {
    board::start(main)
}

fn main(spawner: Spawner) {
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    let [port, seed] = arguments();
    let Some(device) = Ethernet::take() else { exit(NO_NETWORK) };
    let sockets = SOCKETS.init(StackResources::new());
    let (stack, runner) = embassy_net::new(device, app::network(), sockets, seed.into());
    match (network(runner), uplink(stack, port as u16, seed)) {
        (Ok(network), Ok(uplink)) => {
            spawner.spawn(network);
            spawner.spawn(uplink);
        }
        _ => exit(NO_TASK),
    }
}

#[embassy_executor::task]
async fn network(mut runner: Runner<'static, Ethernet>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn uplink(stack: Stack<'static>, port: u16, seed: u32) {
    defmt::info!("port {}, seed {}", port, seed);
    let surprises = app::run(stack, port, seed).await;
    #[cfg(feature = "lm3s")]
    {
        let (used, size) = board::stack_used();
        defmt::info!("stack: {} of {} bytes used", used, size);
    }
    exit(surprises as i32)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("panic: {}", defmt::Display2Format(info));
    exit(PANIC)
}

const PANIC: i32 = 101;
const NO_NETWORK: i32 = 102;
const NO_TASK: i32 = 103;
