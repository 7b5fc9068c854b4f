//! Published mistakes of multi-locks (recipe rule 3.18).

use crate::mutants::named;

named! {
    /// A published mistake of a multi-lock.
    pub enum Mutant ("mutant") {
        /// The locks are acquired in the order in which the caller names them (Curator's
        /// `InterProcessMultiLock`). Breaks progress.
        CallersOrder =>
            "The locks are acquired in the caller's order, and two callers wait for each other \
             (Curator's InterProcessMultiLock).",
        /// The end of the session since the first lock is not checked. Breaks M2 and ML1.
        LocksOfTwoSessions =>
            "The session ends between two locks, and the first one, which went with it, is taken for \
             held.",
    }
}

/// A set of the multi-lock's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
