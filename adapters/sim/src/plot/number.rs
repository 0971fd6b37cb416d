//! This file knows how numbers are printed: from integers, so that every platform agrees.

/// To a tenth: pixels.
pub(crate) fn round(value: f64) -> String {
    decimals(value, 1)
}

/// As few digits as a reader needs: 12k, 700, 4.2, 0.05.
pub(crate) fn short(value: f64) -> String {
    let size = if value < 0.0 { -value } else { value };
    match size {
        size if size >= 1e9 => format!("{}G", trimmed(value / 1e9, 1)),
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6, 1)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3, 1)),
        size if size >= 100.0 => trimmed(value, 0),
        size if size >= 10.0 => trimmed(value, 1),
        size if size >= 0.1 => trimmed(value, 2),
        _ => trimmed(value, 3),
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let digits = if value > 0.0 && value < 10.0 { 1 } else { 0 };
    format!("{} %", trimmed(value, digits))
}

/// A span in seconds, in the unit a reader would choose.
pub(crate) fn clock(seconds: f64) -> String {
    if seconds < 0.001 && seconds > 0.0 {
        return format!("{} µs", short(seconds * 1e6));
    }
    if seconds < 1.0 && seconds > 0.0 {
        return format!("{} ms", short(seconds * 1e3));
    }
    format!("{} s", short(seconds))
}

/// With at most this many decimals, and no zeros at the end.
fn trimmed(value: f64, digits: u32) -> String {
    let mut text = decimals(value, digits);
    if text.contains('.') {
        while text.ends_with('0') {
            text.pop();
        }
        if text.ends_with('.') {
            text.pop();
        }
    }
    text
}

/// With exactly this many decimals.
fn decimals(value: f64, digits: u32) -> String {
    let unit = 10u64.pow(digits);
    let size = if value < 0.0 { -value } else { value };
    let units = (size * unit as f64 + 0.5) as u64;
    let sign = if value < 0.0 && units > 0 { "-" } else { "" };
    if digits == 0 {
        return format!("{sign}{units}");
    }
    let (whole, rest) = (units / unit, units % unit);
    format!("{sign}{whole}.{rest:0width$}", width = digits as usize)
}

#[cfg(test)]
mod tests {
    use super::{clock, percent, round, short};

    #[test]
    fn numbers_are_short_and_right() {
        assert_eq!(round(-0.04), "0.0");
        assert_eq!(
            [short(0.0), short(0.05), short(4.2), short(699.6)],
            ["0", "0.05", "4.2", "700"]
        );
        assert_eq!([short(12_345.0), short(2.5e6), short(1e12)], ["12.3k", "2.5M", "1000G"]);
        assert_eq!([percent(0.333), percent(0.012), percent(1.0)], ["33 %", "1.2 %", "100 %"]);
        assert_eq!([clock(0.25), clock(31.0), clock(2e-6)], ["250 ms", "31 s", "2 µs"]);
        assert_eq!(short(f64::NAN), "0");
    }
}
