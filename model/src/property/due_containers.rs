//! S18: containers and TTL znodes go when they are due.
//!
//! The leader's container manager deletes a znode only that is due (rule 1.5.4): without children, and
//!
//! * a container that has had some, or whose data were last changed longer ago than
//!   `znode.container.maxNeverUsedIntervalMs`;
//! * a TTL znode whose data were last changed longer ago than its time to live.
//!
//! A deletion is judged at its place in the log, by the leader's clock when it was proposed: what was changed or made anew
//! before it, in the leader's tree or under way, stays. (Servers of today delete it:
//! [`Bug::ContainerListIsOld`](crate::vocabulary::release::Bug::ContainerListIsOld).)
//!
//! And it looks every `znode.container.checkIntervalMs`, and takes its time between two deletions: who leads on, with a
//! znode in its tree that is due for longer than two such intervals and twice the time for all deletions, has proposed
//! its deletion, unless a change of the znode is under way. An error transaction does not name the znode, so a refused deletion counts for each znode.

use super::{Asked, LooksBack, Monitor, Objection, View};
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

/// The monitor of S18. Asked in sweeps: it needs a clock.
#[derive(Clone, Debug, Default, Hash)]
pub struct DueContainers {
    /// What each path's znode has been, behind which transactions; oldest first. `None` where none was there, or one of
    /// another kind.
    versions: BTreeMap<ZnodePath, Vec<(Zxid, Option<Reaped>)>>,
    leaders: BTreeMap<ServerId, Leader>,
    /// Never changes in a run.
    options: ServerOptions,
}

/// A container or a TTL znode, as far as it matters here. Times are in milliseconds, as in a Stat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reaped {
    ephemeral_type: EphemeralType,
    children: usize,
    cversion: i32,
    mtime: u64,
}

/// An established leader.
#[derive(Clone, Debug, Hash)]
struct Leader {
    since: Time,
    /// As far as it has applied the log.
    applied: Zxid,
    /// When it applied the last change of a path's znode.
    touched: BTreeMap<ZnodePath, Time>,
    /// Changes of such znodes that it has proposed and not applied: it leaves those znodes alone.
    under_way: BTreeMap<Zxid, Vec<ZnodePath>>,
    /// When a deletion of its own was last refused.
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

    /// The millisecond after which it may be deleted, if it stays as it is; `None`: never.
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

    /// Why it may not go yet.
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
    /// No znode is known.
    pub fn new() -> DueContainers {
        DueContainers::default()
    }

    /// Behind a transaction the tree is this.
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

    /// What a path's znode is to a leader.
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

    /// A leader proposes something.
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

    /// A deletion of a leader's own is committed, behind what is known of the znode.
    fn deleted(&self, leader: ServerId, path: &ZnodePath, txn: &Txn) -> Result<(), String> {
        let versions = self.versions.get(path).and_then(|versions| versions.last());
        let there = versions.and_then(|(_, there)| there.as_ref());
        let why = match there {
            None => "what is there is no container and no TTL znode".to_string(),
            Some(there) => match there.due(&self.options) {
                Some(due) if due < txn.time => return Ok(()),
                _ => there.why_not(&self.options, txn.time),
            },
        };
        let zxid = txn.zxid;
        Err(format!("{leader} deletes {path} by itself ({zxid}), though {why}."))
    }

    /// Checks that no leader has left a znode in place that has been due for two intervals.
    fn overdue(&self, at: Time) -> Result<(), String> {
        let interval = self.options.container_check_interval;
        let all = u32::try_from(self.versions.len()).unwrap_or(u32::MAX);
        let deletions = self.options.between_container_deletions().saturating_mul(all);
        // What becomes due behind a look waits for the next one, which waits until the list is worked off.
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
                return Err(format!(
                    "{server} looks every {interval:?} for what is to be deleted, and {path} has been due in its \
                     tree for {:?}; it has not proposed to delete it.",
                    at.since(since)
                ));
            }
        }
        Ok(())
    }
}

