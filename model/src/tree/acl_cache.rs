//! ACL numbers of znodes and snapshots (`ReferenceCountedACLCache`; rule 6.9.15).
//!
//! A tree stores each znode's ACL itself. It keeps the numbers as well only under
//! [`Bug::AclByNumber`](crate::vocabulary::release::Bug::AclByNumber), where they matter. A znode's ACL is then
//! always the list with the znode's number, or [`unknown`] if no list has that number.

use super::DataTree;
use crate::vocabulary::acl::AclList;
use crate::vocabulary::path::{CONFIG, RESERVED, ZnodePath};
use std::collections::BTreeMap;

/// Returns the ACL of a znode whose number has no list. It is empty, grants nothing, and cannot come from a client,
/// because servers refuse empty ACLs.
pub(crate) fn unknown() -> AclList {
    AclList::new([])
}

/// The numbered lists, the number of uses of each, and the number of each znode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct AclCache {
    /// The last number assigned (`aclIndex`).
    last: u64,
    lists: BTreeMap<u64, AclList>,
    uses: BTreeMap<u64, u32>,
    numbers: BTreeMap<ZnodePath, u64>,
    /// Numbers whose list changed, for the znodes that have them.
    changed: Vec<u64>,
    /// A znode whose ACL a transaction looked up although its number has no list.
    missed: Option<ZnodePath>,
}

impl AclCache {
    /// Returns the number of a list and counts one more use of it (`convertAcls`).
    fn convert(&mut self, list: &AclList) -> u64 {
        let known = self.lists.iter().find(|(_, known)| *known == list).map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| {
            self.last += 1;
            self.lists.insert(self.last, list.clone());
            self.changed.push(self.last);
            self.last
        });
        *self.uses.entry(number).or_default() += 1;
        number
    }

    /// Counts one use of a number less, and forgets its list with the last use (`removeUsage`).
    fn release(&mut self, number: u64) {
        if !self.lists.contains_key(&number) {
            return;
        }
        let uses = self.uses.entry(number).or_default();
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            self.uses.remove(&number);
            self.lists.remove(&number);
            self.changed.push(number);
        }
    }

    /// Puts the cache into the state in which a start loads it from a snapshot: the last number is the largest with a
    /// list, and lists that no znode uses are forgotten (`deserialize`, `purgeUnused`).
    fn settle(&mut self) {
        self.last = self.lists.keys().next_back().copied().unwrap_or(0);
        self.uses.clear();
        for number in self.numbers.values().filter(|number| self.lists.contains_key(number)) {
            *self.uses.entry(*number).or_default() += 1;
        }
        let uses = &self.uses;
        self.lists.retain(|number, _| uses.contains_key(number));
        self.missed = None;
    }

    fn list_of(&self, path: &str) -> Option<AclList> {
        let number = self.numbers.get(path)?;
        Some(self.lists.get(number).cloned().unwrap_or_else(unknown))
    }
}

impl DataTree {
    /// Numbers the ACLs of all znodes, in path order. Of the znodes that every database begins with, only the
    /// configuration has a number.
    pub(crate) fn number_acls(&mut self) {
        let mut cache = AclCache::default();
        for (path, entry) in &self.nodes {
            if path.as_str() == CONFIG || !RESERVED.contains(&path.as_str()) {
                let number = cache.convert(&entry.node.acl);
                cache.numbers.insert(path.clone(), number);
            }
        }
        cache.changed.clear();
        self.acls = Some(Box::new(cache));
    }

    /// Begins a snapshot of `tree`: copies its lists, without any znode yet.
    pub(crate) fn begin_acls_of(&mut self, tree: &DataTree) {
        self.acls = tree
            .acls
            .as_ref()
            .map(|acls| Box::new(AclCache { lists: acls.lists.clone(), ..AclCache::default() }));
    }

    /// Records in a snapshot the number that a znode has in `tree` at this moment.
    pub(crate) fn load_acl_of(&mut self, path: &ZnodePath, tree: &DataTree) {
        let number = tree.acls.as_ref().and_then(|acls| acls.numbers.get(path.as_str()).copied());
        if let (Some(acls), Some(number)) = (&mut self.acls, number) {
            acls.numbers.insert(path.clone(), number);
        }
    }

