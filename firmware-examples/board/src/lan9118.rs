//! This file knows the LAN9118 Ethernet controller as QEMU models it: programmed I/O, one frame at a
//! time, an interrupt for reception.
//!
//! QEMU transmits in the write of the last word, so the transmit side is empty whenever it is
//! looked at. Its interrupt line is inverted, and storms, unless `IRQ_CFG` says active high.

use core::cell::Cell;
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState};
use embassy_sync::waitqueue::AtomicWaker;

use crate::frame::{self, MTU, Received};
use crate::mmio::Reg;

const fn reg(offset: usize) -> Reg {
    // SAFETY: the controller's window on mps2-an385 and -an386, and offsets within it.
    unsafe { Reg::new(0x4020_0000 + offset) }
}

const RX_DATA: Reg = reg(0x00);
const TX_DATA: Reg = reg(0x20);
const RX_STATUS: Reg = reg(0x40);
const TX_STATUS: Reg = reg(0x48);
const IRQ_CFG: Reg = reg(0x54);
const INT_STS: Reg = reg(0x58);
const INT_EN: Reg = reg(0x5c);
const BYTE_TEST: Reg = reg(0x64);
const FIFO_INT: Reg = reg(0x68);
const TX_CFG: Reg = reg(0x70);
const HW_CFG: Reg = reg(0x74);
const RX_FIFO_INF: Reg = reg(0x7c);
const TX_FIFO_INF: Reg = reg(0x80);
const MAC_CMD: Reg = reg(0xa4);
const MAC_DATA: Reg = reg(0xa8);

/// The controller's interrupt line.
pub(crate) const IRQ: u16 = 13;
const RX_LEVEL: u32 = 1 << 3;
const MAC_CONTROL: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;

static RECEIVED: AtomicWaker = AtomicWaker::new();

fn mac_command(command: u32) {
    MAC_CMD.write(1 << 31 | command);
    while MAC_CMD.read() >> 31 != 0 {}
}

fn mac_read(index: u32) -> u32 {
    mac_command(1 << 30 | index);
    MAC_DATA.read()
}

fn mac_write(index: u32, value: u32) {
    MAC_DATA.write(value);
    mac_command(index);
}

/// Masks reception, which the driver unmasks again, and wakes the network task.
pub(crate) fn on_interrupt() {
    INT_EN.write(0);
    RECEIVED.wake();
}

/// The controller.
#[derive(Debug)]
pub struct Lan9118 {
    mac: [u8; 6],
    rx: [u8; MTU + 6],
    tx: [u8; MTU + 6],
}

impl Lan9118 {
    /// Resets and starts the controller; `None` if there is none, and the second time.
    pub fn take() -> Option<Self> {
        static TAKEN: critical_section::Mutex<Cell<bool>> =
            critical_section::Mutex::new(Cell::new(false));
        let taken = critical_section::with(|cs| TAKEN.borrow(cs).replace(true));
        if taken || BYTE_TEST.read() != 0x8765_4321 {
            return None;
        }
        HW_CFG.write(1);
        while HW_CFG.read() & 1 != 0 {}
        HW_CFG.write(5 << 16);
        INT_STS.write(u32::MAX);
        FIFO_INT.write(0x4800_0000);
        IRQ_CFG.write(0x111);
        let [a, b, c, d] = mac_read(MAC_ADDRESS_LOW).to_le_bytes();
        let [e, f, _, _] = mac_read(MAC_ADDRESS_HIGH).to_le_bytes();
        mac_write(MAC_CONTROL, 1 << 20 | 1 << 3 | 1 << 2);
        TX_CFG.write(2);
        Some(Self { mac: [a, b, c, d, e, f], rx: [0; MTU + 6], tx: [0; MTU + 6] })
    }
}

/// Room for a frame to send.
#[derive(Debug)]
pub struct Room<'a>(&'a mut [u8]);

impl embassy_net_driver::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let result = f(&mut self.0[..len]);
        TX_DATA.write(1 << 13 | 1 << 12 | len as u32);
        TX_DATA.write(len as u32);
        for word in self.0[..len.next_multiple_of(4)].chunks_exact(4) {
            TX_DATA.write(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        }
        while TX_FIFO_INF.read() >> 16 & 0xff != 0 {
            TX_STATUS.read();
        }
        result
    }
}

impl Driver for Lan9118 {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Room<'_>)> {
        if RX_FIFO_INF.read() >> 16 & 0xff == 0 {
            RECEIVED.register(cx.waker());
            INT_STS.write(RX_LEVEL);
            INT_EN.write(RX_LEVEL);
            // A frame may have come between the look and the unmasking.
            if RX_FIFO_INF.read() >> 16 & 0xff == 0 {
                return None;
            }
        }
        // With its checksum of four bytes.
        let len = (RX_STATUS.read() >> 16 & 0x3fff) as usize;
        for at in 0..len.div_ceil(4) {
            let word = RX_DATA.read().to_le_bytes();
            if let Some(to) = self.rx.get_mut(at * 4..at * 4 + 4) {
                to.copy_from_slice(&word);
            }
        }
        let frame = len.saturating_sub(4).min(MTU);
        Some((Received(&mut self.rx[..frame]), Room(&mut self.tx)))
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
