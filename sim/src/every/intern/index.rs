//! A concurrent index of numbers by keys.

use std::hash::Hasher;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A key of an entry.
pub(in crate::every) trait Key: Copy + Eq {
    /// The key of entries that are not found by their keys.
    const NONE: Self;

    /// Returns a well-mixed hash. It must not leave the process.
    fn mixed(&self) -> u64;
}

impl<const LENGTH: usize> Key for [u32; LENGTH] {
    const NONE: Self = [0; LENGTH];

    fn mixed(&self) -> u64 {
        self.iter().fold(0x9e37_79b9_7f4a_7c15, |so_far, word| folded(so_far ^ u64::from(*word)))
    }
}

impl Key for u128 {
    const NONE: Self = 0;

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

    fn write_u64(&mut self, key: u64) {
        self.write_u128(key.into());
    }
}

/// The number of slots of the first level, as a power of two.
const FIRST: u32 = 8;

/// The most levels: the last one has more slots than there are numbers.
const LEVELS: usize = 25;

/// A slot: the upper half of the key's hash above the number of the entry; 0 if it is empty.
type Slot = AtomicU64;

/// A concurrent hash index of numbers by their keys, which the caller stores. A read takes no lock: reads are many, and
/// two processors that take the same lock wait for its cache line.
///
/// The slots are a table with linear probing. When it is full, a level of twice the size takes its place. Earlier levels
/// stay, for readers that still look at them; a reader that misses an entry there finds it under the lock of the
/// writers.
pub(in crate::every) struct Index {
    levels: [OnceLock<Box<[Slot]>>; LEVELS],
    current: AtomicUsize,
    /// The number of entries.
    writers: Mutex<usize>,
}

impl Index {
    pub(in crate::every) fn new() -> Index {
        let index = Index {
            levels: [const { OnceLock::new() }; LEVELS],
            current: AtomicUsize::new(0),
            writers: Mutex::new(0),
        };
        index.slots(0);
        index
    }

    fn slots(&self, level: usize) -> &[Slot] {
        self.levels[level].get_or_init(|| {
            (0..1_usize << (FIRST as usize + level)).map(|_| Slot::new(0)).collect()
        })
    }

    /// Returns the allocated memory in bytes.
    pub(in crate::every) fn bytes(&self) -> u64 {
        let levels = self.levels.iter().filter_map(OnceLock::get);
        levels.map(|slots| std::mem::size_of_val(&**slots) as u64).sum()
    }

    /// Returns the number with this hash for which `is_same` returns true.
    pub(in crate::every) fn find(&self, hash: u64, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        let level = self.current.load(Ordering::Acquire);
        let slots = self.levels[level].get().expect("the current level is there");
        probe(slots, hash, is_same).ok()
    }

    /// Returns the number with this hash for which `is_same` returns true; calls `make` for the number if there is none.
    /// `make` runs under the lock of the writers, and stores the entry's key before it returns. `hash_of` returns the
    /// hash of an entry's key.
    pub(in crate::every) fn number(
        &self,
        hash: u64,
        is_same: impl Fn(u32) -> bool,
        hash_of: impl Fn(u32) -> u64,
        make: impl FnOnce() -> u32,
    ) -> u32 {
        // A writer that panicked had not yet published its entry, so the table is consistent.
        let mut count = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let level = self.current.load(Ordering::Acquire);
        let free = match probe(self.slots(level), hash, is_same) {
            Ok(number) => return number,
            Err(free) => free,
        };
        let number = make();
        self.slots(level)[free].store(slot(hash, number), Ordering::Release);
        *count += 1;
        if *count * 8 > self.slots(level).len() * 5 {
            self.grow(level, hash_of);
        }
        number
    }

    fn grow(&self, level: usize, hash_of: impl Fn(u32) -> u64) {
        let larger = self.slots(level + 1);
        for old in self.slots(level) {
            let number = old.load(Ordering::Relaxed) as u32;
            if number != 0 {
                let hash = hash_of(number);
                let free = probe(larger, hash, |_| false).expect_err("nothing is the same");
                larger[free].store(slot(hash, number), Ordering::Relaxed);
            }
        }
        self.current.store(level + 1, Ordering::Release);
    }
}

fn slot(hash: u64, number: u32) -> u64 {
    hash >> 32 << 32 | u64::from(number)
}

/// Returns the number that is the same, or the index of the free slot for it.
fn probe(slots: &[Slot], hash: u64, is_same: impl Fn(u32) -> bool) -> Result<u32, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let found = slots[at].load(Ordering::Acquire);
        if found == 0 {
            return Err(at);
        }
        if found >> 32 == hash >> 32 && is_same(found as u32) {
            return Ok(found as u32);
        }
        at = (at + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_first_number_while_the_index_grows() {
        let index = Index::new();
        // The key of a number is the number before it. Every other pair of keys has the same hash.
        let hash = |number: u32| [number >> 1, 7].mixed();
        let number =
            |number: u32| index.number(hash(number), |other| other == number, hash, || number);
        for wanted in 1..10_000 {
            assert_eq!(index.find(hash(wanted), |other| other == wanted), None);
            assert_eq!(number(wanted), wanted);
        }
        for wanted in 1..10_000 {
            assert_eq!(index.find(hash(wanted), |other| other == wanted), Some(wanted));
            assert_eq!(number(wanted), wanted);
        }
        assert!(index.bytes() > 10_000 * size_of::<Slot>() as u64);
    }
}
