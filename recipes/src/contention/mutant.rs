//! The lock's mutants: published mistakes as named switches, off by default (recipe rule 3.1).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use super::Predecessor;
use super::contender::{self, Contender};
use crate::mutants::named;

named! {
    /// A published mistake of a lock recipe.
    pub enum Mutant ("mutant") {
        /// The znode's name does not carry the attempt's id, so a create whose reply was lost cannot be
        /// recognised and is simply repeated (Netflix/curator #3, mozilla zktools #2, accumulo #637).
        /// Breaks M5 and M6.
        NoGuid =>
            "A create whose reply was lost is repeated, since no id in the name tells the owner \
             its own znode (Netflix/curator #3).",
        /// Looks for the znode of a lost create without settling the create first. The list can miss a create that is
        /// proposed but not yet applied here (recipe rule 1.1.2). Breaks M6.
        RecoverWithoutSync =>
            "After a lost create the children are listed at once, so a pending create is missed \
             and a second znode made (no tracker entry; read in four libraries).",
        /// Settles a lost create by `sync`, as the best recipes do. A leader answers the sync of its own client
        /// immediately, whatever else is outstanding (rule 4.5.6). So a session that moves from a learner to the leader
        /// still misses its pending create; with real servers only if learners' requests do not pass through the
        /// leader's CommitProcessor (rule 4.5.7), as in this model. Found by this project's simulator. Breaks M6.
        RecoverBySync =>
            "After a lost create only a sync settles its fate, which a leader answers at once \
             to its own clients although the create is still pending (found here).",
        /// A cancelled or timed-out attempt is not cleaned up (CURATOR-79, CURATOR-62). Breaks M5.
        LeakOnCancel =>
            "A cancelled or timed-out attempt does not delete its znode (CURATOR-79, CURATOR-62).",
        /// Waits although no watch is set, if the predecessor was deleted between list and watch (shayhatsor/zookeeper
        /// #26, helix PR #44). Loses the wake-up.
        ExistsNullSleeps =>
            "A predecessor that vanished between list and watch is waited for all the same, \
             without a watch (shayhatsor/zookeeper #26).",
        /// A waiter whose connection was lost creates another znode after it has reconnected, and waits for its own
        /// first one (zk-ruby #54). Breaks M6.
        RecreateOnBlip =>
            "A waiter that was disconnected lines up once more and waits for its own first \
             znode (zk-ruby #54).",
        /// A release whose delete fails with ConnectionLoss is not repeated, and the guard has forgotten its znode
        /// (CURATOR-678). Breaks M5, and all later contenders wait.
        ReleaseGivesUp =>
            "A release is not tried again after a lost connection, so the znode stays and no \
             client holds the lock (CURATOR-678).",
        /// Every waiter watches the directory, so each change wakes all of them (the herd that ZooKeeper's recipes
        /// page warns of). Breaks HM1.
        WatchDirectory =>
            "Every waiter watches the whole directory, so each change wakes all of them \
             (ZooKeeper's recipes page warns of it).",
        /// The guard never learns that its session has ended, and its holder continues in the next session
        /// (CURATOR-206, CURATOR-604, ZooKeeper's `WriteLock.isOwner`). Breaks M2.
        BeliefSurvivesExpiry =>
            "The holder does not learn that its session expired and still believes that it holds \
             the lock (CURATOR-206, CURATOR-604).",
        /// The next session also looks for a create whose reply was lost, and adopts the znode of the previous session,
        /// which still exists (CURATOR-498). Breaks M2.
        AdoptDeadSessionNode =>
            "After a lost create the next session finds the znode of the one before, and adopts it; it \
             goes with its own session (CURATOR-498).",
        /// A waiter continues with its znode in the next session: as long as the znode is listed it counts, whichever
        /// session owns it (CURATOR-696, CURATOR-620). Breaks M2.
        NoOwnerCheckOnGrant =>
            "A waiter whose session ended finds its old znode still listed, as the first, and takes \
             the lock by it (CURATOR-696).",
        /// The znode of a lost create is stored by its name without the directory, a path that every request refuses
        /// (read in ZooKeeper's `WriteLock`). Breaks M5; M1 objects first, because no such znode was created.
        RecoverWrongName =>
            "The znode of a lost create is kept by its name without the directory, so its owner cannot \
             delete it (ZooKeeper's WriteLock).",
        /// A create whose reply was lost ends the attempt, without a check of its result (CURATOR-45). Breaks M5.
        NoBackgroundCleanup =>
            "An attempt whose create got no reply ends, and leaves what that may have made \
             (CURATOR-45).",
        /// A list whose reply was lost ends the attempt before it has stored the name of its znode (go-zookeeper #229).
        /// Breaks M5, and all later contenders wait.
        LeakOnErrorAfterCreate =>
            "An attempt whose list fails with a lost connection ends without having kept the name of \
             its znode (go-zookeeper #229).",
        /// An attempt that gives up tries once to delete its znode, and ignores the error (kazoo #732). Breaks M5.
        BestEffortCleanup =>
            "An attempt that is given up asks once to delete its znode, and swallows the error (kazoo \
             #732).",
        /// An attempt that gives up deletes its znode by its bare name, a path that is refused (read in
        /// zookeeper-client 0.11.1). Breaks M5.
        CleanupWrongPath =>
            "An attempt that is given up deletes its znode by its name without the directory, which is \
             refused (zookeeper-client 0.11.1).",
        /// Contenders are sorted by their whole names, which begin with ids (ZOOKEEPER-2931). Breaks M1.
        OrderByName =>
            "Contenders are sorted by their whole names, and so by their ids (ZOOKEEPER-2931).",
        /// Sequence numbers are compared as integers, so that after a wrap of the counter the newcomer comes first
        /// (ZOOKEEPER-4372, kazoo #606 and #730, go-zookeeper PR #65). Breaks M1.
        IntOrderAtWrap =>
            "Sequence numbers are compared as integers: where the counter wraps, the newcomer comes \
             first (ZOOKEEPER-4372).",
        /// Names have no id, and a holder that has lost its session deletes its znode by its name in the next session:
        /// if the directory was recreated, the znode may be another client's (zk-ruby #34). Breaks M2.
        LateDeleteReusedName =>
            "A holder whose session ended deletes its znode late, by a name that another client may own \
             by then (zk-ruby #34).",
        /// A waiter whose predecessor is gone deletes its own znode and queues again, so that the waiters after it do
        /// the same, each because of the other (CURATOR-644, CURATOR-645). Breaks M8.
        ResetOnMissingPredecessor =>
            "A waiter whose predecessor has gone deletes its own znode and lines up anew \
             (CURATOR-644, CURATOR-645).",
        /// All znodes are read, and one that was deleted meanwhile ends the attempt, whose own znode remains (read in
        /// ZooKeeper's `LeaderElectionSupport`). Breaks M5.
        FailOnVanishedPeer =>
            "An attempt reads every contender's znode, and fails for good if one was deleted after \
             the list (ZooKeeper's LeaderElectionSupport).",
        /// The directory is missing and not created, and the attempt ends without an error (CURATOR-724). Breaks
        /// progress.
        ParentGoneGivesUp =>
            "An attempt that finds no directory never lines up (CURATOR-724).",
        /// The holder works until it knows that its znode is deleted (CURATOR-51). Breaks M2.
        BodyAfterRelease =>
            "The holder works on until the release is answered, beside the next one (CURATOR-51).",
        /// A loss before the holder has begun to listen for one is never reported (CURATOR-54). Breaks M2.
        LossBeforeCallback =>
            "A holder never learns of its session's end if the session ended before the holder \
             added its listener (CURATOR-54).",
    }
}

