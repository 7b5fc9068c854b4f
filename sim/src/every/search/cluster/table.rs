//! The visited states that one worker owns.

use super::messages::{Answer, Batch, Candidate};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::io::{self, Read, Write};

/// The number of records in a segment. Segments never move, so nothing is held twice while the table grows.
const SEGMENT: usize = 4096;

/// A visited state.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// The fingerprint in words of four bytes, and that of the previous state: a record takes 40 bytes.
    state: [u32; 4],
    from: [u32; 4],
    action: u32,
    level: u32,
}

/// The visited states of one owner.
#[derive(Debug, Default)]
pub(super) struct Table {
    index: HashTable<u32>,
    segments: Vec<Vec<Record>>,
    length: usize,
    /// Actions that led to a known state that is no deeper.
    pub(super) may_close: u64,
    /// True if there are no more numbers.
    pub(super) is_full: bool,
}

/// What an arrival means.
pub(super) enum Met {
    New,
    /// It was known at this level, which is higher.
    Cheaper(u32),
    Known,
}

/// Returns the worker that owns a state.
pub(super) fn owner(state: u128, workers: usize) -> usize {
    ((state >> 64) as u64 % workers as u64) as usize
}

fn words(fingerprint: u128) -> [u32; 4] {
    [0, 32, 64, 96].map(|shift| (fingerprint >> shift) as u32)
}

fn whole([a, b, c, d]: [u32; 4]) -> u128 {
    u128::from(a) | u128::from(b) << 32 | u128::from(c) << 64 | u128::from(d) << 96
}

fn hash(state: [u32; 4]) -> u64 {
    u64::from(state[0]) | u64::from(state[1]) << 32
}

impl Table {
    /// Answers a batch. The answer is for its maker; what it says is stale is for all workers.
    pub(super) fn answer(&mut self, batch: &Batch) -> Answer {
        let mut answer = Answer { to: batch.by, ..Answer::default() };
        for candidate in &batch.candidates {
            match self.meet(candidate, batch.below) {
                Met::New => answer.new.push(candidate.number),
                Met::Cheaper(level) => {
                    answer.cheaper.push(candidate.number);
                    answer.stale.push((candidate.state, level));
                }
                Met::Known => {}
            }
        }
        answer
    }

    /// Records that a state was reached from a state of the level `below`, if from any.
    pub(super) fn meet(&mut self, candidate: &Candidate, below: Option<u32>) -> Met {
        let Candidate { action, level, .. } = *candidate;
        let (state, from) = (words(candidate.state), words(candidate.from));
        let arrived = Record { state, from, action, level };
        let Table { index, segments, length, .. } = self;
        let record = |at: u32| &segments[at as usize / SEGMENT][at as usize % SEGMENT];
        let same = |at: &u32| record(*at).state == state;
        match index.entry(hash(state), same, |at| hash(record(*at).state)) {
            Entry::Occupied(place) => {
                let at = *place.get() as usize;
                let known = &mut segments[at / SEGMENT][at % SEGMENT];
                let before = known.level;
                let is_back = below.is_some_and(|below| before <= below);
                self.may_close += u64::from(candidate.is_flat && is_back);
                known.take(arrived);
                if level < before { Met::Cheaper(before) } else { Met::Known }
            }
            Entry::Vacant(place) => {
                let Ok(at) = u32::try_from(*length) else {
                    self.is_full = true;
                    return Met::Known;
                };
                place.insert(at);
                if length.is_multiple_of(SEGMENT) {
                    segments.push(Vec::with_capacity(SEGMENT));
                }
                segments[*length / SEGMENT].push(arrived);
                *length += 1;
                Met::New
            }
        }
    }

