//! The double barrier's mutants: published mistakes as named switches, off by default (recipe rule 3.3).
//!
//! Each is asked for at exactly one place in the recipe, where the rule that it breaks is kept.

use crate::mutants::named;

named! {
    /// A published mistake of a double barrier.
    pub enum Mutant ("mutant") {
        /// The look at the verdict before the wait is made for its watch only: where the verdict is there already,
        /// nothing ever wakes the waiter (a Chinese chapter on barriers, step 2; the official page has no branch
        /// for it). Loses the wake-up.
        ReadyExistsIgnored =>
            "Waits for the verdict to be created although the look that set the watch has found it (two \
             printed texts).",
        /// Opens when the count is equal to the number asked for: where two have come between one create and one
        /// list, everybody counts one too many, and nobody opens (the same chapter, step 6).
        DbEqualsN =>
            "Opens only if exactly as many are registered as are asked for, so that one too many shuts it (a \
             printed text's step 6).",
        /// A waiter that is woken counts again instead of trusting the verdict: faster members have left by then
        /// (ZOOKEEPER-1011, the tutorial; Curator since GH-1290).
        DbRecount =>
            "A waiter that is woken counts again, and sleeps on where faster members have left already \
             (ZOOKEEPER-1011, Curator GH-1290).",
        /// No generation in the paths, and nobody removes the verdict: the next time one alone walks in (kazoo,
        /// the official page). Breaks DB1.
        DbReadyLeftover =>
            "The verdict of the last time is still there, and lets in whoever comes first the next time \
             (kazoo, Curator, the official page).",
        /// Whoever gives up waiting leaves its registration behind, and decides nothing: the next one is counted
        /// with it (CURATOR-318). Breaks DB1 and DB4.
        DbTimeoutLeavesNode =>
            "A member that has timed out goes without a word, and its znode is counted by the next one \
             (CURATOR-318).",
        /// Whatever wakes a waiter opens, also a reconnect (Curator up to GH-1290). Breaks DB1.
        DbAnyWakeOpens =>
            "Any wake-up of a waiter counts as success, a reconnect too (Curator GH-1290).",
        /// The verdict is kept among the members and counted as one, so that nobody is ever the last (a Chinese
        /// chapter on barriers, and the official page).
        DbReadyCounts =>
            "The verdict stands among the members and is waited for as if it were one (two printed texts).",
        /// A member that is woken while it leaves deletes its znode once more, and takes it for the end that there is
        /// none: others are still inside (kazoo). Breaks DB2.
        DbLeaveUnconditional =>
            "A leaver deletes its znode whenever it is woken, and takes the failure for the end of its wait \
             (read in kazoo).",
        /// A leaver whose patience is at its end stays in its loop, in which there is only nothing to wait for any
        /// more: it asks again and again until all are out (CURATOR-536, CURATOR-233). Breaks DB5.
        DbLeaveSpins =>
            "A leaver whose time is up stays in its loop and asks again and again (CURATOR-536, CURATOR-233).",
        /// For who leaves, a list without members is the end, and nothing closes the generation: where more parties
        /// take part than are asked for, one that comes late walks in behind the old verdict, while the others are
        /// inside the next generation. No published double barrier closes. Breaks DB3.
        DbNeverCloses =>
            "An empty list is the end, and nothing closes the generation: who comes late is inside an old one \
             while others are inside the next (found here).",
    }
}

/// A set of the double barrier's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
