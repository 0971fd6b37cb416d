//! The `evenkeel` command.
use evenkeel_core::*;
use evenkeel_sim::*;
fn main() {
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "val" => {
            for c in validate::CHECKS {
                if std::env::args().nth(2).is_some_and(|a| a != c.id) {
                    continue;
                }
                let t = std::time::Instant::now();
                let rows = c.run(&validate::Machines::SHIPPED);
                println!("{} {} {:?}", c.id, c.source, t.elapsed());
                for r in rows {
                    println!(
                        "   {} {:60} {:>20} {:>14} {:>20}",
                        if r.passes { "ok  " } else { "FAIL" },
                        r.what,
                        r.expected,
                        r.tolerance,
                        r.got
                    );
                }
            }
        }
        "speed" => {
            let s = Scenario::outage(FaultKind::Stall);
            for (n, p) in [("no retry", Policy::NO_RETRY), ("naive", presets::named("naive").unwrap().policy), ("steady", presets::named("steady").unwrap().policy)] {
                let t = cpu(); let r = run(&s, &p, 11).unwrap(); let d = std::time::Duration::from_nanos(cpu()-t);
                println!("{n}: {} events {:?} {:.2} M/s", r.events, d, r.events as f64 / d.as_secs_f64()/1e6);
            }
            for c in std::env::args().nth(2).map_or(vec![1000u32, 10_000, 100_000, 1_000_000], |a| vec![a.parse().unwrap()]) {
                let mut s = Scenario::outage(FaultKind::Stall); s.fleet.clients = c; s.fleet.arrivals = Arrivals::Closed { think: Micros::from_millis(1000) }; s.server.workers = c / 50; s.fault.start = Micros::from_millis(1_000_000 ); s.end = Micros::from_millis((1_000_000_000 / c as u64).max(2000));
                let t = cpu(); let r = run(&s, &presets::named("steady").unwrap().policy, 11).unwrap(); let d = std::time::Duration::from_nanos(cpu()-t);
                println!("{c} clients: {} events {:?} {:.2} M/s", r.events, d, r.events as f64 / d.as_secs_f64()/1e6);
            }
        }
        "occ" => {
            for n in [10u32, 100, 190] {
                for (name, b) in [
                    ("none", IMMEDIATELY),
                    ("expo", original_waits(Jitter::None)),
                    ("full", original_waits(Jitter::Full)),
                    ("equal", original_waits(Jitter::Equal)),
                    ("decorr", original_waits(Jitter::Decorrelated)),
                    ("10%", original_waits(Jitter::Proportional(100))),
                    ("20%", original_waits(Jitter::Proportional(200))),
                ] {
                    let (mut t, mut w) = (0, 0);
                    for i in 0..100 {
                        let c = contest(b, n, 7919 * i + 5);
                        t += c.time;
                        w += c.writes;
                    }
                    println!("{n} {name} {:.0} ms {:.1}", t as f64 / 1e5, w as f64 / 100.0);
                }
            }
        }
        "storm" => {
            for m in [10_000u32, 100_000, 1_000_000] {
                for (name, j) in [
                    ("full", Jitter::Full),
                    ("equal", Jitter::Equal),
                    ("decorr", Jitter::Decorrelated),
                    ("grpc20", Jitter::Proportional(200)),
                    ("kit", Jitter::Proportional(100)),
                    ("expo", Jitter::None),
                ] {
                    if m > 100_000 && j == Jitter::None {
                        continue;
                    }
                    let t = std::time::Instant::now();
                    let b = doubling(
                        core::time::Duration::from_secs(1),
                        core::time::Duration::from_secs(60),
                        j,
                    )
                    .unwrap();
                    let r = Storm::new(m, b).run(3);
                    println!(
                        "{m} {name} t50 {:?} t99 {:?} t100 {:?} a/d {:.2} peak {:.0} conn {} in {:?}",
                        r.seconds(50),
                        r.seconds(99),
                        r.seconds(100),
                        r.attempts as f64 / m as f64,
                        r.peak,
                        r.connected,
                        t.elapsed()
                    );
                }
            }
        }
        "chan" => {
            for n in [10u32, 100, 1000, 10_000, 100_000] {
                let k = 1_000_000 / n.max(1000);
                let mut v: Vec<u64> = (0..k).map(|i| batch_makespan(n, i as u64)).collect();
                v.sort();
                print!("med {:.3} ", v[v.len() / 2] as f64 / (n as f64 * (n as f64).log2()));
                let s: u64 = (0..k).map(|i| batch_makespan(n, i as u64)).sum();
                let n = n as f64;
                println!("{n} {:.3}", s as f64 / k as f64 / (n * n.log2()));
            }
            for (n, r) in [(10, 2000), (50, 2000), (200, 2000), (10, 1582), (50, 1582), (200, 1582)]
            {
                println!("{n} {r} {:.4}", saturated_throughput(n, 32, r, 1_000_000, 5));
            }
            println!("{}", saturated_throughput(50, 1, 2000, 1_000_000, 5));
        }
        _ => {
            for cell in evenkeel_sim::validate::outage::cells() {
                let o = cell.run().unwrap();
                let m = |f: fn(&evenkeel_sim::Summary) -> f64| o.batch.mean(f);
                println!(
                    "{} {:30} {:26} {:?} got {:?} amp {:.2} peak {:.1} after {:.3} waste {:.2} br {:.1}",
                    if o.passes { "ok  " } else { "FAIL" },
                    cell.policy,
                    cell.outage,
                    cell.expected,
                    o.got,
                    m(|s| s.amplification),
                    m(|s| s.peak),
                    m(|s| s.success_after),
                    m(|s| s.wasted),
                    m(|s| s.breaker_seconds)
                );
            }
        }
    }
}

fn cpu() -> u64 { std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap() }
