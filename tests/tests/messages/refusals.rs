//! This file knows what is refused before there is a call, and what is only warned of.

use core::time::Duration;

use evenkeel_core::{Backoff, Code, CodeSet};
use evenkeel_settings::target::TargetName;
use evenkeel_settings::{MethodPattern, Settings, Warning};
use evenkeel_tonic::pool::Tls;
use evenkeel_tonic::{BuildError, DescriptorError, Factory, Kit, MethodTable, Pool, Resilient};

use crate::Row;

pub(crate) fn built() -> Vec<Row> {
    let long = Backoff::new(Duration::MAX, Duration::from_secs(10)).unwrap_err();
    let target = "orders".parse::<TargetName>().unwrap_err();
    let empty = || Kit::builder("orders").pool(Pool::builder().insecure());
    let upstream = Factory::builder().upstream(empty()).build().expect_err("it has no members");
    let empty = empty().build().expect_err("it has no members");
    let trusting = |tls| {
        let pool = Pool::builder().tls(tls).target("orders:443").expect("a target");
        Kit::builder("orders").pool(pool).build().expect_err("it trusts nobody")
    };
    let (trusting_nobody, trusting_junk) = (trusting(Tls::new()), trusting(Tls::new().ca("junk")));
    let malformed = MethodTable::from_descriptor_bytes(b"\xff").unwrap_err();
    vec![
        Row::new("Invalid", long, "write a value that the rule allows; zero is not \"none\""),
        Row::new(
            "BuildError::Setting",
            Resilient::builder().timeout(Duration::ZERO).unwrap_err(),
            "the same, of a client",
        ),
        Row::new(
            "BuildError::MethodSetting",
            Resilient::builder()
                .method_timeout("/orders.v1.Orders/Get", Some(Duration::ZERO))
                .unwrap_err(),
            "the same, of one method",
        ),
        Row::new(
            "BuildError::Method",
            BuildError::Method("orders.v1.Orders/Get".into()),
            "write the name with a slash in front, as in a request's path",
        ),
        Row::new(
            "BuildError::Method",
            BuildError::Method("/orders.v1.Orders/*".into()),
            "name each method: only the list of what may be executed twice takes a pattern",
        ),
        Row::new(
            "BuildError::Pattern",
            BuildError::Pattern("*Get".into()),
            "only the end of a pattern may be open",
        ),
        Row::new(
            "BuildError::Refused",
            empty,
            "the rule says what is missing, or what does not go with what",
        ),
        Row::new(
            "BuildError::Refused",
            trusting_nobody,
            "TLS is on unless `insecure` says otherwise, and this build has no roots of its own: \
             name whom to trust",
        ),
        Row::new(
            "BuildError::Refused",
            trusting_junk,
            "the file of another thing, such as the key beside it, or one in DER: \
             `openssl x509 -inform der` makes PEM of that",
        ),
        Row::new("BuildError::Target", BuildError::Target(target), "see [targets](#targets)"),
        Row::new(
            "BuildError::Upstream",
            upstream,
            "one of the above, and of which upstream of a factory",
        ),
        Row::new(
            "DescriptorError::Empty",
            DescriptorError::Empty,
            "the file is empty or holds something else",
        ),
        Row::new(
            "DescriptorError::Malformed",
            malformed,
            "the file was cut off, or is no descriptor set; its source says where it ended",
        ),
        Row::new(
            "DescriptorError::Name",
            DescriptorError::Name("/orders..Orders/Get".into()),
            "the set was not written by a protobuf compiler",
        ),
    ]
}