impl Monitor for DueContainers {
    fn name(&self) -> &'static str {
        "S18 containers go when they are due"
    }

    fn asked(&self) -> Asked {
        Asked::InSweeps
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(
            event,
            Event::Proposed { .. }
                | Event::Committed { .. }
                | Event::Applied { .. }
                | Event::Established { .. }
                | Event::LeftRole { .. }
                | Event::Crashed { .. }
                | Event::Exited { .. }
        )
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.options = config.options.clone();
        self.note(&config.setup.tree(), Zxid::ZERO);
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let at = view.at();
        let judged = match event {
            Event::Committed { leader, txn } if view.history.is_new(txn) => {
                let judged = match &txn.body {
                    TxnBody::DeleteContainer { path } if is_its_own(txn) => {
                        self.deleted(*leader, path, txn)
                    }
                    _ => Ok(()),
                };
                self.note(view.history.tree(), txn.zxid);
                judged
            }
            Event::Established { leader, last_zxid, .. } => {
                let touched = BTreeMap::new();
                let (applied, under_way) = (*last_zxid, BTreeMap::new());
                let known = Leader { since: at, applied, touched, under_way, refused: None };
                self.leaders.insert(*leader, known);
                Ok(())
            }
            Event::Applied { server, txn, .. } => {
                self.applied(at, *server, txn.zxid);
                Ok(())
            }
            Event::Proposed { leader, txn } => {
                self.proposed(at, *leader, txn);
                Ok(())
            }
            Event::LeftRole { server, .. }
            | Event::Crashed { server, .. }
            | Event::Exited { server, .. } => {
                self.leaders.remove(server);
                Ok(())
            }
            _ => Ok(()),
        };
        judged.map_err(|saw| Objection::new(self.name(), saw))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.overdue(view.at()).map_err(|saw| Objection::new(self.name(), saw))
    }
}

