//! H4: reads are from a prefix.
//!
//! The result of a read is that of the committed history up to the reply's header zxid: data, children and every
//! field of the Stat (rule 4.6.2). The header zxid names the prefix, so the monitor need not search for one. Stale
//! results are legal; H3 makes sure that a session's results do not become older.
//!
//! A read-only server's tree can hold transactions that were logged but never committed (rules 2.7 and 6.8.2). So a
//! reply on a read-only connection may have an uncommitted zxid, and is not judged then. A reply with a committed
//! zxid is judged like any other.
//!
//! The monitor keeps every version of every path, each with the zxid from which it holds, and for every directory the
//! present names and the changes that led to them. It finds the names in an older prefix by undoing the later
//! changes. These are few, since readers rarely lag far.

use super::read_only::ReadOnlySessions;
use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::tree::{Change, DataTree, answers};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::op::{Data, EventType, Request, Response};
use crate::vocabulary::path::{CONFIG, ZnodePath, parent};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The monitor of H4. It keeps the whole past, so it is for the simulator only; in the explorer, S5 checks the trees
/// that reads are answered from.
#[derive(Clone, Debug, Hash)]
pub struct PrefixRead {
    paths: BTreeMap<ZnodePath, Past>,
    /// The last zxid whose transaction is in `paths`.
    known: Zxid,
    read_only: ReadOnlySessions,
}

/// The content of one path in every prefix.
#[derive(Clone, Debug, Default, Hash)]
struct Past {
    /// The zxids from which each version holds, in order; `None` if the znode did not exist.
    versions: Vec<(Zxid, Option<Content>)>,
    /// The present names of the children, sorted.
    children: Vec<Arc<str>>,
    /// The creations and deletions of children that led to these names.
    changes: Vec<ChildChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Content {
    data: Data,
    stat: Stat,
}

#[derive(Clone, Debug, Hash)]
struct ChildChange {
    zxid: Zxid,
    created: bool,
    name: Arc<str>,
}

impl Past {
    /// Returns the znode's content in the prefix up to `zxid`.
    fn at(&self, zxid: Zxid) -> Option<&Content> {
        let (since, newest) = self.versions.last()?;
        if *since <= zxid {
            return newest.as_ref();
        }
        let count = self.versions.partition_point(|(since, _)| *since <= zxid);
        self.versions[count.checked_sub(1)?].1.as_ref()
    }

    /// Returns true if `names` were the children in the prefix up to `zxid`.
    fn had_children(&self, zxid: Zxid, names: &[Arc<str>]) -> bool {
        match self.changes.last() {
            Some(change) if change.zxid > zxid => self.children_at(zxid) == names,
            _ => self.children == names,
        }
    }

    fn children_at(&self, zxid: Zxid) -> Vec<Arc<str>> {
        let mut names = self.children.clone();
        for change in self.changes.iter().rev().take_while(|change| change.zxid > zxid) {
            put(&mut names, &change.name, !change.created);
        }
        names
    }
}

/// Inserts a name into a sorted list, or removes it.
fn put(names: &mut Vec<Arc<str>>, name: &Arc<str>, present: bool) {
    match (names.binary_search(name), present) {
        (Err(at), true) => names.insert(at, Arc::clone(name)),
        (Ok(at), false) => {
            names.remove(at);
        }
        _ => {}
    }
}

impl Default for PrefixRead {
    fn default() -> PrefixRead {
        PrefixRead::new()
    }
}

impl PrefixRead {
    /// Returns a monitor that knows an empty database, until it receives the run's configuration.
    pub fn new() -> PrefixRead {
        PrefixRead::beginning_with(&DataTree::new())
    }

    /// Returns a monitor that knows the tree before the first transaction.
    fn beginning_with(tree: &DataTree) -> PrefixRead {
        let mut monitor = PrefixRead {
            paths: BTreeMap::new(),
            known: Zxid::ZERO,
            read_only: ReadOnlySessions::default(),
        };
        for (path, _) in tree.nodes() {
            monitor.refresh(tree, Zxid::ZERO, path);
            monitor.past(path).children = tree.children(path).unwrap_or_default();
        }
        monitor
    }

    fn past(&mut self, path: &str) -> &mut Past {
        if !self.paths.contains_key(path) {
            let path = ZnodePath::new(path).expect("a path of the tree is valid");
            self.paths.insert(path, Past::default());
        }
        self.paths.get_mut(path).expect("just put there")
    }

