//! The table of visited states.
//!
//! The table stores a state's fingerprint and how the state was reached: the previous state, and the index of its
//! action. This is enough to rebuild any path by taking the actions again from the start.
//!
//! A record takes 32 bytes, and its entry in the hash index 6 to 12. Shards, chosen by the fingerprint's top bits and
//! each with its own lock, let all cores insert concurrently. Records lie in segments that never move, so nothing is
//! held twice while the table grows.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vivarium_model::fingerprint::Fingerprint;

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;
const SEGMENT: usize = 512;

/// The most states of one shard: the greatest id of all stands for "no predecessor".
const SHARD_CAPACITY: usize = (1 << (32 - SHARD_BITS)) - 1;

/// Marks in a record's action.
const ON_STACK: u32 = 1 << 31;
const CUT: u32 = 1 << 30;
const ACTION: u32 = CUT - 1;

const NOBODY: u32 = u32::MAX;

/// The number of a visited state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

impl Id {
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn of(number: u32) -> Id {
        Id(number)
    }
}

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The previous state; `None` for an initial state.
    pub(super) from: Option<Id>,
    /// Part of the previous state's fingerprint. Among equally cheap paths, the one with the least rank is kept, so
    /// that the choice does not depend on the threads.
    pub(super) rank: u32,
    /// The index of the action among the previous state's actions, or the index of an initial state.
    pub(super) action: u32,
    /// World steps from the start.
    pub(super) level: u32,
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// The state is new.
    New(Id),
    /// The state is known, but was reached in fewer steps than before: the record now holds the new path.
    Cheaper(Id),
    /// The state is known.
    Known {
        /// The fewest steps in which it was reached.
        level: u32,
        /// Whether it lies on the current path of a depth-first search.
        on_stack: bool,
    },
    /// The table is full.
    Full,
}

/// A visited state.
struct Record {
    fingerprint: [u64; 2],
    from: u32,
    rank: u32,
    action: u32,
    level: u32,
}

#[derive(Default)]
struct Shard {
    index: HashTable<u32>,
    segments: Vec<Vec<Record>>,
    length: usize,
}

/// The table of visited states.
pub(super) struct Visited {
    shards: Vec<Padded>,
    /// Whether the record of a known state is replaced by a cheaper path found later.
    follows_cheaper: bool,
}

/// A shard on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Padded(Mutex<Shard>);

impl Visited {
    /// Creates an empty table.
    pub(super) fn new(follows_cheaper: bool) -> Visited {
        let shards = (0..SHARDS).map(|_| Padded::default()).collect();
        Visited { shards, follows_cheaper }
    }

    /// Records that a state was reached.
    pub(super) fn insert(&self, fingerprint: Fingerprint, arrival: Arrival) -> Met {
        assert!(arrival.action <= ACTION, "a state has more than 2^30 actions");
        let shard = (fingerprint.0 >> (128 - SHARD_BITS)) as usize;
        match self.lock(shard).insert(fingerprint, arrival, self.follows_cheaper) {
            Ok((local, how)) => how.met(Id((local << SHARD_BITS) | shard as u32)),
            Err(Exhausted) => Met::Full,
        }
    }

    /// Returns the number of a state, if it was visited.
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Option<Id> {
        let shard = (fingerprint.0 >> (128 - SHARD_BITS)) as usize;
        let local = self.lock(shard).find(fingerprint)?;
        Some(Id((local << SHARD_BITS) | shard as u32))
    }

    /// Returns how a state was reached, and its fingerprint.
    pub(super) fn arrival(&self, id: Id) -> (Fingerprint, Arrival) {
        self.with(id, |record| {
            let [high, low] = record.fingerprint;
            let fingerprint = Fingerprint(u128::from(high) << 64 | u128::from(low));
            let from = (record.from != NOBODY).then_some(Id(record.from));
            let Record { rank, level, .. } = *record;
            (fingerprint, Arrival { from, rank, action: record.action & ACTION, level })
        })
    }

