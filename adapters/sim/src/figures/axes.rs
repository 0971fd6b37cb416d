//! This file knows how far the axes of the pictures must reach at least, so that those of two runs
//! can be laid side by side: a peak that is twice as high is drawn twice as high.
//!
//! Only the command lays any side by side; in the engine alone nothing of this is left.

/// How far axes reach: whatever is drawn with it is noted, and what is drawn after that reaches no
/// less far.
///
/// A picture reaches as far as what it shows, so two that share theirs are drawn once to learn how
/// far, and once more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Axes {
    #[cfg(feature = "command")]
    farthest: [f64; 5],
}

/// An axis that two runs share.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    /// Time of one call, in seconds.
    Call,
    /// Waiting at the server, in seconds.
    Delay,
    /// Attempts in a tenth of a second.
    Herd,
    /// Calls or attempts per second.
    Rate,
    /// Time, in seconds, of the charts over the whole run.
    Until,
}

impl Axes {
    /// How far an axis reaches that would reach to `own` by itself.
    #[cfg(feature = "command")]
    pub(super) fn reach(&mut self, axis: Axis, own: f64) -> f64 {
        let farthest = &mut self.farthest[axis as usize];
        *farthest = farthest.max(own);
        *farthest
    }

    #[cfg(not(feature = "command"))]
    #[expect(clippy::needless_pass_by_ref_mut, reason = "the command notes how far it reaches")]
    #[inline]
    pub(super) const fn reach(&mut self, _: Axis, own: f64) -> f64 {
        own
    }
}
