//! This file knows how a pool and a health checker learn of each other: who is a member is checked,
//! and who is not healthy is not used.

use std::sync::{Arc, Weak};

use tonic::transport::Channel;

use crate::error::BoxError;
use crate::health::HealthChecker;
use crate::pool::{Attachment, Dialling, First, Pool, Task, first};

/// Keeps the two in step, for as long as the pool lives.
pub(super) struct Guard {
    pool: Weak<Pool>,
    checker: HealthChecker,
    task: Option<Task>,
}

impl Guard {
    pub(super) fn new(pool: &Arc<Pool>, checker: &HealthChecker) -> Self {
        Self { pool: Arc::downgrade(pool), checker: checker.clone(), task: None }
    }
}

impl Attachment for Guard {
    fn start(&mut self) {
        if self.task.is_none() {
            self.checker.start();
            self.task = Task::spawn(keep(Weak::clone(&self.pool), self.checker.clone()));
        }
    }
}

/// Makes the channels health checks are made on: like the members' own, and never theirs.
pub(super) fn channels(
    pool: Weak<Pool>,
    dialling: Dialling,
) -> impl Fn(&str) -> Result<Channel, BoxError> + Send + Sync + 'static {
    move |name| {
        let pool = pool.upgrade().ok_or("the client is gone")?;
        let list = pool.list();
        let member = list.members().find(|member| *member.name == *name);
        let member = member.ok_or("it is no member any more")?;
        Ok(dialling.channel(&member.place)?)
    }
}

/// Has a member dialled without further pause that a check has reached, before anybody can see that
/// it is healthy.
///
/// Otherwise calls would go to a member that is healthy, and fail until the pause is over that
/// began when it was not.
pub(super) fn greeting(pool: Weak<Pool>) -> impl Fn(&str) + Send + Sync + 'static {
    move |name| {
        let Some(pool) = pool.upgrade() else { return };
        let list = pool.list();
        list.members().filter(|member| *member.name == *name).for_each(|m| m.line.reached());
    }
}

async fn keep(pool: Weak<Pool>, checker: HealthChecker) {
    let Some(mut members) = pool.upgrade().map(|pool| pool.changes()) else { return };
    let mut verdicts = checker.changes();
    members.mark_changed();
    loop {
        match first(members.changed(), verdicts.changed()).await {
            First::One(Ok(())) => {
                let Some(pool) = pool.upgrade() else { return };
                monitor(&pool, &checker);
            }
            First::One(Err(_)) => return,
            First::Other(()) => {
                let Some(pool) = pool.upgrade() else { return };
                pool.tell_of_change();
                // What was told just now is not news to us.
                members.mark_unchanged();
                monitor(&pool, &checker);
            }
        }
    }
}

/// Has exactly the members of `pool` checked, and each read its own verdict.
pub(super) fn monitor(pool: &Pool, checker: &HealthChecker) {
    let list = pool.list();
    for member in list.members() {
        member.flag.get_or_init(|| checker.add(Arc::clone(&member.name)));
    }
    for name in checker.verdicts().keys() {
        if !list.members().any(|member| member.name == *name) {
            checker.remove(name);
        }
    }
}
