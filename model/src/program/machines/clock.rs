//! A program's clock at the service grain, where no time passes.
//!
//! A search at the service grain has no instants. A program's clock is represented by the smallest reading that it
//! can show next: the last reading plus the time that the program has slept since. The engine chooses how much later
//! a reading is ([`Step::Clock`](crate::vocabulary::step::Step::Clock)). Before the first reading nothing is counted,
//! because a program without an earlier reading cannot tell how long it has slept.
//!
//! The clocks of two programs are unrelated, and so are a program's clock and the time that servers give a session: a
//! clock may stand still while the session's timeout passes, like that of a suspended virtual machine.

use crate::vocabulary::id::CallId;
use crate::vocabulary::time::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The clock of one program. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clock {
    /// The smallest reading that the clock can show; `None` before the first reading.
    least: Option<Time>,
    /// The calls waiting for a reading.
    asked: BTreeSet<CallId>,
    /// For each sleep that began after a reading, the smallest reading after its end.
    wakes: BTreeMap<CallId, Time>,
}

impl Clock {
    pub(super) fn asked(&mut self, call: CallId) {
        self.asked.insert(call);
    }

    pub(super) fn sleeps(&mut self, call: CallId, span: Duration) {
        if let Some(least) = self.least {
            self.wakes.insert(call, least + span);
        }
    }

    pub(super) fn slept(&mut self, call: CallId) {
        if let Some(wakes) = self.wakes.remove(&call) {
            self.least = self.least.max(Some(wakes));
        }
    }

    /// Returns true if the call waits for a reading and this reading is possible.
    pub(super) fn can_show(&self, call: CallId, reading: Time) -> bool {
        self.asked.contains(&call) && self.least.is_none_or(|least| least <= reading)
    }

    pub(super) fn read(&mut self, call: CallId, reading: Time) {
        assert!(self.can_show(call, reading), "a clock does not go back, and answers who asks");
        self.asked.remove(&call);
        self.least = Some(reading);
    }

    pub(super) fn abandon(&mut self, call: CallId) {
        self.asked.remove(&call);
        self.wakes.remove(&call);
    }

    pub(super) fn forget_calls(&mut self) {
        self.asked.clear();
        self.wakes.clear();
    }

    pub(super) fn is_unasked(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (CallId, Time)> {
        let least = self.least.unwrap_or_default();
        self.asked.iter().map(move |call| (*call, least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [CallId; 3] = [CallId(0), CallId(1), CallId(2)];

    #[test]
    fn a_reading_is_no_earlier_than_the_one_before_and_what_was_slept_since() {
        let mut clock = Clock::default();
        clock.sleeps(CALLS[0], Duration::from_secs(9));
        clock.asked(CALLS[1]);
        assert_eq!(clock.calls().collect::<Vec<_>>(), [(CALLS[1], Time::ZERO)]);
        clock.read(CALLS[1], Time(5));
        clock.slept(CALLS[0]);
        clock.sleeps(CALLS[0], Duration::from_micros(10));
        clock.sleeps(CALLS[1], Duration::from_micros(20));
        clock.slept(CALLS[0]);
        clock.asked(CALLS[2]);
        assert!(!clock.can_show(CALLS[2], Time(14)));
        assert!(clock.can_show(CALLS[2], Time(15)));
        assert!(!clock.can_show(CALLS[0], Time(15)));
        clock.read(CALLS[2], Time(18));
        // The second sleep began together with the first and ran concurrently.
        clock.slept(CALLS[1]);
        clock.asked(CALLS[2]);
        assert!(!clock.can_show(CALLS[2], Time(24)));
        assert!(clock.can_show(CALLS[2], Time(25)));
    }
}
