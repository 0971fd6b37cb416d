//! What nobody has asked for in a long time is forgotten, unless it protects.

use core::time::Duration;

use evenkeel_std::core::{Deadline, Instant, Verdict};

use crate::{PATIENT, POLICY, Table, at, attempt, held, keys, look_up, open, table};

const NOW: Instant = Instant::ZERO;

/// Forgets after a minute.
fn forgetful() -> Table {
    table(100).with_idle_ttl(Duration::from_secs(60)).unwrap()
}

/// It opened, and nobody ever asked for it again.
#[test]
fn f98_a_key_that_died_for_good_is_gone() {
    let table = forgetful();
    open(&table, NOW, "dead");
    look_up(&table, at(59), ["alive"]);
    assert_eq!(keys(&table), ["alive", "dead"]);
    look_up(&table, at(60), ["alive"]);
    assert_eq!(keys(&table), ["alive"]);
    let again = held(&table, at(61), "dead");
    assert!(again.admit(at(61), Deadline::NONE, &POLICY).is_ok(), "it starts anew");
}

#[test]
fn by_default_after_an_hour() {
    let table = table(100);
    look_up(&table, NOW, ["dead"]);
    look_up(&table, at(3_599), ["alive"]);
    assert_eq!(table.len(), 2);
    look_up(&table, at(3_600), ["alive"]);
    assert_eq!(table.len(), 1);
}

/// However its lookups and those of others fall: twice the time is enough.
#[test]
fn it_takes_no_place_after_twice_the_time() {
    for last_use in 0..60 {
        let table = forgetful();
        look_up(&table, NOW, ["alive"]);
        look_up(&table, at(last_use), ["dead"]);
        for now in last_use..last_use + 120 {
            look_up(&table, at(now), ["alive"]);
        }
        look_up(&table, at(last_use + 120), ["alive"]);
        assert_eq!(keys(&table), ["alive"], "last used at {last_use} s");
    }
}

/// Between the passes over the table the key itself is as good as gone.
#[test]
fn whoever_comes_back_too_late_starts_anew() {
    let table = forgetful();
    look_up(&table, NOW, ["other"]);
    attempt(&held(&table, at(59), "back"), at(59), Verdict::Failure, &PATIENT);
    look_up(&table, at(60), ["other"]);
    assert_eq!(held(&table, at(118), "back").snapshot().failures, 1, "a use: counted from here");
    assert_eq!(held(&table, at(177), "back").snapshot().failures, 1);
    assert_eq!(held(&table, at(237), "back").snapshot().failures, 0);
}

#[test]
fn what_protects_now_or_is_held_is_not_forgotten() {
    let table = forgetful();
    let in_use = held(&table, NOW, "in use");
    open(&table, at(59), "open");
    open(&table, at(0), "trial");
    drop(held(&table, at(0), "trial").admit(at(10), Deadline::NONE, &POLICY).unwrap());
    held(&table, NOW, "off").force_open();
    held(&table, NOW, "on").force_closed();
    look_up(&table, NOW, ["idle"]);

    // Opened at 59 s and then refused: open until 69 s.
    attempt(&held(&table, NOW, "late"), at(119), Verdict::Failure, &POLICY);
    look_up(&table, at(120), ["other"]);
    assert_eq!(keys(&table), ["in use", "late", "off", "on", "other", "trial"]);
    drop(in_use);
    look_up(&table, at(240), ["other"]);
    assert_eq!(keys(&table), ["off", "on", "other", "trial"]);
}

#[test]
fn no_time_at_all_is_refused() {
    let refused = table(1).with_idle_ttl(Duration::ZERO).unwrap_err();
    assert_eq!(refused.field(), "breaker.idle_ttl");
}
