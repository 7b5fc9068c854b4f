//! The lock's mutants: published mistakes as named switches, off by default (recipe rule 3.1).
//!
//! Each is asked for at exactly one place in the recipe, where the rule that it breaks is kept.

use vivarium_model::named;

named! {
    /// A published mistake of a lock recipe.
    pub enum Mutant ("mutant") {
        /// The znode's name does not carry the attempt's id, so a create whose reply was lost cannot be
        /// recognised and is simply repeated (Netflix/curator #3, mozilla zktools #2, accumulo #637).
        /// Breaks M5 and M6.
        NoGuid =>
            "A create whose reply was lost is repeated, since no id in the name tells the owner \
             its own znode (Netflix/curator #3).",
        /// Looks for the znode of a lost create without settling its fate first: the list can miss a create that is
        /// proposed but not yet applied here (recipe rule 1.1.2). Breaks M6.
        RecoverWithoutSync =>
            "After a lost create the children are listed at once, so a pending create is missed \
             and a second znode made (no tracker entry; read in four libraries).",
        /// Settles the fate of a lost create by `sync`, as the best recipes do. A leader answers the sync
        /// of its own client at once, whatever else is outstanding (rule 4.5.6), so a session that moves
        /// from a learner to the leader still misses its pending create; with real servers only where
        /// learners' requests are kept out of the leader's CommitProcessor (rule 4.5.7), as they are in
        /// this model. Found by this project's simulator. Breaks M6.
        RecoverBySync =>
            "After a lost create only a sync settles its fate, which a leader answers at once \
             to its own clients although the create is still pending (found here).",
        /// Nobody cleans up after a cancelled or timed-out attempt (CURATOR-79, CURATOR-62).
        /// Breaks M5.
        LeakOnCancel =>
            "A cancelled or timed-out attempt leaves its znode behind (CURATOR-79, CURATOR-62).",
        /// Where the predecessor vanished between list and watch, waits although no watch is set
        /// (shayhatsor/zookeeper #26, helix PR #44). Loses the wake-up.
        ExistsNullSleeps =>
            "A predecessor that vanished between list and watch is waited for all the same, \
             without a watch (shayhatsor/zookeeper #26).",
        /// A waiter whose connection was lost makes another znode when it is connected again, and waits
        /// behind its own first one (zk-ruby #54). Breaks M6.
        RecreateOnBlip =>
            "A waiter that was disconnected lines up once more and waits for its own first \
             znode (zk-ruby #54).",
        /// A release whose delete fails with ConnectionLoss is not tried again, and the guard has forgotten
        /// its znode (CURATOR-678). Breaks M5, and everybody behind it waits.
        ReleaseGivesUp =>
            "A release is not tried again after a lost connection, so the lock stays held by \
             nobody (CURATOR-678).",
        /// Every waiter watches the directory, so each change wakes all of them (the herd that ZooKeeper's recipes
        /// page warns of). Breaks HM1.
        WatchDirectory =>
            "Every waiter watches the whole directory, so each change wakes all of them \
             (ZooKeeper's recipes page warns of it).",
        /// The guard never learns that its session has ended, and its holder goes on in the next
        /// session (CURATOR-206, CURATOR-604, ZooKeeper's `WriteLock.isOwner`).
        /// Breaks M2.
        BeliefSurvivesExpiry =>
            "The holder is not told that its session expired and goes on believing \
             (CURATOR-206, CURATOR-604).",
    }
}

/// A set of the lock's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
