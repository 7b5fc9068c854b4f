//! A concurrent map from keys to numbers.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::Hasher;
use std::sync::{PoisonError, RwLock};

/// A key of an [`Index`].
pub(in crate::every) trait Key: Copy + Eq {
    /// Returns a well-mixed hash. It must not leave the process.
    fn mixed(&self) -> u64;
}

impl<const LENGTH: usize> Key for [u32; LENGTH] {
    fn mixed(&self) -> u64 {
        self.iter().fold(0x9e37_79b9_7f4a_7c15, |so_far, word| folded(so_far ^ u64::from(*word)))
    }
}

impl Key for u128 {
    fn mixed(&self) -> u64 {
        let low = (*self as u64 ^ 0x9e37_79b9_7f4a_7c15) as u128;
        let product = low * ((*self >> 64) as u64 ^ 0xd6e8_feb8_6659_fd93) as u128;
        let mixed = (product as u64 ^ (product >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 32)
    }
}

fn folded(word: u64) -> u64 {
    let product = u128::from(word ^ 0xd6e8_feb8_6659_fd93) * 0xff51_afd7_ed55_8ccd_u128;
    product as u64 ^ (product >> 64) as u64
}

/// A hasher for keys that are one number. Its hashes must not leave the process.
#[derive(Default)]
pub(in crate::every) struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (u128::from(self.0) << 64 | u128::from(*byte)).mixed();
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key.mixed();
    }
}

const SHARDS: usize = 256;

/// A concurrent map from keys to numbers, sharded because reads are many and writes are few.
pub(in crate::every) struct Index<K>(Vec<RwLock<HashTable<(K, u32)>>>);

impl<K: Key> Index<K> {
    pub(in crate::every) fn new() -> Index<K> {
        Index((0..SHARDS).map(|_| RwLock::default()).collect())
    }

    fn shard(&self, hash: u64) -> &RwLock<HashTable<(K, u32)>> {
        &self.0[(hash >> 16) as usize % SHARDS]
    }

    /// Returns the allocated memory in bytes.
    pub(in crate::every) fn bytes(&self) -> u64 {
        let bytes = |shard: &RwLock<HashTable<(K, u32)>>| {
            shard.read().unwrap_or_else(PoisonError::into_inner).allocation_size() as u64
        };
        self.0.iter().map(bytes).sum()
    }

    pub(in crate::every) fn find(&self, key: K) -> Option<u32> {
        let hash = key.mixed();
        // A poisoned lock is safe to use: the thread that panicked had not begun to insert, so the table is consistent.
        let shard = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        shard.find(hash, |entry| entry.0 == key).map(|entry| entry.1)
    }

    /// Returns the number of this key; calls `make` for the number if there is none. Two threads that make the same key
    /// get the same number. (`make` runs under the lock of this shard.)
    pub(in crate::every) fn number(&self, key: K, make: impl FnOnce() -> u32) -> u32 {
        let hash = key.mixed();
        let mut shard = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        match shard.entry(hash, |entry| entry.0 == key, |entry| entry.0.mixed()) {
            Entry::Occupied(entry) => entry.get().1,
            Entry::Vacant(entry) => entry.insert((key, make())).get().1,
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