    /// Records a new transaction; `tree` is the tree after it.
    fn committed(&mut self, tree: &DataTree, txn: &Txn, changes: &[Change]) {
        self.known = txn.zxid;
        for Change { kind, path, .. } in changes {
            let created = match kind {
                EventType::NodeCreated => true,
                EventType::NodeDeleted => false,
                _ => continue,
            };
            let Some(parent) = path.parent() else { continue };
            let name: Arc<str> = Arc::from(path.name());
            let past = self.past(parent);
            put(&mut past.children, &name, created);
            past.changes.push(ChildChange { zxid: txn.zxid, created, name });
        }
        // The body names paths that are affected without a recorded change, such as a parent's pzxid (rule 1.3.3);
        // the changes name paths that a closeSession does not list (rule 2.5.2).
        self.touch(tree, txn.zxid, &txn.body);
        for change in changes {
            self.refresh_with_parent(tree, txn.zxid, &change.path);
        }
    }

    fn touch(&mut self, tree: &DataTree, zxid: Zxid, body: &TxnBody) {
        match body {
            TxnBody::Create { path, .. }
            | TxnBody::Delete { path }
            | TxnBody::DeleteContainer { path } => {
                self.refresh_with_parent(tree, zxid, path);
            }
            TxnBody::SetData { path, .. } | TxnBody::SetAcl { path, .. } => {
                self.refresh(tree, zxid, path)
            }
            TxnBody::Reconfig(_) => self.refresh(tree, zxid, CONFIG),
            TxnBody::Multi(parts) => {
                for part in parts {
                    self.touch(tree, zxid, part);
                }
            }
            TxnBody::CloseSession { ephemerals } => {
                for path in ephemerals {
                    self.refresh_with_parent(tree, zxid, path);
                }
            }
            TxnBody::Check { .. }
            | TxnBody::FailedMulti(_)
            | TxnBody::CreateSession { .. }
            | TxnBody::Error(_) => {}
        }
    }

    fn refresh_with_parent(&mut self, tree: &DataTree, zxid: Zxid, path: &str) {
        self.refresh(tree, zxid, path);
        if let Some(parent) = parent(path) {
            self.refresh(tree, zxid, parent);
        }
    }

    /// Records the path's content from this zxid on, if it is new.
    fn refresh(&mut self, tree: &DataTree, zxid: Zxid, path: &str) {
        let content = tree.node(path).map(|node| Content {
            data: node.data.clone(),
            stat: node.stat(tree.children_count(path) as u32),
        });
        let versions = &mut self.past(path).versions;
        if versions.last().map(|(_, newest)| newest) != Some(&content) {
            versions.push((zxid, content));
        }
    }

    /// Returns true if `result` is a correct result of reading `path` in the prefix up to `zxid`.
    fn agrees(
        &self,
        request: &Request,
        path: &str,
        zxid: Zxid,
        result: &Result<Response, Error>,
    ) -> bool {
        let past = self.past_of(path);
        let content = past.and_then(|past| past.at(zxid));
        match (request, result, past, content) {
            // The request was refused before it was evaluated: the leader's `prep` checks the sessions of its own
            // clients, and servers refuse invalid paths.
            (_, Err(Error::SessionExpired), ..) => true,
            (_, Err(Error::BadArguments), ..) => ZnodePath::new(path).is_err(),
            // The bridge judges the connection's identities; here, an ACL can refuse a read only if the znode exists.
            (_, Err(Error::NoAuth), _, Some(_)) => true,
            (_, Err(Error::NoNode), _, None) => true,
            // Not all of it is part of the history (rules 1.10.3 and 5.8.10).
            (_, Ok(_), _, Some(_)) if answers::is_beside_history(path) => {
                answers::same_answer(request, result, &self.expected(request, path, zxid))
            }
            (Request::Exists { .. }, Ok(Response::Exists(stat)), _, Some(content)) => {
                *stat == content.stat
            }
            (Request::GetData { .. }, Ok(Response::Data(data, stat)), _, Some(content)) => {
                *stat == content.stat && *data == content.data
            }
            (
                Request::GetChildren { .. },
                Ok(Response::Children(names, stat)),
                Some(past),
                Some(content),
            ) => *stat == content.stat && past.had_children(zxid, names),
            _ => false,
        }
    }

    /// Returns the past of a path. The empty path is a server's second name of the root (`DataTree`).
    fn past_of(&self, path: &str) -> Option<&Past> {
        self.paths.get(if path.is_empty() { "/" } else { path })
    }

