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
            "Members divide different sets: an item is two members' or nobody's (kazoo #392).",
        /// The lock of an item is released while the item is still in use. Breaks PT3.
        ReleaseBeforeStop =>
            "The lock of an item is released while the item is still in use.",
        /// Items that are not in use any more are not released. Breaks PT2.
        StopWithoutRelease =>
            "What is not of a member's share any more is not in use, and its lock not released.",
        /// A member uses the share that the list of members gives it, without waiting for locks. Breaks PT1 and PT3.
        ShareWithoutLock =>
            "A member uses what is its own by the list of members, and waits for no lock.",
        /// Each member counts itself as the first one. Breaks PT2.
        OwnOrder =>
            "Each member counts itself as the first: the share is no function of the members alone.",
    }
}

/// A set of the partitioner's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
