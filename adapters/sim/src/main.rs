//! The `evenkeel` command.
fn main() {
    for cell in evenkeel_sim::validate::outage::cells() {
        let o = cell.run().unwrap();
        let m = |f: fn(&evenkeel_sim::Summary) -> f64| o.batch.mean(f);
        println!("{} {:30} {:26} {:?} got {:?} amp {:.2} peak {:.1} after {:.3} waste {:.2} br {:.1}", if o.passes {"ok  "} else {"FAIL"}, cell.policy, cell.outage, cell.expected, o.got,
          m(|s| s.amplification), m(|s| s.peak), m(|s| s.success_after), m(|s| s.wasted), m(|s| s.breaker_seconds));
    }
}
