//! S18: the leader deletes containers and TTL znodes when they are due.
//!
//! The leader's container manager deletes a znode only if it is due (rule 1.5.4). A znode is due if it has no
//! children and is one of these:
//!
//! * a container that has had children, or whose data were last changed longer ago than
//!   `znode.container.maxNeverUsedIntervalMs`;
//! * a TTL znode whose data were last changed longer ago than its time to live.
//!
//! A deletion is judged at its place in the log, by the leader's clock when it was proposed. So the leader must not
//! delete a znode that was changed or created again before that place, even if the leader had not applied the change.
//! (Present releases do delete it: [`Bug::ContainerListIsOld`](crate::vocabulary::release::Bug::ContainerListIsOld).)
//!
//! The leader checks every `znode.container.checkIntervalMs`, and waits between two deletions. It must have proposed
//! to delete each znode that has been due in its tree for longer than two intervals and twice the time that all
//! deletions take, unless a change of the znode is outstanding. An error transaction does not name the znode, so a
//! refused deletion counts for each znode.

use super::{Declaration, Declared, LooksBack, Objection, View};
use crate::minds;
use crate::property::Saw;
use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::config::{Config, ServerOptions};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, SessionId, Xid};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of S18. Only sweeps ask it, since it needs a clock.
#[derive(Clone, Debug, Default, Hash)]
pub struct DueContainers {
    /// For each path, the znode after each transaction that changed it, oldest first. `None` if the znode did not
    /// exist or was of another kind.
    versions: BTreeMap<ZnodePath, Vec<(Zxid, Option<Reaped>)>>,
    leaders: BTreeMap<ServerId, Leader>,
    /// Constant during a run.
    options: ServerOptions,
}

/// The relevant state of a container or TTL znode. Times are in milliseconds, as in a Stat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reaped {
    ephemeral_type: EphemeralType,
    children: usize,
    cversion: i32,
    mtime: u64,
}

#[derive(Clone, Debug, Hash)]
struct Leader {
    since: Time,
    /// The last zxid that it has applied.
    applied: Zxid,
    /// When it applied the last change of each path's znode.
    touched: BTreeMap<ZnodePath, Time>,
    /// Changes of such znodes that it has proposed but not applied; it need not delete these znodes yet.
    under_way: BTreeMap<Zxid, Vec<ZnodePath>>,
    /// When a deletion that it had proposed itself was last refused.
    refused: Option<Time>,
}

impl Reaped {
    fn of(tree: &DataTree, path: &ZnodePath) -> Option<Reaped> {
        let (_, node, children) = tree.find(path)?;
        match node.ephemeral_type {
            EphemeralType::Void | EphemeralType::Normal(_) => None,
            EphemeralType::Container | EphemeralType::Ttl(_) => Some(Reaped {
                ephemeral_type: node.ephemeral_type,
                children: children as usize,
                cversion: node.cversion,
                mtime: node.mtime,
            }),
        }
    }

    /// Returns the millisecond after which the znode may be deleted if it does not change; `None` means never.
    fn due(&self, options: &ServerOptions) -> Option<u64> {
        let after = |time: u64, limit: Duration| {
            time.saturating_add(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        };
        match self.ephemeral_type {
            _ if self.children > 0 => None,
            EphemeralType::Container if self.cversion > 0 => Some(0),
            EphemeralType::Container => {
                options.max_never_used_interval.map(|limit| after(self.mtime, limit))
            }
            EphemeralType::Ttl(ttl) => Some(after(self.mtime, ttl)),
            EphemeralType::Void | EphemeralType::Normal(_) => None,
        }
    }

    /// Explains why the znode must not be deleted yet.
    fn why_not(&self, options: &ServerOptions, now: u64) -> String {
        let ago = |time: u64| Duration::from_millis(now.saturating_sub(time));
        match self.ephemeral_type {
            _ if self.children > 0 => format!("it has {} children", self.children),
            EphemeralType::Ttl(ttl) => format!(
                "its data were last changed {:?} ago, and its time to live is {ttl:?}",
                ago(self.mtime)
            ),
            _ => match options.max_never_used_interval {
                Some(limit) => format!(
                    "it never had a child, its data were last changed {:?} ago, and it may stay for {limit:?}",
                    ago(self.mtime)
                ),
                None => "it is a container that never had a child".to_string(),
            },
        }
    }
}

impl DueContainers {
    /// Returns a monitor that knows no znode.
    pub fn new() -> DueContainers {
        DueContainers::default()
    }

    /// Records the tree after a transaction.
    fn note(&mut self, tree: &DataTree, zxid: Zxid) {
        for (path, versions) in &mut self.versions {
            let now = Reaped::of(tree, path);
            if versions.last().is_none_or(|(_, last)| *last != now) {
                versions.push((zxid, now));
            }
        }
        for path in tree.reaped() {
            let first = || vec![(zxid, Reaped::of(tree, path))];
            self.versions.entry(path.clone()).or_insert_with(first);
        }
    }

    /// Returns a path's znode in the leader's tree.
    fn seen(&self, leader: &Leader, path: &ZnodePath) -> Option<&Reaped> {
        let versions = self.versions.get(path)?;
        let (_, seen) = versions.iter().rev().find(|(zxid, _)| *zxid <= leader.applied)?;
        seen.as_ref()
    }

