//! S4: a new leader's history contains every committed transaction.
//!
//! Each transaction that was committed in an earlier epoch is in the history of every leader that is established
//! later (`PrimaryIntegrity`, `leaderLogCompleteness`). Only *earlier* epochs count: a quorum can accept epoch 2
//! while the last acknowledgement of NEWLEADER 1 is still in flight. The leader of epoch 1 that then reads the
//! acknowledgement is established late, without what epoch 2 has committed. It can commit nothing more, since its
//! quorum has left it.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;

/// The monitor of S4. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct CompleteLeader;

impl CompleteLeader {
    /// Returns the monitor.
    pub fn new() -> CompleteLeader {
        CompleteLeader
    }
}

impl Declared for CompleteLeader {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S4 a new leader has all that is committed",
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Established { leader, epoch, last_zxid } => {
                let committed = view.history.whole().last_up_to(epoch.opening());
                match *last_zxid >= committed {
                    true => Ok(()),
                    false => Err(this.objection(format!(
                        "{leader} was established as the leader of epoch {epoch} with a history that ends \
                         at {last_zxid}, although {committed} is committed."
                    ))),
                }
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, THREE, TWO, Trial, z};
    use crate::vocabulary::id::ServerId;
    use crate::vocabulary::zxid::{Epoch, Zxid};

    fn established(leader: ServerId, epoch: u32, last_zxid: Zxid) -> Event {
        Event::Established { leader, epoch: Epoch(epoch), last_zxid }
    }

    #[test]
    fn a_leader_that_lacks_a_committed_transaction() {
        let mut trial = Trial::new(CompleteLeader::new());
        trial.accepts(established(ONE, 1, Zxid::ZERO));
        trial.create(z(1, 1), "/a", "");
        trial.create(z(1, 2), "/b", "");
        assert_eq!(
            trial.objects(established(TWO, 2, z(1, 1))),
            "S4 a new leader has all that is committed: server 2 was established as the leader of \
             epoch 2 with a history that ends at 1:1, although 1:2 is committed."
        );
    }

    #[test]
    fn a_leader_may_have_more_than_is_committed() {
        let mut trial = Trial::new(CompleteLeader::new());
        trial.create(z(1, 1), "/a", "");
        trial.accepts(established(TWO, 2, z(1, 9)));
    }

    #[test]
    fn a_late_leader_of_an_older_epoch_need_not_know_the_newer_one() {
        let mut trial = Trial::new(CompleteLeader::new());
        trial.create(z(1, 1), "/a", "");
        trial.accepts(established(THREE, 3, z(1, 1)));
        trial.create(z(3, 1), "/b", "");
        trial.accepts(established(TWO, 2, z(1, 1)));
        // A late leader must have everything that was committed before its own epoch.
        assert!(trial.feed(&established(TWO, 2, Zxid::ZERO)).is_err());
    }
}
