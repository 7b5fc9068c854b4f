//! The guard of a member inside a generation, with the duty to leave it.

use super::leaving::{self, LeaveError, Member};
use super::place::withdraw;
use super::{DoubleBarrierSeen, Mutant};
use crate::helpers::until_known;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use vivarium_model::handle::{Either, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::EventType;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// A membership of an open generation. Dropping it leaves in the background, without waiting for the others.
#[must_use = "dropping it leaves the generation"]
pub struct Entered {
    member: Member,
    session: SessionId,
    barrier: Arc<str>,
    generation: u64,
    opened: Zxid,
    is_leaving: bool,
}

impl Entered {
    /// Creates the guard for the generation `(barrier, number)`, which `opened` has opened.
    pub(super) fn new(
        member: Member,
        session: SessionId,
        (barrier, generation): (Arc<str>, u64),
        opened: Zxid,
    ) -> Entered {
        Entered { member, session, barrier, generation, opened, is_leaving: false }
    }

    /// Returns the transaction that opened the generation: the same for all members, and larger than those of earlier
    /// generations. A resource that refuses smaller tokens than the largest one seen is safe from members of an earlier
    /// generation that do not know yet that their session is over.
    pub fn token(&self) -> Zxid {
        self.opened
    }

    /// Returns the registered session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Resolves when the membership is lost: when the session has ended, or when its znode is seen to be deleted. A
    /// disconnection is no loss. This sets a watch: await it once, beside the work ([`Entered::while_inside`]).
    ///
    /// Cancel-safe.
    pub async fn lost(&self) {
        let node = self.member.place.node(&self.member.name);
        loop {
            match until_known(&self.member.zookeeper, || self.member.zookeeper.watch_data(&node))
                .await
            {
                Ok(mut watch) => match watch.changed().await {
                    Ok(event) if event.kind != EventType::NodeDeleted => {}
                    _ => return,
                },
                // The znode is gone or the session is over; a read of a valid path fails for no other reason.
                Err(_) => return,
            }
        }
    }

    /// Runs `work` until it is done or the membership is lost; then drops it at its await point.
    ///
    /// # Errors
    /// Fails if the membership was lost. Leaving returns the reason.
    pub async fn while_inside<F: Future>(&self, work: F) -> Result<F::Output, LeaveError> {
        match race(self.lost(), work).await {
            Either::Left(()) => Err(LeaveError::SessionExpired),
            Either::Right(output) => Ok(output),
        }
    }

    /// Leaves, and waits until all members have left (recipe rule 2.3.7).
    ///
    /// Cancel-safe: if the future is dropped, the member leaves in the background without waiting.
    ///
    /// # Errors
    /// Returns [`LeaveError`], except [`LeaveError::TimedOut`].
    pub async fn leave(mut self) -> Result<(), LeaveError> {
        self.begin_to_leave();
        leaving::leave(&mut self.member).await?;
        self.say(|barrier, generation| DoubleBarrierSeen::Left { barrier, generation });
        Ok(())
    }

    /// Like [`Entered::leave`], but waits for the others no longer than `patience`: then this member is out, although
    /// others may not be.
    ///
    /// # Errors
    /// Returns [`LeaveError`].
    pub async fn leave_timeout(mut self, patience: Duration) -> Result<(), LeaveError> {
        self.begin_to_leave();
        let zookeeper = self.member.zookeeper.clone();
        if let Ok(left) = zookeeper.timeout(patience, leaving::leave(&mut self.member)).await {
            left?;
            self.say(|barrier, generation| DoubleBarrierSeen::Left { barrier, generation });
            return Ok(());
        }
        self.say(|barrier, generation| DoubleBarrierSeen::OutOfPatience { barrier, generation });
        // The mutant continues its loop with nothing left to wait for (`DbLeaveSpins`).
        if self.member.mutants.has(Mutant::DbLeaveSpins) {
            leaving::spin(&self.member).await?;
        }
        Err(LeaveError::TimedOut)
    }

    /// From here on, others need not wait for this member.
    fn begin_to_leave(&mut self) {
        self.is_leaving = true;
        self.say(|barrier, generation| DoubleBarrierSeen::Leaving { barrier, generation });
    }

    fn say(&self, make: impl FnOnce(Arc<str>, u64) -> DoubleBarrierSeen) {
        self.member.zookeeper.observe(make(Arc::clone(&self.barrier), self.generation));
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if !self.is_leaving {
            self.begin_to_leave();
        }
        if !self.member.is_gone {
            withdraw(&self.member.zookeeper, self.member.place.node(&self.member.name));
        }
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered")
            .field("generation", &self.generation)
            .field("name", &self.member.name)
            .finish_non_exhaustive()
    }
}
