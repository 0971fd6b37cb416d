//! What the examples need of four boards that QEMU has, and all of their `unsafe`.
//!
//! | feature | QEMU machine | core | time | network |
//! |---|---|---|---|---|
//! | `mps2` | `mps2-an385`, `mps2-an386` | Cortex-M3, -M4 | two CMSDK timers | LAN9118 |
//! | `lm3s` | `lm3s6965evb` | Cortex-M3, 64 KiB of RAM | SysTick | Stellaris |
//! | `microbit` | `microbit` | Cortex-M0, 16 KiB of RAM | SysTick | none |
//! | `virt` | `virt` (RISC-V) | rv32imac | CLINT | virtio-net |
//!
//! The executor of the ARM boards runs in an interrupt and `main` sleeps with WFI: embassy's thread
//! executor sleeps with WFE, which QEMU 7.2 treats as a yield, so that it would spin.
#![no_std]

pub mod counter;
#[cfg(target_os = "none")]
pub mod host;

#[cfg(any(feature = "mps2", feature = "lm3s", feature = "virt"))]
mod frame;
#[cfg(any(feature = "mps2", feature = "lm3s", feature = "virt"))]
mod mmio;

#[cfg(feature = "virt")]
mod clint;
#[cfg(feature = "mps2")]
mod cmsdk;
#[cfg(feature = "mps2")]
mod lan9118;
#[cfg(feature = "lm3s")]
mod stack;
#[cfg(feature = "lm3s")]
mod stellaris;
#[cfg(feature = "systick")]
pub mod systick;
#[cfg(feature = "virt")]
mod virtio;

#[cfg(all(feature = "arm", feature = "executor"))]
mod arm;
#[cfg(feature = "virt")]
mod riscv32;

#[cfg(all(feature = "arm", feature = "executor"))]
pub use arm::start;
#[cfg(feature = "mps2")]
pub use lan9118::Lan9118 as Ethernet;
#[cfg(feature = "virt")]
pub use riscv32::start;
#[cfg(feature = "lm3s")]
pub use stack::used as stack_used;
#[cfg(feature = "lm3s")]
pub use stellaris::Stellaris as Ethernet;
#[cfg(feature = "virt")]
pub use virtio::Virtio as Ethernet;
