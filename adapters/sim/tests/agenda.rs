//! The agenda gives events back in the order of their time, and those of one time as they came.

use std::collections::BTreeMap;

use evenkeel_sim::{Agenda, Chance};

#[test]
fn it_agrees_with_a_sorted_map() {
    let mut chance = Chance::seeded(5);
    for spread in [1u32, 10, 1_000, 1 << 20, u32::MAX] {
        let (mut agenda, mut model) = (Agenda::new(), BTreeMap::new());
        let (mut now, mut number) = (0u64, 0u64);
        for _ in 0..4_000 {
            if chance.happens(0.55) {
                let far = if chance.happens(0.01) { u64::MAX / 2 } else { 0 };
                let at = now + u64::from(chance.below(spread)) + far;
                agenda.push(at, number);
                model.insert((at, number), ());
                number += 1;
            } else {
                let expected = model.pop_first().map(|((at, number), ())| (at, number));
                let got = agenda.pop();
                assert_eq!(got, expected);
                now = got.map_or(now, |(at, _)| at);
            }
            assert_eq!(agenda.len(), model.len());
        }
    }
}

#[test]
fn the_last_instant_is_one_like_any_other() {
    let mut agenda = Agenda::new();
    agenda.push(u64::MAX, 'b');
    agenda.push(0, 'a');
    assert_eq!(agenda.pop(), Some((0, 'a')));
    assert_eq!(agenda.pop(), Some((u64::MAX, 'b')));
    agenda.push(5, 'c');
    assert_eq!(agenda.pop(), Some((u64::MAX, 'c')));
    assert!(agenda.is_empty());
}
