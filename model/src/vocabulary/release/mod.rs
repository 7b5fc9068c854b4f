//! Bugs as data: each historical or present defect is a named switch, off by default, read at the one place in the
//! code where its rule applies. A release is a set of bugs.

mod bug;

pub use bug::Bug;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A set of [`Bug`]s. Its serialised form is the list of names, so records stay valid when bugs are added.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Bugs(u128);

const _: () = assert!(Bug::ALL.len() <= u128::BITS as usize, "a bit for each bug");

impl Bugs {
    /// No bug: every rule in its repaired form.
    pub const NONE: Bugs = Bugs(0);

    /// Returns this set with one more bug.
    pub fn with(self, bug: Bug) -> Bugs {
        Bugs(self.0 | 1 << bug as u32)
    }

    /// Returns this set without one bug.
    #[must_use]
    pub fn without(self, bug: Bug) -> Bugs {
        Bugs(self.0 & !(1 << bug as u32))
    }

    /// Returns true if the set contains `bug`.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u32) != 0
    }

    /// The bugs of the set, in the order of [`Bug::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Bug> {
        Bug::ALL.into_iter().filter(move |bug| self.has(*bug))
    }
}

impl FromIterator<Bug> for Bugs {
    fn from_iter<I: IntoIterator<Item = Bug>>(bugs: I) -> Bugs {
        bugs.into_iter().fold(Bugs::NONE, Bugs::with)
    }
}

impl fmt::Debug for Bugs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Bugs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Bugs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bugs, D::Error> {
        Vec::<Bug>::deserialize(deserializer).map(Bugs::from_iter)
    }
}

/// A ZooKeeper release, as the set of its known defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Release {
    /// apache/zookeeper master of July 2026, as described in `RULES.md`.
    Head,
    /// Release 3.8.0 as far as known: HEAD's defects, and those repaired between the two ([`Bug::OF_3_8_0`]).
    V3_8_0,
    /// HEAD with every broken promise repaired; the default of the catalogue.
    #[default]
    Repaired,
}

impl Release {
    /// The release's bugs.
    pub fn bugs(self) -> Bugs {
        match self {
            Release::V3_8_0 => {
                Bug::of_releases().filter(|bug| !Bug::BEFORE_3_8_0.contains(bug)).collect()
            }
            Release::Head => {
                let of_3_8_0 = Release::V3_8_0.bugs();
                of_3_8_0.iter().filter(|bug| !Bug::OF_3_8_0.contains(bug)).collect()
            }
            Release::Repaired => Bugs::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_written_down_by_name() {
        for bug in Bug::ALL {
            let set = Bugs::NONE.with(bug);
            let json = serde_json::to_string(&set).expect("a list");
            assert_eq!(json, format!("[\"{bug}\"]"));
            assert_eq!(serde_json::from_str::<Bugs>(&json).expect("the same"), set);
        }
        let all: Bugs = Bug::ALL.into_iter().collect();
        let json = serde_json::to_string(&all).expect("a list");
        assert_eq!(serde_json::from_str::<Bugs>(&json).expect("the same"), all);
        assert_eq!(serde_json::to_string(&Bugs::NONE).expect("a list"), "[]");
        assert!(serde_json::from_str::<Bugs>(r#"["NoSuchBug"]"#).is_err());
        assert!(serde_json::from_str::<Bugs>("4").is_err(), "positions mean nothing");
    }

    #[test]
    fn no_release_has_a_planted_bug() {
        for release in [Release::Head, Release::V3_8_0, Release::Repaired] {
            let bugs = release.bugs();
            assert!(!bugs.iter().any(Bug::is_planted), "{release:?}");
        }
        assert_eq!(
            Release::V3_8_0.bugs().iter().count(),
            Bug::of_releases().count() - Bug::BEFORE_3_8_0.len()
        );
        let head = Release::Head.bugs();
        assert!(head.has(Bug::RefuseNewerZxid) && !head.has(Bug::GapsAreReplayed));
    }
}
