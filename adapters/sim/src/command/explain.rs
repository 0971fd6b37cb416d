//! This file knows `evenkeel explain`: one call, step by step.

use evenkeel_core::{
    Action, Attempt, Because, BreakerPolicy, Call, CircuitBreaker, Code, Consecutive, Deadline,
    Instant, Micros, Next, Outcome, Single, StopReason, Throttle, Transition, Trip,
};
use evenkeel_sim::{Budget, Guard, Policy, nearest, parse_span};

use crate::out::tell;
use crate::{input, value};

/// Walks one call through a policy: each decision, its reason and its time.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A preset, or a policy's file.
    policy: String,
    /// The method that calls are to; without it, one that may be repeated, where the policy lists
    /// some.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// How its attempts end, in order: status codes, by name or by number, or "timeout"; the last goes on for ever.
    #[arg(long, value_delimiter = ',', value_name = "CODE", default_value = "UNAVAILABLE")]
    fail: Vec<String>,
    /// How long each attempt takes to end so.
    #[arg(long, value_name = "SPAN", default_value = "20ms", value_parser = parse_span, allow_hyphen_values = true)]
    takes: Micros,
    /// The caller's own time for the whole call.
    #[arg(long, value_name = "SPAN", value_parser = parse_span, allow_hyphen_values = true)]
    timeout: Option<Micros>,
    /// Decides the jitter.
    #[arg(long, default_value_t = 7, value_parser = value::whole(0, u32::MAX), allow_hyphen_values = true)]
    seed: u32,
    /// How many such calls in a row, so that breakers and throttles come into play.
    #[arg(long, default_value_t = 1, value_parser = value::whole(1, 100), allow_hyphen_values = true)]
    calls: u32,
}

/// How an attempt ends.
#[derive(Clone, Copy)]
enum End {
    Code(Code),
    Timeout,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let named = input::policy(&args.policy, args.method.as_deref())?;
    let policy = named.policy;
    let mut story = Story {
        ends: args.fail.iter().map(|word| end(word)).collect::<Result<_, _>>()?,
        takes: args.takes,
        caller: args.timeout,
        seed: args.seed,
        calls: args.calls,
        told: 0,
        changed: None,
    };
    tell!("{}: {}", named.name, named.method);
    if let Some(warning) = named.method.warning() {
        tell!("  warning: {warning}");
    }
    match policy.guard {
        Guard::Consecutive(rule) => story.tell(&policy, Some(rule)),
        Guard::LastN(rule) => story.tell(&policy, Some(rule)),
        Guard::LastNs(rule) => story.tell(&policy, Some(rule)),
        Guard::TimeWindows(rule) => story.tell(&policy, Some(rule)),
        Guard::TimeWindow(rule) => story.tell(&policy, Some(rule)),
        Guard::None | Guard::Adaptive(_) => story.tell::<Consecutive>(&policy, None),
    }
    if matches!(policy.guard, Guard::Adaptive(_)) {
        tell!("(Its adaptive throttling is a model for fleets, and not in this walk.)");
    }
    if !matches!(policy.budget, Budget::None | Budget::Shipped(_)) {
        tell!("(Its throttle is a model for fleets, and not in this walk.)");
    }
    Ok(true)
}

/// What happens to the calls that are explained.
struct Story {
    ends: Vec<End>,
    takes: Micros,
    caller: Option<Micros>,
    seed: u32,
    calls: u32,
    /// Attempts made in all calls, which is where in `ends` the story is.
    told: usize,
    /// What the breaker did last, and was told.
    changed: Option<Transition>,
}

impl Story {
    fn tell<T: Trip>(&mut self, policy: &Policy, rule: Option<BreakerPolicy<T>>) {
        let mut breaker = CircuitBreaker::<T>::closed();
        let mut throttle = match &policy.budget {
            Budget::Shipped(rule) => Some((Throttle::full(rule), *rule)),
            _ => None,
        };
        let mut now = Instant::ZERO;
        for call in 0..self.calls {
            if self.calls > 1 {
                tell!("call {}", call + 1);
            }
            let mut upstream = Single::new(&policy.call);
            if let Some((throttle, rule)) = &mut throttle {
                upstream = upstream.with_throttle(throttle, rule);
            }
            self.changed = None;
            now = match &rule {
                Some(rule) => {
                    let mut upstream = upstream.with_breaker(&mut breaker, rule);
                    self.walk(now, policy, call, &mut upstream)
                }
                None => self.walk(now, policy, call, &mut upstream),
            };
            if let Some((throttle, _)) = &throttle {
                let tokens = f64::from(throttle.millitokens()) / 1_000.0;
                tell!("            the throttle has {tokens} tokens left");
            }
        }
    }

