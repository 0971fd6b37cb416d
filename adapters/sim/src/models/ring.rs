//! This file knows sums over a sliding window, in slices.

/// The sum of what was added in the last `N` slices of `slice` microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Ring<const N: usize> {
    slices: [i32; N],
    sum: i64,
    /// The number of the current slice, counted from time 0.
    current: u64,
}

impl<const N: usize> Ring<N> {
    pub(crate) const EMPTY: Self = Self { slices: [0; N], sum: 0, current: 0 };

    pub(crate) fn add(&mut self, now: u64, slice: u64, amount: i32) {
        self.turn(now, slice);
        let place = &mut self.slices[(self.current % N as u64) as usize];
        *place = place.saturating_add(amount);
        self.sum += i64::from(amount);
    }

    pub(crate) fn sum(&mut self, now: u64, slice: u64) -> i64 {
        self.turn(now, slice);
        self.sum
    }

    /// Forgets what has left the window.
    fn turn(&mut self, now: u64, slice: u64) {
        let reached = now / slice.max(1);
        if reached <= self.current {
            return;
        }
        for step in 1..=(reached - self.current).min(N as u64) {
            let place = &mut self.slices[((self.current + step) % N as u64) as usize];
            self.sum -= i64::from(*place);
            *place = 0;
        }
        self.current = reached;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut ring = Ring::<4>::EMPTY;
        ring.add(5, 10, 3);
        ring.add(25, 10, 4);
        assert_eq!(ring.sum(39, 10), 7);
        assert_eq!(ring.sum(40, 10), 4);
        assert_eq!(ring.sum(1_000_000, 10), 0);
    }
}
