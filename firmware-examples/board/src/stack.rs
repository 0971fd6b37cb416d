//! This file knows how deep the stack has ever been: cortex-m-rt paints it before `main`.

unsafe extern "C" {
    static _stack_start: u32;
    static _stack_end: u32;
}

/// Bytes of stack ever used, and bytes there are.
pub fn used() -> (usize, usize) {
    let (top, end) = (&raw const _stack_start, &raw const _stack_end);
    let mut at = end;
    // SAFETY: every word between the linker's two symbols is RAM.
    while at < top && unsafe { at.read_volatile() } == cortex_m_rt::STACK_PAINT_VALUE {
        at = at.wrapping_add(1);
    }
    (top as usize - at as usize, top as usize - end as usize)
}
