//! This file knows how a count is written for a person, however large it is.

/// Exact while it is short, else to two digits: "65536", "1.8 × 10^19".
pub fn counted(count: f64) -> String {
    if !count.is_finite() {
        return "countless".into();
    }
    if count < 1e6 {
        return count.round().to_string();
    }
    let power = count.log10().floor();
    format!("{:.1} × 10^{power}", count / 10f64.powf(power))
}
