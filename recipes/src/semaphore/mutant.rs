//! Published mistakes of semaphores (recipe rule 3.14).

use crate::mutants::named;

named! {
    /// A published mistake of a semaphore.
    pub enum Mutant ("mutant") {
        /// Counts first and creates afterwards, without taking turns (aiozk's `Lease`; kazoo's semaphore
        /// where a session ends in between). Breaks SM1.
        CountThenCreate =>
            "Whoever counts a free permit makes a lease, and so does another that has counted it as well \
             (aiozk).",
        /// Nobody deletes the lease of an attempt that was given up (CURATOR-335, CURATOR-315).
        /// Breaks M5.
        LeaseLeakOnCancel =>
            "An attempt that is given up leaves its lease, and one permit less (CURATOR-335).",
        /// Turn and lease may be of two sessions: two that lost their turns count each other's leases, and wait
        /// for ever though all permits are free (read in Curator's `InterProcessSemaphoreV2`). Breaks progress, and
        /// before that M2: the turn is believed in beside the next session.
        SessionStraddle =>
            "The lease is made in whatever session there is, also behind the one that had the turn (read \
             in Curator).",
        /// An attempt that is given up leaves its place among those that wait for the turn (kazoo #429). Breaks
        /// M5.
        InnerLockLeak =>
            "An attempt that is given up leaves its place in the line for the turn (kazoo #429).",
    }
}

/// A set of the semaphore's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
