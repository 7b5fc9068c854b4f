//! The tables that the states of a search are numbers in.

use crate::every::arena::{Arena, Weighed};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// The number of a piece in its table; 0 where there is none.
pub(super) type Number = u32;

/// Entries by number. They never move and are never taken away.
pub(super) struct List<T> {
    entries: Arena<T>,
    /// What the entries hold, in bytes.
    heap: AtomicU64,
}

impl<T: Weighed> List<T> {
    pub(super) fn new() -> List<T> {
        List { entries: Arena::new(), heap: AtomicU64::new(0) }
    }

    pub(super) fn get(&self, number: Number) -> &T {
        self.entries.get(NonZeroU32::new(number).expect("there is such a piece"))
    }

    pub(super) fn add(&self, entry: T) -> Number {
        let number = self.entries.reserve();
        self.heap.fetch_add(entry.heap_bytes() as u64, Ordering::Relaxed);
        self.entries.put(number, entry);
        number.get()
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.bytes() + self.heap.load(Ordering::Relaxed)
    }
}

/// What numbers are found by.
pub(super) trait Key: Copy + Eq {
    /// Well mixed; it never leaves the process.
    fn mixed(&self) -> u64;
}

impl<const LENGTH: usize> Key for [u32; LENGTH] {
    fn mixed(&self) -> u64 {
        self.iter().fold(0x9e37_79b9_7f4a_7c15, |so_far, word| folded(so_far ^ u64::from(*word)))
    }
}

impl Key for u128 {
    fn mixed(&self) -> u64 {
        folded(*self as u64 ^ (*self >> 64) as u64)
    }
}

fn folded(word: u64) -> u64 {
    let product = u128::from(word ^ 0xd6e8_feb8_6659_fd93) * 0xff51_afd7_ed55_8ccd_u128;
    product as u64 ^ (product >> 64) as u64
}

const SHARDS: usize = 256;

/// Numbers by key. Many read and few write, each in one of many parts.
pub(super) struct Index<K>(Vec<RwLock<HashTable<(K, Number)>>>);

impl<K: Key> Index<K> {
    pub(super) fn new() -> Index<K> {
        Index((0..SHARDS).map(|_| RwLock::default()).collect())
    }

    fn shard(&self, hash: u64) -> &RwLock<HashTable<(K, Number)>> {
        &self.0[(hash >> 16) as usize % SHARDS]
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        let bytes = |shard: &RwLock<HashTable<(K, Number)>>| {
            shard.read().unwrap_or_else(PoisonError::into_inner).allocation_size() as u64
        };
        self.0.iter().map(bytes).sum()
    }

    /// The number under this key, made if there is none. Whatever two threads make at the same time,
    /// both get the same number.
    pub(super) fn number(&self, key: K, make: impl FnOnce() -> Number) -> Number {
        let hash = key.mixed();
        let shard = self.shard(hash);
        let is_key = |entry: &(K, Number)| entry.0 == key;
        // What a thread that panicked was about to put in is not there: the table is whole.
        let known = shard.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, number)) = known.find(hash, is_key) {
            return *number;
        }
        drop(known);
        let made = make();
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        match shard.entry(hash, is_key, |entry| entry.0.mixed()) {
            Entry::Occupied(entry) => entry.get().1,
            Entry::Vacant(entry) => {
                entry.insert((key, made));
                made
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_first_number() {
        let index = Index::new();
        let numbers: Vec<_> = (0..1000_u32).map(|at| index.number([at, 7], || at + 1)).collect();
        for (at, number) in (0..).zip(numbers) {
            assert_eq!(index.number([at, 7], || unreachable!("it is known")), number);
        }
        assert_eq!(index.number([7, 0], || 0), 0);
    }
}
