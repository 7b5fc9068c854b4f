//! What a user can lose by each defect of releases, in a sentence, grouped by consequence.

use super::MUSEUM;
use crate::findings::{FINDINGS, Finding, Switch};
use std::collections::BTreeSet;
use vivarium_model::release::{Bug, Release};

/// The kind of a loss, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Consequence {
    /// An answered write, or everything, is gone on every server.
    Lost,
    /// One server has another tree than the others, for good.
    Diverged,
    /// A promise about reads, ACLs, watches or requests is broken.
    Promise,
    /// Servers do not start, do not join or do not answer.
    Availability,
}

use Consequence::{Availability, Diverged, Lost, Promise};

impl Consequence {
    /// All kinds.
    pub(super) const ALL: [Consequence; 4] = [Lost, Diverged, Promise, Availability];

    /// Returns the title of a list of such losses.
    pub(super) fn title(self) -> &'static str {
        match self {
            Lost => "Answered writes are gone on every server",
            Diverged => "Servers differ for good",
            Promise => "Promises about reads, watches, ACLs and requests are broken",
            Availability => "Servers do not start, join or answer",
        }
    }
}

/// What a defect can lose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// The defect.
    pub(super) bug: Bug,
    /// The kind.
    pub(super) consequence: Consequence,
    /// The loss in one sentence.
    pub(super) says: &'static str,
    /// The finding with the run of real servers.
    pub(super) finding: Option<&'static Finding>,
}

impl Loss {
    /// Returns all losses, by consequence and then in the order of the findings.
    pub(super) fn all() -> Vec<Loss> {
        let of_finding = |finding: &'static Finding| match finding.switch {
            Switch::Bug(bug) => {
                let (_, consequence) =
                    OF_FINDINGS.iter().find(|(name, _)| *name == finding.name)?;
                let (consequence, says) = (*consequence, finding.loses);
                Some(Loss { bug, consequence, says, finding: Some(finding) })
            }
            Switch::Fault(_) | Switch::Mutant(_) => None,
        };
        let own = |(bug, consequence, says): &(Bug, Consequence, &'static str)| Loss {
            bug: *bug,
            consequence: *consequence,
            says,
            finding: None,
        };
        let mut all: Vec<Loss> = FINDINGS.iter().filter_map(of_finding).collect();
        all.extend(OWN.iter().map(own));
        all.sort_by_key(|loss| loss.consequence);
        all
    }

    /// Returns the releases whose real servers have shown the loss.
    pub(super) fn seen_on(&self) -> &'static [Release] {
        self.finding.map_or(&[], |finding| finding.seen_on)
    }

    /// Returns the names of the properties that runs with the defect violate.
    pub(super) fn properties(&self) -> BTreeSet<&'static str> {
        let of_bug = MUSEUM.iter().filter(|exhibit| exhibit.bug() == Some(self.bug));
        of_bug.map(|exhibit| exhibit.property).collect()
    }
}

/// The kinds of the findings that are defects of the servers.
const OF_FINDINGS: &[(&str, Consequence)] = &[
    ("snapshot-written-in-place", Lost),
    ("acks-outlive-reconnect", Lost),
    ("observer-epoch-before-log", Lost),
    ("unlogged-observer-votes", Lost),
    ("trunc-cuts-committed", Lost),
    ("trunc-snapshot-unsynced", Lost),
    ("apply-outlives-role", Lost),
    ("torn-record-hides-log", Lost),
    ("uncommitted-config-activated", Diverged),
    ("next-config-deleted-at-start", Diverged),
    ("trunc-keeps-record-beyond", Diverged),
    ("failed-write-comes-later", Diverged),
    ("trunc-keeps-newer-snapshot", Diverged),
    ("snapshot-outlives-role", Diverged),
    ("trunc-unsynced", Diverged),
    ("snap-keeps-old-log", Diverged),
    ("snapshot-ahead-of-log", Diverged),
    ("interrupted-trunc-keeps-tree", Diverged),
    ("fsync-error-keeps-memory", Diverged),
    ("acl-by-number", Promise),
    ("outstanding-acl-is-old", Promise),
    ("container-list-is-old", Promise),
    ("sync-overtakes-commits", Promise),
    ("first-snapshot-unsynced", Availability),
    ("long-record-unreadable", Availability),
    ("acl-unknown-at-start", Availability),
    ("rename-unsynced", Availability),
    ("refuse-newer-zxid", Availability),
    ("joiner-keeps-vote", Availability),
    ("old-quorum-still-needed", Availability),
    ("uncommitted-config-keeps-out", Availability),
    ("leader-ignores-newer-epoch", Availability),
    ("observers-told-old-votes", Availability),
    ("observers-answer", Availability),
];

