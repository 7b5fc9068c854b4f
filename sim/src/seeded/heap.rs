//! The event heap: the next event, by (virtual time, sequence number).
//!
//! Time passes only here. Two entries of the same instant are returned in the order in which they were pushed, so a
//! run is a function of its seed. Steps that cannot happen now (a cut link, a paused client) are parked under their
//! blocker, in order, and are returned when the blocker is gone.

use crate::scenario::faults::Fault;
use crate::seeded::timers::{Ripe, Timers};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use vivarium_model::effect::Blocker;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::Timer;

/// An entry's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A step.
    Step(Step),
    /// A timer fires.
    Timer(Timer),
    /// The turn of a fault, counted from 0.
    Fault(Fault, u32),
    /// The time of a script's rule, by its index.
    Rule(u32),
}

/// An entry, ordered by time and sequence; the earliest is the greatest, as [`BinaryHeap`] needs.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    sequence: u64,
    due: Due,
}

impl Entry {
    fn key(&self) -> (Time, u64) {
        (self.at, self.sequence)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// The heap, the timers and the parked steps of one run.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    entries: BinaryHeap<Entry>,
    sequence: u64,
    now: Time,
    timers: Timers,
    parked: Vec<(Blocker, Due)>,
}

impl Heap {
    /// Returns an empty heap. Sessions expire on multiples of `tick`.
    pub(crate) fn new(servers: usize, clients: usize, tick: Duration) -> Heap {
        Heap {
            entries: BinaryHeap::with_capacity(256),
            sequence: 0,
            now: Time::ZERO,
            timers: Timers::new(servers, clients, tick),
            parked: Vec::new(),
        }
    }

    /// Returns the time of the last entry returned.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Returns the time of the next entry, which may be a stale one of a timer.
    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.peek().map(|entry| entry.at)
    }

    /// Lets time pass up to `at`, if nothing is due before.
    pub(crate) fn pass(&mut self, at: Time) {
        debug_assert!(self.next().is_none_or(|next| next >= at), "something is due before {at}");
        self.now = self.now.max(at);
    }

    /// Adds an entry for time `at`, which must not be in the past.
    pub(crate) fn push(&mut self, at: Time, due: Due) {
        debug_assert!(at >= self.now, "{due:?} pushed for {at}, and it is {}", self.now);
        self.sequence += 1;
        self.entries.push(Entry { at, sequence: self.sequence, due });
    }

    /// Removes the next entry and returns it with its time. A [`Due::Timer`] that is returned does fire.
    pub(crate) fn pop(&mut self) -> Option<(Time, Due)> {
        self.pop_until(Time(u64::MAX))
    }

    /// Removes and returns the next entry, if it is due by this time.
    pub(crate) fn pop_until(&mut self, until: Time) -> Option<(Time, Due)> {
        while self.next().is_some_and(|next| next <= until) {
            let Entry { at, due, .. } = self.entries.pop()?;
            self.now = at;
            let Due::Timer(timer) = due else {
                return Some((at, due));
            };
            match self.timers.ripe(timer, at) {
                Ripe::Fires => return Some((at, due)),
                Ripe::Later(deadline) => self.push(deadline, due),
                Ripe::Nothing => {}
            }
        }
        None
    }

    /// Arms a timer, or changes the deadline of an armed one.
    pub(crate) fn arm(&mut self, timer: Timer, after: Duration) {
        self.unpark_timer(timer);
        let deadline = self.timers.deadline(timer, self.now, after);
        self.arm_for(timer, deadline);
    }

    /// Disarms a timer.
    pub(crate) fn disarm(&mut self, timer: Timer) {
        self.unpark_timer(timer);
        self.timers.disarm(timer);
    }

    /// Parks the entry just returned until the blocker is gone.
    pub(crate) fn park(&mut self, blocker: Blocker, due: Due) {
        self.parked.push((blocker, due));
    }

    /// Returns the entries of a blocker that is gone to the heap for the present time, in the order in which they
    /// were parked.
    pub(crate) fn unblock(&mut self, blocker: Blocker) {
        let mut at = 0;
        while at < self.parked.len() {
            if self.parked[at].0 != blocker {
                at += 1;
                continue;
            }
            match self.parked.remove(at).1 {
                // A timer that was returned is disarmed in the table. It must be armed again, so that a step at this
                // very instant can still disarm it.
                Due::Timer(timer) => self.arm_for(timer, self.now),
                due => self.push(self.now, due),
            }
        }
    }

    fn arm_for(&mut self, timer: Timer, deadline: Time) {
        if self.timers.arm(timer, deadline) {
            self.push(deadline, Due::Timer(timer));
        }
    }