pub(crate) fn read() -> Vec<Row> {
    let of = "SettingsError";
    let toml = |text: &str| Settings::from_toml(text).unwrap_err();
    let variable = [("EVENKEEL__RETRY__MAX_ATTEMPTS", "many")];
    let short = [("EVENKEEL_RETRY__MAX_ATTEMPTS", "3")];
    let joined = [("EVENKEEL__RETRY_MAX_ATTEMPTS", "3")];
    vec![
        Row::new(of, toml("[retry]\nmax_attempts = 0\n"), "a value: the rule says what it may be"),
        Row::new(
            of,
            toml("[retry]\nmax_atempts = 3\n"),
            "a name that no setting has: take the one that is offered, or look in \
             [settings.md](settings.md)",
        ),
        Row::new(
            of,
            toml("[channel]\nkeepalive_time = \"30s\"\n"),
            "a name of grpc-client-kit: [all of them](migrating.md#settings-by-their-old-names)",
        ),
        Row::new(
            of,
            toml("[timeout]\ndefault = 0\n"),
            "zero is none elsewhere; here that is a word, where a setting may be none",
        ),
        Row::new(
            of,
            toml("[timeout]\ndefault = 2\n"),
            "a bare number is seconds to one reader and milliseconds to the next: write the unit",
        ),
        Row::new(of, toml("[retry\n"), "not TOML: mend it at the place"),
        Row::new(of, Settings::from_json("[1]").unwrap_err(), "not an object of sections"),
        Row::new(
            of,
            Settings::default().with_environment(variable).unwrap_err(),
            "the environment overrides the file; the variable is named",
        ),
        Row::new(
            of,
            Settings::default().with_environment(short).unwrap_err(),
            "one underscore is missing behind `EVENKEEL`: the variable would be left out",
        ),
        Row::new(
            of,
            Settings::default().with_environment(joined).unwrap_err(),
            "one underscore is missing further on",
        ),
        Row::new(
            "NotAPattern",
            "*Get".parse::<MethodPattern>().unwrap_err(),
            "only the end of a pattern may be open",
        ),
    ]
}

/// One target for each rule there is.
pub(crate) fn targets() -> Vec<Row> {
    let long = format!("unix:/{}", "a".repeat(103));
    [
        ("orders", "a port is never guessed"),
        ("", "there is nothing to connect to"),
        (":443", "nor is a name"),
        ("or ders:443", "take the white space out"),
        ("orders:70000", "write another port"),
        ("örders:443", "write the name as it is in DNS"),
        ("10.0.0.256:443", "mend the address"),
        ("[::zz]:443", "mend the address"),
        ("::1:443", "without brackets nobody knows where the port begins"),
        ("orders:443/v1", "the path belongs to the method"),
        ("me@orders:443", "send credentials as metadata"),
        (
            "https://orders:443",
            "TLS is on unless it is turned off: `insecure()`, `channel.insecure`",
        ),
        ("ftp://orders:443", "one of the three that are offered"),
        ("dns:orders:443", "gRPC's own form has three slashes"),
        (
            "dns://8.8.8.8/orders:443",
            "the machine's resolver is asked, or one of yours: `resolver`",
        ),
        ("xds:///orders", "bring the members yourself: `discover`, `watch`, `build`"),
        ("unix://host/path", "a socket is on this machine"),
        ("unix:relative", "begin it with a slash"),
        (&long, "the kernel takes no longer one"),
    ]
    .map(|(text, to_do)| {
        let refused = text.parse::<TargetName>().expect_err(text);
        let shown = refused.to_string().replace(&"a".repeat(103), "aaa…");
        Row::new("InvalidTarget", shown, to_do)
    })
    .into()
}