    fn applied(&mut self, at: Time, leader: ServerId, zxid: Zxid) {
        let Some(leader) = self.leaders.get_mut(&leader) else { return };
        leader.applied = zxid;
        while let Some(first) = leader.under_way.first_entry().filter(|it| *it.key() <= zxid) {
            leader.touched.extend(first.remove().into_iter().map(|path| (path, at)));
        }
        let changes = |(_, versions): &(&ZnodePath, &Vec<(Zxid, Option<Reaped>)>)| {
            versions.binary_search_by_key(&zxid, |(changed, _)| *changed).is_ok()
        };
        for (path, _) in self.versions.iter().filter(changes) {
            leader.touched.insert(path.clone(), at);
        }
    }

    /// Records a leader's proposal.
    fn proposed(&mut self, at: Time, leader: ServerId, txn: &Txn) {
        let Some(leader) = self.leaders.get_mut(&leader) else { return };
        let paths = self.versions.keys().filter(|path| txn.body.concerns(path));
        let paths: Vec<ZnodePath> = paths.cloned().collect();
        if !paths.is_empty() {
            leader.under_way.insert(txn.zxid, paths);
        } else if is_its_own(txn) {
            leader.refused = Some(at);
        }
    }

    /// Judges a committed deletion that the leader proposed itself, by the znode just before it.
    fn deleted(&self, leader: ServerId, path: &ZnodePath, txn: &Txn) -> Result<(), Saw> {
        let versions = self.versions.get(path).and_then(|versions| versions.last());
        let there = versions.and_then(|(_, there)| there.as_ref());
        let why = match there {
            None => "the znode there is neither a container nor a TTL znode".to_string(),
            Some(there) => match there.due(&self.options) {
                Some(due) if due < txn.time => return Ok(()),
                _ => there.why_not(&self.options, txn.time),
            },
        };
        let zxid = txn.zxid;
        Err(Saw::from(format!("{leader} deletes {path} by itself ({zxid}), though {why}.")))
    }

    /// Fails if a leader has not deleted a znode that has been due for longer than the bound.
    fn overdue(&self, at: Time) -> Result<(), Saw> {
        let interval = self.options.container_check_interval;
        let all = u32::try_from(self.versions.len()).unwrap_or(u32::MAX);
        let deletions = self.options.between_container_deletions().saturating_mul(all);
        // A znode that becomes due after a check waits for the next one, which waits until all deletions of this one
        // are made.
        let patience = interval.saturating_add(deletions).saturating_mul(2);
        let each = |leader| self.versions.keys().map(move |path| (leader, path));
        for ((server, leader), path) in self.leaders.iter().flat_map(each) {
            if leader.under_way.values().any(|paths| paths.contains(path)) {
                continue;
            }
            let due = self.seen(leader, path).and_then(|seen| seen.due(&self.options));
            let Some(due) = due.filter(|due| *due < at.milliseconds()) else { continue };
            let due = Time::ZERO + Duration::from_millis(due);
            let touched = leader.touched.get(path).copied().into_iter();
            let since = touched.chain(leader.refused).fold(leader.since.max(due), Time::max);
            if at.since(since) > patience {
                return Err(Saw::from(format!(
                    "{server} looks for znodes to delete every {interval:?}, but it has not proposed to delete \
                     {path}, which has been due in its tree for {:?}.",
                    at.since(since)
                ))
                .about(*server)
                .about(path));
            }
        }
        Ok(())
    }
}

impl Declared for DueContainers {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("S18 containers go when they are due", LooksBack::Tip, minds! { |this, view, event|
            Event::Committed { leader, txn } if view.history.is_new(txn) => this.committed(view, *leader, txn),
            Event::Established { leader, last_zxid, .. } => {
                let (touched, under_way) = (BTreeMap::new(), BTreeMap::new());
                let (since, applied) = (view.at(), *last_zxid);
                this.leaders.insert(*leader, Leader { since, applied, touched, under_way, refused: None });
            },
            Event::Applied { server, txn, .. } => this.applied(view.at(), *server, txn.zxid),
            Event::Proposed { leader, txn } => this.proposed(view.at(), *leader, txn),
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } | Event::Exited { server, .. } => {
                this.leaders.remove(server);
            },
        })
        .begin(Self::begin)
        .end(Self::end);
}

impl DueContainers {
    fn begin(&mut self, config: &Arc<Config>) {
        self.options = config.options.clone();
        self.note(&config.first_tree(), Zxid::ZERO);
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.overdue(view.at()).map_err(|saw| self.objection(saw))
    }

    fn committed(&mut self, view: View<'_>, leader: ServerId, txn: &Txn) -> Result<(), Objection> {
        let judged = match &txn.body {
            TxnBody::DeleteContainer { path } if is_its_own(txn) => self.deleted(leader, path, txn),
            _ => Ok(()),
        };
        self.note(view.history.tree(), txn.zxid);
        judged.map_err(|saw| self.objection(saw))
    }
}

/// Returns true if the leader proposed the transaction itself, not for a client (rule 1.5.5).
fn is_its_own(txn: &Txn) -> bool {
    txn.session == SessionId(0) && txn.cxid == Xid(0)
}

#[cfg(test)]
mod tests;
