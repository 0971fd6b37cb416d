//! This file knows how numbers are printed: from integers, so that every platform agrees.

/// As few digits as a reader needs: 12k, 700, 4.2, 0.05.
pub(crate) fn short(value: f64) -> String {
    let size = if value < 0.0 { -value } else { value };
    let (unit, digits, name) = match size {
        size if size >= 1e9 => (1e9, 1, "G"),
        size if size >= 1e6 => (1e6, 1, "M"),
        size if size >= 1e4 => (1e3, 1, "k"),
        size if size >= 100.0 => (1.0, 0, ""),
        size if size >= 10.0 => (1.0, 1, ""),
        size if size >= 0.1 => (1.0, 2, ""),
        _ => (1.0, 3, ""),
    };
    let mut text = String::new();
    push_trimmed(&mut text, value / unit, digits);
    text.push_str(name);
    text
}

/// To a billionth, with the point that makes it a float in TOML.
pub(crate) fn float(value: f64) -> String {
    let mut text = String::new();
    push_trimmed(&mut text, value, if value < 1e6 { 9 } else { 0 });
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let mut text = String::new();
    push_trimmed(&mut text, value, if value > 0.0 && value < 10.0 { 1 } else { 0 });
    text.push_str(" %");
    text
}

/// A span in seconds, in the unit a reader would choose.
pub(crate) fn clock(seconds: f64) -> String {
    let (unit, name) = match seconds {
        seconds if seconds > 0.0 && seconds < 0.001 => (1e6, " µs"),
        seconds if seconds > 0.0 && seconds < 1.0 => (1e3, " ms"),
        _ => (1.0, " s"),
    };
    let mut text = short(seconds * unit);
    text.push_str(name);
    text
}

/// To a tenth: pixels.
pub(crate) fn push_tenths(text: &mut String, value: f64) {
    push_decimals(text, value, 1);
}

/// With at most this many decimals, and no zeros at the end.
fn push_trimmed(text: &mut String, value: f64, digits: u32) {
    push_decimals(text, value, digits);
    if digits > 0 {
        let kept = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(kept);
    }
}

/// With exactly this many decimals.
fn push_decimals(text: &mut String, value: f64, digits: u32) {
    let mut unit = 1;
    for _ in 0..digits {
        unit *= 10;
    }
    let size = if value < 0.0 { -value } else { value };
    let units = (size * unit as f64 + 0.5) as u64;
    if value < 0.0 && units > 0 {
        text.push('-');
    }
    push_whole(text, units / unit);
    if digits > 0 {
        text.push('.');
        while unit > 1 {
            unit /= 10;
            text.push(char::from(b'0' + (units / unit % 10) as u8));
        }
    }
}

fn push_whole(text: &mut String, number: u64) {
    if number >= 10 {
        push_whole(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::{clock, float, percent, push_tenths, short};

    #[test]
    fn numbers_are_short_and_right() {
        let round = |value| {
            let mut text = String::new();
            push_tenths(&mut text, value);
            text
        };
        assert_eq!([round(-0.04), round(-3.06), round(744.0)], ["0.0", "-3.1", "744.0"]);
        assert_eq!(
            [short(0.0), short(0.05), short(4.2), short(699.6)],
            ["0", "0.05", "4.2", "700"]
        );
        assert_eq!([short(12_345.0), short(2.5e6), short(1e12)], ["12.3k", "2.5M", "1000G"]);
        assert_eq!([percent(0.333), percent(0.012), percent(1.0)], ["33 %", "1.2 %", "100 %"]);
        assert_eq!([clock(0.25), clock(31.0), clock(2e-6)], ["250 ms", "31 s", "2 µs"]);
        assert_eq!(short(f64::NAN), "0");
        assert_eq!(
            [float(1.0), float(0.0125), float(123.4567), float(2e-9), float(3e8)],
            ["1.0", "0.0125", "123.4567", "0.000000002", "300000000.0"]
        );
    }
}
