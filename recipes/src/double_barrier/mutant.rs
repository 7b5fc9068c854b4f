//! The double barrier's mutants: published mistakes as named switches, off by default (recipe rule 3.3).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published mistake of a double barrier.
    pub enum Mutant ("mutant") {
        /// The read of the verdict before the wait only sets a watch. If the verdict exists already, nothing ever wakes
        /// the waiter (a Chinese chapter on barriers, step 2; the official page has no branch for it). Loses the
        /// wake-up.
        ReadyExistsIgnored =>
            "Waits for the verdict to be created although the look that set the watch has found it (two \
             printed texts).",
        /// Opens when the count equals the required number: if two parties come between one create and one list, all
        /// count one too many, and none opens (the same chapter, step 6).
        DbEqualsN =>
            "Opens only if exactly as many are registered as are asked for, so that one too many shuts it (a \
             printed text's step 6).",
        /// A woken waiter counts again instead of relying on the verdict, although faster members may have left by then
        /// (ZOOKEEPER-1011, the tutorial; Curator since GH-1290).
        DbRecount =>
            "A waiter that is woken counts again, and sleeps on where faster members have left already \
             (ZOOKEEPER-1011, Curator GH-1290).",
        /// Paths contain no generation, and the verdict is never removed: the next time, a single party enters alone
        /// (kazoo, the official page). Breaks DB1.
        DbReadyLeftover =>
            "The verdict of the last generation is not deleted, and lets in the first member of the \
             next one (kazoo, Curator, the official page).",
        /// A member that gives up waiting leaves its registration behind without a verdict, and the next one counts it
        /// (CURATOR-318). Breaks DB1 and DB4.
        DbTimeoutLeavesNode =>
            "A member that has timed out goes without a word, and its znode is counted by the next one \
             (CURATOR-318).",
        /// Any wake-up of a waiter opens, also a reconnect (Curator up to GH-1290). Breaks DB1.
        DbAnyWakeOpens =>
            "Any wake-up of a waiter counts as success, a reconnect too (Curator GH-1290).",
        /// The verdict is stored among the members and counted as one, so that no member is ever the last (a Chinese
        /// chapter on barriers, and the official page).
        DbReadyCounts =>
            "The verdict stands among the members and is waited for as if it were one (two printed texts).",
        /// A member that is woken while it leaves deletes its znode again, and treats its absence as the end, although
        /// others are still inside (kazoo). Breaks DB2.
        DbLeaveUnconditional =>
            "A leaver deletes its znode whenever it is woken, and takes the failure for the end of its wait \
             (read in kazoo).",
        /// A leaving member without patience left stays in its loop without a wait: it asks again and again until all
        /// are out (CURATOR-536, CURATOR-233). Breaks DB5.
        DbLeaveSpins =>
            "A leaver whose time is up stays in its loop and asks again and again (CURATOR-536, CURATOR-233).",
        /// For a leaving member, a list without members is the end, and nothing closes the generation. If more parties
        /// take part than required, a late one enters by the old verdict while the others are inside the next
        /// generation. No published double barrier closes. Breaks DB3.
        DbNeverCloses =>
            "An empty list ends a generation, and nothing closes it: a late member enters the old generation \
             while others are inside the next one (found here).",
    }
}

/// A set of the double barrier's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
