//! Where the future of a call can go: to another thread, or stay with what must not move.

use core::cell::Cell;
use core::time::Duration;
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_tokio::core::{Backoff, CallPolicy, Clock, Code, Deadline, Outcome, RetryPolicy};
use evenkeel_tokio::{Error, Shared, TokioClock, call, call_seeded};
use tokio::task::{LocalSet, yield_now};

use crate::{Failed, Reply, UNAVAILABLE, classify, policy};

/// Three attempts without a wait between them.
fn at_once() -> CallPolicy {
    let backoff = Backoff::new(Duration::ZERO, Duration::ZERO).unwrap();
    CallPolicy::DEFAULT.with_retry(RetryPolicy::DEFAULT.with_backoff(backoff))
}

/// A client as one would write it: the calls borrow it, and the request.
struct Client {
    shared: Shared,
    name: String,
}

impl Client {
    async fn get(&self, request: &str) -> Result<String, Error<Failed>> {
        let judge = |reply: &Result<String, Failed>| match reply {
            Ok(reply) if reply.len() < self.name.len() => Outcome::unavailable(),
            Ok(_) => Outcome::success(),
            Err(Failed(code)) => Outcome::new(*code),
        };
        call(self.shared.view(), Deadline::NONE, judge, async |attempt| {
            yield_now().await;
            match attempt.number() {
                1 => Err(Failed(Code::Unavailable)),
                2 => Ok(String::new()),
                number => Ok(format!("{request} from {}, attempt {number}", self.name)),
            }
        })
        .await
    }
}

/// Both at once, which is what a handler on a server needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_send_although_it_borrows() {
    let client = Arc::new(Client { shared: Shared::new(at_once()), name: "client".into() });
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let client = Arc::clone(&client);
            tokio::spawn(async move { client.get(&format!("request {number}")).await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let expected = format!("request {number} from client, attempt 3");
        assert_eq!(call.await.unwrap(), Ok(expected));
    }
}

/// State without locks, shared with the tasks beside it.
#[tokio::test(start_paused = true)]
async fn it_works_with_what_is_not_send() {
    let (shared, tries) = (Rc::new(Shared::new(policy(3, 100))), Rc::new(Cell::new(0)));
    let local = LocalSet::new();
    let (theirs, counted) = (Rc::clone(&shared), Rc::clone(&tries));
    let task = local.run_until(async move {
        tokio::task::spawn_local(async move {
            call(theirs.view(), Deadline::NONE, classify, async |attempt| {
                counted.set(counted.get() + 1);
                yield_now().await;
                if attempt.number() < 3 { UNAVAILABLE } else { Ok(counted.get()) }
            })
            .await
        })
        .await
        .unwrap()
    });
    assert_eq!((task.await, tries.get()), (Ok(3), 3));
}

/// No clone, no `Arc`, no `move`.
#[tokio::test(start_paused = true)]
async fn an_attempt_may_borrow_from_where_it_is_written() {
    let shared = Shared::new(policy(3, 100));
    let request = vec![1, 2, 3];
    let seen = Cell::new(0);
    let mut view = shared.view();
    let send = async |request: &[u32]| -> Reply {
        yield_now().await;
        seen.set(seen.get() + request.len());
        if seen.get() < 9 { UNAVAILABLE } else { Ok(request.iter().sum()) }
    };
    let reply = call(&mut view, Deadline::NONE, classify, async |_| send(&request).await).await;
    assert_eq!((reply, seen.get()), (Ok(6), 9));
    assert_eq!(view.take_changed(), None, "the view is the caller's again");
    drop(request);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_call() {
    let shared = Shared::new(CallPolicy::DEFAULT);
    let waits = async |seed| {
        let began = TokioClock.now();
        let peer = async |_| -> Reply { Err(Failed(Code::Unavailable)) };
        let _ = call_seeded(seed, shared.view(), Deadline::NONE, classify, peer).await;
        TokioClock.now().since(began)
    };
    assert_eq!(waits(1).await, waits(1).await);
    assert_ne!(waits(1).await, waits(2).await);
}