impl Mutants {
    /// Returns which contender a contender for the exclusive lock waits for.
    pub(crate) fn predecessor(self) -> Predecessor {
        if self.has(Mutant::OrderByName) {
            by_name
        } else if self.has(Mutant::IntOrderAtWrap) {
            by_integer
        } else {
            contender::predecessor
        }
    }
}

/// Returns the nearest by the order of names (`OrderByName`).
fn by_name<'b>(mine: &Contender<'_>, all: &[Contender<'b>]) -> Option<Contender<'b>> {
    let before = all.iter().filter(|other| other.name() < mine.name());
    before.max_by_key(|other| other.name()).copied()
}

/// Returns the nearest by the order of integers (`IntOrderAtWrap`).
fn by_integer<'b>(mine: &Contender<'_>, all: &[Contender<'b>]) -> Option<Contender<'b>> {
    let before = all.iter().filter(|other| other.sequence() < mine.sequence());
    before.max_by_key(|other| other.sequence()).copied()
}

/// A set of the lock's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;

#[cfg(all(test, feature = "checking"))]
mod tests {
    use super::*;
    use vivarium_model::zxid::Zxid;

    /// The contender that the newcomer after a wrap of the counter waits for: the last one that came before it, or
    /// none.
    #[test]
    fn integers_and_names_have_another_order_than_the_contenders() {
        let names = ["0f-lock-2147483647", "0a-lock--2147483648"];
        let created = names
            .iter()
            .zip([1, 2])
            .filter_map(|(name, created)| Some(Contender::parse(name)?.created_at(Zxid(created))));
        let all: Vec<Contender<'_>> = created.collect();
        let [holder, newcomer] = all[..] else { panic!("two contenders: {all:?}") };
        let waits = |mutants: Mutants| mutants.predecessor()(&newcomer, &all);
        assert_eq!(waits(Mutants::NONE), Some(holder));
        assert_eq!(waits(Mutant::IntOrderAtWrap.into()), None);
        assert_eq!(waits(Mutant::OrderByName.into()), None);
    }
}
