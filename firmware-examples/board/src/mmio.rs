//! This file knows device registers; the only one that touches raw addresses.

/// A 32-bit register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reg(usize);

impl Reg {
    /// The register at `address`.
    ///
    /// # Safety
    ///
    /// It must be a device register, aligned to four bytes, that stays mapped for the program's
    /// life, and whose reads and writes do no harm to memory.
    pub(crate) const unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    #[inline(always)]
    pub(crate) fn read(self) -> u32 {
        // SAFETY: a mapped and aligned register, as `new` demands.
        unsafe { (self.0 as *const u32).read_volatile() }
    }

    #[inline(always)]
    pub(crate) fn write(self, value: u32) {
        // SAFETY: as above.
        unsafe { (self.0 as *mut u32).write_volatile(value) }
    }
}
