//! This file knows which method the simulated calls are to. It is decided here and nowhere else:
//! the policy that is simulated is that of this method, and so are the linter's sums and the
//! explanation.

use core::cmp::Reverse;
use core::fmt;

use evenkeel_core::{CallPolicy, RetryPolicy};
use evenkeel_settings::{MethodPattern, Retry, ServiceConfig, Settings, in_quotes};

use super::misread::shortened;

/// The method that the simulated calls are to.
///
/// Where the policy lists the methods that may be executed twice, one of them: it is the worst case
/// for the server. Where several have policies of their own, the one with the most attempts, and of
/// those the one with the most time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Method {
    /// The full name the policy is asked for.
    path: String,
    /// What a person calls it.
    words: String,
    may_be_repeated: bool,
    /// Whether nothing says which methods may be executed twice, and so all of them are.
    is_unlisted: bool,
    /// Whether hedges are configured, and no list says of which methods.
    is_unhedged: bool,
    /// Why its calls are never repeated although retries are configured.
    never_because: Option<String>,
}

impl Method {
    /// Its full name, or that of a method like it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether its calls have more than one attempt.
    pub const fn may_be_repeated(&self) -> bool {
        self.may_be_repeated
    }

    /// That no simulated call may be repeated, although retries are configured, or hedged, although
    /// hedges are; and why.
    pub fn warning(&self) -> Option<String> {
        if self.is_unhedged {
            let why = "no call is hedged: that is for the methods on the list \
                       retry.idempotent_methods, and there is none";
            return Some(why.into());
        }
        let because = self.never_because.as_ref()?;
        Some(format!(
            "no simulated call may be repeated, although retries are configured: {because}"
        ))
    }
}

/// A sentence without its stop, such as "calls are to a method like Get*, which may be repeated".
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlisted && self.may_be_repeated {
            return write!(f, "calls are to {}; no list: every method is repeated", self.words);
        }
        let repeated = if self.may_be_repeated { "may be" } else { "is not" };
        write!(f, "calls are to {}, which {repeated} repeated", self.words)
    }
}

/// The policy of a settings file for one method: that called `asked`, else the worst for a server.
pub(super) fn of_settings(
    settings: &Settings,
    asked: Option<&str>,
) -> Result<(Method, CallPolicy), String> {
    let list = settings.retry().and_then(Retry::idempotent_methods);
    let is_unhedged = settings.hedging().is_some() && list.is_none();
    let listed: Vec<Candidate> = list.into_iter().flatten().map(Candidate::like).collect();
    let retried = settings.retry().is_some_and(|retry| retry.policy().max_attempts() > 1);
    let hedged = settings.hedging().is_some_and(|hedging| hedging.policy().max_attempts() > 1);
    let chosen = choose(listed, asked, |path| match is_unhedged {
        true => unhedged(settings, path),
        false => settings.call_policy(path),
    })?;
    let because = |words: &str| match list {
        Some([]) => "the list retry.idempotent_methods is empty".into(),
        _ => format!("{words} is not on the list retry.idempotent_methods"),
    };
    let (method, call) = chosen.method(retried || hedged, because);
    Ok((Method { is_unlisted: list.is_none(), is_unhedged, ..method }, call))
}

/// What a client does whose settings hedge without a list: it hedges nothing, and retries as if there
/// were no hedging.
fn unhedged(settings: &Settings, path: &str) -> CallPolicy {
    let unbounded = CallPolicy::DEFAULT.unbounded();
    let call = settings.timeout().map_or(unbounded, |timeout| timeout.call_policy(path));
    call.with_retry(settings.retry().map_or(RetryPolicy::OFF, Retry::policy))
}

/// The same for a service config, which says by retrying a method that it may be repeated.
pub(super) fn of_service_config(
    config: &ServiceConfig,
    asked: Option<&str>,
) -> Result<(Method, CallPolicy), String> {
    let named = config.methods().map(|(name, _)| name);
    let named: Vec<Candidate> = named.map(Candidate::configured).collect();
    let most = named.iter().map(|one| attempts(&config.call_policy(&one.path))).max();
    let chosen = choose(named, asked, |path| config.call_policy(path))?;
    Ok(chosen.method(most > Some(1), |words| format!("{words} has no retryPolicy")))
}

