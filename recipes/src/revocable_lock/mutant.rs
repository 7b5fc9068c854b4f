//! Published and likely mistakes of revocable locks (recipe rule 3.11).

use crate::mutants::named;

named! {
    /// A published or likely mistake of a revocable lock.
    pub enum Mutant ("mutant") {
        /// The owner ignores the result of its first read and only looks after a notification: it is never told of a
        /// request that was written before that read (ZooKeeper's recipes page; Curator). Breaks RV1.
        RevokeInitialIgnored =>
            "The owner misses a request that was written before it first reads its znode (ZooKeeper's \
             recipes page; Curator's makeRevocable).",
        /// The owner reads its znode before it exists, so the read leaves no watch (a translation of the recipes page).
        /// Breaks RV1.
        RevokeReadBeforeCreate =>
            "The owner reads before it creates, so it has no watch and is never notified (a translation of \
             the recipes page).",
        /// A change that is not a request triggers the watch, which is not set again (as CURATOR-258). Breaks RV1.
        RevokeNotRearmed =>
            "A change that is no request uses up the watch, and the owner misses the next change (as CURATOR-258).",
        /// The owner's note overwrites any content of its znode. Breaks RV1.
        RevokeNoteOverwrites =>
            "The owner's own note is written over a request that it has not read.",
        /// The owner deletes its znode at any version, together with a request in it. Breaks RV1.
        RevokeReleaseBlind =>
            "The owner deletes its znode together with a request that it has not read.",
        /// The request goes to the first name in text order, which begins with an id. Breaks RV3.
        RevokeFirstByName =>
            "The request is written to the first name in the order of text, which begins with an id, so \
             a waiter can get it instead of the owner.",
        /// The requester takes a refusal for a version mismatch as a request that stands already; it was a note. Breaks
        /// RV5.
        RevokeBadVersionMeansAsked =>
            "The asking client takes BadVersion for another client's pending request, although the \
             change was the owner's note.",
        /// A client that wants the lock deletes the owner's znode without a request. Breaks RV2.
        RevokeWithoutConsent =>
            "A client deletes the owner's znode instead of writing a request into it.",
        /// When the grace time is over, the holder at that time loses the lock. Breaks RV2.
        RevokeWhoeverHolds =>
            "When the grace time is over, the current holder loses the lock, even if it was never asked.",
        /// The znode is deleted as soon as the request is written. Breaks RV4.
        RevokeWithoutGrace =>
            "The owner's znode is deleted as soon as the request is written.",
    }
}

/// A set of the revocable lock's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
