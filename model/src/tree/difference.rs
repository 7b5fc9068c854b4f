//! The first difference between two trees, as a sentence.

use super::DataTree;
use crate::vocabulary::znode::Znode;
use crate::vocabulary::zxid::Zxid;
use std::fmt::Debug;

impl DataTree {
    /// Describes the first difference from `right`: a session, or a field of the first differing znode in path order.
    /// Returns `None` if the trees are equal.
    pub fn difference(&self, right: &DataTree) -> Option<String> {
        let (sessions, right_sessions) = (self.sessions(), right.sessions());
        let known = sessions.keys().chain(right_sessions.keys());
        let strange = known.filter(|id| sessions.get(id) != right_sessions.get(id)).min();
        if let Some(session) = strange {
            return Some(match (sessions.get(session), right_sessions.get(session)) {
                (Some(_), None) => format!("session {session} is open but should not be"),
                (None, _) => format!("session {session} is missing"),
                (Some(has), Some(right)) => {
                    format!("session {session} has the timeout {has:?} instead of {right:?}")
                }
            });
        }
        let paths = self.nodes().chain(right.nodes()).map(|(path, _)| path);
        let strange = paths.filter(|path| self.node(path) != right.node(path)).min()?;
        Some(match (self.node(strange), right.node(strange)) {
            (Some(has), None) => {
                format!("{strange} exists (czxid {}) but should not", has.czxid)
            }
            (None, Some(right)) => format!("{strange} (czxid {}) is missing", right.czxid),
            (Some(has), Some(right)) => format!("{strange}: {}", field(has, right)),
            (None, None) => unreachable!("one of them has it"),
        })
    }
}

/// Describes the first field that differs.
fn field(has: &Znode, right: &Znode) -> String {
    let words = |name: &str, has: &dyn Debug, right: &dyn Debug| {
        let (has, right) = (format!("{has:?}"), format!("{right:?}"));
        (has != right).then(|| format!("{name} is {has} instead of {right}"))
    };
    let zxids = |name: &str, has: Zxid, right: Zxid| {
        (has != right).then(|| format!("{name} is {has} instead of {right}"))
    };
    let text = |znode: &Znode| String::from_utf8_lossy(&znode.data).into_owned();
    zxids("czxid", has.czxid, right.czxid)
        .or_else(|| zxids("mzxid", has.mzxid, right.mzxid))
        .or_else(|| zxids("pzxid", has.pzxid, right.pzxid))
        .or_else(|| words("version", &has.version, &right.version))
        .or_else(|| words("cversion", &has.cversion, &right.cversion))
        .or_else(|| words("aversion", &has.aversion, &right.aversion))
        .or_else(|| words("ephemeralOwner", &has.ephemeral_type, &right.ephemeral_type))
        .or_else(|| words("data", &text(has), &text(right)))
        .or_else(|| words("ACL", &has.acl, &right.acl))
        .or_else(|| words("ctime", &has.ctime, &right.ctime))
        .or_else(|| words("mtime", &has.mtime, &right.mtime))
        .unwrap_or_else(|| "the bytes of its data differ".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::id::SessionId;
    use crate::vocabulary::op::Data;
    use crate::vocabulary::time::Duration;
    use std::sync::Arc;

    fn tree(change: impl FnOnce(&mut Znode)) -> DataTree {
        let (mut tree, path) = (DataTree::new(), crate::property::testing::path("/a"));
        let standing = DataTree::new().node("/").expect("the root stands").clone();
        let mut znode = Znode::clone(&standing);
        change(&mut znode);
        tree.load_node(path, Arc::new(znode));
        tree
    }

    fn told(one: &DataTree, other: &DataTree) -> String {
        one.difference(other).expect("they differ")
    }

    #[test]
    fn the_first_difference_is_named() {
        let plain = tree(|_| ());
        assert_eq!(plain.difference(&plain), None);
        assert_eq!(told(&plain, &DataTree::new()), "/a exists (czxid 0:0) but should not");
        assert_eq!(told(&DataTree::new(), &plain), "/a (czxid 0:0) is missing");
        let versioned = tree(|znode| znode.version = 3);
        assert_eq!(told(&plain, &versioned), "/a: version is 0 instead of 3");
        let changed = tree(|znode| znode.data = Data::from(*b"x"));
        assert_eq!(told(&changed, &plain), "/a: data is \"x\" instead of \"\"");
        let moved = tree(|znode| znode.pzxid = Zxid(9));
        assert_eq!(told(&moved, &plain), "/a: pzxid is 0:9 instead of 0:0");
    }

    #[test]
    fn sessions_come_first() {
        let (mut with, without) = (tree(|_| ()), DataTree::new());
        with.load_session(SessionId(7), Duration::from_secs(4));
        assert_eq!(told(&with, &without), "session 0x7 is open but should not be");
        assert_eq!(told(&without, &with), "session 0x7 is missing");
    }
}
