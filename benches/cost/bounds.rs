//! What the table of `cost` must not grow beyond, whatever machine it is printed on.
//!
//! A single test: allocations are counted for the whole process.

mod allocations;
mod calls;
mod case;
mod stub;

#[path = "../../tests/src/pb.rs"]
mod pb;

use allocations::Allocations;

#[test]
fn what_the_chain_adds_is_bounded() {
    let mut free = NOTHING.to_vec();
    for group in calls::groups() {
        let mut base = None;
        for case in &group.cases {
            let Allocations { count, bytes } = Allocations::of(case);
            let (base_count, base_bytes) = *base.get_or_insert((count, bytes));
            let (added, grown) = ((count - base_count).round(), bytes - base_bytes);
            let what = format!("{}, {}: {added} more, {grown:.0} bytes", group.title, case.name);
            let most = match free.iter().position(|name| *name == case.name) {
                Some(place) => {
                    free.swap_remove(place);
                    0.0
                }
                None => 4.0,
            };
            assert!(added <= most, "{what}");
            assert!(grown < 2_048.0, "{what}");
        }
    }
    assert!(free.is_empty(), "no case is called {free:?}");
}

/// The cases that must add none.
const NOTHING: [&str; 2] = ["nothing configured", "a message, full chain"];
