//! Reads: the answers that a server gives from its own tree (rule 1.8), and the watches that they set.

use super::access;
use crate::tree::{DataTree, Znode};
use crate::vocabulary::acl::{AclList, Id, Permissions};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientConnection, SessionId};
use crate::vocabulary::op::{ReadOp, ReadResult, Request, Response, WatcherType};
use crate::vocabulary::release::Bug;
use crate::watch::WatchTable;
use std::sync::Arc;

/// The origin of a read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The session.
    pub session: SessionId,
    /// The identities of the connection.
    pub auth: &'a [Id],
    /// The server's configuration.
    pub config: &'a Config,
}

impl Reader<'_> {
    /// Executes a read on a tree and updates this connection's watches: sets one if the request asks for it and the
    /// result allows it, and removes those of removeWatches.
    ///
    /// # Panics
    /// For a write, which a single server cannot execute.
    pub fn read(
        &self,
        tree: &DataTree,
        watches: &mut WatchTable,
        connection: ClientConnection,
        request: &Request,
    ) -> Result<Response, Error> {
        let bugs = self.config.bugs;
        match request {
            Request::AddWatch { path, mode } => {
                watches.add(path, connection, *mode, bugs);
                Ok(Response::Watches)
            }
            Request::RemoveWatches { kind, .. } | Request::CheckWatches { kind, .. }
                if is_persistent(*kind) && bugs.has(Bug::NoPersistentWatcherTypes) =>
            {
                Err(Error::MarshallingError)
            }
            Request::RemoveWatches { path, kind } => {
                found(watches.remove(path, connection, *kind, bugs))
            }
            Request::CheckWatches { path, kind } => {
                found(watches.contains(path, connection, *kind, bugs))
            }
            _ => {
                let result = self.answer(tree, request);
                match request {
                    // Set also if the znode does not exist.
                    Request::Exists { path, watch: true }
                        if matches!(result, Ok(_) | Err(Error::NoNode)) =>
                    {
                        watches.add_data(Arc::clone(path), connection, bugs);
                    }
                    Request::GetData { path, watch: true } if result.is_ok() => {
                        watches.add_data(Arc::clone(path), connection, bugs);
                    }
                    Request::GetChildren { path, watch: true } if result.is_ok() => {
                        watches.add_child(Arc::clone(path), connection, bugs);
                    }
                    _ => {}
                }
                result
            }
        }
    }

    /// Returns the answer to a read, without changing watches.
    pub fn answer(&self, tree: &DataTree, request: &Request) -> Result<Response, Error> {
        match request {
            Request::Exists { path, .. } => self.exists(tree, path),
            Request::GetData { path, .. } => {
                let (node, children) = self.readable(tree, path)?;
                Ok(Response::Data(node.data.clone(), node.stat(children)))
            }
            Request::GetChildren { path, .. } => {
                let (node, children) = self.readable(tree, path)?;
                let stat = node.stat(children);
                Ok(Response::Children(tree.children(at(path)).expect("it was just found"), stat))
            }
            Request::GetAcl { path } => self.get_acl(tree, path),
            Request::MultiRead(ops) => {
                Ok(Response::MultiRead(ops.iter().map(|op| self.one_of_many(tree, op)).collect()))
            }
            Request::GetAllChildrenNumber { path } => {
                self.readable(tree, path)?;
                // For the empty path the root itself is counted too (rule 1.8.3).
                Ok(Response::AllChildrenNumber(tree.descendants(path) as u32))
            }
            Request::GetEphemerals { prefix } => Ok(self.ephemerals(tree, prefix)),
            Request::WhoAmI => Ok(Response::WhoAmI(access::who_am_i(self.auth))),
            Request::Sync { .. } => Ok(Response::Synced),
            other => unreachable!("{other} is not answered from a tree"),
        }
    }

    fn exists(&self, tree: &DataTree, path: &str) -> Result<Response, Error> {
        let path = at(path);
        if path.contains('\0') {
            return Err(Error::BadArguments);
        }
        let (_, node, children) = tree.find(path).ok_or(Error::NoNode)?;
        if !self.config.bugs.has(Bug::ExistsAsksNoAcl) {
            self.may(&node.acl, Permissions::READ)?;
        }
        Ok(Response::Exists(node.stat(children)))
    }

    fn get_acl(&self, tree: &DataTree, path: &str) -> Result<Response, Error> {
        let (_, node, children) = tree.find(at(path)).ok_or(Error::NoNode)?;
        self.may(&node.acl, Permissions::READ | Permissions::ADMIN)?;
        let may_see_all = self.may(&node.acl, Permissions::ADMIN).is_ok();
        let acl = if may_see_all { node.acl.clone() } else { access::masked(&node.acl) };
        Ok(Response::Acl(acl, node.stat(children)))
    }

    fn one_of_many(&self, tree: &DataTree, op: &ReadOp) -> ReadResult {
        let (ReadOp::GetData { path } | ReadOp::GetChildren { path }) = op;
        match (op, self.readable(tree, path)) {
            (_, Err(error)) => ReadResult::Failed(error),
            (ReadOp::GetData { .. }, Ok((node, children))) => {
                ReadResult::Data(node.data.clone(), node.stat(children))
            }
            (ReadOp::GetChildren { .. }, Ok(_)) => {
                ReadResult::Children(tree.children(at(path)).expect("it was just found"))
            }
        }
    }

    /// Compares plain text, not components: `/a` finds `/ab` too.
    fn ephemerals(&self, tree: &DataTree, prefix: &str) -> Response {
        let all = matches!(prefix.trim(), "" | "/");
        let own = tree.ephemerals(self.session);
        let own = own.filter(|path| all || path.starts_with(prefix));
        Response::Ephemerals(own.map(|path| path.shared()).collect())
    }

    fn readable<'t>(&self, tree: &'t DataTree, path: &str) -> Result<(&'t Arc<Znode>, u32), Error> {
        let (_, node, children) = tree.find(at(path)).ok_or(Error::NoNode)?;
        self.may(&node.acl, Permissions::READ)?;
        Ok((node, children))
    }

    fn may(&self, acl: &AclList, wanted: Permissions) -> Result<(), Error> {
        access::check(acl, wanted, self.auth, &self.config.options)
    }
}

/// Returns the path for a read; the empty path is another name of the root (rule 1.2.1).
fn at(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

fn is_persistent(kind: WatcherType) -> bool {
    matches!(kind, WatcherType::Persistent | WatcherType::PersistentRecursive)
}

fn found(watch: bool) -> Result<Response, Error> {
    if watch { Ok(Response::Watches) } else { Err(Error::NoWatcher) }
}

#[cfg(test)]
mod tests;
