//! The numbers of releases, and what is in a release by its number.

use std::fmt;

/// The number of a release, such as 3.8.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseNumber {
    line: (u8, u8),
    patch: u8,
}

impl ReleaseNumber {
    /// The master branch: newer than every release.
    pub const MASTER: ReleaseNumber = ReleaseNumber::new(u8::MAX, 0, 0);

    /// Returns a number: `new(3, 8, 4)` is 3.8.4.
    pub const fn new(major: u8, minor: u8, patch: u8) -> ReleaseNumber {
        ReleaseNumber { line: (major, minor), patch }
    }

    /// Returns true if a change is in this release. `first` contains, for each release line that got the change, the
    /// first release with it; the lines after the last of these have it from their beginning.
    pub fn has(self, first: &[ReleaseNumber]) -> bool {
        let in_line = first.iter().find(|number| number.line == self.line);
        match in_line {
            Some(number) => number.patch <= self.patch,
            None => first.iter().max().is_some_and(|last| last.line < self.line),
        }
    }
}

impl fmt::Display for ReleaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReleaseNumber { line: (major, minor), patch } = self;
        match *self == ReleaseNumber::MASTER {
            true => f.write_str("master"),
            false => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn n(minor: u8, patch: u8) -> ReleaseNumber {
        ReleaseNumber::new(3, minor, patch)
    }

    #[test]
    fn a_backport_is_in_its_line_alone() {
        let first = [n(5, 9), n(6, 3), n(8, 0)];
        for (number, has) in [
            (n(4, 14), false),
            (n(5, 8), false),
            (n(5, 9), true),
            (n(5, 10), true),
            (n(6, 0), false),
            (n(6, 4), true),
            (n(7, 2), false),
            (n(8, 0), true),
            (n(9, 0), true),
            (ReleaseNumber::MASTER, true),
        ] {
            assert_eq!(number.has(&first), has, "{number}");
        }
    }

    #[test]
    fn what_only_master_has_is_in_no_release() {
        assert!(!n(9, 5).has(&[ReleaseNumber::MASTER]));
        assert!(ReleaseNumber::MASTER.has(&[ReleaseNumber::MASTER]));
        assert!(!ReleaseNumber::MASTER.has(&[]));
    }

    #[test]
    fn a_number_is_written_as_people_write_it() {
        assert_eq!(n(4, 14).to_string(), "3.4.14");
        assert_eq!(ReleaseNumber::MASTER.to_string(), "master");
    }
}
