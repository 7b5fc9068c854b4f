//! The view of a monitor besides an event: the time, and the part of the committed history that the monitor has
//! declared to look at.

use super::Asked;
use crate::tree::{Applied, DataTree};
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::sync::Arc;

/// How far back a monitor looks in the committed history ([`Monitor::looks_back`](super::Monitor::looks_back)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LooksBack {
    /// At nothing while the run goes on; at the tree when the run has ended or is at rest. It cannot depend on when
    /// sessions begin.
    Nothing,
    /// At the present tree and, on [`Event::Committed`](crate::vocabulary::event::Event::Committed), at the effects
    /// of a new transaction. The monitor keeps what it needs of the past in its own state.
    Tip,
    /// At any transaction, however old. A search then distinguishes states by their whole past.
    Whole,
}

/// The data that a monitor may look at besides the event itself.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    at: Time,
    /// True if the monitor may read the time, because only sweeps ask it.
    is_timed: bool,
    /// The committed history. On [`Event::Committed`](crate::vocabulary::event::Event::Committed) it contains that
    /// transaction already, as the last one if the transaction is new.
    pub history: Committed<'a>,
}

impl<'a> View<'a> {
    /// Returns the view of an event that adds nothing to the history.
    pub fn new(at: Time, history: &'a History) -> View<'a> {
        let history = Committed { history, reach: LooksBack::Whole, last_is_new: false };
        View { at, is_timed: true, history }
    }

    /// Returns the virtual time.
    ///
    /// # Panics
    /// Panics if the monitor is of [`Asked::Everywhere`](super::Asked::Everywhere): a search has no time, so a
    /// property that depends on it would hold there without meaning anything. Such a monitor must be of
    /// [`Asked::InSweeps`](super::Asked::InSweeps).
    pub fn at(self) -> Time {
        assert!(
            self.is_timed,
            "a property declared as `Asked::Everywhere` reads the time, which a search does not have: \
             declare it as `Asked::InSweeps`"
        );
        self.at
    }

    /// Returns the virtual time for measurements, which must not influence the monitor
    /// ([`Monitor::measured`](super::Monitor::measured)); always [`Time::ZERO`] in a search.
    pub fn clock(self) -> Time {
        self.at
    }

    /// Returns the same view for a monitor that these engines check.
    #[must_use]
    pub fn asked(mut self, asked: Asked) -> View<'a> {
        self.is_timed &= asked == Asked::InSweeps;
        self
    }

    /// Returns the same view at another time.
    #[must_use]
    pub fn at_time(mut self, at: Time) -> View<'a> {
        self.at = at;
        self
    }

    /// Returns the view of the first report that the history's last transaction is committed.
    pub fn of_new(at: Time, history: &'a History) -> View<'a> {
        let mut view = View::new(at, history);
        view.history.last_is_new = true;
        view
    }

    /// Returns the same view for a monitor that looks no further back than this.
    #[must_use]
    pub fn within(mut self, reach: LooksBack) -> View<'a> {
        self.history.reach = self.history.reach.min(reach);
        self
    }
}

/// The committed history as far as a monitor looks back.
///
/// A monitor that looks only at the tip sees no transaction except a new one during its
/// [`Event::Committed`](crate::vocabulary::event::Event::Committed): neither a transaction that is reported again,
/// nor the last one during any other event. The reason is that a search merges states with the same tree and the same
/// future, regardless of which transactions made the tree.
#[derive(Clone, Copy, Debug)]
pub struct Committed<'a> {
    history: &'a History,
    reach: LooksBack,
    /// True if the event is the first report of the last transaction.
    last_is_new: bool,
}

impl<'a> Committed<'a> {
    /// Returns the zxid of the last committed transaction.
    ///
    /// # Panics
    /// Panics if the monitor has declared to look at nothing.
    pub fn last(self) -> Zxid {
        self.tip().last()
    }

    /// Returns the tree after the last transaction, with the sessions.
    ///
    /// # Panics
    /// Panics if the monitor has declared to look at nothing.
    pub fn tree(self) -> &'a DataTree {
        self.tip().tree()
    }

    /// Returns true if the event is the first report of this transaction's commit. The same or another leader can
    /// report it again, which changes nothing in the tree.
    pub fn is_new(self, txn: &Txn) -> bool {
        self.last_is_new && txn.zxid == self.history.last()
    }

    /// Returns the visible transactions, in order.
    pub fn txns(self) -> &'a [Arc<Txn>] {
        let all = self.history.txns();
        match (self.reach, self.last_is_new) {
            (LooksBack::Whole, _) => all,
            (LooksBack::Tip, true) => &all[all.len() - 1..],
            (LooksBack::Tip, false) | (LooksBack::Nothing, _) => &[],
        }
    }

    /// Returns the transaction with this zxid, if it is visible.
    pub fn get(self, zxid: Zxid) -> Option<&'a Arc<Txn>> {
        if self.has(zxid) { self.history.get(zxid) } else { None }
    }

    /// Returns the effects of the transaction with this zxid, if it is visible: the result that its client must get,
    /// and the changes of the tree.
    pub fn applied(self, zxid: Zxid) -> Option<&'a Arc<Applied>> {
        if self.has(zxid) { self.history.applied(zxid) } else { None }
    }

    /// Returns the whole history.
    ///
    /// # Panics
    /// Panics if the monitor has declared to look at less.
    pub fn whole(self) -> &'a History {
        let reach = self.reach;
        assert_eq!(
            reach,
            LooksBack::Whole,
            "a monitor reads the whole history, but its declared `LooksBack` is less"
        );
        self.history
    }

    fn tip(self) -> &'a History {
        let looks = self.reach >= LooksBack::Tip;
        assert!(looks, "a monitor reads the history, but declares `LooksBack::Nothing`");
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
    #[should_panic(
        expected = "a monitor reads the whole history, but its declared `LooksBack` is less"
    )]
    fn what_is_said_to_be_left_alone_is_not_handed_out() {
        let history = history();
        let tip = View::of_new(Time::ZERO, &history).within(LooksBack::Tip);
        // A view does not become wider again.
        let _ = tip.within(LooksBack::Whole).history.whole();
    }
}
