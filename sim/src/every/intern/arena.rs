//! A list that many threads read while others append. Entries never move and are never removed.
//!
//! Chunk `k` holds the entries numbered 2^k to 2^(k+1) - 1, and is allocated with the first of them. A read takes two
//! atomic loads and never blocks.

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

    /// Reserves the number of an entry. The caller puts the entry later.
    pub(in crate::every) fn reserve(&self) -> NonZeroU32 {
        let before = self.reserved.fetch_add(1, Ordering::Relaxed);
        before.checked_add(1).and_then(NonZeroU32::new).expect("fewer than 2^32 entries")
    }

    /// Puts a reserved entry. The number may be passed to readers only after this call returns.
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

    /// Returns all entries that were put, in the order of their numbers.
    pub(in crate::every) fn iter(&self) -> impl Iterator<Item = &T> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Returns the size of the chunks in bytes, without the heap memory of the entries.
    pub(in crate::every) fn bytes(&self) -> u64 {
        let made = (0..).zip(&self.chunks).filter(|(_, chunk)| chunk.get().is_some());
        made.map(|(at, _): (u32, _)| (size_of::<OnceLock<T>>() as u64) << at).sum()
    }

    /// Returns how many numbers are reserved.
    pub(in crate::every) fn len(&self) -> u32 {
        self.reserved.load(Ordering::Relaxed)
    }
}

/// An entry that knows the size of its heap memory.
pub(in crate::every) trait Weighed {
    /// Estimates the bytes that the entry holds beyond its own size. Memory shared by several entries is divided among
    /// them.
    fn heap_bytes(&self) -> usize;
}

/// Returns the chunk of a number, and the number's index in the chunk.
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
