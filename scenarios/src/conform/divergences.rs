//! The only table of differences between older releases and today's. Release 3.8.0 is Debian's version, with later
//! security repairs: it withholds watch events from clients that may not read (ZOOKEEPER-4799, CVE-2024-23944),
//! although the original release did not. No other difference is excused: with these switches on, every answer of the
//! model must equal the server's.

use super::releases::INSTALLED;
use vivarium_model::release::{Bug, Bugs};

/// The releases in this table.
pub const KNOWN: [&str; 2] = [INSTALLED, "3.9.5"];

/// A difference of a release from today's.
#[derive(Clone, Copy, Debug)]
pub struct VersionOwn {
    /// The model's switch.
    pub switch: Bug,
    /// The first releases without this behaviour.
    pub until: &'static str,
    /// A description of the behaviour.
    pub what: &'static str,
}

/// The differences of 3.8.0.
pub const OF_3_8_0: [VersionOwn; 7] = [
    VersionOwn {
        switch: Bug::ExistsAsksNoAcl,
        until: "3.8.4, 3.9.2",
        // Rule 1.8.1.
        what: "exists answers every client, even without READ (ZOOKEEPER-2590)",
    },
    VersionOwn {
        switch: Bug::MultiTellsNoStat,
        until: "3.9.0",
        // Rule 1.7.3.
        what: "create2 inside a multi is a create and returns no Stat (before ZOOKEEPER-4026)",
    },
    VersionOwn {
        switch: Bug::VersionBecomesMinusOne,
        until: "master",
        // Rule 1.3.7.
        what: "the version after -2 is -1, not 0 (ZOOKEEPER-4743)",
    },
    VersionOwn {
        switch: Bug::OneWatchModePerPath,
        until: "3.9.0",
        // Rule 3.1.5.
        what: "a connection watches a path in one way only: the newest (ZOOKEEPER-4466)",
    },
    VersionOwn {
        switch: Bug::RecursiveWatchIsChildWatch,
        until: "3.9.0",
        // Rule 3.1.5.
        what: "a recursive watch is among the child watches too (ZOOKEEPER-4475)",
    },
    VersionOwn {
        switch: Bug::CheckWatchesSeesOthers,
        until: "3.9.0",
        // Rule 3.3.3.
        what: "checkWatches finds a watch on the path even if another connection set it (before ZOOKEEPER-4466)",
    },
    VersionOwn {
        switch: Bug::NoPersistentWatcherTypes,
        until: "3.9.0",
        // Rule 3.3.3.
        what: "removeWatches and checkWatches know no types of persistent watches: MarshallingError",
    },
];

impl VersionOwn {
    /// Returns true if a release still has the behaviour: none of the first releases without it belongs to the same
    /// release line and is not newer.
    fn is_of(&self, release: &str) -> bool {
        let numbers = |text: &str| -> Vec<u32> {
            text.split('.').filter_map(|number| number.parse().ok()).collect()
        };
        let release = numbers(release);
        let gone = |text: &str| {
            let first = numbers(text);
            first.len() == 3 && first[..2] == release[..2] && first[2] <= release[2]
        };
        !self.until.split(", ").any(gone)
    }
}

/// Returns the differences of a release in [`KNOWN`].
pub fn of(release: &str) -> impl Iterator<Item = &'static VersionOwn> {
    OF_3_8_0.iter().filter(move |own| own.is_of(release))
}

/// Returns all switches of a release.
pub fn bugs(release: &str) -> Bugs {
    of(release).fold(Bugs::NONE, |bugs, own| bugs.with(own.switch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_release_does_ends_with_the_first_that_does_not() {
        assert_eq!(of("3.8.0").count(), OF_3_8_0.len());
        let newest: Vec<Bug> = of("3.9.5").map(|own| own.switch).collect();
        assert_eq!(newest, [Bug::VersionBecomesMinusOne]);
    }
}