    /// Completes the load from a snapshot: each znode gets the ACL that the snapshot's list has for its number.
    pub(crate) fn settle_acls(&mut self) {
        let Some(acls) = &mut self.acls else { return };
        acls.settle();
        let paths: Vec<ZnodePath> = acls.numbers.keys().cloned().collect();
        self.show_acls_of(&paths);
    }

    /// Returns a znode whose ACL was looked up although its number has no list; a real server throws there.
    pub(crate) fn missed_acl(&self) -> Option<&ZnodePath> {
        self.acls.as_ref()?.missed.as_ref()
    }

    /// Looks up a znode's ACL for a transaction (`DataTree.getACL`).
    pub(super) fn look_up_acl(&mut self, path: &str) {
        let Some(acls) = &mut self.acls else { return };
        let Some((path, number)) = acls.numbers.get_key_value(path) else { return };
        if !acls.lists.contains_key(number) && acls.missed.is_none() {
            acls.missed = Some(path.clone());
        }
    }

    /// Gives a znode the ACL of its create, whether or not the znode existed already.
    pub(super) fn acl_created(&mut self, path: &ZnodePath, list: &AclList) {
        let Some(acls) = &mut self.acls else { return };
        let number = acls.convert(list);
        acls.numbers.insert(path.clone(), number);
        self.show_acls();
    }

    /// Gives a znode the ACL of a setACL.
    pub(super) fn acl_set(&mut self, path: &ZnodePath, list: &AclList) {
        let Some(acls) = &mut self.acls else { return };
        if let Some(number) = acls.numbers.get(path.as_str()).copied() {
            acls.release(number);
        }
        let number = acls.convert(list);
        acls.numbers.insert(path.clone(), number);
        self.show_acls();
    }

    /// Releases the number of a deleted znode.
    pub(super) fn acl_deleted(&mut self, path: &ZnodePath) {
        let Some(acls) = &mut self.acls else { return };
        if let Some(number) = acls.numbers.remove(path.as_str()) {
            acls.release(number);
        }
        self.show_acls();
    }

    /// Updates the ACLs of the znodes whose numbers have another list now.
    fn show_acls(&mut self) {
        let Some(acls) = &mut self.acls else { return };
        let changed = std::mem::take(&mut acls.changed);
        if changed.is_empty() {
            return;
        }
        let has_one = acls.numbers.iter().filter(|(_, number)| changed.contains(number));
        let paths: Vec<ZnodePath> = has_one.map(|(path, _)| path.clone()).collect();
        self.show_acls_of(&paths);
    }

    fn show_acls_of(&mut self, paths: &[ZnodePath]) {
        for path in paths {
            let shown = self.acls.as_ref().and_then(|acls| acls.list_of(path));
            let (Some(shown), Some(node)) = (shown, self.node(path)) else { continue };
            if node.acl != shown {
                self.change(path, |entry| entry.znode().acl = shown);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Znode;
    use crate::vocabulary::acl::{Acl, Id, Permissions};
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::op::Data;
    use crate::vocabulary::txn::{Txn, TxnBody};
    use crate::vocabulary::znode::EphemeralType;
    use crate::vocabulary::zxid::{Epoch, Zxid};

    fn list(user: &str) -> AclList {
        AclList::new([Acl::new(Permissions::ALL, Id::new("digest", user.to_owned()))])
    }

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text.to_owned()).expect("a path")
    }

    fn txn(counter: u32, body: TxnBody) -> Txn {
        let zxid = Zxid::new(Epoch(1), counter);
        Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body }
    }

