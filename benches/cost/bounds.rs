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
    let mut expected = ADDED.iter();
    for group in calls::groups() {
        let mut base = None;
        for case in &group.cases {
            let Allocations { count, bytes } = Allocations::of(case);
            let Some((base_count, base_bytes)) = base else {
                base = Some((count, bytes));
                continue;
            };
            let (added, grown) = ((count - base_count).round(), bytes - base_bytes);
            let what = format!("{}, {}: {added} more, {grown:.0} bytes", group.title, case.name);
            let (name, most) = expected.next().expect("each case is in the list");
            assert_eq!(case.name, *name);
            assert!(added <= f64::from(*most), "{what}");
            assert!(grown < 2_048.0, "{what}");
        }
    }
    assert_eq!(expected.next(), None);
}

/// The cases in their order, but for the first of each group, which is raw tonic's, and how many
/// allocations are made on top of its.
const ADDED: [(&str, u32); 14] = [
    // A unary call without a deadline.
    ("nothing configured", 0),
    ("breaker", 1),
    ("retry, the response held", 2),
    ("retry and throttle", 2),
    // A unary call with a deadline.
    ("timeout", 0),
    ("request budget", 0),
    ("full chain", 1),
    ("full chain, three members", 1),
    ("full chain, set_timeout", 3),
    ("full chain, set_timeout, budget", 3),
    // The same, its answer waited for.
    ("timeout", 0),
    ("full chain", 1),
    // A unary call that fails once.
    ("timeout, retry, breaker", 0),
    // A message of a response stream.
    ("a message, full chain", 0),
];