/// The most attempts of one call.
fn attempts(call: &CallPolicy) -> u16 {
    crate::Policy { call: *call, ..crate::Policy::NO_RETRY }.possible_attempts()
}

fn choose(
    known: Vec<Candidate>,
    asked: Option<&str>,
    policy: impl Fn(&str) -> CallPolicy,
) -> Result<Chosen, String> {
    let candidate = match asked {
        Some(name) => Candidate::asked(name, &known)?,
        None => {
            let badness = |one: &Candidate| {
                let call = policy(&one.path);
                Reverse((attempts(&call), call.timeout()))
            };
            known.into_iter().min_by_key(badness).unwrap_or_else(Candidate::any)
        }
    };
    let call = policy(&candidate.path);
    Ok(Chosen { candidate, call })
}

/// A method that calls could be to.
struct Candidate {
    path: String,
    words: String,
}

struct Chosen {
    candidate: Candidate,
    call: CallPolicy,
}

impl Chosen {
    fn method(
        self,
        retries_are_configured: bool,
        because: impl Fn(&str) -> String,
    ) -> (Method, CallPolicy) {
        let Candidate { path, words } = self.candidate;
        let may_be_repeated = attempts(&self.call) > 1;
        let is_odd = retries_are_configured && !may_be_repeated;
        let retry = self.call.retry();
        let never_because =
            is_odd.then(|| match retry.is_idempotent() && retry.max_attempts() > 1 {
                true if retry.codes().is_empty() => "retry.codes is empty".into(),
                true => "the first wait is no shorter than the call's timeout".into(),
                false => because(&words),
            });
        let (is_unlisted, is_unhedged) = (false, false);
        (
            Method { path, words, may_be_repeated, is_unlisted, is_unhedged, never_because },
            self.call,
        )
    }
}

impl Candidate {
    /// One that has no entry of its own anywhere, for nothing is called so.
    fn any() -> Self {
        Self { path: "/any/Method".into(), words: "any method".into() }
    }

    /// One that a pattern matches.
    fn like(pattern: &MethodPattern) -> Self {
        Self::written(&pattern.to_string())
    }

    /// "/service/method", "/service/*", "Get*" or "Get".
    fn written(text: &str) -> Self {
        let path = match text.strip_suffix("/*") {
            Some(service) => format!("{service}/Method"),
            None if text.starts_with('/') => text.into(),
            None => format!("/any/{}", text.trim_end_matches('*')),
        };
        let like = if text.ends_with('*') { "a method like " } else { "" };
        Self { path, words: format!("{like}{text}") }
    }

    /// As a service config names them: "/service/method", "/service/", or nothing for all others.
    fn configured(name: &str) -> Self {
        match name {
            "" => Self::any(),
            service if service.ends_with('/') => Self::written(&format!("{service}*")),
            method => Self::written(method),
        }
    }

    /// The one that somebody asked for. The last part of a name is enough where the whole of it is
    /// in the policy.
    fn asked(name: &str, known: &[Self]) -> Result<Self, String> {
        let parts: Vec<&str> = name.split('/').collect();
        let plain = |part: &&str| !part.is_empty() && !part.contains(char::is_whitespace);
        match parts[..] {
            [alone] if plain(&alone.trim_end_matches('*')) => {
                let whole = known.iter().find(|one| one.words.ends_with(&format!("/{alone}")));
                Ok(Self::written(whole.map_or(alone, |one| &one.words)))
            }
            ["", service, method] if plain(&service) && plain(&method) => Ok(Self::written(name)),
            _ => Err(format!(
                "method: {} is none; write \"/package.Service/Method\", its last part \
                 alone, or a beginning such as \"Get*\"",
                in_quotes(&shortened(name))
            )),
        }
    }
}