    /// Drops a parked timer that was armed again or disarmed: it must not fire at its old deadline.
    fn unpark_timer(&mut self, timer: Timer) {
        if !self.parked.is_empty() {
            self.parked.retain(|(_, due)| *due != Due::Timer(timer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vivarium_model::id::{ClientId, ServerId};
    use vivarium_model::timer::{ClientTimer, ServerTimer};

    const PAUSED: Blocker = Blocker::Paused(ClientId(1));
    const READ: Timer = Timer::Client(ClientId(1), ClientTimer::Read);

    fn heap() -> Heap {
        Heap::new(3, 2, Duration::from_millis(2))
    }

    fn step(number: u8) -> Due {
        Due::Step(Step::Append(ServerId(number)))
    }

    fn drain(heap: &mut Heap) -> Vec<(u64, Due)> {
        std::iter::from_fn(|| heap.pop()).map(|(at, due)| (at.0, due)).collect()
    }

    #[test]
    fn the_earliest_comes_first_and_equals_in_order() {
        let mut heap = heap();
        for (at, number) in [(5, 1), (3, 2), (5, 3), (3, 1)] {
            heap.push(Time(at), step(number));
        }
        let order = [(3, step(2)), (3, step(1)), (5, step(1)), (5, step(3))];
        assert_eq!(drain(&mut heap), order);
    }

    #[test]
    fn a_timer_armed_again_fires_once_at_its_last_deadline() {
        let mut heap = heap();
        heap.arm(READ, Duration::from_micros(10));
        heap.arm(READ, Duration::from_micros(30));
        heap.push(Time(20), step(1));
        assert_eq!(drain(&mut heap), [(20, step(1)), (30, Due::Timer(READ))]);
    }

    #[test]
    fn arming_counts_from_the_present() {
        let mut heap = heap();
        heap.push(Time(7), step(1));
        heap.pop();
        heap.arm(READ, Duration::from_micros(10));
        assert_eq!(drain(&mut heap), [(17, Due::Timer(READ))]);
    }

    #[test]
    fn parked_steps_come_up_in_order_when_their_blocker_goes() {
        let mut heap = heap();
        let busy = Blocker::Busy(ServerId(1));
        heap.push(Time(9), step(9));
        heap.pop();
        for (blocker, number) in [(PAUSED, 1), (busy, 2), (PAUSED, 3)] {
            heap.park(blocker, step(number));
        }
        heap.unblock(PAUSED);
        assert_eq!(drain(&mut heap), [(9, step(1)), (9, step(3))]);
        heap.unblock(busy);
        assert_eq!(drain(&mut heap), [(9, step(2))]);
    }

    #[test]
    fn a_parked_timer_fires_when_it_may_unless_it_was_armed_anew_or_disarmed() {
        let parked = || {
            let mut heap = heap();
            heap.arm(READ, Duration::from_micros(10));
            let (_, due) = heap.pop().unwrap();
            heap.park(PAUSED, due);
            heap
        };
        let mut fires = parked();
        fires.unblock(PAUSED);
        assert_eq!(drain(&mut fires), [(10, Due::Timer(READ))]);

        let mut later = parked();
        later.arm(READ, Duration::from_micros(5));
        later.unblock(PAUSED);
        assert_eq!(drain(&mut later), [(15, Due::Timer(READ))]);

        let mut never = parked();
        never.unblock(PAUSED);
        never.disarm(READ);
        assert_eq!(drain(&mut never), []);
    }

    proptest! {
        /// Compared with the obvious implementation: a table of deadlines, searched for the smallest.
        #[test]
        fn timers_fire_as_a_plain_table_says(
            actions in proptest::collection::vec((0u8..4, 0u8..3, 1u64..50), 1..60),
        ) {
            let timer = |of: u8| Timer::Server(ServerId(of + 1), ServerTimer::Ping);
            let mut heap = heap();
            let mut table = [None::<u64>; 3];
            for (action, of, after) in actions {
                match action {
                    0 | 1 => {
                        heap.arm(timer(of), Duration::from_micros(after));
                        table[usize::from(of)] = Some(heap.now().0 + after);
                    }
                    2 => {
                        heap.disarm(timer(of));
                        table[usize::from(of)] = None;
                    }
                    _ => {
                        let next = table.iter().flatten().min().copied();
                        let popped = heap.pop();
                        prop_assert_eq!(popped.map(|(at, _)| at.0), next);
                        if let Some((at, Due::Timer(Timer::Server(server, _)))) = popped {
                            prop_assert_eq!(table[server.index()].take(), Some(at.0));
                        }
                    }
                }
            }
        }
    }
}
