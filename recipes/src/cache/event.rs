//! The content of a cache, and its events.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::op::Data;
use vivarium_model::path;
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// A znode in a cache, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cached {
    /// The zxid that created it.
    pub czxid: Zxid,
    /// The zxid that wrote its data.
    pub mzxid: Zxid,
    /// The version of its data, for a conditional write.
    pub version: i32,
    /// Its data.
    pub data: Data,
}

impl Cached {
    pub(super) fn new(data: Data, stat: &Stat) -> Cached {
        Cached { czxid: stat.czxid, mzxid: stat.mzxid, version: stat.version, data }
    }
}

/// A change of a cache's content, or the notice that it is complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CacheEvent {
    /// The znode exists now.
    Added { path: Arc<str>, znode: Cached },
    /// The znode's data was written.
    Changed { path: Arc<str>, znode: Cached },
    /// The znode does not exist any more.
    Removed {
        path: Arc<str>,
        /// Its last known state.
        znode: Cached,
    },
    /// The content is complete: everything that existed has been reported. Once per session.
    Initialized,
}

/// The part of a znode's subtree that a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Extent {
    /// The znode.
    Node,
    /// Its children, but not the znode itself.
    Children,
    /// The znode and all descendants.
    Tree,
}

impl Extent {
    /// Returns true if a cache of `root` holds `path`, if that exists.
    pub fn holds(self, root: &str, path: &str) -> bool {
        match self {
            Extent::Node => path == root,
            Extent::Children => path::parent(path) == Some(root),
            Extent::Tree => path == root || is_below(root, path),
        }
    }

    pub(super) fn holds_root(self) -> bool {
        self != Extent::Children
    }
}

/// Returns true if `path` is a descendant of `ancestor`.
pub(super) fn is_below(ancestor: &str, path: &str) -> bool {
    let rest = path.strip_prefix(ancestor.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

/// Returns the path of a child.
pub(super) fn child(parent: &str, name: &str) -> Arc<str> {
    format!("{}/{name}", parent.trim_end_matches('/')).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_with_a_longer_name_is_no_descendant() {
        assert!(is_below("/a", "/a/b/c") && is_below("/", "/a"));
        assert!(!is_below("/a", "/ab") && !is_below("/a", "/a") && !is_below("/", "/"));
        assert!(Extent::Children.holds("/", "/a") && !Extent::Children.holds("/", "/a/b"));
        assert!(Extent::Tree.holds("/", "/") && !Extent::Children.holds("/", "/"));
        assert_eq!((&*child("/", "a"), &*child("/a", "b")), ("/a", "/a/b"));
    }
}
