//! This file knows what the three Ethernet drivers share: one frame at a time, in and out.

use embassy_net_driver::{Capabilities, RxToken};

/// The longest frame, without its checksum.
pub(crate) const MTU: usize = 1514;

/// A frame that was received.
#[derive(Debug)]
pub struct Received<'a>(pub(crate) &'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

pub(crate) fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::default();
    capabilities.max_transmission_unit = MTU;
    capabilities.max_burst_size = Some(1);
    capabilities
}
