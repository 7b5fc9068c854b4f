//! The order in which a task takes answers.
//!
//! An engine feeds a program one input at a time and runs it until it blocks. Here answers arrive while tasks wait to
//! be polled, so a task can find several of them at once, and would take them in the order in which it happens to ask:
//! `race(reply, watch)` would let the reply win though the watch has fired before. A recipe that was searched never
//! sees that. So each task takes its answers in the order of their arrival: an answer is *deferred* while an earlier
//! one waits for the same task. The task is woken again at once. If it has then had its chance to take the earlier one
//! and did not, it does not wait for that one at present, and the later one is given to it.
//!
//! A task that has taken an answer goes on until it blocks before an engine feeds it the next one. So here too: another
//! answer that was there already is deferred until the task is polled anew, which shows when it asks a source again.
//!
//! A task is known by its waker. Two wakers that are taken for one task by mistake cost a deferral and nothing more.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::task::Waker;
use vivarium_model::handle::transport::{Subscription, Ticket};

/// Where a task takes an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    Call(Ticket),
    Session(Subscription),
}

/// Identifies a task: its waker's data and functions.
type Task = (usize, usize);

/// What has arrived and was not taken. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Order {
    arrived: u64,
    sources: HashMap<Source, Waiting>,
    /// By task, the first answer of each source that it asks.
    tasks: HashMap<Task, BTreeSet<(u64, Source)>>,
    /// Tasks that have taken an answer and may not have blocked since.
    taking: HashMap<Task, Taking>,
    /// The number of answers that were taken.
    taken: u64,
}

/// A task that has taken an answer.
#[derive(Debug)]
struct Taking {
    /// Which of all taken answers it is.
    number: u64,
    /// The last answer that had arrived by then.
    last: u64,
    /// The sources that it has asked since. It has blocked meanwhile if it asks one again.
    asked: BTreeSet<Source>,
}

#[derive(Debug, Default)]
struct Waiting {
    task: Option<Task>,
    /// The numbers of the answers that were not taken.
    unread: VecDeque<u64>,
    /// The earlier answer for which the first one was deferred.
    deferred_for: Option<u64>,
}

impl Order {
    /// Records that an answer has arrived.
    pub(crate) fn arrived(&mut self, source: Source) {
        self.arrived += 1;
        let waiting = self.sources.entry(source).or_default();
        waiting.unread.push_back(self.arrived);
        if waiting.unread.len() == 1
            && let Some(task) = waiting.task
        {
            self.tasks.entry(task).or_default().insert((self.arrived, source));
        }
    }

    /// Records which task asks for the answers of a source. Wakers that do nothing are no task.
    pub(crate) fn asked(&mut self, source: Source, waker: &Waker) {
        let task = task(waker);
        let waiting = self.sources.entry(source).or_default();
        let first = waiting.unread.front().map(|first| (*first, source));
        let before = std::mem::replace(&mut waiting.task, task);
        if let Some(first) = first {
            if before != task {
                self.leave(before, first);
            }
            if let Some(task) = task {
                self.tasks.entry(task).or_default().insert(first);
            }
        }
    }

    /// Returns true if the task that has just asked may take the first answer of the source, or finds none.
    pub(crate) fn may_take(&mut self, source: Source) -> bool {
        let Some(waiting) = self.sources.get_mut(&source) else { return true };
        let (Some(task), Some(first)) = (waiting.task, waiting.unread.front().copied()) else {
            return true;
        };
        let Some(answers) = self.tasks.get_mut(&task) else { return true };
        let is_first = answers.first().is_none_or(|(earliest, _)| *earliest >= first);
        if let Some(taking) = self.taking.get_mut(&task)
            && (first <= taking.last || !is_first)
        {
            if taking.asked.insert(source) {
                return false;
            }
            self.taking.remove(&task);
        }
        while let Some(earliest) = answers.first().copied().filter(|(number, _)| *number < first) {
            if waiting.deferred_for != Some(earliest.0) {
                waiting.deferred_for = Some(earliest.0);
                return false;
            }
            // The task was polled again and has not taken it: it does not wait for it.
            answers.pop_first();
            waiting.deferred_for = None;
        }
        true
    }

    /// Records that the first answer of a source was taken.
    pub(crate) fn took(&mut self, source: Source) {
        let Some(waiting) = self.sources.get_mut(&source) else { return };
        let taken = waiting.unread.pop_front();
        waiting.deferred_for = None;
        let task = waiting.task;
        let next = waiting.unread.front().copied();
        if let Some(taken) = taken {
            self.leave(task, (taken, source));
        }
        if let (Some(task), Some(next)) = (task, next) {
            self.tasks.entry(task).or_default().insert((next, source));
        }
        if let Some(task) = task {
            self.begin_taking(task);
        }
    }

    fn begin_taking(&mut self, task: Task) {
        self.taken += 1;
        let taking = Taking { number: self.taken, last: self.arrived, asked: BTreeSet::new() };
        self.taking.insert(task, taking);
        // Tasks that have ended are never asked about again: only the newer half can be running still.
        if self.taking.len() > 2 * self.sources.len() + 64 {
            let half = self.taken - (self.taking.len() / 2) as u64;
            self.taking.retain(|_, taking| taking.number > half);
        }
    }

    /// Forgets a source, whose answers are not wanted any more.
    pub(crate) fn forget(&mut self, source: Source) {
        if let Some(waiting) = self.sources.remove(&source)
            && let Some(first) = waiting.unread.front()
        {
            self.leave(waiting.task, (*first, source));
        }
    }

    /// Returns the number of answers of a source that were not taken.
    pub(crate) fn unread(&self, source: Source) -> usize {
        self.sources.get(&source).map_or(0, |waiting| waiting.unread.len())
    }

