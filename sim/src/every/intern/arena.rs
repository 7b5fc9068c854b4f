//! A list that many threads read while others append. Entries never move and are never removed.
//!
//! The entries lie in chunks, each allocated with the first of its entries. The numbers from 2^k to 2^(k+1) - 1 are divided
//! among eight chunks, so that less than an eighth of the memory is unused. A read takes two atomic loads and never blocks.

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

type Chunk<T> = OnceLock<Box<[OnceLock<T>]>>;

/// The chunks per power of two, as a power of two.
const EIGHTHS: u32 = 3;

/// One chunk for each of the numbers below 2^3, and eight for each higher power of two.
const CHUNKS: usize = (32 - EIGHTHS as usize + 1) << EIGHTHS;

pub(in crate::every) struct Arena<T> {
    chunks: Box<[Chunk<T>]>,
    reserved: AtomicU32,
}

impl<T> Arena<T> {
    pub(in crate::every) fn new() -> Arena<T> {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        Arena { chunks, reserved: AtomicU32::new(0) }
    }

    /// Reserves the number of an entry. The caller puts the entry later.
    pub(in crate::every) fn reserve(&self) -> NonZeroU32 {
        self.reserve_all(1)
    }

    /// Reserves consecutive numbers of some entries, and returns the first.
    pub(in crate::every) fn reserve_all(&self, count: u32) -> NonZeroU32 {
        let before = self.reserved.fetch_add(count, Ordering::Relaxed);
        assert!(before.checked_add(count).is_some_and(|last| last < u32::MAX), "2^32 entries");
        NonZeroU32::MIN.saturating_add(before)
    }

    /// Puts a reserved entry. The number may be passed to readers only after this call returns.
    pub(in crate::every) fn put(&self, number: NonZeroU32, entry: T) {
        let (chunk, at) = place(number);
        let chunk = self.chunks[chunk]
            .get_or_init(|| (0..length(chunk)).map(|_| OnceLock::new()).collect());
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
        let made = self.chunks.iter().filter_map(OnceLock::get);
        let made: usize = made.map(|chunk| size_of_val(&**chunk)).sum();
        (made + size_of_val(&*self.chunks)) as u64
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
    let (power, number) = (number.ilog2(), number.get() as usize);
    match power.checked_sub(EIGHTHS) {
        None => (number, 0),
        // The three bits after the highest one choose among the eight chunks of a power.
        Some(bits) => (((bits as usize) << EIGHTHS) + (number >> bits), number & ((1 << bits) - 1)),
    }
}

/// Returns the number of entries of a chunk.
fn length(chunk: usize) -> usize {
    1 << (chunk >> EIGHTHS).saturating_sub(1)
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
        let of_entries = arena.bytes() - size_of_val(&*arena.chunks) as u64;
        let entries = of_entries / size_of::<OnceLock<u32>>() as u64;
        assert!((1000..1000 * 9 / 8).contains(&entries), "{entries}");
        assert!(numbers.iter().all(|number| *arena.get(*number) == number.get() * 7));
    }

    /// The numbers fill one chunk after the other, to the last.
    #[test]
    fn chunks_follow_each_other() {
        let at = |number: u32| place(NonZeroU32::new(number).expect("it is not 0"));
        for number in (1..10_000).chain([1 << 30, (1 << 31) + (1 << 28) - 1, u32::MAX - 1]) {
            let ((chunk, index), next) = (at(number), at(number + 1));
            let is_full = index + 1 == length(chunk);
            assert_eq!(next, if is_full { (chunk + 1, 0) } else { (chunk, index + 1) }, "{number}");
        }
        assert!(at(u32::MAX).0 < CHUNKS);
    }
}