    /// One call; answers when it is over.
    fn walk<T: Trip>(
        &mut self,
        start: Instant,
        policy: &Policy,
        number: u32,
        upstream: &mut Single<'_, T>,
    ) -> Instant {
        let caller = self.caller.map_or(Deadline::NONE, |span| Deadline::at(start.after(span)));
        let deadline = policy.call.deadline(start, caller);
        let mut now = start;
        match deadline.is_none() {
            true => say(now, "the call starts; nothing bounds it as a whole"),
            false => say(
                now,
                &format!("the call starts; it must be over at {}", deadline_text(deadline)),
            ),
        }
        let mut call = Call::new(deadline, self.seed.wrapping_add(number));
        loop {
            let action = call.poll(now, upstream);
            self.say_what_changed(now, upstream.changed());
            match action {
                Action::Attempt(attempt) => now = self.attempt(now, &mut call, attempt, upstream),
                Action::WaitUntil(at) => now = at,
                Action::Finish(reason) => {
                    let attempts = match call.attempts() {
                        1 => "1 attempt".into(),
                        more => format!("{more} attempts"),
                    };
                    let untold = call.attempts().saturating_sub(MOST);
                    if untold > 0 {
                        tell!("            ... and {untold} more attempts");
                    }
                    say(now, &format!("the end after {attempts}: {reason}"));
                    if let StopReason::CircuitOpen { retry_at } = reason {
                        say(now, &format!("worth asking again at {}", instant_text(retry_at)));
                    }
                    return now;
                }
            }
        }
    }

    /// A change of the breaker, when it happens. It never does the same twice in a row.
    fn say_what_changed(&mut self, now: Instant, changed: Option<Transition>) {
        if changed != self.changed {
            self.changed = changed;
            if let Some(changed) = changed {
                say(now, changed_text(changed));
            }
        }
    }

    fn attempt<T: Trip>(
        &mut self,
        now: Instant,
        call: &mut Call,
        attempt: Attempt,
        upstream: &mut Single<'_, T>,
    ) -> Instant {
        let number = attempt.number();
        let until = attempt.deadline();
        let say = |now, what: &str| {
            if number <= MOST {
                say(now, what);
            }
        };
        say(
            now,
            &format!("attempt {number} goes out, and may last until {}", deadline_text(until)),
        );
        let planned = self.ends.get(self.told.min(self.ends.len() - 1)).copied();
        self.told += 1;
        let (code, ends_at) = match planned.unwrap_or(End::Timeout) {
            End::Code(code) if !until.is_over(now.after(self.takes)) => {
                (code, now.after(self.takes))
            }
            // What nobody ends is ended here, so that there is a story.
            End::Code(_) | End::Timeout if until.is_none() => {
                (Code::DeadlineExceeded, now.after(Micros::from_millis(60_000)))
            }
            End::Code(_) | End::Timeout => (Code::DeadlineExceeded, until.instant()),
        };
        let next = call.complete(ends_at, upstream, attempt, Outcome::new(code));
        say(ends_at, &format!("attempt {number} ends: {}", code.name()));
        self.say_what_changed(ends_at, upstream.changed());
        if let Next::Retry { at, because } = next {
            let wait = at.since(ends_at).as_micros() as f64 / 1e6;
            let why = match because {
                Because::Backoff => "the policy's backoff",
                Because::Hint => "the server asked for at least that",
                Because::Pushback => "the server asked for exactly that",
                Because::Transparent => "nothing was executed",
            };
            say(ends_at, &format!("another attempt in {wait:.3} s: {why}"));
        }
        ends_at
    }
}

fn end(word: &str) -> Result<End, String> {
    if word.eq_ignore_ascii_case("timeout") {
        return Ok(End::Timeout);
    }
    let word_in_capitals = word.to_ascii_uppercase().replace('-', "_");
    let numbered = |code: &Code| word.trim().parse() == Ok(code.number());
    let code = Code::from_name(&word_in_capitals).or_else(|| Code::ALL.into_iter().find(numbered));
    code.map(End::Code).ok_or_else(|| {
        let known = Code::ALL.iter().map(|code| code.name()).chain(["TIMEOUT"]);
        let advice = match nearest(&word_in_capitals, known) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => "write UNAVAILABLE, OK and so on, a number from 0 to 16, or timeout".into(),
        };
        format!("--fail: \"{word}\" is no status code; {advice}")
    })
}

const fn changed_text(changed: Transition) -> &'static str {
    match changed {
        Transition::Closed => "the breaker closes",
        Transition::ForcedClosed => "the breaker is forced closed",
        Transition::ForcedOpen => "the breaker is forced open",
        Transition::HalfOpened => "the breaker is half-open: this is a trial",
        Transition::Opened => "the breaker opens",
    }
}

fn say(now: Instant, what: &str) {
    tell!("{:>10}  {what}", instant_text(now));
}

fn instant_text(at: Instant) -> String {
    format!("{:.3} s", at.as_micros() as f64 / 1e6)
}

fn deadline_text(deadline: Deadline) -> String {
    if deadline.is_none() { "any time".into() } else { instant_text(deadline.instant()) }
}

/// Attempts of a call that are told one by one: what comes later is more of the same.
const MOST: u16 = 100;
