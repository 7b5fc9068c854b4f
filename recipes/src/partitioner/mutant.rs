//! Published and likely mistakes of partitioners (recipe rule 3.19).

use crate::mutants::named;

named! {
    /// A published or likely mistake of a partitioner.
    pub enum Mutant ("mutant") {
        /// A change of the members while an item is waited for is missed: the share remains that of the earlier members
        /// (kazoo PR #259 and #283). Breaks PT2.
        ChangeDuringAcquireLost =>
            "A change of the members while an item is waited for is missed (kazoo PR #283).",
        /// Members divide different sets without a check (kazoo #392). Breaks PT2.
        UnequalSets =>
            "Members divide different sets: an item belongs to two members or to none (kazoo #392).",
        /// The lock of an item is released while the item is still in use. Breaks PT3.
        ReleaseBeforeStop =>
            "The lock of an item is released while the item is still in use.",
        /// Items that are not in use any more are not released. Breaks PT2.
        StopWithoutRelease =>
            "A member stops using an item that has left its share, but does not release the item's lock.",
        /// A member uses the share that the list of members gives it, without waiting for locks. Breaks PT1 and PT3.
        ShareWithoutLock =>
            "A member uses the items of its share without waiting for their locks.",
        /// Each member counts itself as the first one. Breaks PT2.
        OwnOrder =>
            "Each member counts itself as the first: the share is no function of the members alone.",
    }
}

/// A set of the partitioner's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
