//! The barrier's mutants: published mistakes as named switches, off by default (recipe rule 3.3).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published mistake of a barrier.
    pub enum Mutant ("mutant") {
        /// The check after a wake-up is inverted: a waiter that still finds the znode proceeds, and one that does not
        /// waits (a Chinese chapter on barriers, step 8). Breaks B1, and progress.
        BarrierInvertedRecheck =>
            "After a wake-up the waiter goes on if the znode is still there, and waits if it is not (a \
             printed text's last step).",
        /// The waiter reacts to the deletion only, and sets no other watch after another change has used up its watch
        /// (kazoo's `Barrier.wait`). Loses the wake-up.
        EventTypeFilterNoRearm =>
            "Only a deletion counts, and a watch that a change of the data has used up is not set again \
             (read in kazoo).",
        /// Believes the first look, which a server may answer that has not applied the raise yet. A waiter that was
        /// told outside of ZooKeeper that the barrier is up then passes it (recipe rule 2.2.3). Breaks B1.
        NoSyncBeforeRead =>
            "The waiter believes a first read that finds no barrier, although the server that answers may \
             lag behind what the waiter has learned elsewhere (texts that promise all clients the same view).",
    }
}

/// A set of the barrier's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
