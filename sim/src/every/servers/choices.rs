//! What is kept of computed actions: their steps, and what these change.
//!
//! A search keeps more actions than pieces, so they are stored in few bytes: without keys, because views list the numbers of
//! their actions, and without allocations of their own in the usual case.

use super::actions::{Charge, Offer};
use super::state::{Number, Numbers};
use crate::every::intern::{Arena, Number as Interned, Weighed};
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ServerId;
use vivarium_model::step::Step;

/// An action and its result.
pub(super) struct Choice {
    first: Move,
    /// The result of the step that directly follows.
    then: Option<Box<Move>>,
    pub(super) charge: Charge,
    /// Whether it is the last choice of its list.
    is_last: bool,
}

impl Choice {
    pub(super) fn new(charge: Charge, first: Move, then: Option<Move>) -> Choice {
        Choice { first, then: then.map(Box::new), charge, is_last: true }
    }

    /// Returns the results of the action's steps, one per step.
    pub(super) fn moves(&self) -> impl Iterator<Item = &Move> {
        std::iter::once(&self.first).chain(self.then.as_deref())
    }

    /// Returns the action.
    pub(super) fn offer(&self) -> Offer {
        let then = self.then.as_ref().map(|then| then.step);
        Offer { step: self.first.step, then, charge: self.charge }
    }
}

/// The result of a step.
pub(super) struct Move {
    pub(super) step: Step,
    changes: Changes,
    /// The two halves of the change of the fingerprint: a number of 128 bits would have to be aligned to 16 bytes.
    difference: [u64; 2],
    /// The number of the events for the witnesses; 0 for none.
    pub(super) events: Number,
    /// The server that takes the step.
    pub(super) taker: Option<ServerId>,
    pub(super) disk_changed: bool,
    /// Whether the state properties of the taker must be checked.
    pub(super) judge: bool,
}

const _: () = assert!(size_of::<Move>() <= 64 && size_of::<Choice>() <= 80);

impl Move {
    /// Creates the result of a step: the changed places with their new numbers, and the change of the fingerprint.
    pub(super) fn new(step: Step, changes: Vec<(u8, Number)>, difference: Fingerprint) -> Move {
        Move {
            step,
            changes: Changes::new(changes),
            difference: [(difference.0 >> 64) as u64, difference.0 as u64],
            events: 0,
            taker: None,
            disk_changed: false,
            judge: false,
        }
    }

    /// Returns the change of the fingerprint.
    pub(super) fn difference(&self) -> Fingerprint {
        let [high, low] = self.difference;
        Fingerprint(u128::from(high) << 64 | u128::from(low))
    }

    /// Puts the new numbers into the changed places.
    pub(super) fn change(&self, numbers: &mut Numbers) {
        match &self.changes {
            Changes::Few { count, places, new } => {
                let changes = places.iter().zip(new).take(usize::from(*count));
                changes.for_each(|(place, number)| numbers[usize::from(*place)] = *number);
            }
            Changes::Many(changes) => {
                changes.iter().for_each(|(place, number)| numbers[usize::from(*place)] = *number);
            }
        }
    }
}

/// The changed places with their new numbers. Most steps change a server, and the links that it reads or writes.
enum Changes {
    Few {
        count: u8,
        places: [u8; FEW],
        new: [Number; FEW],
    },
    /// In two boxes, since the outer one takes 8 bytes here.
    Many(Box<Box<[(u8, Number)]>>),
}

const FEW: usize = 2;

impl Changes {
    fn new(changes: Vec<(u8, Number)>) -> Changes {
        if changes.len() > FEW {
            return Changes::Many(Box::new(changes.into()));
        }
        let (mut places, mut new) = ([0; FEW], [0; FEW]);
        for (at, (place, number)) in changes.iter().enumerate() {
            (places[at], new[at]) = (*place, *number);
        }
        Changes::Few { count: changes.len() as u8, places, new }
    }
}

/// All computed choices, by number. The choices of a list have consecutive numbers.
pub(super) struct Choices {
    entries: Arena<Choice>,
    /// The heap memory of the entries, in bytes.
    heap: AtomicU64,
}

impl Choices {
    pub(super) fn new() -> Choices {
        Choices { entries: Arena::new(), heap: AtomicU64::new(0) }
    }

    /// Adds a list, and returns the number of its first choice; `None` if it is empty.
    pub(super) fn add(&self, list: Vec<Choice>) -> Option<Interned> {
        let count = list.len();
        if count == 0 {
            return None;
        }
        let first = self.entries.reserve_all(count as u32);
        for (at, choice) in list.into_iter().enumerate() {
            let number = first.checked_add(at as u32).expect("it is reserved");
            self.heap.fetch_add(choice.heap_bytes() as u64, Ordering::Relaxed);
            self.entries.put(number, Choice { is_last: at + 1 == count, ..choice });
        }
        Some(first)
    }

    pub(super) fn get(&self, number: Number) -> &Choice {
        self.entries.get(Interned::new(number).expect("a choice has a number"))
    }

    /// Returns the numbers of a list that begins with this one.
    pub(super) fn list(&self, first: Option<Interned>) -> impl Iterator<Item = Number> {
        let mut next = first.map(Interned::get);
        std::iter::from_fn(move || {
            let number = next?;
            next = (!self.get(number).is_last).then(|| number + 1);
            Some(number)
        })
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// Estimates the size in memory, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.bytes() + self.heap.load(Ordering::Relaxed)
    }
}

/// The overhead of an allocation.
const ALLOCATION: usize = 16;

impl Weighed for Choice {
    fn heap_bytes(&self) -> usize {
        let then =
            self.then.as_ref().map_or(0, |then| size_of::<Move>() + ALLOCATION + then.heap_bytes());
        self.first.heap_bytes() + then
    }
}

impl Weighed for Move {
    fn heap_bytes(&self) -> usize {
        match &self.changes {
            Changes::Few { .. } => 0,
            Changes::Many(changes) => {
                size_of_val(&***changes) + size_of_val(&**changes) + 2 * ALLOCATION
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every::servers::state::PLACES;

    fn takes(changes: Vec<(u8, Number)>) -> Move {
        Move::new(Step::Fsync(ServerId(1)), changes, Fingerprint(u128::MAX - 5))
    }

    #[test]
    fn a_move_changes_its_places_and_no_others() {
        for count in 0..=PLACES {
            let changes = (0..count).map(|at| (at as u8, 100 + at as Number)).collect();
            let (took, mut numbers) = (takes(changes), [7; PLACES]);
            took.change(&mut numbers);
            let is_right = |(at, number): (usize, &Number)| {
                *number == if at < count { 100 + at as Number } else { 7 }
            };
            assert!(numbers.iter().enumerate().all(is_right), "{count}: {numbers:?}");
            assert_eq!(took.difference(), Fingerprint(u128::MAX - 5));
        }
    }

    #[test]
    fn a_list_ends_where_the_next_one_begins() {
        let choices = Choices::new();
        let list = |count: u32| {
            choices.add((0..count).map(|_| Choice::new(None, takes(vec![]), None)).collect())
        };
        let firsts = [list(3), list(0), list(1), list(200)];
        let listed = firsts.map(|first| choices.list(first).collect::<Vec<_>>());
        assert_eq!(listed[..3], [vec![1, 2, 3], vec![], vec![4]]);
        assert_eq!(listed[3], (5..205).collect::<Vec<_>>());
    }
}