    /// Returns how a state was reached: the previous state, its own fingerprint for an initial one, and the action.
    pub(super) fn link(&self, state: u128) -> Option<(u128, u32)> {
        let state = words(state);
        let record = |at: u32| &self.segments[at as usize / SEGMENT][at as usize % SEGMENT];
        let at = self.index.find(hash(state), |at| record(*at).state == state)?;
        let Record { from, action, .. } = *record(*at);
        Some((whole(from), action))
    }

    /// Returns the number of states.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Writes all records.
    ///
    /// # Errors
    /// The error of the output.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        self.segments.iter().flatten().try_for_each(|record| {
            let Record { state, from, action, level } = *record;
            let words = state.into_iter().chain(from).chain([action, level]);
            words.into_iter().try_for_each(|word| output.write_all(&word.to_le_bytes()))
        })
    }

    /// Reads this many records.
    ///
    /// # Errors
    /// The error of the input, or one that says that a state is there twice.
    pub(super) fn read(length: u64, input: &mut impl Read) -> io::Result<Table> {
        let mut table = Table::default();
        for _ in 0..length {
            let mut words = [0; 10];
            for word in &mut words {
                let mut bytes = [0; 4];
                input.read_exact(&mut bytes)?;
                *word = u32::from_le_bytes(bytes);
            }
            let [a, b, c, d, e, f, g, h, action, level] = words;
            let (state, from) = (whole([a, b, c, d]), whole([e, f, g, h]));
            let candidate = Candidate { state, from, action, level, is_flat: true, number: 0 };
            if !matches!(table.meet(&candidate, None), Met::New) {
                return Err(io::Error::other("its states are no table of states"));
            }
        }
        Ok(table)
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let records = self.segments.len() * SEGMENT * size_of::<Record>();
        (self.index.allocation_size() + records) as u64
    }
}

impl Record {
    /// Takes over an arrival that is cheaper, or as cheap and of a lower rank. An initial state keeps its own.
    fn take(&mut self, arrived: Record) {
        // The rank is the low half of the low half of the previous state's fingerprint, as it is in one process.
        let rank = |record: &Record| (record.from[0], record.action);
        let is_initial = self.from == self.state;
        let as_cheap = arrived.level == self.level && !is_initial && rank(&arrived) < rank(self);
        if arrived.level < self.level || as_cheap {
            *self = arrived;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Table {
        fn meets(&mut self, state: u128, from: u128, action: u32, level: u32) -> Met {
            self.meet(
                &Candidate { state, from, action, level, is_flat: true, number: 0 },
                level.checked_sub(1),
            )
        }
    }

    #[test]
    fn the_cheaper_arrival_wins_then_the_lower_rank() {
        let mut table = Table::default();
        assert!(matches!(table.meets(1, 1, 0, 0), Met::New));
        assert!(matches!(table.meets(9, 5, 3, 4), Met::New));
        assert!(matches!(table.meets(9, 4, 7, 4), Met::Known));
        assert_eq!(table.link(9), Some((4, 7)));
        assert!(matches!(table.meets(9, 4, 8, 4), Met::Known));
        assert_eq!(table.link(9), Some((4, 7)));
        assert!(matches!(table.meets(9, 6, 1, 2), Met::Cheaper(4)));
        assert_eq!(table.link(9), Some((6, 1)));
        assert!(matches!(table.meets(9, 2, 0, 3), Met::Known));
        assert_eq!(table.link(9), Some((6, 1)));
        assert!(matches!(table.meets(1, 0, 0, 0), Met::Known));
        assert_eq!(table.link(1), Some((1, 0)), "an initial state stays one");
        assert_eq!(table.link(2), None);
    }

    #[test]
    fn fingerprints_are_kept_whole() {
        let state = 0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128;
        assert_eq!(whole(words(state)), state);
        let mut table = Table::default();
        for low in 0..3 * SEGMENT as u128 {
            assert!(matches!(table.meets(state + low, state, 1, 1), Met::New));
        }
        for low in 0..3 * SEGMENT as u128 {
            assert_eq!(table.link(state + low), Some((state, 1)));
        }
    }
}
