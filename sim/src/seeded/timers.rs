//! The deadlines of armed timers, stored separately from the event heap.
//!
//! Almost every packet arms some timer again, mostly for a later time. If each time pushed a heap entry, the heap
//! would fill with entries without effect. So a timer has at most one valid entry: arming it for later only changes
//! its deadline here, and an entry that is returned too early is pushed again for the present deadline.

use vivarium_model::id::ServerId;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ClientTimer, ServerTimer, Timer};

/// Neither armed nor in the heap.
const NONE: Time = Time(u64::MAX);

/// The state of one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// The time when it fires; [`NONE`] if it is not armed.
    deadline: Time,
    /// The time of its heap entry; [`NONE`] if it has none. Entries for other times are stale.
    queued: Time,
}

impl Slot {
    const IDLE: Slot = Slot { deadline: NONE, queued: NONE };
}

/// What to do with a timer's heap entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ripe {
    /// The timer fires; it is disarmed now.
    Fires,
    /// The timer was armed for later: push an entry for that time.
    Later(Time),
    /// The timer was disarmed, or the entry is stale.
    Nothing,
}

/// The deadlines of all timers of a run.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    tick: Duration,
    servers: Vec<[Slot; 6]>,
    /// Per server: the timers of sessions and learners that are in use.
    various: Vec<Vec<(ServerTimer, Slot)>>,
    clients: Vec<[Slot; 6]>,
    /// By client and call.
    sleeps: Vec<Vec<Slot>>,
}

impl Timers {
    /// Returns timers that are not armed. Sessions expire on multiples of `tick`.
    pub(super) fn new(servers: usize, clients: usize, tick: Duration) -> Timers {
        assert!(!tick.is_zero(), "tickTime must not be zero");
        Timers {
            tick,
            servers: vec![[Slot::IDLE; 6]; servers],
            various: vec![Vec::new(); servers],
            clients: vec![[Slot::IDLE; 6]; clients],
            sleeps: vec![Vec::new(); clients],
        }
    }

    /// Returns the deadline of a timer that is armed now for this span.
    pub(super) fn deadline(&self, timer: Timer, now: Time, after: Duration) -> Time {
        deadline(timer, now + after, self.tick)
    }

    /// Arms a timer. Returns true if a heap entry for the deadline must be pushed.
    pub(super) fn arm(&mut self, timer: Timer, deadline: Time) -> bool {
        let slot = self.slot(timer);
        slot.deadline = deadline;
        let push = slot.queued > deadline;
        if push {
            slot.queued = deadline;
        }
        push
    }

    /// Disarms a timer; its heap entry will have no effect.
    pub(super) fn disarm(&mut self, timer: Timer) {
        let slot = self.slot(timer);
        slot.deadline = NONE;
        if slot.queued == NONE {
            self.forget(timer);
        }
    }

    /// Handles a timer's heap entry at `now`.
    pub(super) fn ripe(&mut self, timer: Timer, now: Time) -> Ripe {
        let slot = self.slot(timer);
        if slot.queued != now {
            let idle = *slot == Slot::IDLE;
            if idle {
                self.forget(timer);
            }
            return Ripe::Nothing;
        }
        slot.queued = NONE;
        if slot.deadline == NONE {
            self.forget(timer);
            return Ripe::Nothing;
        }
        if slot.deadline > now {
            slot.queued = slot.deadline;
            return Ripe::Later(slot.deadline);
        }
        slot.deadline = NONE;
        self.forget(timer);
        Ripe::Fires
    }

    fn slot(&mut self, timer: Timer) -> &mut Slot {
        match timer {
            Timer::Server(server, kind) => self.server_slot(server, kind),
            Timer::Client(client, kind) => &mut self.clients[client.index()][client_index(kind)],
            Timer::Sleep(client, call) => {
                let sleeps = &mut self.sleeps[client.index()];
                let at = call.0 as usize;
                if at >= sleeps.len() {
                    sleeps.resize(at + 1, Slot::IDLE);
                }
                &mut sleeps[at]
            }
        }
    }

    fn server_slot(&mut self, server: ServerId, kind: ServerTimer) -> &mut Slot {
        if let Some(at) = server_index(kind) {
            return &mut self.servers[server.index()][at];
        }
        let various = &mut self.various[server.index()];
        let at = various.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            various.push((kind, Slot::IDLE));
            various.len() - 1
        });
        &mut various[at].1
    }

    /// Frees the slot of an idle timer of a session or learner. Nothing depends on the order of slots.
    fn forget(&mut self, timer: Timer) {
        if let Timer::Server(server, kind) = timer
            && server_index(kind).is_none()
        {
            let various = &mut self.various[server.index()];
            if let Some(at) = various.iter().position(|(known, _)| *known == kind) {
                debug_assert_eq!(various[at].1, Slot::IDLE);
                various.swap_remove(at);
            }
        }
    }

    #[cfg(test)]
    fn is_armed(&mut self, timer: Timer) -> bool {
        self.slot(timer).deadline != NONE
    }
}

