//! SyncLimitCheck: a learner that answers pings and yet leaves a proposal without its ack for syncLimit ticks is
//! hung up on (rule 6.7.7). Pings are answered by another thread than the one that waits for the disk.

use crate::server::context::Context;
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::timer::{ServerTimer, Watched};
use crate::vocabulary::zxid::Zxid;

/// What a handler watches of its learner's acks: two proposals at most. The handler of a search has none, where no
/// clock runs and a connection that ends is a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SyncLimitCheck {
    /// The oldest one. When its ack comes, the next one takes its place.
    current: Option<Unacknowledged>,
    /// Of those behind it, the one that was sent last.
    next: Option<Unacknowledged>,
}

/// A proposal that was sent and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unacknowledged {
    zxid: Zxid,
    /// Which of the two timers runs since it was sent.
    timer: Watched,
    /// That one has fired.
    is_late: bool,
}

impl SyncLimitCheck {
    /// A proposal is sent.
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

    /// An ack is read.
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

    /// One of the timers has fired.
    pub(super) fn fired(&mut self, timer: Watched) {
        let watched = [&mut self.current, &mut self.next].into_iter().flatten();
        for watched in watched.filter(|watched| watched.timer == timer) {
            watched.is_late = true;
        }
    }

    /// Whether a timer runs.
    pub(super) fn heeds(&self, timer: Watched) -> bool {
        let watched = [&self.current, &self.next].into_iter().flatten();
        watched.into_iter().any(|watched| watched.timer == timer && !watched.is_late)
    }

    /// The oldest proposal has waited for too long: what the ping round asks.
    pub(super) fn is_late(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.is_late)
    }

    /// The timers that run.
    pub(super) fn timers(&self) -> impl Iterator<Item = Watched> {
        Watched::BOTH.into_iter().filter(|timer| self.heeds(*timer))
    }
}