    /// Returns the fewest steps in which a state is known to be reached.
    pub(super) fn level(&self, id: Id) -> u32 {
        self.with(id, |record| record.level)
    }

    /// Marks whether a state is on the current path of a depth-first search.
    pub(super) fn set_on_stack(&self, id: Id, on_stack: bool) {
        self.with(id, |record| {
            record.action = record.action & !ON_STACK | if on_stack { ON_STACK } else { 0 };
        });
    }

    /// Marks a state as not expanded because of its level, unless another worker has reached it in fewer steps
    /// meanwhile. Returns true if the mark is new.
    pub(super) fn cut(&self, id: Id, level: u32) -> bool {
        self.with(id, |record| {
            let is_news = record.level == level && record.action & CUT == 0;
            record.action |= if is_news { CUT } else { 0 };
            is_news
        })
    }

    /// Removes the mark of a state that is expanded after all. Returns true if the state had it.
    pub(super) fn uncut(&self, id: Id) -> bool {
        self.with(id, |record| {
            let was_cut = record.action & CUT != 0;
            record.action &= !CUT;
            was_cut
        })
    }

    /// The size of a written record, in bytes.
    pub(super) const RECORD: u64 = 32;

    /// Returns the number of states in each shard.
    pub(super) fn lengths(&self) -> Vec<u64> {
        (0..SHARDS).map(|shard| self.lock(shard).length as u64).collect()
    }

