//! Marks and faults: what a run has reached, counted.
//!
//! A property that holds says little if nothing happened that could break it. So a scenario
//! declares the marks that its runs must reach, and a verdict names those that none reached. Marks
//! are read off the events; faults are counted as the steps that they are.

use crate::property::View;
use crate::vocabulary::event::{Event, SyncMode};
use crate::vocabulary::id::{ServerId, SessionId, Xid};
use crate::vocabulary::op::SessionState;
use crate::vocabulary::step::{Step, Tail};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// There is nothing of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not the name of a {kind}; the names are: {known}")]
pub struct UnknownName {
    /// What was asked for.
    pub name: String,
    /// A name of what.
    pub kind: &'static str,
    /// The names that there are.
    pub known: String,
}

/// Declares an enum whose variants have a name: for people, for reports (serde) and for parsing.
macro_rules! named {
    (
        $(#[$attribute:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $enum {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl $enum {
            /// All of them, in the order of reports.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            /// The name in reports and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $enum {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<$enum, UnknownName> {
                $enum::ALL.iter().copied().find(|each| each.name() == name).ok_or_else(|| {
                    let known = [$($name),*].join(", ");
                    UnknownName { name: name.to_owned(), kind: $kind, known }
                })
            }
        }
    };
}

named! {
    /// Something that a run reached.
    pub enum Mark ("mark") {
        /// A learner was synchronised by DIFF.
        SyncByDiff = "sync by DIFF",
        /// A learner was synchronised by TRUNC.
        SyncByTrunc = "sync by TRUNC",
        /// A learner was synchronised by SNAP.
        SyncBySnap = "sync by SNAP",
        /// The reply to a create was lost; when the session was connected again, the znode had been
        /// created.
        LostReplyApplied = "lost reply: applied",
        /// The reply to a create was lost, and the znode was never created by it.
        LostReplyNeverApplied = "lost reply: never applied",
        /// The reply to a create was lost; when the session was connected again, nothing had been
        /// committed, and the create was committed after that.
        LostReplyPending = "lost reply: pending",
        /// A session was connected to another server than before.
        SessionMoved = "session moved",
        /// A server elected a new leader, which was established later, while the previous one was
        /// dead.
        ElectionWithDeadLeader = "election with dead leader",
        /// A client was told that its session is expired.
        SessionExpired = "session expired",
        /// A crash lost transactions that had not been synced.
        UnsyncedTailLost = "unsynced tail lost",
        /// A server refused to start, or its process gave up.
        ServerExited = "server exited",
        /// A leader was established after one of a newer epoch had been.
        LateLeader = "late leader",
    }
}

named! {
    /// A kind of fault, by the step that it is (two are none: they only move other steps).
    pub enum FaultKind ("kind of fault") {
        /// A server crashes, and loses its unsynced tail or a part of it.
        Crash = "crash",
        /// A server crashes and leaves a half-written transaction at the end of its log.
        TornTail = "crash with torn tail",
        /// A crashed server starts again.
        Restart = "restart",
        /// A server leaves its role, memory kept.
        Rejoin = "rejoin",
        /// A client's connection breaks.
        ConnectionBreak = "connection break",
        /// A learner's connection to its leader breaks.
        LearnerBreak = "learner connection break",
        /// One direction between two machines is cut. A partition is several of these.
        Partition = "partition",
        /// A session is expired before its time.
        SessionExpiry = "session expiry",
        /// A program's process dies.
        ProgramCrash = "program crash",
        /// A client machine stands still for a while.
        Pause = "pause",
        /// A program is cancelled at an await point.
        Cancellation = "cancellation",
        /// A server's fsync fails, and it leaves its role.
        FsyncError = "fsync error",
        /// A machine's packets take much longer for a while. No step: the engine's clock does it.
        DelayBurst = "delay burst",
        /// A server's disk makes nothing durable for a while. No step: the engine's clock does it.
        DiskStall = "disk stall",
    }
}

impl FaultKind {
    /// What kind of fault a step is. Restarts count, being half of what a crash does to an
    /// ensemble; other repairs (heal, resume) do not.
    pub fn of(step: &Step) -> Option<FaultKind> {
        Some(match step {
            Step::Crash { tail: Tail { torn: true, .. }, .. } => FaultKind::TornTail,
            Step::Crash { .. } => FaultKind::Crash,
            Step::Restart(_) => FaultKind::Restart,
            Step::Rejoin(_) => FaultKind::Rejoin,
            Step::FsyncError { .. } => FaultKind::FsyncError,
            Step::BreakClient { .. } => FaultKind::ConnectionBreak,
            Step::BreakLearner { .. } => FaultKind::LearnerBreak,
            Step::Cut { .. } => FaultKind::Partition,
            Step::Expire(_) => FaultKind::SessionExpiry,
            Step::Kill(_) => FaultKind::ProgramCrash,
            Step::Pause(_) => FaultKind::Pause,
            Step::Cancel(_) => FaultKind::Cancellation,
            _ => return None,
        })
    }
}

/// Counts faults by the steps that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultCounter {
    counts: BTreeMap<FaultKind, u64>,
}

impl FaultCounter {
    /// Nothing has failed yet.
    pub fn new() -> FaultCounter {
        FaultCounter::default()
    }

    /// Counts a step that was done, if it is a fault.
    pub fn step(&mut self, step: &Step) {
        if let Some(kind) = FaultKind::of(step) {
            self.fault(kind);
        }
    }

    /// Counts a fault that is no step.
    pub fn fault(&mut self, kind: FaultKind) {
        *self.counts.entry(kind).or_default() += 1;
    }

    /// How often each kind happened; kinds that did not happen are absent.
    pub fn counts(&self) -> &BTreeMap<FaultKind, u64> {
        &self.counts
    }
}

