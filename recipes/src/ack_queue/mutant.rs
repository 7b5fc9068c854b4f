//! The acknowledged queue's mutants: published mistakes as named switches, off by default (recipe rule 3.4).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented. The one about
//! fencing is in the worker, because the program that does the work is responsible for fencing.

use crate::mutants::named;

named! {
    /// A published mistake of an acknowledged queue.
    pub enum Mutant ("mutant") {
        /// An acknowledgement counts as done whatever the servers answer (kazoo `LockingQueue.consume`). Breaks LQ3.
        MultiResultIgnored =>
            "An acknowledgement counts as done whatever its multi returned (kazoo \
             LockingQueue.consume).",
        /// A claim whose reply was lost finds its own znode, and treats it as another consumer's (Curator
        /// `DistributedQueue` with a lock path). The item is never processed.
        NodeExistsMeansOther =>
            "A claim whose reply was lost finds its own znode and takes it for another consumer's, \
             so no consumer processes the item (Curator DistributedQueue with lockPath).",
        /// The work is done without a token, so a consumer that lost its claim without knowing can overwrite the next
        /// one's work (CURATOR-605). Breaks LQ4.
        NoFenceForConsumer =>
            "The work is done without a fencing token, so that a consumer whose claim expired \
             overwrites the next one's (CURATOR-605).",
        /// A requeued item is named by appending to its old name (CURATOR-56, CURATOR-224). Breaks LQ5.
        RequeueFromOldName =>
            "A requeued item's name is built on its old one, and grows with each requeue \
             (CURATOR-56, CURATOR-224).",
        /// An acknowledgement continues in the next session, where another consumer may have the claim of that name
        /// (read in Curator and kazoo). Breaks LQ1.
        AckAcrossSessions =>
            "An acknowledgement goes on in the next session and deletes the next one's claim \
             (read in Curator and kazoo).",
        /// A cancelled claim leaves its znode behind (kazoo `LockingQueue`, whose claim fails in a watcher's callback).
        /// The item is never processed.
        ClaimLeakOnCancel =>
            "A cancelled claim leaves its znode in place, and the item stays claimed (kazoo \
             LockingQueue).",
        /// A claim that is dropped while it is being released or acknowledged is deleted by its name once more,
        /// although the earlier request may have been applied and another consumer may have the claim of that name
        /// (found here). Breaks LQ2.
        BlindDeleteOnDrop =>
            "A claim that is dropped while it is released is deleted by its name once more, although another \
             consumer may own that name by then (found here).",
        /// Claims are persistent, so they outlive a consumer that dies (a likely mistake).
        ClaimNotEphemeral =>
            "Claims are persistent: the item of a consumer that died stays claimed for ever \
             (a likely mistake).",
        /// The item is read before it is claimed and not again, so it may have been acknowledged meanwhile (a likely
        /// mistake). Breaks LQ2.
        NoLookAfterClaim =>
            "The item is read before it is claimed and not again: it may be done already \
             (a likely mistake).",
    }
}

/// A set of the acknowledged queue's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