    /// Returns the result of a read in the prefix up to `zxid`.
    fn expected(&self, request: &Request, path: &str, zxid: Zxid) -> Result<Response, Error> {
        let past = self.past_of(path).ok_or(Error::NoNode)?;
        let content = past.at(zxid).ok_or(Error::NoNode)?.clone();
        Ok(match request {
            Request::GetData { .. } => Response::Data(content.data, content.stat),
            Request::GetChildren { .. } => Response::Children(past.children_at(zxid), content.stat),
            _ => Response::Exists(content.stat),
        })
    }
}

/// Returns the path of a read, if this property judges it.
fn read_path(request: &Request) -> Option<&str> {
    match request {
        Request::Exists { path, .. }
        | Request::GetData { path, .. }
        | Request::GetChildren { path, .. } => Some(path),
        // The bridge compares the replies to all requests; this property judges the three most used reads, from its
        // own account of the past.
        _ => None,
    }
}

/// Describes a wrong result: only the differing fields if both results are of one kind.
fn difference(told: &Result<Response, Error>, expected: &Result<Response, Error>) -> String {
    let mut words = String::new();
    let stats = match (told, expected) {
        (Ok(Response::Exists(told)), Ok(Response::Exists(expected))) => Some((told, expected)),
        (Ok(Response::Data(data, told)), Ok(Response::Data(right, expected))) => {
            let text = |data: &Data| String::from_utf8_lossy(data).into_owned();
            differs(&mut words, "data", &text(data), &text(right));
            Some((told, expected))
        }
        (Ok(Response::Children(names, told)), Ok(Response::Children(right, expected))) => {
            differs(&mut words, "children", names, right);
            Some((told, expected))
        }
        _ => None,
    };
    let Some((told_stat, stat)) = stats else {
        let brief = |result: &Result<Response, Error>| match result {
            Ok(response) => format!("{response:?}"),
            Err(error) => format!("{error:?}"),
        };
        return format!("{} instead of {}", brief(told), brief(expected));
    };
    let mut zxid = |name, told: Zxid, right: Zxid| {
        differs(&mut words, name, &format_args!("{told}"), &format_args!("{right}"));
    };
    zxid("czxid", told_stat.czxid, stat.czxid);
    zxid("mzxid", told_stat.mzxid, stat.mzxid);
    zxid("pzxid", told_stat.pzxid, stat.pzxid);
    differs(&mut words, "ctime", &told_stat.ctime, &stat.ctime);
    differs(&mut words, "mtime", &told_stat.mtime, &stat.mtime);
    differs(&mut words, "version", &told_stat.version, &stat.version);
    differs(&mut words, "cversion", &told_stat.cversion, &stat.cversion);
    differs(&mut words, "aversion", &told_stat.aversion, &stat.aversion);
    differs(&mut words, "ephemeralOwner", &told_stat.ephemeral_owner, &stat.ephemeral_owner);
    differs(&mut words, "dataLength", &told_stat.data_length, &stat.data_length);
    differs(&mut words, "numChildren", &told_stat.num_children, &stat.num_children);
    words
}

/// Appends one field to the description if it differs.
fn differs<T: std::fmt::Debug + ?Sized>(words: &mut String, name: &str, told: &T, right: &T) {
    let (told, right) = (format!("{told:?}"), format!("{right:?}"));
    if told != right {
        let comma = if words.is_empty() { "" } else { ", " };
        write!(words, "{comma}{name} {told} instead of {right}").expect("a String takes all");
    }
}

impl Declared for PrefixRead {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("H4 reads are from a prefix", LooksBack::Whole, minds! { |this, view, event|
            Event::Session { .. } | Event::Killed { .. } => this.read_only.see(event),
            Event::Committed { txn, .. } if txn.zxid > this.known => {
                assert_eq!(view.history.last(), txn.zxid, "commits are reported one by one");
                let applied = view.history.applied(txn.zxid).expect("the last of the history");
                this.committed(view.history.tree(), txn, &applied.changes);
            },
            Event::Replied { client, session, xid, zxid, request, result, .. }
                if !(this.read_only.contains(*client, *session) && view.history.get(*zxid).is_none()) =>
            {
                this.replied(*zxid, request, result).map_err(|saw| {
                    let number = xid.0;
                    this.objection(format!(
                        "request {number} of session {session} ({request}, {client}) was \
                         answered {saw}."
                    ))
                })
            },
        })
        .begin(Self::begin);
}

impl PrefixRead {
    fn begin(&mut self, config: &Arc<Config>) {
        *self = PrefixRead::beginning_with(&config.first_tree());
    }

    fn replied(
        &self,
        zxid: Zxid,
        request: &Request,
        result: &Result<Response, Error>,
    ) -> Result<(), String> {
        let Some(path) = read_path(request) else { return Ok(()) };
        let is_committed = zxid <= self.known || zxid.is_opening();
        if is_committed && self.agrees(request, path, zxid, result) {
            return Ok(());
        }
        Err(match is_committed {
            false => format!("at {zxid}, which is not committed"),
            true => format!(
                "at {zxid} with {}",
                difference(result, &self.expected(request, path, zxid))
            ),
        })
    }
}

#[cfg(test)]
mod tests;
