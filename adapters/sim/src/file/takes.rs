//! This file knows what each key of a scenario takes, in the words in which it is refused. A test holds
//! them against `docs/scenario-keys.md`.

/// What stands behind "must be"; `None` where there is no such key.
pub(super) fn of(key: &str) -> Option<&'static str> {
    Some(match key {
        "policy" => "the name of a preset, or of a file, in quotes",
        "method" => "a method's name in quotes",
        "seeds" => "a whole number from 1 to 1000",
        "seed" => "a whole number",
        "max_events" => "a whole number above zero",
        "fleet" | "server" | "fault" => "a section",
        "fleet.clients" => "a whole number from 1 to 5000000",
        "fleet.rate" => "a number above zero",
        "fleet.layers" => "a whole number from 1 to 5",
        "fleet.propagate_deadlines" => "true or false",
        "server.workers" => "a whole number from 1 to 1000000",
        "server.law" | "server.order" | "fault.kind" => "a word in quotes",
        "server.sigma" => "a number from 0 to 5",
        "server.queue_limit" => "a whole number from 0 to 4294967295",
        "fault.capacity" => "a number above 0 and below 1",
        "fault.share" => "a number from 0 to 1",
        "end" | "fleet.think" | "server.service" | "server.reserve" | "server.reject_cost"
        | "server.network" | "fault.start" | "fault.length" | "fault.setup" => {
            "a span of time with its unit, such as \"250ms\""
        }
        _ => return None,
    })
}
