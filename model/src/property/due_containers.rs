//! S18: containers and TTL znodes go when they are due.
//!
//! The leader's container manager deletes a znode only that was due in the leader's tree when it looked (rule 1.5.4):
//! without children, and
//!
//! * a container that has had some, or that was made longer ago than `znode.container.maxNeverUsedIntervalMs`;
//! * a TTL znode whose data were last changed longer ago than its time to live.
//!
//! What is under way when it looks it does not see: data that are set at that moment go with a TTL znode all the same, and
//! so does whatever has taken the znode's place (rule 1.5.5). So a deletion is judged by the tree of its leader, as far as that
//! had applied the log, and not by the place that the deletion has in the log.
//!
//! And it looks every `znode.container.checkIntervalMs`: who leads on, with a znode in its tree that is due for longer than
//! two such intervals, has proposed its deletion. An error transaction does not name the znode, so a refused deletion counts
//! for each znode.

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
    ctime: u64,
    mtime: u64,
}

/// An established leader.
#[derive(Clone, Debug, Hash)]
struct Leader {
    since: Time,
    /// As far as it has applied the log.
    applied: Zxid,
    /// When it applied the last change of a path's znode, or proposed its deletion.
    touched: BTreeMap<ZnodePath, Time>,
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
                ctime: node.ctime,
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
                options.max_never_used_interval.map(|limit| after(self.ctime, limit))
            }
            EphemeralType::Ttl(ttl) => Some(after(self.mtime, ttl)),
            EphemeralType::Void | EphemeralType::Normal(_) => None,
        }
    }

    /// Why it may not go yet.
    fn why_not(&self, options: &ServerOptions, at: Time) -> String {
        let ago = |time: u64| Duration::from_millis(at.milliseconds().saturating_sub(time));
        match self.ephemeral_type {
            _ if self.children > 0 => format!("it has {} children", self.children),
            EphemeralType::Ttl(ttl) => format!(
                "its data were last changed {:?} ago, and its time to live is {ttl:?}",
                ago(self.mtime)
            ),
            _ => match options.max_never_used_interval {
                Some(limit) => format!(
                    "it never had a child, was made {:?} ago, and may stay for {limit:?}",
                    ago(self.ctime)
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
        let changes = |(_, versions): &(&ZnodePath, &Vec<(Zxid, Option<Reaped>)>)| {
            versions.binary_search_by_key(&zxid, |(changed, _)| *changed).is_ok()
        };
        for (path, _) in self.versions.iter().filter(changes) {
            leader.touched.insert(path.clone(), at);
        }
    }

    /// A leader proposes something on its own account.
    fn proposed(&mut self, at: Time, leader: ServerId, txn: &Txn) -> Result<(), String> {
        let path = match &txn.body {
            TxnBody::DeleteContainer { path } => path,
            _ => {
                let leader = self.leaders.get_mut(&leader);
                leader.into_iter().for_each(|leader| leader.refused = Some(at));
                return Ok(());
            }
        };
        let Some(known) = self.leaders.get(&leader) else {
            return Err(format!("{leader} proposes {txn}, and is no established leader."));
        };
        let judged = match self.seen(known, path) {
            None => Err("there is no container and no TTL znode in its tree".to_string()),
            Some(seen) => match seen.due(&self.options) {
                Some(due) if due < at.milliseconds() => Ok(()),
                _ => Err(seen.why_not(&self.options, at)),
            },
        };
        judged.map_err(|why| format!("{leader} deletes {path} by itself, though {why}."))?;
        let leader = self.leaders.get_mut(&leader).expect("it was just looked at");
        leader.touched.insert(path.clone(), at);
        Ok(())
    }

    /// Checks that no leader has left a znode in place that has been due for two intervals.
    fn overdue(&self, at: Time) -> Result<(), String> {
        let interval = self.options.container_check_interval;
        let each = |leader| self.versions.keys().map(move |path| (leader, path));
        for ((server, leader), path) in self.leaders.iter().flat_map(each) {
            let due = self.seen(leader, path).and_then(|seen| seen.due(&self.options));
            let Some(due) = due.filter(|due| *due < at.milliseconds()) else { continue };
            let due = Time::ZERO + Duration::from_millis(due);
            let touched = leader.touched.get(path).copied().into_iter();
            let since = touched.chain(leader.refused).fold(leader.since.max(due), Time::max);
            if at.since(since) > interval.saturating_mul(2) {
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
        match event {
            Event::Proposed { txn, .. } => is_its_own(txn),
            Event::Committed { .. }
            | Event::Applied { .. }
            | Event::Established { .. }
            | Event::LeftRole { .. }
            | Event::Crashed { .. }
            | Event::Exited { .. } => true,
            _ => false,
        }
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.options = config.options.clone();
        self.note(&config.setup.tree(), Zxid::ZERO);
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let at = view.at();
        let judged = match event {
            Event::Committed { txn, .. } => {
                if view.history.is_new(txn) {
                    self.note(view.history.tree(), txn.zxid);
                }
                Ok(())
            }
            Event::Established { leader, last_zxid, .. } => {
                let touched = BTreeMap::new();
                let known = Leader { since: at, applied: *last_zxid, touched, refused: None };
                self.leaders.insert(*leader, known);
                Ok(())
            }
            Event::Applied { server, txn, .. } => {
                self.applied(at, *server, txn.zxid);
                Ok(())
            }
            Event::Proposed { leader, txn } if is_its_own(txn) => self.proposed(at, *leader, txn),
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
    use crate::vocabulary::fingerprint::Fingerprint;
    use crate::vocabulary::zxid::Epoch;
    use crate::world::history::History;

    const TTL: Duration = Duration::from_secs(5);

    /// What happens at a second.
    enum At {
        Committed(TxnBody),
        Applied,
        Deletes,
        Refused,
        End,
    }
    use At::{Applied, Committed, Deletes, End, Refused};

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

    /// What the monitor says of what happens at these seconds, under a leader that was established at 0, applies what it is
    /// told to and looks every second; containers without a past may stay for 3 s.
    fn judged(happens: Vec<(u64, At)>) -> Result<(), String> {
        let mut config = Config::new(3, 0);
        config.options.container_check_interval = Duration::from_secs(1);
        config.options.max_never_used_interval = Some(Duration::from_secs(3));
        let (mut history, mut monitor) = (History::new(), DueContainers::new());
        monitor.begin(&Arc::new(config));
        let established = Event::Established { leader: ONE, epoch: Epoch(1), last_zxid: z(0, 0) };
        monitor.event(View::new(Time::ZERO, &history), &established).expect("a leader");
        let mut counter = 0;
        for (second, happens) in happens {
            let at = Time::ZERO + Duration::from_secs(second);
            let txn = |counter, body| {
                let (session, time) = (SessionId(0), at.milliseconds());
                Arc::new(Txn { zxid: z(1, counter), session, cxid: Xid(0), time, body })
            };
            let proposed = |body| Event::Proposed { leader: ONE, txn: txn(counter + 1, body) };
            let event = match happens {
                Committed(body) => {
                    counter += 1;
                    history.commit(txn(counter, body));
                    let txn = Arc::clone(history.get(z(1, counter)).expect("committed"));
                    let view = View::of_new(at, &history);
                    let told = monitor.event(view, &Event::Committed { leader: ONE, txn });
                    told.map_err(|objection| objection.saw)?;
                    continue;
                }
                Applied => {
                    let txn = Arc::clone(history.get(z(1, counter)).expect("committed"));
                    Event::Applied { server: ONE, txn, digest: Fingerprint::of(&0) }
                }
                Deletes => proposed(TxnBody::DeleteContainer { path: path("/c") }),
                Refused => proposed(TxnBody::Error(crate::vocabulary::error::Error::NotEmpty)),
                End => {
                    let ended = monitor.end(View::new(at, &history));
                    ended.map_err(|objection| objection.saw)?;
                    continue;
                }
            };
            let told = monitor.event(View::new(at, &history), &event);
            told.map_err(|objection| objection.saw)?;
        }
        Ok(())
    }

    fn objects(happens: Vec<(u64, At)>, words: &str) {
        let saw = judged(happens).expect_err("a violation");
        assert!(saw.contains(words), "{saw}");
    }

    #[test]
    fn a_container_that_has_lost_its_children_may_go() {
        let used = |last: At| {
            let before = [create(EphemeralType::Container), Applied, child(), Applied];
            let before = before.into_iter().map(|it| (1, it));
            before.chain([(1, childless()), (1, last), (1, Deletes)]).collect::<Vec<_>>()
        };
        assert_eq!(judged(used(Applied)), Ok(()));
        objects(used(Refused), "it has 1 children");
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
        objects(run(4), "was made 3s ago, and may stay for 3s");
        assert_eq!(judged(run(5)), Ok(()));
        objects(vec![(1, create(EphemeralType::Void)), (1, Applied), (9, Deletes)], "no container");
    }

    #[test]
    fn a_ttl_znode_stays_until_its_data_are_old() {
        let run = |seen: Vec<At>, second| {
            let before = [(1, create(EphemeralType::Ttl(TTL))), (1, Applied), (4, set())];
            let seen = seen.into_iter().map(|it| (4, it));
            judged(before.into_iter().chain(seen).chain([(second, Deletes)]).collect())
        };
        let saw = run(vec![Applied], 9).expect_err("its data are young");
        assert!(saw.contains("last changed 5s ago, and its time to live is 5s"), "{saw}");
        assert_eq!(run(vec![Applied], 10), Ok(()));
        // The leader has not applied what is committed: it goes by what it knows.
        assert_eq!(run(vec![], 9), Ok(()));
        assert!(run(vec![], 6).is_err());
    }

    #[test]
    fn what_is_due_does_not_stay() {
        let run = |tried: Option<At>, end| {
            let before = [(1, create(EphemeralType::Ttl(TTL))), (1, Applied)];
            let tried = tried.map(|it| (7, it));
            judged(before.into_iter().chain(tried).chain([(end, End)]).collect())
        };
        // It is due from the sixth second on.
        assert_eq!(run(None, 8), Ok(()));
        let saw = run(None, 9).expect_err("two intervals are over");
        assert!(saw.contains("/c has been due in its tree for 3s"), "{saw}");
        for tried in [Deletes, Refused] {
            assert_eq!(run(Some(tried), 9), Ok(()));
        }
        assert!(run(Some(Deletes), 10).is_err());
    }
}
