//! What a cache holds, and what it tells.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::op::Data;
use vivarium_model::path;
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// A znode as a cache has it: as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cached {
    /// The zxid that has created it.
    pub czxid: Zxid,
    /// The zxid that has written its data.
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

/// A change of a cache's content, or that it is complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CacheEvent {
    /// This znode is there now.
    Added { path: Arc<str>, znode: Cached },
    /// Its data was written.
    Changed { path: Arc<str>, znode: Cached },
    /// It is not there any more.
    Removed {
        path: Arc<str>,
        /// As it was last.
        znode: Cached,
    },
    /// The content is complete: everything that was there has been told. Once per session.
    Initialized,
}

/// What of a znode and its descendants a cache holds.
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
    /// Whether a cache of `root` holds `path`, if that is there.
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

/// Whether `path` is a descendant of `ancestor`.
pub(super) fn is_below(ancestor: &str, path: &str) -> bool {
    let rest = path.strip_prefix(ancestor.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

/// The path of a child.
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
