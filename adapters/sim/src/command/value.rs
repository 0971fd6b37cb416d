//! This file knows how a number of the command line is read, and refused: with what would be right.

/// Reads a whole number of this range.
pub(crate) fn whole(
    from: u32,
    to: u32,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| (from..=to).contains(number));
        number.ok_or_else(|| format!("must be a whole number from {from} to {to}"))
    }
}
