//! The barrier's mutants: published mistakes as named switches, off by default (recipe rule 3.3).
//!
//! Each is asked for at exactly one place in the recipe, where the rule that it breaks is kept.

use crate::mutants::named;

named! {
    /// A published mistake of a barrier.
    pub enum Mutant ("mutant") {
        /// The look after a wake-up has its answer the wrong way round: who still finds the znode goes on,
        /// who does not waits (a Chinese chapter on barriers, step 8). Breaks B1, and progress.
        BarrierInvertedRecheck =>
            "After a wake-up the waiter goes on if the znode is still there, and waits if it is not (a \
             printed text's last step).",
        /// The waiter is interested in the deletion only, and sets no other watch when something else has used
        /// up the one that it had (kazoo's `Barrier.wait`). Loses the wake-up.
        EventTypeFilterNoRearm =>
            "Only a deletion counts, and a watch that a change of the data has used up is not set again \
             (read in kazoo).",
        /// Believes the first look, which a server may answer that has not heard of the raise yet: told beside
        /// ZooKeeper that the barrier is up, the waiter walks through it (recipe rule 2.2.3). Breaks B1.
        NoSyncBeforeRead =>
            "A first look that finds nothing is believed, though the server that answers may lag behind what \
             the waiter was told (texts that promise everybody the same view).",
    }
}

/// A set of the barrier's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
