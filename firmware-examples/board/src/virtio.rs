//! This file knows virtio-net on RISC-V `virt`, over the `virtio-drivers` crate's raw device: one
//! buffer each way, and QEMU transmits while it is polled.

use core::ptr::NonNull;
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState};
use embassy_sync::waitqueue::AtomicWaker;
use static_cell::{ConstStaticCell, StaticCell};
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

use crate::frame::{self, MTU, Received};
use crate::mmio::Reg;

const HEADER: usize = 12;
const SLOTS: usize = 8;
const QUEUE: usize = 4;

static RECEIVED: AtomicWaker = AtomicWaker::new();

#[repr(align(4096))]
struct Page([u8; PAGE_SIZE]);

/// Memory as it is: no MMU, so addresses are physical.
#[derive(Debug)]
pub(crate) struct Identity;

// SAFETY: pages come from a static pool, each once, and nothing is mapped anywhere else.
unsafe impl Hal for Identity {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // Two for each of the two queues, asked for one at a time.
        static POOL: [ConstStaticCell<Page>; 4] =
            [const { ConstStaticCell::new(Page([0; PAGE_SIZE])) }; 4];
        let page = POOL.iter().find_map(ConstStaticCell::try_take).filter(|_| pages == 1);
        match page {
            Some(Page(bytes)) => (bytes.as_ptr() as PhysAddr, NonNull::from(&mut bytes[0])),
            None => (0, NonNull::dangling()),
        }
    }

    // SAFETY: nothing is given back.
    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    // SAFETY: without an MMU the address is the pointer.
    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as *mut u8).unwrap_or(NonNull::dangling())
    }

    // SAFETY: as above.
    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>() as usize as PhysAddr
    }

    // SAFETY: nothing was done to share it.
    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

type Device = VirtIONetRaw<Identity, MmioTransport<'static>, QUEUE>;

/// The network device.
pub struct Virtio {
    device: Device,
    rx: &'static mut [u8; MTU + HEADER],
    tx: &'static mut [u8; MTU + HEADER],
    /// Of the receive buffer, while the device has it.
    token: Option<u16>,
}

impl core::fmt::Debug for Virtio {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Virtio").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Virtio {
    /// Finds the device and starts it; `None` if there is none, and the second time.
    pub fn take() -> Option<Self> {
        static RX: StaticCell<[u8; MTU + HEADER]> = StaticCell::new();
        static TX: StaticCell<[u8; MTU + HEADER]> = StaticCell::new();
        for slot in 0..SLOTS {
            let header = NonNull::new((0x1000_1000 + slot * 0x1000) as *mut VirtIOHeader)?;
            // SAFETY: QEMU virt maps eight virtio windows here, and nothing else uses them.
            let Ok(transport) = (unsafe { MmioTransport::new(header, 0x200) }) else { continue };
            if transport.device_type() != DeviceType::Network {
                continue;
            }
            let device = Device::new(transport).ok()?;
            let rx = RX.try_init([0; MTU + HEADER])?;
            let tx = TX.try_init([0; MTU + HEADER])?;
            let mut found = Self { device, rx, tx, token: None };
            found.lend();
            enable(slot as u32 + 1);
            return Some(found);
        }
        None
    }

    /// Lends the receive buffer to the device.
    fn lend(&mut self) {
        if self.token.is_none() {
            // SAFETY: the buffer is static, and is not touched until `receive_complete`.
            self.token = unsafe { self.device.receive_begin(self.rx) }.ok();
        }
    }
}

const fn plic(offset: usize) -> Reg {
    // SAFETY: QEMU virt's PLIC, and offsets within it.
    unsafe { Reg::new(0x0c00_0000 + offset) }
}

const ENABLED: Reg = plic(0x2000);
const THRESHOLD: Reg = plic(0x20_0000);
const CLAIM: Reg = plic(0x20_0004);

fn enable(line: u32) {
    plic(line as usize * 4).write(1);
    ENABLED.write(1 << line);
    THRESHOLD.write(0);
}

/// The line stays high until the driver acknowledges the device, so it is masked here.
pub(crate) fn on_interrupt() {
    let line = CLAIM.read();
    ENABLED.write(0);
    CLAIM.write(line);
    RECEIVED.wake();
}

/// Room for a frame to send.
pub struct Room<'a>(&'a mut Device, &'a mut [u8; MTU + HEADER]);

impl core::fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}

impl embassy_net_driver::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let header = self.0.fill_buffer_header(self.1).unwrap_or(HEADER);
        let result = f(&mut self.1[header..header + len]);
        let frame = &self.1[..header + len];
        // SAFETY: the buffer outlives the request, which is over before this returns.
        unsafe {
            if let Ok(token) = self.0.transmit_begin(frame) {
                while self.0.poll_transmit().is_none() {}
                let _ = self.0.transmit_complete(token, frame);
            }
        }
        result
    }
}

impl Driver for Virtio {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Room<'_>)> {
        self.lend();
        RECEIVED.register(cx.waker());
        self.device.ack_interrupt();
        ENABLED.write(0xff << 1);
        self.device.poll_receive()?;
        let token = self.token.take()?;
        // SAFETY: it is the buffer that was lent for this token.
        let (header, len) = unsafe { self.device.receive_complete(token, self.rx) }.ok()?;
        Some((Received(&mut self.rx[header..header + len]), Room(&mut self.device, self.tx)))
    }

    fn transmit(&mut self, _cx: &mut Context<'_>) -> Option<Room<'_>> {
        Some(Room(&mut self.device, self.tx))
    }

    fn link_state(&mut self, _cx: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        frame::capabilities()
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.mac_address())
    }
}
