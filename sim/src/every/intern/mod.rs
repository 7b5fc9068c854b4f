//! Intern tables: each piece of states is stored once, and a state consists of a few numbers.
//!
//! Distinct pieces are far fewer than states. Entries never move and are never removed; when a model has grown too
//! large, a new model with new tables replaces it ([`Renumbered`]). The numbers depend on the schedule of the threads,
//! so no visible result may depend on numbers.

mod arena;
mod index;

pub(in crate::every) use arena::{Arena, Weighed};
pub(in crate::every) use index::Fold;

pub(in crate::every) use index::Key;

use index::Index;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of an entry in its table.
pub(in crate::every) type Number = NonZeroU32;

/// A name of an entry. States with packed pieces store a number as a `u32`, with 0 for none.
pub(in crate::every) trait Numbered {
    fn number(self) -> Number;
}

impl Numbered for Number {
    fn number(self) -> Number {
        self
    }
}

impl Numbered for u32 {
    fn number(self) -> Number {
        NonZeroU32::new(self).expect("there is such a piece")
    }
}

/// A table that stores each distinct entry once, by key. The usual key is a fingerprint.
pub(in crate::every) struct Table<T, K = u128> {
    /// The entries with their keys: a look-up that compares the key has the entry at hand.
    entries: Arena<(K, T)>,
    numbers: Index,
    /// The heap memory of the entries, in bytes.
    heap: AtomicU64,
}

impl<T: Weighed, K: Key> Table<T, K> {
    pub(in crate::every) fn new() -> Table<T, K> {
        Table { entries: Arena::new(), numbers: Index::new(), heap: AtomicU64::new(0) }
    }

    pub(in crate::every) fn get(&self, number: impl Numbered) -> &T {
        &self.entries.get(number.number()).1
    }

    pub(in crate::every) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// Estimates the size in memory, in bytes.
    pub(in crate::every) fn bytes(&self) -> u64 {
        self.entries.bytes() + self.numbers.bytes() + self.heap.load(Ordering::Relaxed)
    }

    /// Returns the number of the entry with this key; calls `make` for the entry if there is none. Two threads may both
    /// make it; the table keeps one of the two.
    pub(in crate::every) fn number(&self, key: K, make: impl FnOnce() -> T) -> Number {
        if let Some(number) = self.find(key) {
            return number;
        }
        let made = make();
        let hash_of = |number: u32| self.key(number).mixed();
        let is_same = |number: u32| self.key(number) == key;
        self.numbers.number(key.mixed(), is_same, hash_of, || self.put(key, made).get()).number()
    }

    pub(in crate::every) fn find(&self, key: K) -> Option<Number> {
        let is_same = |number: u32| self.key(number) == key;
        self.numbers.find(key.mixed(), is_same).map(Numbered::number)
    }

    fn key(&self, number: u32) -> K {
        self.entries.get(number.number()).0
    }

    /// Adds an entry that is not found by its key.
    pub(in crate::every) fn add(&self, entry: T) -> Number {
        self.put(K::NONE, entry)
    }

    fn put(&self, key: K, entry: T) -> Number {
        let number = self.entries.reserve();
        self.heap.fetch_add(entry.heap_bytes() as u64, Ordering::Relaxed);
        self.entries.put(number, (key, entry));
        number
    }
}

/// The entry of a table that maps keys to numbers of another table.
impl Weighed for Number {
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Maps old numbers to new ones, for new tables that keep some of the old entries.
pub(in crate::every) struct Renumbered(Vec<Option<Number>>);

impl Renumbered {
    /// Creates a map in which no entry is kept yet.
    pub(in crate::every) fn of<T: Weighed, K: Key>(table: &Table<T, K>) -> Renumbered {
        Renumbered(vec![None; table.len() as usize + 1])
    }

    /// Returns the old numbers of the entries that are kept so far.
    pub(in crate::every) fn kept(&self) -> Vec<Number> {
        let all = (0_u32..).zip(&self.0).filter(|(_, kept)| kept.is_some());
        all.map(|(number, _)| number.number()).collect()
    }

    /// Returns the new number of an entry; calls `keep` for the number if there is none yet.
    pub(in crate::every) fn or_keep(
        &mut self,
        old: impl Numbered,
        keep: impl FnOnce() -> Number,
    ) -> Number {
        *self.0[old.number().get() as usize].get_or_insert_with(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weighed for u64 {
        fn heap_bytes(&self) -> usize {
            8
        }
    }

    #[test]
    fn two_threads_get_the_same_numbers_and_nothing_is_kept_twice() {
        let table: Table<u64> = Table::new();
        let each = || -> Vec<Number> {
            (0..10_000_u64).map(|at| table.number(u128::from(at % 1_000), || at % 1_000)).collect()
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(each);
            (each(), other.join().expect("nothing panics in there"))
        });
        assert_eq!(one, other);
        assert_eq!(table.len(), 1_000);
        assert!(
            one.iter().enumerate().all(|(at, number)| *table.get(*number) == at as u64 % 1_000)
        );
    }

    #[test]
    fn what_is_kept_has_one_new_number() {
        let old: Table<u64> = Table::new();
        let numbers: Vec<Number> = (0..4_u64).map(|at| old.number(at.into(), || at)).collect();
        let (new, mut renumbered) = (Table::<u64>::new(), Renumbered::of(&old));
        let mut keep = |number: Number| {
            renumbered
                .or_keep(number, || new.number(u128::from(*old.get(number)), || *old.get(number)))
        };
        let kept = [keep(numbers[3]), keep(numbers[1]), keep(numbers[3])];
        assert_eq!(kept[0], kept[2]);
        assert_eq!((*new.get(kept[0]), *new.get(kept[1]), new.len()), (3, 1, 2));
    }
}
