//! Published mistakes of read-write locks (recipe rule 3.2).

use crate::contention::contender::{Contender, Kind};
use crate::mutants::named;

named! {
    /// A published mistake of a read-write lock.
    pub enum Mutant ("mutant") {
        /// Readers look for names that *begin* with `write-`, although an id precedes it, so they see no writer
        /// (ZooKeeper's recipes page, read literally). Breaks RW1.
        ReaderSeesNoWriter =>
            "A reader looks for names that begin with `write-`, but they begin with an id: it sees no \
             writer (ZooKeeper's recipes page).",
        /// A reader also waits for writers after it, which wait for the reader (kazoo #649). Breaks progress.
        ReaderWaitsForHigherWriter =>
            "A reader also waits for the writers after it, which wait for the reader (kazoo #649).",
        /// A writer only waits for writers. Breaks RW1.
        WriterIgnoresReaders =>
            "A writer waits for the writers before it only, and writes beside readers.",
        /// A writer that becomes a reader goes to the end of the line: a client that queued after the writer gets the
        /// lock together with the reader (CURATOR-621). Breaks RW1.
        DowngradeFreshSequence =>
            "A writer that becomes a reader takes a new number, so a writer that waited gets in beside \
             it (CURATOR-621).",
    }
}

/// A set of the read-write lock's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;

/// `ReaderSeesNoWriter`.
pub(super) fn nobody<'b>(_mine: &Contender<'_>, _all: &[Contender<'b>]) -> Option<Contender<'b>> {
    None
}

/// `ReaderWaitsForHigherWriter`.
pub(super) fn any_other_writer<'b>(
    mine: &Contender<'_>,
    all: &[Contender<'b>],
) -> Option<Contender<'b>> {
    let writers = all.iter().filter(|other| other.kind() == Kind::Write);
    mine.predecessor(all)
        .or_else(|| Contender::last(writers.filter(|other| mine.is_ahead_of(other)).copied()))
}

/// `WriterIgnoresReaders`.
pub(super) fn writers_before<'b>(
    mine: &Contender<'_>,
    all: &[Contender<'b>],
) -> Option<Contender<'b>> {
    let writers = all.iter().filter(|other| other.kind() == Kind::Write).copied();
    mine.predecessor(&writers.collect::<Vec<_>>())
}
