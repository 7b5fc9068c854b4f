//! A reconfiguration at a learner (rules 5.8.5 and 5.8.8): the activation of what the leader commits, and the end of the
//! role where the activation gives the server another part or another leader.

use super::Following;
use crate::server::context::{Context, Leave, Stays};
use crate::server::reconfig::Designated;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// The reason for which a learner leaves its role.
const CHANGES: Leave = Leave("changes proposed in reconfig");

impl Following<'_> {
    /// Activates the reconfiguration that a COMMITANDACTIVATE during the synchronisation commits, if it is the oldest of
    /// packetsNotLogged. A change of the server's part ends the synchronisation before the transaction is logged or
    /// applied.
    pub(super) fn activate_while_synchronising(
        &mut self,
        zxid: Zxid,
        designated: ServerId,
        context: &mut Context<'_>,
    ) -> Stays {
        let oldest = self.learner.not_logged.front().filter(|txn| txn.zxid == zxid);
        match oldest.map(|txn| &txn.body) {
            Some(TxnBody::Reconfig(next)) => {
                let (next, designated) = (*next, Some(Designated { leader: designated, zxid }));
                self.activate_or_leave(next, designated, context)
            }
            _ => Ok(()),
        }
    }

    /// Activates the reconfiguration of an INFORMANDACTIVATE during the synchronisation.
    pub(super) fn activate_informed(
        &mut self,
        txn: &Txn,
        designated: ServerId,
        context: &mut Context<'_>,
    ) -> Stays {
        let designated = Designated { leader: designated, zxid: txn.zxid };
        self.activate_or_leave(reconfiguration(txn), Some(designated), context)
    }

    /// Handles UPTODATE: activates the leader's committed configuration. In HEAD it is that of NEWLEADER, which may be
    /// proposed only (see [`Bug::UncommittedConfigActivated`]).
    pub(super) fn activate_new_leaders(
        &mut self,
        committed: Attached<QuorumVerifier>,
        context: &mut Context<'_>,
    ) -> Stays {
        let last_seen = self.learner.new_leader_configuration.0.take();
        let next = match context.config.bugs.has(Bug::UncommittedConfigActivated) {
            true => last_seen,
            false => committed.0,
        };
        match next {
            Some(next) => self.activate_or_leave(next, None, context),
            None => Ok(()),
        }
    }

    /// Handles COMMITANDACTIVATE: activates the reconfiguration, then commits it, then may leave the role.
    pub(super) fn commit_and_activate(
        &mut self,
        zxid: Zxid,
        designated: ServerId,
        context: &mut Context<'_>,
    ) -> Stays {
        let Some(head) = self.learner.pending.front() else {
            return Err(Leave("an exception: a COMMITANDACTIVATE without a proposal"));
        };
        let suggested = Some(Designated { leader: designated, zxid });
        let stays = self.activate_or_leave(reconfiguration(head), suggested, context);
        self.commit_pending(zxid, context);
        self.master_committed(zxid, Some(designated), context)?;
        stays
    }

    /// Handles INFORMANDACTIVATE in the same way.
    pub(super) fn inform_and_activate(
        &mut self,
        txn: Arc<Txn>,
        designated: ServerId,
        context: &mut Context<'_>,
    ) -> Stays {
        let designated = Designated { leader: designated, zxid: txn.zxid };
        let stays = self.activate_or_leave(reconfiguration(&txn), Some(designated), context);
        self.commit_informed(txn, context);
        stays
    }

    fn activate_or_leave(
        &mut self,
        next: QuorumVerifier,
        designated: Option<Designated>,
        context: &mut Context<'_>,
    ) -> Stays {
        let changes =
            self.election.process_reconfig(next, designated, true, self.database, context);
        if changes { Err(CHANGES) } else { Ok(()) }
    }
}

fn reconfiguration(txn: &Txn) -> QuorumVerifier {
    match txn.body {
        TxnBody::Reconfig(next) => next,
        _ => unreachable!("only a reconfiguration is committed with an activation, not {txn}"),
    }
}
