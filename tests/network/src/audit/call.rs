//! This file knows what must be true of one call.

use super::*;

/// A call, as the book has it.
pub(super) struct Call {
    host: &'static str,
    method: Method,
    began: Duration,
    timeout: Duration,
    parent: Option<u32>,
    ends: Vec<(Duration, End)>,
    pub(super) arrivals: Vec<Arrival>,
    answers: Vec<(Duration, Origin, i32)>,
}

pub(super) struct Arrival {
    at: Duration,
    from: Origin,
    timeout: Option<Duration>,
    left: bool,
}

/// A timer rounds up to the next millisecond, and one more is the step of the simulation.
const SLACK: Duration = Duration::from_millis(2);
/// The least a budget grants a call of the gateway's.
const FLOOR: Duration = Duration::from_millis(100);

impl Call {
    pub(super) fn all(entries: &[Entry]) -> BTreeMap<u32, Self> {
        let mut calls = BTreeMap::new();
        // A host's call begins before its request arrives anywhere.
        for (at, event) in entries {
            if let Event::Began { call, host, method, timeout, parent } = event {
                let call = (*call, Self::begin(host, *method, *at, *timeout, *parent));
                calls.extend([call]);
            }
        }
        for (at, event) in entries {
            let Some(call) = event.call().and_then(|call| calls.get_mut(&call)) else { continue };
            match event {
                Event::Answered { from, item, .. } => call.answers.push((*at, *from, *item)),
                Event::Arrived { from, timeout } => {
                    let (from, timeout) = (*from, *timeout);
                    call.arrivals.push(Arrival { at: *at, from, timeout, left: false });
                }
                Event::Ended { end, .. } => call.ends.push((*at, end.clone())),
                Event::Left { from } => {
                    let here = call.arrivals.iter_mut().filter(|arrival| arrival.from == *from);
                    here.for_each(|arrival| arrival.left = true);
                }
                _ => {}
            }
        }
        calls
    }

    fn begin(
        host: &'static str,
        method: Method,
        began: Duration,
        timeout: Duration,
        parent: Option<u32>,
    ) -> Self {
        let (ends, arrivals, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self { host, method, began, timeout, parent, ends, arrivals, answers }
    }

    pub(super) fn is(&self, end: &End) -> bool {
        self.ends.first().is_some_and(|(_, seen)| seen == end)
    }

    pub(super) fn faults(&self, network: &Network, calls: &BTreeMap<u32, Self>) -> Vec<String> {
        let mut wrong = Vec::new();
        self.ends_once_and_in_time(network, calls, &mut wrong);
        self.is_executed_no_more_than_it_may(&mut wrong);
        self.is_sent_while_it_lasts(network, &mut wrong);
        self.is_sent_to_members(network, &mut wrong);
        self.is_answered_by_whom_it_asked(&mut wrong);
        wrong
    }

    fn ends_once_and_in_time(
        &self,
        network: &Network,
        calls: &BTreeMap<u32, Self>,
        wrong: &mut Vec<String>,
    ) {
        let [(at, end)] = &self.ends[..] else {
            return wrong.push(format!("ended {} times", self.ends.len()));
        };
        // What goes down with its host ends there, whenever the simulation comes to drop it.
        let crashed = if *end == End::Dropped { network.crashed(self.host, *at) } else { None };
        let at = crashed.unwrap_or(*at);
        let late = |deadline: Duration| at > deadline + SLACK;
        if late(self.began + self.timeout) {
            wrong.push(format!("ended at {at:?}, after its deadline"));
        }
        let parent = self.parent.and_then(|parent| calls.get(&parent));
        if let Some(left) = parent.and_then(|parent| parent.left_at_the_gateway(self.began))
            && late(left.max(self.began + FLOOR))
        {
            wrong.push(format!("ended at {at:?}, after what its caller left it: {left:?}"));
        }
        if let End::Failed { code, .. } = end
            && !matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::Internal)
        {
            wrong.push(format!("ended in {code:?}, which nobody said"));
        }
    }

    /// The deadline of the call at the gateway, of its request that was there last before `at`.
    fn left_at_the_gateway(&self, at: Duration) -> Option<Duration> {
        let here =
            self.arrivals.iter().filter(|there| there.from.host == GATEWAY && there.at <= at);
        here.filter_map(|there| Some(there.at + there.timeout?)).max()
    }

    fn is_executed_no_more_than_it_may(&self, wrong: &mut Vec<String>) {
        let most = if self.method.may_repeat() { usize::from(MOST_ATTEMPTS) } else { 1 };
        if self.arrivals.len() > most {
            wrong.push(format!("{:?} was executed {} times", self.method, self.arrivals.len()));
        }
        let numbers: BTreeSet<u32> = self.arrivals.iter().map(|there| there.from.attempt).collect();
        // Of hedged attempts one may prove not to have been sent and go out again, with the number
        // it had when it was the last: another may have that by then.
        if numbers.len() < self.arrivals.len() && self.method != Method::Put {
            wrong.push("an attempt was executed twice".to_owned());
        }
        if self.arrivals.iter().any(|arrival| !arrival.left) {
            wrong.push("is executed for ever".to_owned());
        }
    }

    fn is_sent_while_it_lasts(&self, network: &Network, wrong: &mut Vec<String>) {
        let Some((ended, _)) = self.ends.first() else { return };
        for Arrival { at, from, timeout, .. } in &self.arrivals {
            if !network.may_be_under_way(*ended, *at) {
                wrong.push(format!("sent to {from} after its end at {ended:?}"));
            }
            match timeout {
                None => wrong.push(format!("sent to {from} without a deadline")),
                Some(left) if *left > self.timeout => {
                    wrong.push(format!("sent to {from} with {left:?}, more than it has"));
                }
                Some(_) => {}
            }
        }
        // Nor do the numbers of hedged attempts say which was sent later, for the same reason.
        let hedged = self.method == Method::Put;
        let mut left: Vec<_> = self.arrivals.iter().map(|a| (a.from.attempt, a.timeout)).collect();
        left.sort_by_key(|(attempt, _)| *attempt);
        if !hedged && left.windows(2).any(|pair| pair[1].1 > pair[0].1) {
            wrong.push("a later attempt was given more time".to_owned());
        }
    }

    fn is_sent_to_members(&self, network: &Network, wrong: &mut Vec<String>) {
        let strangers = self.arrivals.iter().filter(|there| {
            self.host == crate::plan::APP && network.was_away(there.from.host, self.began, there.at)
        });
        for Arrival { from, .. } in strangers {
            wrong.push(format!("sent to {from}, which was no member all the time"));
        }
    }

    fn is_answered_by_whom_it_asked(&self, wrong: &mut Vec<String>) {
        let mut last: Option<(Origin, i32)> = None;
        for (_, from, item) in &self.answers {
            if !self.arrivals.iter().any(|there| there.from == *from) {
                wrong.push(format!("got an answer of {from}, which it did not ask"));
            }
            let follows = match last {
                Some((before, number)) if before == *from => *item == number + 1,
                // A stream that begins anew begins with its first item.
                _ => *item <= 1,
            };
            if !follows {
                wrong.push(format!("item {item} of {from} follows {last:?}"));
            }
            last = Some((*from, *item));
        }
        let whole = match self.method {
            Method::Export => ITEMS,
            Method::Chat => 3,
            _ => 0,
        };
        if self.is(&End::Ok) && last.map(|(_, item)| item) != Some(whole) {
            wrong.push(format!("ended well with {last:?}, which is not the whole answer"));
        }
    }
}
