//! What a monitor is shown beside an event: the time, and as much of the committed history as it
//! says that it looks at.

use super::Asked;
use crate::tree::{Applied, DataTree};
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::sync::Arc;

/// How far back a monitor looks in the committed history
/// ([`Monitor::looks_back`](super::Monitor::looks_back)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LooksBack {
    /// At nothing, as long as the run goes on; at its end, and where nothing can happen but that time
    /// passes, at the tree. When sessions begin, it cannot tell then.
    Nothing,
    /// At the tree as it is now, and on [`Event::Committed`](crate::vocabulary::event::Event::Committed) at what
    /// a new transaction did. What it needs of the past it keeps in its own state.
    Tip,
    /// At any transaction, however old. A search then tells states apart by all of their past.
    Whole,
}

/// What a monitor may look at beside the event itself.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    at: Time,
    /// The time is shown: its monitor is one of runs.
    is_timed: bool,
    /// The committed history. On [`Event::Committed`](crate::vocabulary::event::Event::Committed) it contains that
    /// transaction already, and as its last one if the transaction is new.
    pub history: Committed<'a>,
}

impl<'a> View<'a> {
    /// Of an event that brings nothing new into the history.
    pub fn new(at: Time, history: &'a History) -> View<'a> {
        let history = Committed { history, reach: LooksBack::Whole, last_is_new: false };
        View { at, is_timed: true, history }
    }

    /// Virtual time.
    ///
    /// # Panics
    /// If the monitor is of [`Asked::Everywhere`](super::Asked::Everywhere): a search has no time, so a property
    /// that went by it would hold there for nothing. It has to be of [`Asked::InSweeps`](super::Asked::InSweeps).
    pub fn at(self) -> Time {
        assert!(
            self.is_timed,
            "a property of `Asked::Everywhere` looks at the time, and a search has none: it must be of \
             `Asked::InSweeps`"
        );
        self.at
    }

    /// Virtual time for what is measured and decides nothing
    /// ([`Monitor::measured`](super::Monitor::measured)); [`Time::ZERO`] always in a search.
    pub fn clock(self) -> Time {
        self.at
    }

    /// The same for a monitor that is asked there.
    #[must_use]
    pub fn asked(mut self, asked: Asked) -> View<'a> {
        self.is_timed &= asked == Asked::InSweeps;
        self
    }

    /// Of the commit of the history's last transaction, the first time that it is reported.
    pub fn of_new(at: Time, history: &'a History) -> View<'a> {
        let mut view = View::new(at, history);
        view.history.last_is_new = true;
        view
    }

    /// The same for somebody who looks no further back than this.
    #[must_use]
    pub fn within(mut self, reach: LooksBack) -> View<'a> {
        self.history.reach = self.history.reach.min(reach);
        self
    }
}

/// The committed history as far as a monitor looks back.
///
/// To one that looks at the tip only, no transaction is there but a new one while its
/// [`Event::Committed`](crate::vocabulary::event::Event::Committed) is told: not one that is reported again, and not
/// the last one at any other event. For a search takes states for one that have the same tree and
/// the same future, whoever made the tree what it is.
#[derive(Clone, Copy, Debug)]
pub struct Committed<'a> {
    history: &'a History,
    reach: LooksBack,
    /// The event is the first report of the last transaction.
    last_is_new: bool,
}

impl<'a> Committed<'a> {
    /// The zxid of the last committed transaction.
    ///
    /// # Panics
    /// If the monitor has said that it looks at nothing.
    pub fn last(self) -> Zxid {
        self.tip().last()
    }

    /// The tree after the last transaction, with the sessions.
    ///
    /// # Panics
    /// If the monitor has said that it looks at nothing.
    pub fn tree(self) -> &'a DataTree {
        self.tip().tree()
    }

    /// Whether the event is the first report of this transaction's commit. It can be reported again,
    /// by the same leader or by another; the tree has nothing new then.
    pub fn is_new(self, txn: &Txn) -> bool {
        self.last_is_new && txn.zxid == self.history.last()
    }

    /// The transactions that are there, in order.
    pub fn txns(self) -> &'a [Arc<Txn>] {
        let all = self.history.txns();
        match (self.reach, self.last_is_new) {
            (LooksBack::Whole, _) => all,
            (LooksBack::Tip, true) => &all[all.len() - 1..],
            (LooksBack::Tip, false) | (LooksBack::Nothing, _) => &[],
        }
    }

    /// The transaction with this zxid, if it is there.
    pub fn get(self, zxid: Zxid) -> Option<&'a Arc<Txn>> {
        if self.has(zxid) { self.history.get(zxid) } else { None }
    }

    /// What the transaction with this zxid did, if it is there: the answer that its client must get,
    /// and the changes of the tree.
    pub fn applied(self, zxid: Zxid) -> Option<&'a Arc<Applied>> {
        if self.has(zxid) { self.history.applied(zxid) } else { None }
    }

    /// All of it.
    ///
    /// # Panics
    /// If the monitor has said that it looks at the tip only.
    pub fn whole(self) -> &'a History {
        let reach = self.reach;
        assert_eq!(reach, LooksBack::Whole, "a monitor looks further back than it says");
        self.history
    }

    fn tip(self) -> &'a History {
        let looks = self.reach >= LooksBack::Tip;
        assert!(looks, "a monitor looks at the history, which it says it does not");
        self.history
    }

    fn has(self, zxid: Zxid) -> bool {
        let is_tip = self.last_is_new && zxid == self.history.last();
        self.reach == LooksBack::Whole || self.reach == LooksBack::Tip && is_tip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, txn, z};

    fn history() -> History {
        let mut history = History::new();
        for (zxid, path) in [(z(1, 1), "/a"), (z(1, 2), "/b")] {
            let body = Bodies(&history).create(path, "");
            history.commit(txn(zxid, 0, body));
        }
        history
    }

    fn zxids(view: View<'_>) -> Vec<Zxid> {
        let all = [z(1, 1), z(1, 2), z(1, 3)];
        let there: Vec<Zxid> = view.history.txns().iter().map(|txn| txn.zxid).collect();
        let got = |zxid: &Zxid| view.history.get(*zxid).is_some();
        let applied = |zxid: &Zxid| view.history.applied(*zxid).is_some();
        assert_eq!(all.into_iter().filter(got).collect::<Vec<_>>(), there);
        assert_eq!(all.into_iter().filter(applied).collect::<Vec<_>>(), there);
        there
    }

    #[test]
    fn the_tip_has_the_tree_and_a_new_transaction_only() {
        let history = history();
        let (other, new) = (View::new(Time::ZERO, &history), View::of_new(Time::ZERO, &history));
        for view in [other, new] {
            let tip = view.within(LooksBack::Tip);
            assert_eq!((tip.history.last(), zxids(view).len()), (z(1, 2), 2));
            assert!(tip.history.tree().node("/a").is_some());
            assert_eq!(zxids(view.within(LooksBack::Whole)), zxids(view));
        }
        assert_eq!(zxids(new.within(LooksBack::Tip)), [z(1, 2)]);
        assert_eq!(zxids(other.within(LooksBack::Tip)), []);
        assert_eq!(other.history.whole().digest_at(z(1, 2)), history.tree().digest());
    }

    #[test]
    #[should_panic(expected = "a monitor looks further back than it says")]
    fn what_is_said_to_be_left_alone_is_not_handed_out() {
        let history = history();
        let tip = View::of_new(Time::ZERO, &history).within(LooksBack::Tip);
        // Nor does it come back.
        let _ = tip.within(LooksBack::Whole).history.whole();
    }
}