    /// Writes all records, shard by shard, in the order of their ids.
    ///
    /// # Errors
    /// The error of the output.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        (0..SHARDS).try_for_each(|shard| {
            let shard = self.lock(shard);
            shard.segments.iter().flatten().try_for_each(|record| {
                let [high, low] = record.fingerprint.map(u64::to_le_bytes);
                output.write_all(&[high, low].concat())?;
                let numbers = [record.from, record.rank, record.action, record.level];
                output.write_all(&numbers.map(u32::to_le_bytes).concat())
            })
        })
    }

    /// Reads records into an empty table; each shard has this many.
    ///
    /// # Errors
    /// The error of the input, or one that says that the records are no table.
    pub(super) fn fill(&self, lengths: &[u64], input: &mut impl Read) -> io::Result<()> {
        let wrong = || io::Error::other("its states are no table of states");
        if lengths.len() != SHARDS {
            return Err(wrong());
        }
        for (at, length) in lengths.iter().enumerate() {
            let mut shard = self.lock(at);
            for _ in 0..*length {
                let mut bytes = [0; Visited::RECORD as usize];
                input.read_exact(&mut bytes)?;
                let record = Record::read(&bytes);
                let is_here = record.fingerprint[0] >> (64 - SHARD_BITS) == at as u64;
                if !is_here || !shard.push(record) {
                    return Err(wrong());
                }
            }
        }
        Ok(())
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let shards = self.shards.len() * size_of::<Padded>();
        let bytes = (0..SHARDS).map(|shard| self.lock(shard).bytes()).sum::<usize>() + shards;
        bytes as u64
    }

    fn with<T>(&self, id: Id, what: impl FnOnce(&mut Record) -> T) -> T {
        let mut shard = self.lock(id.0 as usize % SHARDS);
        what(shard.record((id.0 >> SHARD_BITS) as usize))
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // No model code runs under this lock, so a panic elsewhere leaves the table consistent.
        self.shards[shard].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the high half and the low half.
fn words(fingerprint: Fingerprint) -> [u64; 2] {
    [(fingerprint.0 >> 64) as u64, fingerprint.0 as u64]
}

/// A shard is full.
struct Exhausted;

/// [`Met`] before the shard's own number is made into an [`Id`].
enum How {
    New,
    Cheaper,
    Known { level: u32, on_stack: bool },
}

impl How {
    fn met(self, id: Id) -> Met {
        match self {
            How::New => Met::New(id),
            How::Cheaper => Met::Cheaper(id),
            How::Known { level, on_stack } => Met::Known { level, on_stack },
        }
    }
}

impl Shard {
    fn insert(
        &mut self,
        fingerprint: Fingerprint,
        arrival: Arrival,
        follows_cheaper: bool,
    ) -> Result<(u32, How), Exhausted> {
        let words = words(fingerprint);
        let Shard { index, segments, length } = self;
        let record = |local: u32| &segments[local as usize / SEGMENT][local as usize % SEGMENT];
        let same = |local: &u32| record(*local).fingerprint == words;
        match index.entry(words[1], same, |local| record(*local).fingerprint[1]) {
            Entry::Occupied(place) => {
                let local = *place.get();
                Ok((local, self.record(local as usize).meet(arrival, follows_cheaper)))
            }
            Entry::Vacant(place) => {
                if *length == SHARD_CAPACITY {
                    return Err(Exhausted);
                }
                let local = *length as u32;
                place.insert(local);
                self.append(Record::new(words, arrival));
                Ok((local, How::New))
            }
        }
    }

    fn find(&self, fingerprint: Fingerprint) -> Option<u32> {
        let words = words(fingerprint);
        let record =
            |local: u32| &self.segments[local as usize / SEGMENT][local as usize % SEGMENT];
        self.index.find(words[1], |local| record(*local).fingerprint == words).copied()
    }

    fn append(&mut self, record: Record) {
        if self.length.is_multiple_of(SEGMENT) {
            self.segments.push(Vec::with_capacity(SEGMENT));
        }
        self.segments[self.length / SEGMENT].push(record);
        self.length += 1;
    }

    /// Adds a record. Returns false if there is one of the same state.
    fn push(&mut self, record: Record) -> bool {
        let Shard { index, segments, length } = self;
        let of = |local: u32| &segments[local as usize / SEGMENT][local as usize % SEGMENT];
        let same = |local: &u32| of(*local).fingerprint == record.fingerprint;
        let hash = record.fingerprint[1];
        match index.entry(hash, same, |local| of(*local).fingerprint[1]) {
            Entry::Occupied(_) => return false,
            Entry::Vacant(place) => place.insert(*length as u32),
        };
        self.append(record);
        true
    }

    fn record(&mut self, local: usize) -> &mut Record {
        &mut self.segments[local / SEGMENT][local % SEGMENT]
    }

    fn bytes(&self) -> usize {
        let segments = self.segments.capacity() * size_of::<Vec<Record>>();
        let records = self.segments.len() * SEGMENT * size_of::<Record>();
        self.index.allocation_size() + segments + records
    }
}

impl Record {
    fn read(bytes: &[u8; Visited::RECORD as usize]) -> Record {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Record {
            fingerprint: [long(0), long(8)],
            from: short(16),
            rank: short(20),
            action: short(24),
            level: short(28),
        }
    }

    fn new(fingerprint: [u64; 2], arrival: Arrival) -> Record {
        let from = arrival.from.map_or(NOBODY, |id| id.0);
        let Arrival { rank, action, level, .. } = arrival;
        Record { fingerprint, from, rank, action, level }
    }

    /// Processes a repeated arrival. When states are expanded in the order of their levels, an expanded state cannot be
    /// reached more cheaply. So a record that changes here belongs to a state that was not expanded yet.
    fn meet(&mut self, arrival: Arrival, follows_cheaper: bool) -> How {
        let known = How::Known { level: self.level, on_stack: self.action & ON_STACK != 0 };
        if !follows_cheaper || arrival.level > self.level {
            return known;
        }
        let cheaper = arrival.level < self.level;
        let ours = (self.rank, self.action & ACTION);
        if cheaper || (self.from != NOBODY && (arrival.rank, arrival.action) < ours) {
            let marks = self.action & !ACTION;
            *self = Record::new(self.fingerprint, arrival);
            self.action |= marks;
        }
        if cheaper { How::Cheaper } else { known }
    }
}
