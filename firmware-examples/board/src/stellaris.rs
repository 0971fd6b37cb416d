//! This file knows the Stellaris Ethernet controller as QEMU models it: programmed I/O, one frame at
//! a time, an interrupt for reception. QEMU transmits in the write that starts it.

use core::cell::Cell;
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState};
use embassy_sync::waitqueue::AtomicWaker;

use crate::frame::{self, MTU, Received};
use crate::mmio::Reg;

const fn reg(offset: usize) -> Reg {
    // SAFETY: the LM3S6965's Ethernet MAC, and offsets within it.
    unsafe { Reg::new(0x4004_8000 + offset) }
}

const INT_ACK: Reg = reg(0x00);
const INT_MASK: Reg = reg(0x04);
const RX_CONTROL: Reg = reg(0x08);
const TX_CONTROL: Reg = reg(0x0c);
const DATA: Reg = reg(0x10);
const MAC_LOW: Reg = reg(0x14);
const MAC_HIGH: Reg = reg(0x18);
const FRAMES: Reg = reg(0x34);
const TX_START: Reg = reg(0x38);

/// The controller's interrupt line.
pub(crate) const IRQ: u16 = 42;
const HEADER: usize = 14;
const RX: u32 = 1;

static RECEIVED: AtomicWaker = AtomicWaker::new();

/// Masks reception, which the driver unmasks again, and wakes the network task.
pub(crate) fn on_interrupt() {
    INT_MASK.write(0);
    RECEIVED.wake();
}

/// The controller.
#[derive(Debug)]
pub struct Stellaris {
    mac: [u8; 6],
    /// Two bytes of length, the frame, its checksum, rounded up to words.
    rx: [u8; MTU + 10],
    tx: [u8; MTU + 6],
}

impl Stellaris {
    /// Starts the controller; `None` the second time.
    pub fn take() -> Option<Self> {
        static TAKEN: critical_section::Mutex<Cell<bool>> =
            critical_section::Mutex::new(Cell::new(false));
        if critical_section::with(|cs| TAKEN.borrow(cs).replace(true)) {
            return None;
        }
        INT_MASK.write(0);
        let [a, b, c, d] = MAC_LOW.read().to_le_bytes();
        let [e, f, _, _] = MAC_HIGH.read().to_le_bytes();
        // On, padded, with a checksum, full duplex.
        TX_CONTROL.write(1 | 2 | 4 | 8);
        RX_CONTROL.write(1 << 4);
        RX_CONTROL.write(1);
        Some(Self { mac: [a, b, c, d, e, f], rx: [0; MTU + 10], tx: [0; MTU + 6] })
    }
}

/// Room for a frame to send.
#[derive(Debug)]
pub struct Room<'a>(&'a mut [u8]);

impl embassy_net_driver::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let result = f(&mut self.0[2..len + 2]);
        let payload = len.saturating_sub(HEADER) as u16;
        self.0[..2].copy_from_slice(&payload.to_le_bytes());
        for word in self.0[..(len + 2).next_multiple_of(4)].chunks_exact(4) {
            DATA.write(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        }
        TX_START.write(1);
        result
    }
}

impl Driver for Stellaris {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Room<'_>)> {
        if FRAMES.read() == 0 {
            RECEIVED.register(cx.waker());
            INT_ACK.write(RX);
            INT_MASK.write(RX);
            // A frame may have come between the look and the unmasking.
            if FRAMES.read() == 0 {
                return None;
            }
        }
        let first = DATA.read();
        // With its own two bytes and the checksum of four.
        let len = (first & 0xffff) as usize;
        self.rx[..4].copy_from_slice(&first.to_le_bytes());
        for at in 1..len.div_ceil(4) {
            let word = DATA.read().to_le_bytes();
            if let Some(to) = self.rx.get_mut(at * 4..at * 4 + 4) {
                to.copy_from_slice(&word);
            }
        }
        let frame = len.saturating_sub(6).min(MTU);
        Some((Received(&mut self.rx[2..frame + 2]), Room(&mut self.tx)))
    }

    fn transmit(&mut self, _cx: &mut Context<'_>) -> Option<Room<'_>> {
        Some(Room(&mut self.tx))
    }

    fn link_state(&mut self, _cx: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        frame::capabilities()
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.mac)
    }
}
