//! This file knows two network stacks and the wire between them.

use std::cell::{Cell, RefCell};

use embassy_futures::join::join4;
use embassy_futures::select::{Either, select};
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Stack, StackResources, StaticConfigV4};
use embassy_net_driver_channel as channel;
use evenkeel_core::{Clock, Micros, Random, SmallRng};
use evenkeel_embassy::{EmbassyClock, sleep_until};
use simulated::apart;

const MTU: usize = 1514;
/// Where the server is.
pub(crate) const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const DEVICE: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);

type Device<'a> = channel::Device<'a, MTU>;

/// A wire that loses `loss` of 256 frames and delays the others by 1 to 20 ms.
pub(crate) struct Wire {
    seed: u64,
    loss: u32,
    lost: Cell<u32>,
    rng: RefCell<SmallRng>,
}

/// The stacks at its ends.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) device: Stack<'a>,
    pub(crate) server: Stack<'a>,
}

impl Wire {
    pub(crate) fn new(seed: u64, loss: u32) -> Self {
        let rng = RefCell::new(SmallRng::seeded(seed as u32));
        Self { seed, loss, lost: Cell::new(0), rng }
    }

    /// Frames lost so far.
    pub(crate) fn lost(&self) -> u32 {
        self.lost.get()
    }

    /// Runs `body` between the two ends, and answers when it was over.
    pub(crate) fn run<T>(&self, body: impl AsyncFnOnce(World<'_>) -> T) -> (T, u64) {
        let mut states = [channel::State::<MTU, 4, 4>::new(), channel::State::new()];
        let [one, two] = &mut states;
        let (one, device) = nic(one, 1);
        let (two, server) = nic(two, 2);
        let mut resources = [StackResources::<4>::new(), StackResources::new()];
        let [for_device, for_server] = &mut resources;
        let (device, mut runs_device) = embassy_net::new(device, at(DEVICE), for_device, self.seed);
        let (server, mut runs_server) =
            embassy_net::new(server, at(SERVER), for_server, self.seed + 1);
        let ((_, one_in, one_out), (_, two_in, two_out)) = (one.split(), two.split());
        simulated::run_from(0, async {
            let world = join4(
                apart(runs_device.run()),
                apart(runs_server.run()),
                apart(self.carry(one_out, two_in)),
                apart(self.carry(two_out, one_in)),
            );
            match select(apart(body(World { device, server })), world).await {
                Either::First(output) => output,
                Either::Second(_) => unreachable!("a stack runs for ever"),
            }
        })
    }

    /// One direction.
    async fn carry(
        &self,
        mut from: channel::TxRunner<'_, MTU>,
        mut to: channel::RxRunner<'_, MTU>,
    ) {
        loop {
            let frame = from.tx_buf().await.to_vec();
            from.tx_done();
            if self.draw(256) < self.loss {
                self.lost.set(self.lost.get() + 1);
                continue;
            }
            let delay = Micros::from_millis(u64::from(1 + self.draw(20)));
            sleep_until(EmbassyClock.now() + delay).await;
            to.rx_buf().await[..frame.len()].copy_from_slice(&frame);
            to.rx_done(frame.len());
        }
    }

    fn draw(&self, below: u32) -> u32 {
        ((u64::from(self.rng.borrow_mut().next_u32()) * u64::from(below)) >> 32) as u32
    }
}

fn nic(
    state: &mut channel::State<MTU, 4, 4>,
    number: u8,
) -> (channel::Runner<'_, MTU>, Device<'_>) {
    let address = channel::driver::HardwareAddress::Ethernet([2, 0, 0, 0, 0, number]);
    let (runner, device) = channel::new(state, address);
    runner.state_runner().set_link_state(channel::driver::LinkState::Up);
    (runner, device)
}

fn at(address: Ipv4Address) -> Config {
    let address = Ipv4Cidr::new(address, 24);
    let dns_servers = Default::default();
    Config::ipv4_static(StaticConfigV4 { address, gateway: None, dns_servers })
}
