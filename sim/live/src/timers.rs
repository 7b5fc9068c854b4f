//! The deadlines of a client: its machine's timers and its program's sleeps.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use tokio::time::Instant;
use vivarium_model::id::CallId;
use vivarium_model::timer::ClientTimer;

/// Returns the time after a span, or in 30 years if the clock does not reach that far.
pub(crate) fn later(span: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(span).unwrap_or_else(|| now + FAR)
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A timer of the client machine.
    Timer(ClientTimer),
    /// The end of a sleep.
    Sleep(CallId),
}

/// All deadlines of a client.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    machine: [Option<Instant>; TIMERS.len()],
    sleeps: BTreeSet<(Instant, CallId)>,
    ends: HashMap<CallId, Instant>,
}

const TIMERS: [ClientTimer; 6] = [
    ClientTimer::Reconnect,
    ClientTimer::Connect,
    ClientTimer::Read,
    ClientTimer::Ping,
    ClientTimer::Probe,
    ClientTimer::Expiry,
];

impl Timers {
    pub(crate) fn arm(&mut self, timer: ClientTimer, at: Instant) {
        self.machine[index(timer)] = Some(at);
    }

    pub(crate) fn disarm(&mut self, timer: ClientTimer) {
        self.machine[index(timer)] = None;
    }

    pub(crate) fn sleep(&mut self, call: CallId, until: Instant) {
        self.sleeps.insert((until, call));
        self.ends.insert(call, until);
    }

    /// Forgets a sleep, if the call is one.
    pub(crate) fn wake(&mut self, call: CallId) {
        if let Some(until) = self.ends.remove(&call) {
            self.sleeps.remove(&(until, call));
        }
    }

    /// Returns the earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        let machine = self.machine.iter().flatten().min().copied();
        let sleep = self.sleeps.first().map(|(until, _)| *until);
        machine.into_iter().chain(sleep).min()
    }

    /// Takes the earliest thing that is due at this time.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Due> {
        let machine =
            self.machine.iter().zip(TIMERS).filter_map(|(at, timer)| Some(((*at)?, timer)));
        let machine = machine.min_by_key(|(at, _)| *at);
        let sleep = self.sleeps.first().copied();
        let (at, due) = match (machine, sleep) {
            (Some((at, timer)), Some((until, _))) if at <= until => (at, Due::Timer(timer)),
            (_, Some((until, call))) => (until, Due::Sleep(call)),
            (Some((at, timer)), None) => (at, Due::Timer(timer)),
            (None, None) => return None,
        };
        if at > now {
            return None;
        }
        match due {
            Due::Timer(timer) => self.disarm(timer),
            Due::Sleep(call) => self.wake(call),
        }
        Some(due)
    }
}

fn index(timer: ClientTimer) -> usize {
    TIMERS.iter().position(|known| *known == timer).expect("all timers are listed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_the_order_of_the_deadlines() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timers = Timers::default();
        timers.arm(ClientTimer::Read, at(30));
        timers.arm(ClientTimer::Ping, at(10));
        timers.sleep(CallId(1), at(20));
        timers.sleep(CallId(2), at(5));
        timers.sleep(CallId(3), at(1));
        timers.wake(CallId(3));
        timers.wake(CallId(7));
        assert_eq!(timers.next(), Some(at(5)));
        assert_eq!(timers.due(at(4)), None);
        // An armed timer is armed anew.
        timers.arm(ClientTimer::Read, at(15));
        let mut all = Vec::new();
        while let Some(due) = timers.due(at(30)) {
            all.push(due);
        }
        let expected = [
            Due::Sleep(CallId(2)),
            Due::Timer(ClientTimer::Ping),
            Due::Timer(ClientTimer::Read),
            Due::Sleep(CallId(1)),
        ];
        assert_eq!(all, expected);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn every_timer_has_its_place() {
        let mut timers = Timers::default();
        let start = Instant::now();
        for timer in TIMERS {
            timers.arm(timer, start);
        }
        for _ in TIMERS {
            assert!(matches!(timers.due(start), Some(Due::Timer(_))));
        }
        assert_eq!(timers.due(start), None);
    }
}