/// A create on its way, from the request to the end of all doubt about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Create {
    /// Its connection broke before the reply was read.
    lost: bool,
    /// The session was connected again since, and nothing was committed by then.
    pending: bool,
    /// Committed: whether it succeeded.
    committed: Option<bool>,
}

/// Counts marks. It eats every event as a monitor does, but never objects.
#[derive(Clone, Debug, Default)]
pub struct MarkCounter {
    counts: BTreeMap<Mark, u64>,
    creates: BTreeMap<(SessionId, Xid), Create>,
    servers: BTreeMap<SessionId, ServerId>,
    leader: Option<ServerId>,
    newest_epoch: Option<Epoch>,
    dead: BTreeSet<ServerId>,
    /// Elected while the leader before them was dead, and not yet established.
    successors: BTreeSet<ServerId>,
}

impl MarkCounter {
    /// Nothing was reached yet.
    pub fn new() -> MarkCounter {
        MarkCounter::default()
    }

    /// How often each mark was reached; marks that were not reached are absent.
    pub fn counts(&self) -> &BTreeMap<Mark, u64> {
        &self.counts
    }

    /// Eats one event.
    pub fn event(&mut self, _view: View<'_>, event: &Event) {
        match event {
            Event::Synchronising { mode, .. } => self.count(match mode {
                SyncMode::Diff => Mark::SyncByDiff,
                SyncMode::Trunc => Mark::SyncByTrunc,
                SyncMode::Snap => Mark::SyncBySnap,
            }),
            Event::Sent { session, xid, request, .. } if request.is_create() => {
                self.creates.insert((*session, *xid), Create::default());
            }
            Event::Replied { session, xid, .. } => {
                self.creates.remove(&(*session, *xid));
            }
            Event::Lost { session, xid, .. } => {
                if let Some(create) = self.creates.get_mut(&(*session, *xid)) {
                    create.lost = true;
                }
            }
            Event::Committed { txn, .. } => self.committed(txn),
            Event::Session { session: Some(session), server, state, .. } => {
                self.session(*session, *server, *state);
            }
            _ => self.server(event),
        }
    }

    /// The run is over: what is not committed by now never will be.
    pub fn finish(&mut self, _view: View<'_>) {
        for create in std::mem::take(&mut self.creates).into_values() {
            self.decide(create);
        }
    }

    fn server(&mut self, event: &Event) {
        match event {
            Event::Elected { leader, .. } => {
                let dead = self.leader.is_some_and(|previous| self.dead.contains(&previous));
                if dead && !self.dead.contains(leader) {
                    self.successors.insert(*leader);
                }
            }
            Event::Established { leader, epoch, .. } => {
                if self.newest_epoch.is_some_and(|newest| *epoch < newest) {
                    return self.count(Mark::LateLeader);
                }
                if self.successors.contains(leader) {
                    self.count(Mark::ElectionWithDeadLeader);
                }
                self.successors.clear();
                self.leader = Some(*leader);
                self.newest_epoch = Some(*epoch);
            }
            Event::Crashed { server, lost } => {
                self.dead.insert(*server);
                self.successors.remove(server);
                if *lost > 0 {
                    self.count(Mark::UnsyncedTailLost);
                }
            }
            Event::Exited { server, .. } => {
                self.dead.insert(*server);
                self.successors.remove(server);
                self.count(Mark::ServerExited);
            }
            Event::Restarted { server } => {
                self.dead.remove(server);
            }
            _ => {}
        }
    }

    fn committed(&mut self, txn: &Txn) {
        let key = (txn.session, txn.cxid);
        let Some(create) = self.creates.get_mut(&key) else { return };
        create.committed = Some(!matches!(txn.body, TxnBody::Error(_) | TxnBody::FailedMulti(_)));
        if create.pending {
            let create = *create;
            self.creates.remove(&key);
            self.decide(create);
        }
    }

    fn session(&mut self, session: SessionId, server: Option<ServerId>, state: SessionState) {
        match state {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                if let Some(server) = server
                    && self.servers.insert(session, server).is_some_and(|before| before != server)
                {
                    self.count(Mark::SessionMoved);
                }
                self.reattached(session);
            }
            SessionState::Disconnected => {}
            SessionState::Expired | SessionState::Closed | SessionState::AuthFailed => {
                if state == SessionState::Expired {
                    self.count(Mark::SessionExpired);
                }
                self.servers.remove(&session);
                for (_, create) in self.take_creates(session) {
                    self.decide(create);
                }
            }
        }
    }

    /// The session is connected again: its lost creates are committed by now, or pending.
    fn reattached(&mut self, session: SessionId) {
        for (key, create) in self.take_creates(session) {
            match create {
                Create { lost: true, committed: Some(_), .. } => self.decide(create),
                Create { lost: true, committed: None, .. } => {
                    self.creates.insert(key, Create { pending: true, ..create });
                }
                Create { lost: false, .. } => {
                    self.creates.insert(key, create);
                }
            }
        }
    }

    fn take_creates(&mut self, session: SessionId) -> Vec<((SessionId, Xid), Create)> {
        let range = (session, Xid(0))..=(session, Xid(u32::MAX));
        let keys: Vec<_> = self.creates.range(range).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.creates.remove_entry(&key)).collect()
    }

    /// Counts a lost create whose fate is settled.
    fn decide(&mut self, create: Create) {
        if !create.lost {
            return;
        }
        self.count(match create.committed {
            Some(true) if create.pending => Mark::LostReplyPending,
            Some(true) => Mark::LostReplyApplied,
            Some(false) | None => Mark::LostReplyNeverApplied,
        });
    }

    fn count(&mut self, mark: Mark) {
        *self.counts.entry(mark).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
