//! S24: a reconfiguration does not stay in progress for ever.
//!
//! A leader refuses a reconfiguration with ReconfigInProgress only because it has proposed another one itself and has not
//! committed it yet (rule 5.8.3): what earlier leaders left is complete when it is established (rule 5.8.8). Otherwise an
//! ensemble could be such that its members can never be changed again.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;

/// The monitor of S24.
#[derive(Clone, Debug, Default, Hash)]
pub struct ReconfigurationEnds {
    /// The reconfiguration that each leader has proposed and not activated.
    in_progress: BTreeMap<ServerId, Zxid>,
}

impl ReconfigurationEnds {
    /// Returns a monitor that knows no reconfiguration.
    pub fn new() -> ReconfigurationEnds {
        ReconfigurationEnds::default()
    }
}

impl Declared for ReconfigurationEnds {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S24 a reconfiguration ends",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Proposed { leader, txn } if txn.body.reconfigures() => {
                this.in_progress.insert(*leader, txn.zxid);
            },
            Event::Proposed { leader, txn }
                if matches!(txn.body, TxnBody::Error(Error::ReconfigInProgress))
                    && !this.in_progress.contains_key(leader) => {
                let saw = format!(
                    "{leader} refuses a reconfiguration by {} because of another one, but it has proposed none that is not \
                     complete.",
                    txn.zxid
                );
                Err(this.objection(saw).about(txn.zxid))
            },
            Event::Activated { server, configuration } => {
                let ends = |zxid: &Zxid| *zxid <= configuration.version();
                if this.in_progress.get(server).is_some_and(ends) {
                    this.in_progress.remove(server);
                }
            },
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } => {
                this.in_progress.remove(server);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, TWO, Trial, txn, z};
    use crate::vocabulary::id::ServerSet;
    use crate::vocabulary::quorum::QuorumVerifier;

    fn next(version: Zxid) -> QuorumVerifier {
        QuorumVerifier::new(version, ServerSet::first(2), ServerSet::default())
    }

    fn proposed(leader: ServerId, zxid: Zxid) -> Event {
        Event::Proposed { leader, txn: txn(zxid, 1, TxnBody::Reconfig(next(zxid))) }
    }

    fn refused(leader: ServerId, zxid: Zxid) -> Event {
        Event::Proposed { leader, txn: txn(zxid, 1, TxnBody::Error(Error::ReconfigInProgress)) }
    }

    #[test]
    fn one_is_refused_only_while_its_leader_has_another_in_progress() {
        let mut trial = Trial::new(ReconfigurationEnds::new());
        trial.accepts(proposed(ONE, z(1, 5)));
        trial.accepts(refused(ONE, z(1, 6)));
        // A follower activates it first.
        trial.accepts(Event::Activated { server: TWO, configuration: next(z(1, 5)) });
        trial.accepts(refused(ONE, z(1, 7)));
        trial.accepts(Event::Activated { server: ONE, configuration: next(z(1, 5)) });
        trial.objects(refused(ONE, z(1, 8)));
    }

    #[test]
    fn what_an_earlier_leader_left_is_complete() {
        for end in [
            Event::LeftRole { server: ONE, reason: "a test" },
            Event::Crashed { server: ONE, lost: 0 },
        ] {
            let mut trial = Trial::new(ReconfigurationEnds::new());
            trial.accepts(proposed(ONE, z(1, 5)));
            trial.accepts(end);
            trial.objects(refused(ONE, z(2, 1)));
        }
        let mut trial = Trial::new(ReconfigurationEnds::new());
        trial.accepts(proposed(ONE, z(1, 5)));
        trial.objects(refused(TWO, z(2, 1)));
    }
}
