//! This file knows the resolver of the day, what it says, and what it said last that was of use.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use evenkeel_tonic::core::{Random, SmallRng};
use evenkeel_tonic::pool::{Resolve, Resolving};

/// What a lookup meets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Answer {
    /// These machines, in this order, each as often as it is named.
    Addresses(Vec<u32>),
    Fails,
    /// Ten thousand addresses.
    Flood,
    Hangs,
    Panics,
}

impl Answer {
    /// Some of `count` machines, in any order, some of them twice; or something worse.
    pub(super) fn drawn(rng: &mut SmallRng, count: u32) -> Self {
        match rng.next_u32() % 12 {
            0 => Self::Addresses(Vec::new()),
            1 => Self::Fails,
            2 => Self::Flood,
            3 => Self::Hangs,
            4 => Self::Panics,
            _ => {
                let drawn = 1 + rng.next_u32() % 5;
                Self::Addresses((0..drawn).map(|_| 1 + rng.next_u32() % count).collect())
            }
        }
    }

    /// Whether the last good answer stays, and another is asked for.
    pub(super) fn is_bad(&self) -> bool {
        self.of_use().is_none()
    }

    /// The addresses that come of it; `None` where the last good ones stay.
    ///
    /// Each once, and of too many those that come first when they are sorted.
    fn of_use(&self) -> Option<BTreeSet<String>> {
        let mut numbers: Vec<u32> = match self {
            Self::Addresses(numbers) => numbers.clone(),
            Self::Flood => (1..=FLOOD).collect(),
            Self::Fails | Self::Hangs | Self::Panics => Vec::new(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(256);
        (!numbers.is_empty()).then(|| numbers.into_iter().map(name).collect())
    }
}

/// A clone is the same resolver.
#[derive(Clone)]
pub(super) struct Names(Arc<Mutex<State>>);

struct State {
    answer: Answer,
    asked: usize,
    told: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(answer: Answer) -> Self {
        Self(Arc::new(Mutex::new(State { answer, asked: 0, told: BTreeSet::new() })))
    }

    pub(super) fn becomes(&self, answer: Answer) {
        self.0.lock().unwrap().answer = answer;
    }

    pub(super) fn answer(&self) -> Answer {
        self.0.lock().unwrap().answer.clone()
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.0.lock().unwrap().asked
    }

    /// Who is a member, if the last good answer is what counts.
    pub(super) fn told(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().told.clone()
    }

    /// How many hold it.
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        assert_eq!((host, port), ("orders.internal", PORT));
        let mut state = self.0.lock().unwrap();
        state.asked += 1;
        let answer = state.answer.clone();
        if let Some(told) = answer.of_use() {
            state.told = told;
        }
        Box::pin(async move {
            match answer {
                Answer::Addresses(numbers) => Ok(numbers.into_iter().map(address).collect()),
                Answer::Fails => Err(io::Error::other("no such name")),
                // Backwards, because nobody sorts for us.
                Answer::Flood => Ok((1..=FLOOD).rev().map(address).collect()),
                Answer::Hangs => core::future::pending().await,
                Answer::Panics => panic!("a resolver of the test's"),
            }
        })
    }
}

/// The host of machine `number`.
pub(super) fn host(number: u32) -> String {
    address(number).ip().to_string()
}

/// What it is called among the members.
pub(super) fn name(number: u32) -> String {
    address(number).to_string()
}

fn address(number: u32) -> SocketAddr {
    SocketAddr::new(IpAddr::from((0x0a00_0000 + number).to_be_bytes()), PORT)
}

const PORT: u16 = 443;
const FLOOD: u32 = 10_000;
