//! This file knows a panic of each kind that can be reached: the probe must notice.

use evenkeel_probe::{any, blur};

pub(crate) fn reach() {
    #[cfg(feature = "control-index")]
    {
        let mut table = [1u8, 2, 3];
        let place: usize = any();
        table[place] = 0;
        blur(&mut table);
    }
    #[cfg(feature = "control-overflow")]
    {
        let mut sum: u32 = any();
        sum += any::<u32>();
        blur(&mut sum);
    }
}
