//! Published mistakes of semaphores (recipe rule 3.14).

use crate::mutants::named;

named! {
    /// A published mistake of a semaphore.
    pub enum Mutant ("mutant") {
        /// Counts the leases first and creates one afterwards, without taking turns (aiozk's `Lease`; kazoo's semaphore
        /// if a session ends in between). Breaks SM1.
        CountThenCreate =>
            "A client that counts a free permit makes a lease, and so does another client that has \
             counted the same permit (aiozk).",
        /// The lease of an abandoned attempt is not deleted (CURATOR-335, CURATOR-315). Breaks M5.
        LeaseLeakOnCancel =>
            "An attempt that is given up leaves its lease, and one permit less (CURATOR-335).",
        /// Turn and lease may be of two sessions: two clients that lost their turns count each other's leases, and wait
        /// for ever although all permits are free (read in Curator's `InterProcessSemaphoreV2`). Breaks progress, and
        /// before that M2: a client believes that it has the turn while the next session runs.
        SessionStraddle =>
            "The lease is made in the current session, even if it is not the session that had the turn \
             (read in Curator).",
        /// An abandoned attempt leaves its place among those that wait for the turn (kazoo #429). Breaks M5.
        InnerLockLeak =>
            "An attempt that is given up leaves its place in the line for the turn (kazoo #429).",
    }
}

/// A set of the semaphore's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