    fn create(at: &str, user: &str) -> TxnBody {
        let ephemeral_type = EphemeralType::Void;
        let (path, data, acl) = (path(at), Data::from([]), list(user));
        TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion: 1 }
    }

    fn set_acl(at: &str, user: &str) -> TxnBody {
        TxnBody::SetAcl { path: path(at), acl: list(user), aversion: 1 }
    }

    fn numbered() -> DataTree {
        let mut tree = DataTree::new();
        tree.number_acls();
        tree
    }

    /// Returns a snapshot begun now, whose znodes are written after `later` has been applied.
    fn fuzzy(tree: &mut DataTree, later: &[Txn]) -> DataTree {
        let mut content = DataTree::empty();
        content.begin_acls_of(tree);
        let label = tree.last_processed();
        for txn in later {
            tree.apply(txn);
        }
        for (path, node) in tree.nodes_after(None, usize::MAX) {
            content.load_acl_of(&path, tree);
            content.load_node(path, node);
        }
        content.set_last_processed(label);
        content.settle_acls();
        content
    }

    fn acl(tree: &DataTree, at: &str) -> AclList {
        tree.node(at).expect("it stands").acl.clone()
    }

    #[test]
    fn a_list_is_forgotten_with_its_last_use_and_its_number_is_not_given_again() {
        let mut cache = AclCache::default();
        assert_eq!([cache.convert(&list("ann")), cache.convert(&list("ann"))], [1, 1]);
        cache.release(1);
        assert_eq!(cache.convert(&list("ann")), 1, "one use is left");
        cache.release(1);
        cache.release(1);
        assert_eq!([cache.convert(&list("bob")), cache.convert(&list("ann"))], [2, 3]);
    }

    #[test]
    fn a_start_forgets_lists_that_no_znode_has_and_counts_on_from_them() {
        let mut cache = AclCache::default();
        let numbers = [cache.convert(&list("ann")), cache.convert(&list("bob"))];
        cache.numbers.insert(path("/a"), numbers[0]);
        cache.settle();
        assert_eq!(cache.lists.keys().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(cache.convert(&list("bob")), 3);
        // Only the znode's use counts now.
        cache.release(1);
        assert_eq!(cache.convert(&list("ann")), 4);
    }

    #[test]
    fn a_whole_snapshot_keeps_what_every_znode_has() {
        let mut tree = numbered();
        for (counter, body) in
            (1..).zip([create("/a", "ann"), create("/b", "bob"), set_acl("/a", "bob")])
        {
            tree.apply(&txn(counter, body));
        }
        let loaded = fuzzy(&mut tree, &[]);
        assert_eq!((loaded.digest(), loaded.missed_acl()), (tree.digest(), None));
    }

    #[test]
    fn a_new_list_is_not_among_those_of_a_snapshot_that_was_begun_before() {
        let mut tree = numbered();
        tree.apply(&txn(1, create("/a", "ann")));
        let later = [txn(2, create("/b", "bob"))];
        let mut loaded = fuzzy(&mut tree, &later);
        assert_eq!(acl(&loaded, "/b"), unknown());
        // Replaying the create repairs the znode.
        loaded.apply(&later[0]);
        assert_eq!((loaded.digest(), loaded.missed_acl()), (tree.digest(), None));
    }

    #[test]
    fn a_lookup_of_an_unknown_number_is_recorded() {
        let mut tree = numbered();
        tree.apply(&txn(1, create("/a", "ann")));
        let data = TxnBody::SetData { path: path("/a"), data: Data::from([1]), version: 1 };
        let later = [txn(2, data), txn(3, set_acl("/a", "bob"))];
        let mut loaded = fuzzy(&mut tree, &later);
        loaded.apply(&later[0]);
        assert_eq!(loaded.missed_acl().map(ZnodePath::as_str), Some("/a"));
    }

    /// The znode's old number is later assigned to another list.
    #[test]
    fn a_znode_comes_to_have_the_acl_of_another() {
        let mut tree = numbered();
        tree.apply(&txn(1, create("/a", "ann")));
        let mut loaded = fuzzy(&mut tree, &[txn(2, set_acl("/a", "bob"))]);
        assert_eq!(acl(&loaded, "/a"), unknown());
        loaded.apply(&txn(3, create("/c", "carl")));
        assert_eq!(acl(&loaded, "/a"), list("carl"), "both are number 3");
    }

    #[test]
    fn without_numbers_nothing_is_counted() {
        let mut tree = DataTree::new();
        tree.apply(&txn(1, create("/a", "ann")));
        let znode: &Znode = tree.node("/a").expect("it stands");
        assert_eq!((&znode.acl, tree.missed_acl()), (&list("ann"), None));
    }
}
