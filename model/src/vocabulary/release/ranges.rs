//! The ranges of releases that have a defect, from the first to the last of each.

use super::{Change, ReleaseNumber};
use std::fmt;
use std::iter::once;

/// The release lines, each with its last release as of July 2026.
const LINES: [(u8, u8); 6] = [(4, 14), (5, 10), (6, 4), (7, 2), (8, 6), (9, 5)];

/// Returns the numbers of all releases since 3.4.0 in order, and master after them.
fn numbers() -> impl Iterator<Item = ReleaseNumber> {
    let of_line = |(minor, last)| (0..=last).map(move |patch| ReleaseNumber::new(3, minor, patch));
    LINES.into_iter().flat_map(of_line).chain(once(ReleaseNumber::MASTER))
}

/// The releases from one to another, without a gap between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first release.
    pub first: ReleaseNumber,
    /// The last release, or master.
    pub last: ReleaseNumber,
}

impl Change {
    /// Returns the releases with the defect, as ranges in order.
    pub fn ranges(&self) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        let mut goes_on = false;
        for number in numbers() {
            match ranges.last_mut().filter(|_| goes_on) {
                Some(range) if self.is_in(number) => range.last = number,
                _ if self.is_in(number) => ranges.push(Range { first: number, last: number }),
                _ => {}
            }
            goes_on = self.is_in(number);
        }
        ranges
    }

    /// Returns the releases with the defect in words: `3.4.10–3.4.14, 3.6.0 and later`; or that all of them are older than
    /// those that are listed here, or that none of them was released with it.
    pub fn releases(&self) -> String {
        let ranges: Vec<String> = self.ranges().iter().map(ToString::to_string).collect();
        match (ranges.is_empty(), self.ends.last()) {
            (true, Some(end)) if self.begins == self.ends => {
                format!("none: repaired before {end}")
            }
            (true, Some(end)) => format!("before {end}"),
            _ => ranges.join(", "),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { first, last } = self;
        let is_first = numbers().next() == Some(*first);
        match *last == ReleaseNumber::MASTER {
            true if is_first => f.write_str("all"),
            true if first == last => write!(f, "{first}"),
            true => write!(f, "{first} and later"),
            false if first == last => write!(f, "{first}"),
            false => write!(f, "{first}–{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::release::{Bug, CHANGES, Release};

    fn releases(bug: Bug) -> String {
        CHANGES.iter().find(|change| change.bug == bug).expect("it has one").releases()
    }

    #[test]
    fn a_defect_is_in_the_releases_from_the_first_to_the_last_before_its_repair() {
        for (bug, expected) in [
            (Bug::TruncUnsynced, "all"),
            (Bug::SyncOvertakesCommits, "3.5.0 and later"),
            (Bug::TornRecordHidesLog, "3.4.9–3.4.14, 3.5.1 and later"),
            (Bug::DiffAckedUnlogged, "3.4.10–3.4.14, 3.5.3–3.5.9, 3.6.0–3.6.2"),
            (Bug::EpochBeforeLog, "3.5.10, 3.6.3–3.8.4, 3.9.0–3.9.1"),
            (Bug::SyncSkipsCommittedLog, "3.9.3"),
            (Bug::DiffWithoutTrunc, "before 3.4.0"),
            (Bug::FoundConfigNotActivated, "none: repaired before 3.5.0"),
            (Bug::EpochFileNotCompleted, "3.4.0–3.4.5, 3.5.0–3.5.9, 3.6.0–3.6.2, 3.7.0"),
            (Bug::LogEndsBeforeWindow, "3.5.0–3.5.10"),
            (Bug::VersionBecomesMinusOne, "3.4.0–3.9.5"),
            (Bug::ObserversCounted, "3.4.0–3.4.12, 3.5.0–3.5.3"),
        ] {
            assert_eq!(releases(bug), expected, "{bug}");
        }
    }

    #[test]
    fn every_release_that_can_be_chosen_is_one_of_a_line() {
        for number in Release::ALL.into_iter().filter_map(Release::number) {
            assert!(numbers().any(|known| known == number), "{number}");
        }
        assert!(numbers().collect::<Vec<_>>().is_sorted());
        for change in CHANGES {
            let is_older = change.ends.contains(&ReleaseNumber::new(3, 4, 0));
            let never = is_older || change.begins == change.ends && !change.ends.is_empty();
            assert_eq!(change.ranges().is_empty(), never, "{}", change.bug);
        }
    }
}
