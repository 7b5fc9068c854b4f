//! Bugs as data: each historical or present defect is a named switch, off by default, read at the one place in the
//! code where its rule applies. A release is a set of bugs, which follows from its number and the table of [`CHANGES`].

mod bug;
mod bugs;
mod changes;
mod lists;
mod number;
mod operations;
mod ranges;

pub use bug::Bug;
pub use bugs::Bugs;
pub use changes::{CHANGES, Change};
pub use number::ReleaseNumber;
pub use ranges::Range;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A ZooKeeper release, as the set of its known defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Release {
    /// apache/zookeeper master of July 2026, as described in `RULES.md`.
    Head,
    /// Release 3.8.0, without the repairs of Debian's package.
    V3_8_0,
    /// HEAD with every broken promise repaired; the default of the catalogue.
    #[default]
    Repaired,
    /// Release 3.4.14.
    V3_4_14,
    /// Release 3.5.10.
    V3_5_10,
    /// Release 3.6.3.
    V3_6_3,
    /// Release 3.6.4.
    V3_6_4,
    /// Release 3.7.2.
    V3_7_2,
    /// Release 3.8.4.
    V3_8_4,
    /// Release 3.8.6.
    V3_8_6,
    /// Release 3.9.2.
    V3_9_2,
    /// Release 3.9.3.
    V3_9_3,
    /// Release 3.9.5.
    V3_9_5,
}

impl Release {
    /// All releases, from the oldest to HEAD, and then HEAD repaired.
    pub const ALL: [Release; 13] = [
        Release::V3_4_14,
        Release::V3_5_10,
        Release::V3_6_3,
        Release::V3_6_4,
        Release::V3_7_2,
        Release::V3_8_0,
        Release::V3_8_4,
        Release::V3_8_6,
        Release::V3_9_2,
        Release::V3_9_3,
        Release::V3_9_5,
        Release::Head,
        Release::Repaired,
    ];

    /// Returns the release with this name: its number, `head` or `repaired`.
    pub fn named(name: &str) -> Option<Release> {
        Release::ALL.into_iter().find(|release| release.to_string() == name)
    }

    /// Returns the number of the release; `None` for HEAD repaired, which was never released.
    pub fn number(self) -> Option<ReleaseNumber> {
        let (minor, patch) = match self {
            Release::V3_4_14 => (4, 14),
            Release::V3_5_10 => (5, 10),
            Release::V3_6_3 => (6, 3),
            Release::V3_6_4 => (6, 4),
            Release::V3_7_2 => (7, 2),
            Release::V3_8_0 => (8, 0),
            Release::V3_8_4 => (8, 4),
            Release::V3_8_6 => (8, 6),
            Release::V3_9_2 => (9, 2),
            Release::V3_9_3 => (9, 3),
            Release::V3_9_5 => (9, 5),
            Release::Head => return Some(ReleaseNumber::MASTER),
            Release::Repaired => return None,
        };
        Some(ReleaseNumber::new(3, minor, patch))
    }

    /// Returns the release's bugs: those of the changes that it has.
    pub fn bugs(self) -> Bugs {
        let Some(number) = self.number() else { return Bugs::NONE };
        CHANGES.iter().filter(|change| change.is_in(number)).map(|change| change.bug).collect()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Release::Head => f.write_str("head"),
            Release::Repaired => f.write_str("repaired"),
            release => release.number().expect("it was released").fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_has_a_name_of_its_own() {
        for release in Release::ALL {
            assert_eq!(Release::named(&release.to_string()), Some(release));
        }
        assert_eq!(Release::named("3.8.1"), None);
        let numbers: Vec<_> = Release::ALL.into_iter().filter_map(Release::number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }

    #[test]
    fn no_release_has_a_planted_bug() {
        for release in Release::ALL {
            assert!(!release.bugs().iter().any(Bug::is_planted), "{release:?}");
        }
    }

    #[test]
    fn every_defect_of_releases_has_its_change() {
        let changes: Vec<Bug> = CHANGES.iter().map(|change| change.bug).collect();
        assert_eq!(changes, Bug::of_releases().collect::<Vec<_>>());
    }

    /// A list of first releases is in order, with one for each line; otherwise [`ReleaseNumber::has`] means nothing.
    #[test]
    fn the_first_releases_of_a_change_are_in_order() {
        let line =
            |number: &ReleaseNumber| number.to_string().rsplit_once('.').map(|it| it.0.to_owned());
        for Change { bug, begins, ends, .. } in CHANGES {
            for list in [begins, ends] {
                assert!(list.is_sorted(), "{bug}: {list:?}");
                let mut lines: Vec<_> = list.iter().map(line).collect();
                lines.dedup();
                assert_eq!(lines.len(), list.len(), "{bug}: {list:?}");
            }
        }
    }

    /// The learner's synchronisation was changed five times; each change repaired some of these and brought others.
    #[test]
    fn each_form_of_the_synchronisation_is_of_its_releases() {
        let of = |bug: Bug| {
            let has = |release: &Release| release.bugs().has(bug);
            let names = Release::ALL.into_iter().filter(has).map(|release| release.to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        let log_thread = "3.5.10 3.6.3 3.6.4 3.7.2 3.8.0 3.8.4";
        let role = "3.5.10 3.6.3 3.6.4 3.7.2 3.8.0 3.8.4 3.8.6 3.9.2";
        for (tracker, bug, releases) in [
            (3911, Bug::DiffAckedUnlogged, "3.4.14"),
            (4643, Bug::EpochBeforeLog, log_thread),
            (4646, Bug::NewLeaderAckedBeforeFsync, log_thread),
            (4685, Bug::ProposalsAckedFirst, log_thread),
            (4394, Bug::PendingClearedAtNewLeader, role),
            (4712, Bug::LogThreadOutlivesRole, role),
            (4925, Bug::SyncSkipsCommittedLog, "3.9.3"),
            (2845, Bug::TailNotApplied, ""),
            (3642, Bug::InterruptedSnapKeepsTree, "3.4.14"),
            (2872, Bug::SnapNotFsynced, "3.4.14"),
        ] {
            assert_eq!(of(bug), releases, "{bug}");
            let change = CHANGES.iter().find(|change| change.bug == bug);
            assert_eq!(change.expect("it has one").tracker, Some(tracker), "{bug}");
        }
    }

    #[test]
    fn a_release_has_what_is_not_repaired_yet() {
        let has = |release: Release, bug| release.bugs().has(bug);
        assert!(has(Release::Head, Bug::RefuseNewerZxid));
        assert!(!has(Release::Head, Bug::GapsAreReplayed));
        // Repaired in 3.9.4, and not before.
        assert!(has(Release::V3_9_3, Bug::GapsAreReplayed));
        assert!(!has(Release::V3_9_5, Bug::GapsAreReplayed));
        // Repaired in 3.8.4 and in 3.9.2.
        assert!(has(Release::V3_8_0, Bug::ExistsAsksNoAcl));
        assert!(!has(Release::V3_8_4, Bug::ExistsAsksNoAcl));
        assert!(!has(Release::V3_9_2, Bug::ExistsAsksNoAcl));
        // Repaired in master alone.
        assert!(has(Release::V3_9_5, Bug::VersionBecomesMinusOne));
        assert!(!has(Release::Head, Bug::VersionBecomesMinusOne));
    }
}
