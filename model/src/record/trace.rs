//! A step as a reader sees it: a line of a timeline, and whether it is a milestone.

use crate::vocabulary::event::Event;
use crate::vocabulary::note::Note;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::TxnBody;

/// One step with everything reportable that it caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Virtual time of the step.
    pub at: Time,
    /// The step's number in its run, from 1.
    pub number: u64,
    /// The step.
    pub step: Step,
    /// Notes of the machines, in order ([`crate::vocabulary::effect::Effects::note`]). If the step itself names only
    /// a place where something is read, written or handed over, the first note says what.
    pub notes: Vec<Note>,
    /// Events, in order.
    pub events: Vec<Event>,
}

impl Step {
    /// Returns true if the step is a milestone of a run: a fault or the end of one.
    pub fn is_milestone(&self) -> bool {
        let mended = matches!(self, Step::Restart(_) | Step::Heal { .. } | Step::Resume(_));
        self.is_fault() || mended
    }
}

impl Event {
    /// Returns true if the event is a milestone of a run: leadership, sessions, writes that were committed, refused
    /// or lost, and observations. They are a few in hundreds of steps.
    pub fn is_milestone(&self) -> bool {
        match self {
            Event::Established { .. }
            | Event::Unexpected { .. }
            | Event::Activated { .. }
            | Event::Designated { .. }
            | Event::LeftRole { .. }
            | Event::Exited { .. }
            | Event::Session { .. }
            | Event::Observed { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. }
            | Event::Mismatched { .. }
            | Event::ResourceWrite { .. } => true,
            Event::Restarted { .. } | Event::Crashed { .. } => true,
            Event::Killed { .. } | Event::Paused { .. } | Event::Resumed { .. } => true,
            Event::Cancelled { .. } => true,
            Event::LearnsOfEnd { .. } => false,
            Event::Committed { txn, .. } => match txn.body {
                TxnBody::Create { .. }
                | TxnBody::Delete { .. }
                | TxnBody::DeleteContainer { .. }
                | TxnBody::SetData { .. }
                | TxnBody::SetAcl { .. }
                | TxnBody::Multi(_)
                | TxnBody::CloseSession { .. }
                | TxnBody::Reconfig(_) => true,
                TxnBody::CreateSession { .. }
                | TxnBody::Check { .. }
                | TxnBody::FailedMulti(_)
                | TxnBody::Error(_) => false,
            },
            Event::Lost { request, .. } => !request.is_read(),
            Event::Refused { .. } => true,
            Event::Replied { request, result, .. } => !request.is_read() && result.is_err(),
            // Most defects of servers concern synchronisation and epochs.
            Event::Synchronising { .. }
            | Event::AtMaster { .. }
            | Event::AckedNewLeader { .. }
            | Event::SnapshotTruncated { .. }
            | Event::EpochUndone { .. } => true,
            Event::TakenForExpired { .. }
            | Event::AcksStalled { .. }
            | Event::Reattached { .. } => true,
            Event::Elected { .. }
            | Event::Followed { .. }
            | Event::Heard { .. }
            | Event::TouchesForwarded { .. }
            | Event::Touched { .. }
            | Event::SyncRead { .. }
            | Event::Proposed { .. }
            | Event::Applied { .. }
            | Event::Serving { .. }
            | Event::Acked { .. }
            | Event::Authenticating { .. }
            | Event::Authenticated { .. }
            | Event::Sent { .. }
            | Event::Notified { .. }
            | Event::Rearming { .. }
            | Event::Rearmed { .. }
            | Event::Started { .. } => false,
        }
    }
}
