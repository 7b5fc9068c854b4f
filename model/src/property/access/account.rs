//! The ACL of each znode after each transaction of the committed history.

use crate::tree::DataTree;
use crate::vocabulary::acl::AclList;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;

/// The ACLs of all znodes, in every prefix.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Account {
    /// For each path, the zxids from which each ACL holds, in order; `None` means that the znode does not exist.
    paths: BTreeMap<ZnodePath, Vec<(Zxid, Option<AclList>)>>,
}

/// The ACLs at the history's end with the changes of a multi's first operations, which are not committed yet.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    account: &'a Account,
    changed: BTreeMap<ZnodePath, Option<AclList>>,
}

impl Account {
    pub(super) fn beginning_with(tree: &DataTree) -> Account {
        let mut account = Account::default();
        for (path, znode) in tree.nodes() {
            account.set(path, Zxid::ZERO, Some(znode.acl.clone()));
        }
        account
    }

    /// Returns the ACL that the znode has after all transactions up to `zxid`, if the znode exists then.
    pub(super) fn at(&self, path: &str, zxid: Zxid) -> Option<&AclList> {
        let versions = self.paths.get(path)?;
        let count = versions.partition_point(|(since, _)| *since <= zxid);
        versions[count.checked_sub(1)?].1.as_ref()
    }

    /// Returns the ACL that the znode has just before the transaction at `zxid`.
    pub(super) fn before(&self, path: &str, zxid: Zxid) -> Option<&AclList> {
        let versions = self.paths.get(path)?;
        let count = versions.partition_point(|(since, _)| *since < zxid);
        versions[count.checked_sub(1)?].1.as_ref()
    }

    fn newest(&self, path: &str) -> Option<&AclList> {
        self.paths.get(path)?.last()?.1.as_ref()
    }

    pub(super) fn set(&mut self, path: &ZnodePath, zxid: Zxid, acl: Option<AclList>) {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.clone(), Vec::new());
        }
        let versions = self.paths.get_mut(path).expect("just put there");
        if versions.last().map(|(_, newest)| newest) != Some(&acl) {
            versions.push((zxid, acl));
        }
    }

    pub(super) fn draft(&self) -> Draft<'_> {
        Draft { account: self, changed: BTreeMap::new() }
    }

    /// Records the ACLs that a transaction changes, except those of ephemerals that a closeSession deletes.
    pub(super) fn commit(&mut self, zxid: Zxid, body: &TxnBody) {
        match body {
            TxnBody::Multi(parts) => parts.iter().for_each(|part| self.commit(zxid, part)),
            other => {
                if let Some((path, acl)) = change(other) {
                    self.set(path, zxid, acl);
                }
            }
        }
    }
}

impl Draft<'_> {
    pub(super) fn find(&self, path: &str) -> Option<&AclList> {
        match self.changed.get(path) {
            Some(changed) => changed.as_ref(),
            None => self.account.newest(path),
        }
    }

    pub(super) fn change(&mut self, body: &TxnBody) {
        if let Some((path, acl)) = change(body) {
            self.changed.insert(path.clone(), acl);
        }
    }

    pub(super) fn set(&mut self, path: ZnodePath, acl: Option<AclList>) {
        self.changed.insert(path, acl);
    }
}

/// Returns the znode whose ACL a transaction changes, and the new ACL (`None` after a delete).
fn change(body: &TxnBody) -> Option<(&ZnodePath, Option<AclList>)> {
    match body {
        TxnBody::Create { path, acl, .. } | TxnBody::SetAcl { path, acl, .. } => {
            Some((path, Some(acl.clone())))
        }
        TxnBody::Delete { path } | TxnBody::DeleteContainer { path } => Some((path, None)),
        _ => None,
    }
}
