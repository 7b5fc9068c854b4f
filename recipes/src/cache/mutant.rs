//! The mutants of caches: published and likely mistakes as named switches, off by default (recipe rule 3.16).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published or likely mistake of a cache.
    pub enum Mutant ("mutant") {
        /// A change of a znode is detected by its version (CURATOR-391). Breaks CA1 and CA4.
        CacheVersionNotMzxid =>
            "A znode is taken for unchanged by its version, which begins again when it is made anew \
             (CURATOR-391).",
        /// Watches are lost with the connection, and set again without reading what has changed (CURATOR-311, kazoo
        /// #29). Breaks CA1.
        CacheNoRecheckOnReconnect =>
            "After a lost connection the watches are set again, and nothing is read (CURATOR-311, kazoo #29).",
        /// A watch that a change has used up is not set again (CURATOR-258). Breaks CA1.
        CacheWatchConsumed =>
            "A changed znode is read without a watch: the change after that is missed (CURATOR-258).",
        /// A changed znode is read before it is watched. Breaks CA1.
        CacheWatchAfterRead =>
            "A changed znode is read first and watched afterwards: a change in between is missed.",
        /// A cache whose root does not exist does not wait for it (kazoo's `ChildrenWatch`, by design). Breaks CA1.
        CacheStopsAtNoNode =>
            "A cache whose root is gone does not wait for it to come back (kazoo ChildrenWatch, by design).",
        /// The first look of a synchronisation is believed, however far the server lags. Breaks CA4.
        CacheBelievesLaggard =>
            "A synchronisation begins with what the server has, however far that lags.",
        /// The cache waits for a znode that vanished while the copy was loaded (CURATOR-476). Breaks CA4.
        InitCountsVanished =>
            "A znode that vanishes while the copy is loaded is waited for, and the copy is never complete \
             (CURATOR-476).",
        /// The error for a listed child that does not exist any more is returned to the caller (CURATOR-358). Breaks
        /// `program`.
        FailOnVanishedPeer =>
            "A child that was listed and is gone when it is read fails the cache with NoNode (CURATOR-358).",
        /// The copy counts as complete as soon as the root's children are listed. Breaks CA4.
        CacheInitializedEarly =>
            "The copy is taken for complete when the names are there, before the data is.",
        /// A new child is reported before its data has been read. Breaks CA6.
        CacheAddsWithoutData =>
            "A child is reported as added before its data has been read.",
        /// Znodes deleted between two sessions are not reported. Breaks CA4.
        CacheKeepsVanished =>
            "A new session reports the znodes that exist, but not those deleted since the last session.",
        /// When a parent is removed, its children are dropped from the copy without events. Breaks CA2.
        CacheForgetsDescendants =>
            "A removed znode's descendants vanish from the copy without events.",
        /// A child is believed although its parent's deletion is known. Breaks CA3.
        CacheChildBeforeParent =>
            "A child is taken in although its parent has gone and come back, which is not read yet.",
    }
}

/// A set of the mutants of caches.
pub type Mutants = crate::mutants::Mutants<Mutant>;