/// The defects that are no findings: they are known, and mostly repaired in later releases.
#[rustfmt::skip]
const OWN: &[(Bug, Consequence, &str)] = &[
    (Bug::ObserversCounted, Lost, "A write that was answered is replaced by another one, after two leaders have had the same epoch in an ensemble with observers."),
    (Bug::DiffAckedUnlogged, Lost, "A write that was answered is gone on every server, after servers have crashed while a new leader synchronised them."),
    (Bug::EpochBeforeLog, Lost, "A write that was answered is gone on every server, after one has crashed while it joined and another has failed."),
    (Bug::NewLeaderAckedBeforeFsync, Lost, "A write that was answered is gone on every server, after servers have crashed while a new leader synchronised them."),
    (Bug::LogThreadOutlivesRole, Diverged, "One server shows, after its next start, a write that was never committed."),
    (Bug::TreeTakenBeforeLogEnds, Diverged, "One server shows, after its next start, a write that was never committed."),
    (Bug::TailNotApplied, Diverged, "One server shows, after its next start, a write that was never committed."),
    (Bug::SyncSkipsCommittedLog, Diverged, "A write that was answered is missing on servers that have joined a leader which had itself just joined."),
    (Bug::GapsAreReplayed, Diverged, "A server whose log lacks transactions starts, and serves a tree without them."),
    (Bug::DiffWithoutTrunc, Diverged, "A server keeps a write that was never committed, after it has joined another leader."),
    (Bug::DiffMovesZxidAhead, Diverged, "A server lacks writes for good, after its leader has failed while it sent them."),
    (Bug::LogEndsBeforeWindow, Diverged, "A server lacks writes for good, after it has joined a leader whose log ends before what it has in memory."),
    (Bug::EpochFileNotCompleted, Availability, "A server does not start any more, after it has crashed while it wrote its epoch."),
    (Bug::LeaderOfAnotherRound, Availability, "A server leads alone until initLimit has passed, by votes that are not current."),
    (Bug::EqualZxidsIgnoreEpoch, Availability, "Servers elect no leader, because each of three votes wins against the next."),
    (Bug::CounterWraps, Diverged, "A write has the zxid with which the next leader opens its epoch, after 4,294,967,295 transactions under one leader."),
    (Bug::ClosingSessionWrites, Promise, "An ephemeral znode is created after the end of its session, and stays."),
    (Bug::RearmedByAge, Promise, "A program that waits for a znode is notified of a change of its data, and one that reads it of its creation."),
    (Bug::EstablishedVotesDiffer, Availability, "A server that comes back does not join the ensemble, which serves without it."),
    (Bug::FoundConfigNotActivated, Availability, "The members of the ensemble cannot be changed any more."),
    (Bug::LogWithoutSnapshotReplayed, Diverged, "A server whose snapshots are lost starts from an empty database, and serves a tree without what they had."),
    (Bug::InterruptedSnapKeepsTree, Diverged, "One server serves a tree that the ensemble never had, after its leader has failed while it sent a snapshot."),
    (Bug::SnapNotFsynced, Diverged, "What a server has received as a snapshot is gone there, after its power has failed."),
    (Bug::MasterDropsProposed, Diverged, "An observer of a follower lacks a write for good, after the follower has joined its leader while the write was proposed."),
    (Bug::MasterOmitsCommitted, Diverged, "An observer of a follower lacks writes for good, after it has connected to a follower that had just joined its leader."),
    (Bug::HandlersOutliveMaster, Diverged, "An observer shows writes that were never committed, after its follower has left its role while the observer connected."),
    (Bug::MasterIsOneOwner, Promise, "A request is executed after later ones of its session, which has moved between a follower and its observers."),
    (Bug::ExistsAsksNoAcl, Promise, "A client without READ on a znode gets its Stat by exists."),
    (Bug::EventsAskNoAcl, Promise, "A client without READ on a znode is notified of its changes."),
    (Bug::MultiTellsNoStat, Promise, "A create2 in a multi returns no Stat."),
    (Bug::VersionBecomesMinusOne, Promise, "A write on condition of version -1, which a znode has after 4,294,967,295 changes, is applied unconditionally."),
    (Bug::OneWatchModePerPath, Promise, "A client that sets a second watch of another mode on a path loses the first."),
    (Bug::RecursiveWatchIsChildWatch, Promise, "A client with a recursive watch is also notified as if it had a child watch."),
    (Bug::CheckWatchesSeesOthers, Promise, "checkWatches finds a watch that only another client has."),
    (Bug::NoPersistentWatcherTypes, Promise, "A client cannot remove its persistent watches: the request is answered MarshallingError."),
    (Bug::MissedWakeUp, Availability, "A server stops to answer, although a commit waits, until another event arrives."),
    (Bug::ProposalsAckedFirst, Availability, "A new leader gives up after initLimit ticks although a majority follows it, and no server serves meanwhile."),
    (Bug::PendingClearedAtNewLeader, Availability, "A server that joins under load leaves its leader by an exception, again and again."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::release::CHANGES;

    #[test]
    fn every_defect_of_a_release_has_its_loss() {
        let all = Loss::all();
        for change in CHANGES {
            assert!(all.iter().any(|loss| loss.bug == change.bug), "{} has none", change.bug);
        }
        let of_findings = all.iter().filter(|loss| loss.finding.is_some()).count();
        assert_eq!(of_findings, OF_FINDINGS.len(), "a name that is no finding");
        let is_bug = |finding: &&Finding| matches!(finding.switch, Switch::Bug(_));
        assert_eq!(of_findings, FINDINGS.iter().filter(is_bug).count(), "a finding without a kind");
        assert!(all.iter().all(|loss| loss.says.ends_with('.')));
    }

    #[test]
    fn a_loss_without_a_property_is_a_difference_that_breaks_none() {
        for loss in Loss::all() {
            let has_none = loss.properties().is_empty();
            assert!(!has_none || Bug::DIFFERENCES.contains(&loss.bug), "{}", loss.bug);
        }
    }
}