/// Returns the index of a server's timer, for kinds with one timer per server.
fn server_index(kind: ServerTimer) -> Option<usize> {
    match kind {
        ServerTimer::Notification => Some(0),
        ServerTimer::Finalize => Some(1),
        ServerTimer::ConnectLeader => Some(2),
        ServerTimer::InitLimit => Some(3),
        ServerTimer::LeaderSilent => Some(4),
        ServerTimer::Ping => Some(5),
        ServerTimer::LearnerSilent(_)
        | ServerTimer::AckDeadline(_)
        | ServerTimer::Unacknowledged(..)
        | ServerTimer::SessionExpiry(_)
        | ServerTimer::ReadOnly
        | ServerTimer::Containers
        | ServerTimer::DeleteContainer
        | ServerTimer::ConnectMaster(_) => None,
    }
}

fn client_index(kind: ClientTimer) -> usize {
    match kind {
        ClientTimer::Reconnect => 0,
        ClientTimer::Connect => 1,
        ClientTimer::Read => 2,
        ClientTimer::Ping => 3,
        ClientTimer::Expiry => 4,
        ClientTimer::Probe => 5,
    }
}

/// Returns the deadline of a timer whose span ends then. A session expires only on the next tick boundary,
/// `((now + timeout) / tick + 1) * tick` (rule 2.3.1).
pub(crate) fn deadline(timer: Timer, exact: Time, tick: Duration) -> Time {
    match timer {
        Timer::Server(_, ServerTimer::SessionExpiry(_)) => {
            let tick = tick.as_micros() as u64;
            Time((exact.0 / tick + 1) * tick)
        }
        _ => exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::{CallId, ClientId, LearnerConnection, SessionId};

    fn timers() -> Timers {
        Timers::new(3, 2, Duration::from_millis(2))
    }

    fn expiry(session: u64) -> Timer {
        Timer::Server(ServerId(1), ServerTimer::SessionExpiry(SessionId(session)))
    }

    #[test]
    fn sessions_expire_on_the_tick_after_their_timeout() {
        let timers = timers();
        let deadline =
            |now, after| timers.deadline(expiry(1), Time(now), Duration::from_micros(after)).0;
        assert_eq!(deadline(0, 4_000), 6_000, "exactly on a boundary: the next one");
        assert_eq!(deadline(1, 4_000), 6_000);
        assert_eq!(deadline(1_999, 4_000), 6_000);
        assert_eq!(deadline(2_000, 4_000), 8_000);
        let ping = Timer::Server(ServerId(1), ServerTimer::Ping);
        assert_eq!(timers.deadline(ping, Time(1), Duration::from_micros(4_000)), Time(4_001));
    }

    #[test]
    fn arming_for_later_pushes_nothing_and_the_early_entry_goes_on() {
        let mut timers = timers();
        let read = Timer::Client(ClientId(2), ClientTimer::Read);
        assert!(timers.arm(read, Time(10)));
        assert!(!timers.arm(read, Time(15)));
        assert!(!timers.arm(read, Time(20)));
        assert_eq!(timers.ripe(read, Time(10)), Ripe::Later(Time(20)));
        assert!(!timers.arm(read, Time(30)));
        assert_eq!(timers.ripe(read, Time(20)), Ripe::Later(Time(30)));
        assert_eq!(timers.ripe(read, Time(30)), Ripe::Fires);
        assert!(!timers.is_armed(read));
        assert!(timers.arm(read, Time(40)), "fired: the next arming needs an entry");
    }

    #[test]
    fn arming_for_earlier_makes_the_later_entry_stale() {
        let mut timers = timers();
        let sleep = Timer::Sleep(ClientId(1), CallId(3));
        assert!(timers.arm(sleep, Time(20)));
        assert!(timers.arm(sleep, Time(10)));
        assert_eq!(timers.ripe(sleep, Time(10)), Ripe::Fires);
        assert!(timers.arm(sleep, Time(20)));
        assert_eq!(timers.ripe(sleep, Time(20)), Ripe::Fires);
        assert_eq!(timers.ripe(sleep, Time(20)), Ripe::Nothing, "the stale entry at 20");
    }

    #[test]
    fn a_disarmed_timer_does_not_fire() {
        let mut timers = timers();
        let ping = Timer::Server(ServerId(3), ServerTimer::Ping);
        assert!(timers.arm(ping, Time(10)));
        timers.disarm(ping);
        assert_eq!(timers.ripe(ping, Time(10)), Ripe::Nothing);
    }

    #[test]
    fn timers_of_sessions_and_learners_leave_no_rubbish() {
        let mut timers = timers();
        let connection = LearnerConnection { learner: ServerId(2), slot: 0 };
        let silent = Timer::Server(ServerId(1), ServerTimer::LearnerSilent(connection));
        for session in 0..5 {
            assert!(timers.arm(expiry(session), Time(10 + session)));
        }
        assert!(timers.arm(silent, Time(10)));
        for session in 0..5 {
            assert_eq!(timers.ripe(expiry(session), Time(10 + session)), Ripe::Fires);
        }
        timers.disarm(silent);
        assert_eq!(timers.ripe(silent, Time(10)), Ripe::Nothing);
        assert!(timers.various.iter().all(Vec::is_empty), "{:?}", timers.various);
    }
}
