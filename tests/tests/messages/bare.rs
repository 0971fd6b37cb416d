//! This file knows the statuses that have no type of ours: their words stand in the sources, as
//! those of log lines do.

use std::collections::BTreeSet;

use crate::sources::{files, literal, literals, root};

/// The messages of statuses whose words stand in the sources, where a status is made of them or in
/// the `message` it is made of.
pub(crate) fn statuses() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in files(&root().join("adapters/tonic/src")) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        for made in code.split("Status::").skip(1) {
            let (name, rest) = made.split_once('(').unwrap_or_default();
            if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                && let Some(rest) = rest.trim_start().strip_prefix('"')
            {
                found.insert(literal(&mut rest.chars()));
            }
        }
        for made in code.split("let message = ").skip(1) {
            found.extend(literals(made.split_once(';').unwrap_or_default().0));
        }
    }
    found.into_iter().map(|text| shortened(&text)).collect()
}

/// With … in place of what is put in.
fn shortened(text: &str) -> String {
    let mut pieces = text.split('{');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + "…" + piece.split_once('}').unwrap_or_default().1)
}

/// What to do about each status whose message is all there is of it.
pub(crate) const STATUSES: &[(&str, &str, &str)] = &[
    (
        "a restarted stream came with another grpc-encoding",
        "INTERNAL",
        "the other server compresses otherwise: configure them alike, or call again",
    ),
    (
        "no time for …: … left of the caller's deadline, safety margin …",
        "DEADLINE_EXCEEDED",
        "of `OpenBudgetLayer`, before the handler: the caller gave less than the margin; a \
         `BudgetExhausted` is its source",
    ),
    (
        "the response ended without a status",
        "UNKNOWN",
        "it broke off, or a proxy ate the trailers: not a gRPC server's doing",
    ),
    (
        "the server answered HTTP … without a status",
        "UNAVAILABLE",
        "a proxy or a gateway answered, and not the gRPC server: look there. 401, 403 and 404 have codes of their own (gRPC's table for HTTP), and what is not in that table is `UNKNOWN`",
    ),
    ("the service below is gone", "UNKNOWN", "nobody should see it: tell us"),
    (
        "the service below panicked",
        "UNKNOWN",
        "in metrics and spans: a layer or channel of yours panicked, and the caller's task with it",
    ),
    (
        "this attempt was superseded by another",
        "CANCELLED",
        "seen by layers below only: the request body of an attempt that was given up",
    ),
];
