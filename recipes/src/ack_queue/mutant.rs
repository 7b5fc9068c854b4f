//! The acknowledged queue's mutants: published mistakes as named switches, off by default (recipe rule 3.4).
//!
//! Each is asked for at exactly one place in the recipe, where the rule that it breaks is kept; that of
//! fencing in the worker, since fencing is the business of whoever does the work.

use crate::mutants::named;

named! {
    /// A published mistake of an acknowledged queue.
    pub enum Mutant ("mutant") {
        /// An acknowledgement is taken for done whatever the servers answer (kazoo
        /// `LockingQueue.consume`). Breaks LQ3.
        MultiResultIgnored =>
            "An acknowledgement counts as done whatever its multi was answered \
             (kazoo LockingQueue.consume).",
        /// A claim whose reply was lost finds its own znode, and takes it for somebody else's (Curator
        /// `DistributedQueue` with a lock path). The item is stuck behind a ghost.
        NodeExistsMeansOther =>
            "A claim whose reply was lost finds its own znode and leaves the item to somebody \
             else, who does not exist (Curator DistributedQueue with lockPath).",
        /// The work is done without a token, so whoever lost its claim without knowing can undo what the
        /// next one did (CURATOR-605). Breaks LQ4.
        NoFenceForConsumer =>
            "The work is done without a fencing token, so that a consumer whose claim expired \
             overwrites the next one's (CURATOR-605).",
        /// A requeued item is named by appending to its old name (CURATOR-56, CURATOR-224). Breaks LQ5.
        RequeueFromOldName =>
            "A requeued item's name is built on its old one, and grows with each requeue \
             (CURATOR-56, CURATOR-224).",
        /// An acknowledgement goes on in the next session, where the claim of that name may be somebody
        /// else's (read in Curator's and kazoo's). Breaks LQ1.
        AckAcrossSessions =>
            "An acknowledgement goes on in the next session and deletes the next one's claim \
             (read in Curator and kazoo).",
        /// A claim that is cancelled half-way leaves its znode behind (kazoo `LockingQueue`, whose claim
        /// fails in a watcher's callback). The item is stuck behind a ghost.
        ClaimLeakOnCancel =>
            "A cancelled claim leaves its znode behind, and the item is stuck behind it \
             (kazoo LockingQueue).",
        /// A claim that is dropped while it is being released or acknowledged is deleted by its name, once more,
        /// though what was sent before may have been done, and the claim of that name may be somebody else's
        /// (found here). Breaks LQ2.
        BlindDeleteOnDrop =>
            "A claim that is dropped while it is released is deleted by its name once more, which may be somebody \
             else's by then (found here).",
        /// Claims are persistent, so that they outlive whoever dies with one (a likely mistake).
        ClaimNotEphemeral =>
            "Claims are persistent: the item of a consumer that died stays claimed for ever \
             (a likely mistake).",
        /// The item is read before it is claimed, and not again, so that it may have been acknowledged
        /// meanwhile (a likely mistake). Breaks LQ2.
        NoLookAfterClaim =>
            "The item is read before it is claimed and not again: it may be done already \
             (a likely mistake).",
    }
}

/// A set of the acknowledged queue's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
