//! Quotas (rule 1.10): limits on the number of znodes and bytes of a subtree.
//!
//! The data of `/zookeeper/quota/a/b/zookeeper_limits` are the limits of `/a/b`; `zookeeper_stats` beside it has the
//! current numbers. A server updates the statistics in its own tree while it applies, without transactions. Exceeding
//! a soft limit is only logged. `prep` checks hard limits, and only against the applied tree: it ignores creates in
//! flight.

use super::{DataTree, Entry};
use crate::vocabulary::error::Error;
use crate::vocabulary::op::Data;
use crate::vocabulary::path::QUOTA as ROOT;
use std::fmt;
use std::sync::Arc;

const LIMITS: &str = "/zookeeper_limits";
const STATISTICS: &str = "/zookeeper_stats";

/// Returns the path whose limits this znode holds.
pub(super) fn limited_by(path: &str) -> Option<&str> {
    subject(path, LIMITS)
}

/// Returns the path whose statistics this znode holds.
pub(super) fn counted_by(path: &str) -> Option<&str> {
    subject(path, STATISTICS)
}

/// Returns true if the znode's data are a quota's statistics.
pub(crate) fn is_statistics(path: &str) -> bool {
    path.starts_with(ROOT) && counted_by(path).is_some()
}

fn subject<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let subject = path.strip_prefix(ROOT)?.strip_suffix(name)?;
    (!subject.is_empty()).then_some(subject)
}

/// The numbers of a quota znode (`StatsTrack`); -1 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsTrack {
    /// Number of znodes, including the subtree's root.
    pub count: i64,
    /// Bytes of data.
    pub bytes: i64,
    /// The hard limit of `count`.
    pub count_hard_limit: i64,
    /// The hard limit of `bytes`.
    pub byte_hard_limit: i64,
}

impl StatsTrack {
    /// No numbers.
    pub const NONE: StatsTrack =
        StatsTrack { count: -1, bytes: -1, count_hard_limit: -1, byte_hard_limit: -1 };

    /// Parses a text like `count=1,bytes=5=;byteHardLimit=10`. It skips parts that it cannot parse; a server fails on
    /// some of them.
    pub fn parse(data: &[u8]) -> StatsTrack {
        let mut track = StatsTrack::NONE;
        for pair in String::from_utf8_lossy(data).split([',', ';']) {
            let mut parts = pair.split('=');
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
            let Ok(value) = value.parse() else { continue };
            match name {
                "count" => track.count = value,
                "bytes" => track.bytes = value,
                "countHardLimit" => track.count_hard_limit = value,
                "byteHardLimit" => track.byte_hard_limit = value,
                _ => {}
            }
        }
        track
    }
}

impl fmt::Display for StatsTrack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "count={},bytes={}", self.count, self.bytes)?;
        let hard =
            [("byteHardLimit", self.byte_hard_limit), ("countHardLimit", self.count_hard_limit)];
        let mut first = true;
        for (name, limit) in hard.into_iter().filter(|(_, limit)| *limit != -1) {
            // Old parsers stop at the extra `=` and so ignore the hard limits.
            write!(f, "{};{name}={limit}", if first { "=" } else { "" })?;
            first = false;
        }
        Ok(())
    }
}