    /// Returns true if nothing is remembered.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.tasks.is_empty()
    }

    fn leave(&mut self, task: Option<Task>, answer: (u64, Source)) {
        let Some(task) = task else { return };
        if let Some(answers) = self.tasks.get_mut(&task) {
            answers.remove(&answer);
            if answers.is_empty() {
                self.tasks.remove(&task);
            }
        }
    }
}

fn task(waker: &Waker) -> Option<Task> {
    // The waker that does nothing has no data. Its functions have another address in each crate, so `will_wake` fails.
    let is_task = !waker.data().is_null();
    is_task.then(|| (waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::task::Wake;

    struct Nothing(#[allow(dead_code, reason = "makes each value a task of its own")] u8);

    impl Wake for Nothing {
        fn wake(self: Arc<Nothing>) {}
    }

    fn source(number: u8) -> Source {
        match number % 2 {
            0 => Source::Call(Ticket(number.into())),
            _ => Source::Session(Subscription(number.into())),
        }
    }

    /// A task that polls all of its sources in some order, again and again until none has an answer.
    fn takes_all(order: &mut Order, waker: &Waker, sources: &[u8]) -> Vec<u8> {
        let mut taken = Vec::new();
        loop {
            let unread: usize = sources.iter().map(|at| order.unread(source(*at))).sum();
            if unread == 0 {
                return taken;
            }
            for at in sources {
                order.asked(source(*at), waker);
                if order.unread(source(*at)) > 0 && order.may_take(source(*at)) {
                    order.took(source(*at));
                    taken.push(*at);
                    // The task goes on, and polls from the beginning.
                    break;
                }
            }
        }
    }

    proptest! {
        /// Whatever the order in which a task polls, it takes answers as they arrived.
        #[test]
        fn a_task_takes_answers_in_the_order_of_their_arrival(
            polls in Just((0_u8..6).collect::<Vec<_>>()).prop_shuffle(),
            arrivals in proptest::collection::vec(0_u8..6, 0..20),
        ) {
            let waker = Waker::from(Arc::new(Nothing(0)));
            let mut order = Order::default();
            for at in &polls {
                order.asked(source(*at), &waker);
            }
            for at in &arrivals {
                order.arrived(source(*at));
            }
            prop_assert_eq!(takes_all(&mut order, &waker, &polls), arrivals);
        }

        /// An answer that a task does not poll for keeps no other answer from it.
        #[test]
        fn what_a_task_does_not_poll_for_keeps_nothing_back(
            polls in Just((0_u8..6).collect::<Vec<_>>()).prop_shuffle(),
            arrivals in proptest::collection::vec(0_u8..6, 0..20),
            polled in 1_usize..6,
        ) {
            let waker = Waker::from(Arc::new(Nothing(0)));
            let mut order = Order::default();
            for at in &polls {
                order.asked(source(*at), &waker);
            }
            for at in &arrivals {
                order.arrived(source(*at));
            }
            let polled = &polls[..polled];
            let due: Vec<u8> = arrivals.iter().copied().filter(|at| polled.contains(at)).collect();
            prop_assert_eq!(takes_all(&mut order, &waker, polled), due);
        }
    }

    /// An engine runs a program until it blocks before it feeds it the next input: a task that goes on after an answer
    /// does not find another one, though it had arrived, until it is polled anew.
    #[test]
    fn a_task_takes_one_answer_before_it_blocks() {
        let waker = Waker::from(Arc::new(Nothing(0)));
        let mut order = Order::default();
        (0..4).for_each(|at| order.asked(source(at), &waker));
        (0..3).for_each(|at| order.arrived(source(at)));
        let mut polls = Vec::new();
        for _ in 0..3 {
            let mut taken = Vec::new();
            // In each poll the task goes on after an answer, and asks the others, the later ones first.
            for _ in 0..2 {
                for at in (0..4).rev() {
                    order.asked(source(at), &waker);
                    if order.unread(source(at)) > 0
                        && !taken.contains(&at)
                        && order.may_take(source(at))
                    {
                        order.took(source(at));
                        taken.push(at);
                        break;
                    }
                }
            }
            polls.push(taken);
        }
        assert_eq!(polls, [[0], [1], [2]]);
        // What arrives after that is given at once.
        order.arrived(source(3));
        assert!(order.may_take(source(3)));
    }

    /// What is remembered of tasks does not grow with their number.
    #[test]
    fn tasks_that_have_ended_are_forgotten() {
        let mut order = Order::default();
        let mut wakers = Vec::new();
        for _ in 0..10_000 {
            let waker = Waker::from(Arc::new(Nothing(0)));
            order.asked(source(0), &waker);
            order.arrived(source(0));
            assert!(order.may_take(source(0)));
            order.took(source(0));
            order.forget(source(0));
            wakers.push(waker);
        }
        assert!(order.taking.len() < 200, "{}", order.taking.len());
    }

    #[test]
    fn tasks_do_not_wait_for_each_other() {
        let wakers = [0, 1].map(|at| Waker::from(Arc::new(Nothing(at))));
        let mut order = Order::default();
        order.asked(source(0), &wakers[0]);
        order.asked(source(1), &wakers[1]);
        order.arrived(source(0));
        order.arrived(source(1));
        assert!(order.may_take(source(1)));
        // Both belong to one task: the earlier one comes first.
        order.asked(source(1), &wakers[0]);
        assert!(!order.may_take(source(1)));
        assert!(order.may_take(source(0)));
        order.forget(source(0));
        assert!(order.may_take(source(1)));
        order.took(source(1));
        order.forget(source(1));
        assert!(order.is_empty());
    }
}
