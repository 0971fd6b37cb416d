//! This file knows how a pool and a health checker learn of each other: who is a member is checked,
//! and who is not healthy is not used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tonic::transport::Channel;

use crate::error::BoxError;
use crate::health::HealthChecker;
use crate::pool::{Attachment, Dialling, First, Member, Pool, Task, first};

/// Keeps the two in step, for as long as the pool lives.
pub(super) struct Guard {
    pool: Weak<Pool>,
    checks: Checks,
    task: Option<Task>,
}

impl Guard {
    pub(super) fn new(pool: &Arc<Pool>, checks: &Checks) -> Self {
        Self { pool: Arc::downgrade(pool), checks: checks.clone(), task: None }
    }
}

impl Attachment for Guard {
    fn start(&mut self) {
        let checker = &self.checks.checker;
        // One that was stopped by hand stays so, in the next runtime too.
        if self.task.is_none() || checker.is_orphaned() {
            checker.start();
        }
        if self.task.as_ref().is_none_or(Task::is_finished) {
            self.task = Task::spawn(keep(Weak::clone(&self.pool), self.checks.clone()));
        }
    }
}

/// The checks of a pool's members. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    pub(super) checker: HealthChecker,
    /// Whom we had checked, by name, each with the serial of the member it was. Whoever else is
    /// checked was added by the user, and is the user's to remove.
    ours: Arc<Mutex<HashMap<Arc<str>, u64>>>,
}

impl Checks {
    pub(super) fn of(checker: HealthChecker) -> Self {
        Self { checker, ours: Arc::default() }
    }

    /// Has the members of `pool` checked, and those no more that are none, and each read its own
    /// verdict.
    ///
    /// Whoever gets the name of another, such as one address under two names of a host, is asked
    /// anew: what was said of the other was said on the other's channel.
    pub(super) fn monitor(&self, pool: &Pool) {
        let Self { checker, ours } = self;
        // Before the list is read, so that an older one is never brought about after a newer one.
        let mut ours = ours.lock().unwrap_or_else(PoisonError::into_inner);
        let list = pool.list();
        let members: HashMap<&str, &Arc<Member<Channel>>> =
            list.members().map(|member| (&*member.name, member)).collect();
        ours.retain(|name, serial| {
            let stays = members.get(&**name).is_some_and(|member| member.serial == *serial);
            if !stays {
                checker.remove(name);
            }
            stays
        });
        let mut news = false;
        for member in list.members() {
            let flag = checker.flag(&member.name).unwrap_or_else(|| {
                ours.insert(Arc::clone(&member.name), member.serial);
                checker.add(Arc::clone(&member.name))
            });
            let known = flag.is_healthy().is_some();
            news |= member.heed(flag) && known;
        }
        if news {
            pool.tell_of_change();
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

async fn keep(pool: Weak<Pool>, checks: Checks) {
    let Some(mut members) = pool.upgrade().map(|pool| pool.changes()) else { return };
    let mut verdicts = checks.checker.changes();
    members.mark_changed();
    loop {
        match first(members.changed(), verdicts.changed()).await {
            First::One(Ok(())) => {
                let Some(pool) = pool.upgrade() else { return };
                checks.monitor(&pool);
            }
            First::One(Err(_)) => return,
            First::Other(()) => {
                let Some(pool) = pool.upgrade() else { return };
                pool.tell_of_change();
                // What was told just now is not news to us.
                members.mark_unchanged();
                checks.monitor(&pool);
            }
        }
    }
}