impl DataTree {
    /// Returns the nearest path that has a quota: this one or an ancestor.
    fn quota_above<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.quotas.is_empty() {
            return None;
        }
        let mut at = path;
        while at.len() > 1 {
            if self.quotas.contains(at) {
                return Some(at);
            }
            at = crate::vocabulary::path::parent(at)?;
        }
        None
    }

    /// Adds the growth of a subtree to its quota's statistics.
    pub(super) fn count_for_quota(&mut self, path: &str, count: i64, bytes: i64) {
        let Some(subject) = self.quota_above(path) else { return };
        self.change_statistics(subject, |track| {
            track.count += count;
            track.bytes += bytes;
        });
    }

    /// Recounts a subtree after the statistics of its quota were created or loaded.
    pub(super) fn count_quota_anew(&mut self, subject: &str) {
        let length = |entry: Option<&Entry>| entry.map(|entry| entry.node.data.len() as i64);
        let itself = length(self.nodes.get(subject));
        let (mut count, mut bytes) = (i64::from(itself.is_some()), itself.unwrap_or(0));
        for (_, entry) in self.below(subject) {
            count += 1;
            bytes += entry.node.data.len() as i64;
        }
        self.change_statistics(subject, |track| {
            *track = StatsTrack { count, bytes, ..StatsTrack::NONE };
        });
    }

    /// Changes the statistics of a quota, if it has any. The digest does not include them.
    fn change_statistics(&mut self, subject: &str, change: impl FnOnce(&mut StatsTrack)) {
        let path = format!("{ROOT}{subject}{STATISTICS}");
        if let Some(entry) = self.nodes.get_mut(path.as_str()) {
            let node = Arc::make_mut(&mut entry.node);
            let mut track = StatsTrack::parse(&node.data);
            change(&mut track);
            node.data = Data::from(track.to_string().into_bytes());
        }
    }

    /// Recounts every quota after a load from a snapshot (`setupQuota`), before any transaction is replayed. The
    /// statistics in a fuzzy snapshot can include znodes that the snapshot lacks.
    pub fn count_quotas_anew(&mut self) {
        for subject in std::mem::take(&mut self.quotas) {
            self.count_quota_anew(&subject);
            self.quotas.insert(subject);
        }
    }

    /// Returns the data of all statistics, in path order. The digest covers which of them exist.
    pub(super) fn statistics(&self) -> impl Iterator<Item = &[u8]> {
        let said = self.below(ROOT).filter(|(path, _)| is_statistics(path));
        said.map(|(_, entry)| &*entry.node.data)
    }

    /// Checks that a write that adds this much stays within the hard limits.
    ///
    /// # Errors
    /// `QuotaExceeded` if the write would exceed one.
    pub(crate) fn check_quota(&self, path: &str, count: i64, bytes: i64) -> Result<(), Error> {
        let Some(subject) = self.quota_above(path) else { return Ok(()) };
        let numbers = |name| {
            self.node(&format!("{ROOT}{subject}{name}")).map(|node| StatsTrack::parse(&node.data))
        };
        let (Some(limits), Some(now)) = (numbers(LIMITS), numbers(STATISTICS)) else {
            return Ok(());
        };
        let passes =
            |change: i64, now: i64, limit: i64| change != 0 && limit > -1 && now + change > limit;
        let exceeded = passes(count, now.count, limits.count_hard_limit)
            || passes(bytes, now.bytes, limits.byte_hard_limit);
        if exceeded { Err(Error::QuotaExceeded) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written_as_servers_do() {
        let track = StatsTrack::parse(b"count=4,bytes=5=;countHardLimit=10;byteHardLimit=7");
        let expected = StatsTrack { count: 4, bytes: 5, count_hard_limit: 10, byte_hard_limit: 7 };
        assert_eq!(track, expected);
        assert_eq!(track.to_string(), "count=4,bytes=5=;byteHardLimit=7;countHardLimit=10");
        assert_eq!(StatsTrack::parse(b"").to_string(), "count=-1,bytes=-1");
        assert_eq!(StatsTrack::parse(b"bytes=3,count=").bytes, 3);
    }

    #[test]
    fn the_subject_of_a_quota() {
        assert_eq!(limited_by("/zookeeper/quota/a/b/zookeeper_limits"), Some("/a/b"));
        assert_eq!(limited_by("/zookeeper/quota/zookeeper_limits"), None);
        assert_eq!(limited_by("/a/zookeeper_limits"), None);
        assert_eq!(counted_by("/zookeeper/quota/a/zookeeper_stats"), Some("/a"));
    }

    /// Only the path decides, compared by components; `/zookeeper` is treated like any other path.
    #[test]
    fn the_nearest_path_above_with_a_quota_counts() {
        let mut tree = DataTree::new();
        tree.quotas = ["/a", "/a/b", "/zookeepers"].map(Arc::from).into();
        let above = |path| tree.quota_above(path);
        assert_eq!(above("/a"), Some("/a"));
        assert_eq!(above("/a/c/d"), Some("/a"));
        assert_eq!(above("/a/b/c"), Some("/a/b"));
        assert_eq!(above("/zookeepers/x"), Some("/zookeepers"));
        assert_eq!([above("/"), above("/ab"), above("/zookeeper/quota")], [None; 3]);
    }
}