pub(crate) fn warnings() -> Vec<Row> {
    let second = Duration::from_secs(1);
    let codes = CodeSet::of(&[Code::Internal]);
    let needs = "breaker.mode = \"time\" or \"count\"";
    vec![
        Row::new(
            "Warning::AttemptTimeoutIsFinal",
            Warning::AttemptTimeoutIsFinal { attempt_timeout: second },
            "a server that hangs is never left for another attempt: [deadlines](guide/deadlines.md)",
        ),
        Row::new(
            "Warning::AttemptTimeoutEndsStreams",
            Warning::AttemptTimeoutEndsStreams {
                attempt_timeout: second,
                method: "/orders.v1.Orders/Watch".into(),
            },
            "a subscription ends as often as it begins: [deadlines](guide/deadlines.md)",
        ),
        Row::new(
            "Warning::AttemptsWithoutEnd",
            Warning::AttemptsWithoutEnd { attempt_timeout: second },
            "the limit for each attempt was meant as one for the call",
        ),
        Row::new(
            "Warning::CapWithoutMethod",
            Warning::CapWithoutMethod { name: "Orders/Get".into() },
            "the method it was meant for has no cap",
        ),
        Row::new(
            "Warning::GrowsWithoutEnd",
            Warning::GrowsWithoutEnd,
            "a target that was down for long is back, and its circuit stays open for days",
        ),
        Row::new(
            "Warning::FirstFailureEnds",
            Warning::FirstFailureEnds,
            "in code the default is UNAVAILABLE: `HedgePolicy::DEFAULT`",
        ),
        Row::new(
            "Warning::HandlerMayHaveRun",
            Warning::HandlerMayHaveRun { codes },
            "its work may be done twice: `internal_retryable` in the \
             [lab's table](guide/retries.md)",
        ),
        Row::new(
            "Warning::HedgedLess",
            Warning::HedgedLess { hedged: 2, retried: 3 },
            "the two are no sum: [hedging](guide/retries.md#hedging)",
        ),
        Row::new(
            "Warning::HedgesAtOnce",
            Warning::HedgesAtOnce { max_attempts: 2 },
            "the load is multiplied even while all is well",
        ),
        Row::new(
            "Warning::ListedNone",
            Warning::ListedNone,
            "in grpc-client-kit an empty list means all",
        ),
        Row::new(
            "Warning::MaxBelowInitial",
            Warning::MaxBelowInitial { initial_backoff: second, max_backoff: second / 5 },
            "waits do not grow",
        ),
        Row::new(
            "Warning::Misspelled",
            Warning::Misspelled {
                path: "retry.idempotent_methods",
                name: "/stock.v1.Stok/*".parse().expect("a pattern"),
                meant: "/stock.v1.Stock/*".parse().expect("a pattern"),
            },
            "what it was meant for is not retried, or has another timeout, and nothing shows it",
        ),
        Row::new(
            "Warning::NeedsKit",
            Warning::NeedsKit { sections: vec!["channel", "balancing", "health"] },
            "nobody is asked whether he is well, and all goes to one address",
        ),
        Row::new(
            "Warning::NeverHedges",
            Warning::NeverHedges { delay: 5 * second, timeout: 3 * second },
            "a server that hangs is waited for to the end",
        ),
        Row::new(
            "Warning::NoLimitForAnAttempt",
            Warning::NoLimitForAnAttempt,
            "a server that hangs is waited for to the end: [retries](guide/retries.md)",
        ),
        Row::new(
            "Warning::NoRetryFits",
            Warning::NoRetryFits { wait: 5 * second, timeout: 3 * second },
            "retries are configured, and each is denied: [retries](guide/retries.md)",
        ),
        Row::new(
            "Warning::NoEffect",
            Warning::NoEffect { path: "breaker.share", needs },
            "somebody believes that it is on",
        ),
        Row::new(
            "Warning::NotFollowed",
            Warning::NotFollowed {
                path: "maxRequestMessageBytes",
                instead: "set max_encoding_message_size of the client",
            },
            "other languages follow it: somebody believes that all do",
        ),
        Row::new(
            "Warning::NothingToSendAgain",
            Warning::NothingToSendAgain,
            "retries are configured, and calls end as not replayable",
        ),
        Row::new(
            "Warning::OpensForNoTime",
            Warning::OpensForNoTime,
            "a target that is down is asked all the time, by one call at a time: \
             [breakers](guide/breakers.md)",
        ),
        Row::new(
            "Warning::OpensItself",
            Warning::OpensItself { fail_threshold: 3, max_attempts: 3 },
            "everybody fails fast after one unlucky request: [breakers](guide/breakers.md)",
        ),
        Row::new(
            "Warning::RatioBoundsLittle",
            Warning::RatioBoundsLittle { token_ratio: 1_000 },
            "an outage doubles the traffic, or more: [retries](guide/retries.md)",
        ),
        Row::new(
            "Warning::StackedRetries",
            Warning::StackedRetries { max_attempts: 3, below: Some(3) },
            "attempts multiply, and the outer loop does not see it",
        ),
        Row::new(
            "Warning::StackedRetries",
            Warning::StackedRetries { max_attempts: 3, below: None },
            "the same, where nobody knows how many those below are",
        ),
        Row::new(
            "Warning::WeightWithoutTarget",
            Warning::WeightWithoutTarget { target: "orders-3:50051".into() },
            "`Kit::build` refuses it, and not the file's reader",
        ),
        Row::new(
            "Warning::WaitWithoutDeadline",
            Warning::WaitWithoutDeadline { require_deadline: true },
            "waiting is what was asked for, and it does not happen. A client says so with the first \
             call that it happens to ([the log](#in-the-log))",
        ),
        Row::new(
            "Warning::WaitWithoutDeadline",
            Warning::WaitWithoutDeadline { require_deadline: false },
            "nothing else would end them",
        ),
    ]
}
