//! Published mistakes of elections (recipe rule 3.13).

use crate::contention::contender::Contender;
use crate::mutants::named;

named! {
    /// A published mistake of an election.
    pub enum Mutant ("mutant") {
        /// A candidate watches the one *after* it (a translation of an older recipes page has lost the word "lower").
        /// Breaks progress.
        WatchSuccessor =>
            "A candidate that is not the first watches the candidate after it, whose end does not \
             concern it (a translation of the recipes page).",
        /// A leader that resigns deletes its candidacy only; its office stays until its session ends, and keeps the
        /// next leader waiting. Breaks E6.
        OfficeOutlivesCandidacy =>
            "A leader that resigns does not delete its office znode, so all clients still find it there.",
        /// A campaign whose session ends is not begun again, without an error (CURATOR-518, CURATOR-104, CURATOR-16).
        /// Breaks progress.
        RequeueLost =>
            "A campaign whose session ends is forgotten: the candidate never leads, and gets no \
             error (CURATOR-104).",
    }
}

/// A set of the election's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;

/// Returns the nearest contender after this one, if this one is not the first (`WatchSuccessor`).
pub(super) fn successor<'b>(mine: &Contender<'_>, all: &[Contender<'b>]) -> Option<Contender<'b>> {
    let predecessor = mine.predecessor(all)?;
    let behind = all.iter().filter(|other| mine.is_ahead_of(other));
    let nearest = Contender::first(behind.copied());
    // The last contender has none after it, and can only watch the previous one.
    Some(nearest.unwrap_or(predecessor))
}
