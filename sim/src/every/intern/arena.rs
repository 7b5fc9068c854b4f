//! A list that many threads read while others append: entries never move and are never taken away.
//!
//! Chunk `k` holds the entries numbered 2^k to 2^(k+1) - 1, and is made when the first of them is.
//! To read is two atomic loads; nobody waits.

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

type Chunk<T> = OnceLock<Box<[OnceLock<T>]>>;

pub(in crate::every) struct Arena<T> {
    chunks: [Chunk<T>; 32],
    reserved: AtomicU32,
}

impl<T> Arena<T> {
    pub(in crate::every) fn new() -> Arena<T> {
        Arena { chunks: [const { OnceLock::new() }; 32], reserved: AtomicU32::new(0) }
    }

    /// The number of an entry that is still to be put.
    pub(in crate::every) fn reserve(&self) -> NonZeroU32 {
        let before = self.reserved.fetch_add(1, Ordering::Relaxed);
        before.checked_add(1).and_then(NonZeroU32::new).expect("fewer than 2^32 entries")
    }

    /// Puts a reserved entry. Whoever is to read it must learn its number after this.
    pub(in crate::every) fn put(&self, number: NonZeroU32, entry: T) {
        let (chunk, at) = place(number);
        let chunk = self.chunks[chunk]
            .get_or_init(|| (0..1_usize << chunk).map(|_| OnceLock::new()).collect());
        assert!(chunk[at].set(entry).is_ok(), "each number is reserved once");
    }

    pub(in crate::every) fn get(&self, number: NonZeroU32) -> &T {
        let (chunk, at) = place(number);
        let entry = self.chunks[chunk].get().and_then(|chunk| chunk[at].get());
        entry.expect("whoever has its number was told after it was put")
    }

    /// All entries that were put, in the order of their numbers.
    pub(in crate::every) fn iter(&self) -> impl Iterator<Item = &T> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// What the chunks take, in bytes, without what the entries hold.
    pub(in crate::every) fn bytes(&self) -> u64 {
        let made = (0..).zip(&self.chunks).filter(|(_, chunk)| chunk.get().is_some());
        made.map(|(at, _): (u32, _)| (size_of::<OnceLock<T>>() as u64) << at).sum()
    }

    /// How many numbers are reserved.
    pub(in crate::every) fn len(&self) -> u32 {
        self.reserved.load(Ordering::Relaxed)
    }
}

/// An entry that can tell what it holds.
pub(in crate::every) trait Weighed {
    /// About how many bytes beyond its own size, shared ones divided among those who share them.
    fn heap_bytes(&self) -> usize;
}

/// Which chunk, and where in it.
fn place(number: NonZeroU32) -> (usize, usize) {
    let chunk = number.ilog2();
    (chunk as usize, (number.get() - (1 << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_under_its_number() {
        let arena = Arena::new();
        let numbers: Vec<_> = (0..1000).map(|_| arena.reserve()).collect();
        for number in numbers.iter().rev() {
            arena.put(*number, number.get() * 7);
        }
        assert_eq!(arena.len(), 1000);
        assert_eq!(arena.bytes(), 1023 * size_of::<OnceLock<u32>>() as u64);
        assert!(numbers.iter().all(|number| *arena.get(*number) == number.get() * 7));
    }
}