/// Whether a leader proposes it on its own account, and not for a client (rule 1.5.5).
fn is_its_own(txn: &Txn) -> bool {
    txn.session == SessionId(0) && txn.cxid == Xid(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, path, z};
    use crate::vocabulary::acl::AclList;
    use crate::vocabulary::fingerprint::Fingerprint;
    use crate::vocabulary::zxid::Epoch;
    use crate::world::history::History;

    const TTL: Duration = Duration::from_secs(5);

    /// What happens at a second.
    enum At {
        Committed(TxnBody),
        Applied,
        /// The leader proposes a deletion, and it is committed.
        Deletes,
        Refused,
        /// The leader proposes the next change, one of `/c`.
        Proposed,
        End,
    }
    use At::{Applied, Committed, Deletes, End, Proposed, Refused};

    fn create(ephemeral_type: EphemeralType) -> At {
        Committed(TxnBody::create(path("/c"), &b""[..], ephemeral_type, 1))
    }

    fn child() -> At {
        Committed(TxnBody::create(path("/c/k"), &b""[..], EphemeralType::Void, 1))
    }

    fn childless() -> At {
        Committed(TxnBody::Delete { path: path("/c/k") })
    }

    fn set() -> At {
        Committed(TxnBody::SetData { path: path("/c"), data: Arc::from(&b"x"[..]), version: 1 })
    }

    /// A leader that was established at 0, applies what it is told to and looks every second; containers without a past
    /// may stay for 3 s.
    struct Run {
        history: History,
        monitor: DueContainers,
        counter: u32,
    }

    impl Run {
        fn begin() -> Run {
            let mut config = Config::new(3, 0);
            config.options.container_check_interval = Duration::from_secs(1);
            config.options.max_never_used_interval = Some(Duration::from_secs(3));
            let (history, mut monitor) = (History::new(), DueContainers::new());
            monitor.begin(&Arc::new(config));
            let (leader, last_zxid) = (ONE, z(0, 0));
            let established = Event::Established { leader, epoch: Epoch(1), last_zxid };
            monitor.event(View::new(Time::ZERO, &history), &established).expect("a leader");
            Run { history, monitor, counter: 0 }
        }

        fn txn(&self, at: Time, body: TxnBody) -> Arc<Txn> {
            let (zxid, time) = (z(1, self.counter + 1), at.milliseconds());
            Arc::new(Txn { zxid, session: SessionId(0), cxid: Xid(0), time, body })
        }

        fn tell(&mut self, at: Time, event: &Event) -> Result<(), Objection> {
            self.monitor.event(View::new(at, &self.history), event)
        }

        fn commit(&mut self, at: Time, body: TxnBody) -> Result<(), Objection> {
            let txn = self.txn(at, body);
            self.counter += 1;
            self.history.commit(Arc::clone(&txn));
            let view = View::of_new(at, &self.history);
            self.monitor.event(view, &Event::Committed { leader: ONE, txn })
        }

        fn happens(&mut self, at: Time, happens: At) -> Result<(), Objection> {
            let proposed = |body| Event::Proposed { leader: ONE, txn: self.txn(at, body) };
            match happens {
                Committed(body) => self.commit(at, body),
                Applied => {
                    let txn = Arc::clone(self.history.get(z(1, self.counter)).expect("committed"));
                    self.tell(at, &Event::Applied { server: ONE, txn, digest: Fingerprint::of(&0) })
                }
                Deletes => {
                    let deletion = TxnBody::DeleteContainer { path: path("/c") };
                    let proposed = proposed(deletion.clone());
                    self.tell(at, &proposed)?;
                    self.commit(at, deletion)
                }
                Refused => {
                    let refused =
                        proposed(TxnBody::Error(crate::vocabulary::error::Error::NotEmpty));
                    self.tell(at, &refused)
                }
                Proposed => {
                    let change =
                        TxnBody::SetAcl { path: path("/c"), acl: AclList::OPEN, aversion: 1 };
                    let proposed = proposed(change);
                    self.tell(at, &proposed)
                }
                End => self.monitor.end(View::new(at, &self.history)),
            }
        }
    }

    /// What the monitor says of what happens at these seconds.
    fn judged(happens: Vec<(u64, At)>) -> Result<(), String> {
        let mut run = Run::begin();
        happens.into_iter().try_for_each(|(second, happens)| {
            let at = Time::ZERO + Duration::from_secs(second);
            run.happens(at, happens).map_err(|objection| objection.saw)
        })
    }

    fn objects(happens: Vec<(u64, At)>, words: &str) {
        let saw = judged(happens).expect_err("a violation");
        assert!(saw.contains(words), "{saw}");
    }

    /// It counts what is committed before the deletion, whether the leader has applied it or not.
    #[test]
    fn a_container_that_has_lost_its_children_may_go() {
        let used = |behind: Vec<At>| {
            let before = [create(EphemeralType::Container), Applied, child(), Applied, childless()];
            before.into_iter().chain(behind).map(|it| (1, it)).collect::<Vec<_>>()
        };
        assert_eq!(judged(used(vec![Deletes])), Ok(()));
        objects(used(vec![Applied, child(), Deletes]), "it has 1 children");
    }

    /// Whatever was made in the place of the container stays: another container, or a znode of another kind.
    #[test]
    fn what_has_taken_its_place_stays() {
        let replaced = |by: EphemeralType| {
            let before = [create(EphemeralType::Container), child(), childless(), Applied];
            let gone = Committed(TxnBody::Delete { path: path("/c") });
            before.into_iter().chain([gone, create(by), Deletes]).map(|it| (1, it)).collect()
        };
        objects(replaced(EphemeralType::Container), "it never had a child");
        objects(replaced(EphemeralType::Void), "what is there is no container");
        objects(replaced(EphemeralType::Ttl(TTL)), "its time to live is 5s");
    }

    /// Limits beyond the end of time are never reached.
    #[test]
    fn a_limit_without_end() {
        let run =
            |last| judged(vec![(1, create(EphemeralType::Ttl(Duration::MAX))), (1, Applied), last]);
        assert_eq!(run((99, End)), Ok(()));
        assert!(run((99, Deletes)).is_err());
    }

    #[test]
    fn one_that_never_had_any_stays_for_a_while() {
        let run =
            |second| vec![(1, create(EphemeralType::Container)), (1, Applied), (second, Deletes)];
        objects(run(4), "its data were last changed 3s ago, and it may stay for 3s");
        assert_eq!(judged(run(5)), Ok(()));
        let set = vec![(1, create(EphemeralType::Container)), (4, set()), (5, Deletes)];
        objects(set, "its data were last changed 1s ago");
        objects(vec![(1, create(EphemeralType::Void)), (1, Applied), (9, Deletes)], "no container");
    }

    #[test]
    fn a_ttl_znode_stays_until_its_data_are_old() {
        let run = |second| {
            vec![(1, create(EphemeralType::Ttl(TTL))), (1, Applied), (4, set()), (second, Deletes)]
        };
        objects(run(9), "last changed 5s ago, and its time to live is 5s");
        assert_eq!(judged(run(10)), Ok(()));
    }

    #[test]
    fn what_is_due_does_not_stay() {
        let run = |tried: Option<At>, end| {
            let before = [(1, create(EphemeralType::Ttl(TTL))), (1, Applied)];
            let tried = tried.map(|it| (7, it));
            judged(before.into_iter().chain(tried).chain([(end, End)]).collect())
        };
        // It is due from the sixth second on, and 12 ms are for the deletion.
        assert_eq!(run(None, 8), Ok(()));
        let saw = run(None, 9).expect_err("two intervals are over");
        assert!(saw.contains("/c has been due in its tree for 3s"), "{saw}");
        assert_eq!(run(Some(Refused), 9), Ok(()));
        assert!(run(Some(Refused), 10).is_err());
        // A deletion that is under way, however long.
        assert_eq!(run(Some(Deletes), 99), Ok(()));
    }

    /// What is under way is left alone, and looked at again when it is applied.
    #[test]
    fn what_is_being_changed_may_stay() {
        let run = |end| {
            judged(vec![
                (1, create(EphemeralType::Ttl(TTL))),
                (1, Applied),
                (7, Proposed),
                (
                    20,
                    Committed(TxnBody::SetAcl {
                        path: path("/c"),
                        acl: AclList::OPEN,
                        aversion: 1,
                    }),
                ),
                (20, Applied),
                (end, End),
            ])
        };
        assert_eq!(run(22), Ok(()));
        assert!(run(23).is_err());
    }
}
