//! SyncLimitCheck: the leader closes the connection of a learner that answers pings but leaves a proposal
//! unacknowledged for syncLimit ticks (rule 6.7.7). Another thread than the one that waits for the disk answers
//! pings.

use crate::server::context::Context;
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::timer::{ServerTimer, Watched};
use crate::vocabulary::zxid::Zxid;

/// The proposals whose acks a handler checks, at most two. In a search there are none, because no time passes and the
/// end of a connection is a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SyncLimitCheck {
    /// The oldest unacknowledged proposal. After its ack, the next one takes its place.
    current: Option<Unacknowledged>,
    /// The last one sent of those after it.
    next: Option<Unacknowledged>,
}

/// A proposal that was sent and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unacknowledged {
    zxid: Zxid,
    /// The timer that was armed when it was sent.
    timer: Watched,
    /// True if that timer has fired.
    is_late: bool,
}

impl SyncLimitCheck {
    /// Records that a proposal was sent.
    pub(super) fn sent(
        &mut self,
        zxid: Zxid,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        if context.config.election.is_oracle() {
            return;
        }
        let timer = self.current.as_ref().map_or(Watched::One, |current| current.timer.other());
        let place = if self.current.is_none() { &mut self.current } else { &mut self.next };
        *place = Some(Unacknowledged { zxid, timer, is_late: false });
        let limit = context.config.tick * context.config.sync_limit;
        context.arm(ServerTimer::Unacknowledged(connection, timer), limit);
    }

    /// Records an ack.
    pub(super) fn acknowledged(
        &mut self,
        zxid: Zxid,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let is_of = |watched: &Option<Unacknowledged>| {
            watched.as_ref().is_some_and(|watched| watched.zxid == zxid)
        };
        let ended = if is_of(&self.current) {
            std::mem::replace(&mut self.current, self.next.take())
        } else if is_of(&self.next) {
            self.next.take()
        } else {
            None
        };
        if let Some(Unacknowledged { timer, is_late: false, .. }) = ended {
            context.disarm(ServerTimer::Unacknowledged(connection, timer));
        }
    }

    /// Records that one of the timers has fired.
    pub(super) fn fired(&mut self, timer: Watched) {
        let watched = [&mut self.current, &mut self.next].into_iter().flatten();
        for watched in watched.filter(|watched| watched.timer == timer) {
            watched.is_late = true;
        }
    }

    /// Returns true if a timer is running.
    pub(super) fn heeds(&self, timer: Watched) -> bool {
        let watched = [&self.current, &self.next].into_iter().flatten();
        watched.into_iter().any(|watched| watched.timer == timer && !watched.is_late)
    }

    /// Returns true if a proposal is unacknowledged.
    pub(super) fn is_waiting(&self) -> bool {
        self.current.is_some()
    }

    /// Returns true if the oldest proposal has waited for too long; checked by the ping round.
    pub(super) fn is_late(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.is_late)
    }

    /// Returns the timers that are running.
    pub(super) fn timers(&self) -> impl Iterator<Item = Watched> {
        Watched::BOTH.into_iter().filter(|timer| self.heeds(*timer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::server::disk::Disk;
    use crate::vocabulary::config::Config;
    use crate::vocabulary::effect::{Effect, Effects};
    use crate::vocabulary::fingerprint::Tracked;
    use crate::vocabulary::id::ServerId;
    use crate::vocabulary::time::{Duration, Time};
    use crate::vocabulary::timer::Timer;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    const CONNECTION: LearnerConnection = LearnerConnection { learner: ServerId(1), slot: 0 };

    /// The source's version: two proposals, each with the time at which it was sent.
    #[derive(Default)]
    struct Source {
        current: Option<(Zxid, Time)>,
        next: Option<(Zxid, Time)>,
    }

    impl Source {
        fn sent(&mut self, zxid: Zxid, now: Time) {
            let place = if self.current.is_none() { &mut self.current } else { &mut self.next };
            *place = Some((zxid, now));
        }

        fn acknowledged(&mut self, zxid: Zxid) {
            if self.current.is_some_and(|(current, _)| current == zxid) {
                self.current = self.next.take();
            } else if self.next.is_some_and(|(next, _)| next == zxid) {
                self.next = None;
            }
        }

        fn is_late(&self, now: Time, limit: Duration) -> bool {
            self.current.is_some_and(|(_, sent)| now.since(sent) >= limit)
        }
    }

    /// The check, with timers that fire when they are due.
    #[derive(Default)]
    struct Timed {
        check: SyncLimitCheck,
        armed: BTreeMap<Timer, Time>,
    }

    impl Timed {
        fn does(
            &mut self,
            config: &Config,
            now: Time,
            act: impl FnOnce(&mut SyncLimitCheck, &mut Context<'_>),
        ) {
            let mut network = Network::new(2, 0);
            let mut disk = Tracked::new(
                Disk::new(std::sync::Arc::new(config.first_tree()), config.bugs)
                    .with_file_system(config.file_system()),
            );
            let mut effects = Effects::default();
            let mut context = Context {
                at: now,
                id: ServerId(2),
                config,
                network: &mut network,
                disk: &mut disk,
                effects: &mut effects,
            };
            act(&mut self.check, &mut context);
            for effect in &effects.effects {
                match effect {
                    Effect::Arm { timer, after, .. } => {
                        self.armed.insert(*timer, now + *after);
                    }
                    Effect::Disarm(timer) => drop(self.armed.remove(timer)),
                    _ => {}
                }
            }
        }

        fn time_is(&mut self, now: Time) {
            let due: Vec<Timer> =
                self.armed.iter().filter(|(_, at)| **at <= now).map(|(timer, _)| *timer).collect();
            for timer in due {
                self.armed.remove(&timer);
                let Timer::Server(_, ServerTimer::Unacknowledged(_, watched)) = timer else {
                    panic!("{timer:?} is no timer of this check")
                };
                assert!(self.check.heeds(watched), "{timer:?} runs for nothing");
                self.check.fired(watched);
            }
            let runs = |watched| {
                let timer = ServerTimer::Unacknowledged(CONNECTION, watched);
                self.armed.contains_key(&Timer::Server(ServerId(2), timer))
            };
            assert!(Watched::BOTH.into_iter().all(|timer| self.check.heeds(timer) == runs(timer)));
        }
    }

    proptest! {
        /// Proposals are sent in order. Each is acknowledged once, in order, or not at all; and time passes.
        #[test]
        fn it_is_late_exactly_when_the_source_says_so(
            steps in prop::collection::vec((0..4_u32, 0..9_u64), 1..60),
        ) {
            let config = Config::new(2, 0);
            let limit = config.tick * config.sync_limit;
            let (mut source, mut timed) = (Source::default(), Timed::default());
            let (mut now, mut under_way, mut last) = (Time::ZERO, VecDeque::new(), 0);
            for (kind, eighths) in steps {
                match kind {
                    0 => {
                        last += 1;
                        under_way.push_back(Zxid(last));
                        source.sent(Zxid(last), now);
                        timed.does(&config, now, |check, context| {
                            check.sent(Zxid(last), CONNECTION, context);
                        });
                    }
                    1 => {
                        let Some(zxid) = under_way.pop_front() else { continue };
                        source.acknowledged(zxid);
                        timed.does(&config, now, |check, context| {
                            check.acknowledged(zxid, CONNECTION, context);
                        });
                    }
                    _ => now = now + limit / 8 * u32::try_from(eighths).unwrap_or(0),
                }
                timed.time_is(now);
                prop_assert_eq!(timed.check.is_late(), source.is_late(now, limit));
            }
        }
    }
}
