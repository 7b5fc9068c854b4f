use super::*;
use crate::property::Monitor;
use crate::property::testing::{ONE, path, z};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::op::Data;
use crate::vocabulary::zxid::Epoch;
use crate::world::history::History;

const TTL: Duration = Duration::from_secs(5);

/// An event of a run.
enum At {
    Committed(TxnBody),
    Applied,
    /// The leader proposes a deletion, and it is committed.
    Deletes,
    Refused,
    /// The leader proposes the next change, which concerns `/c`.
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
    Committed(TxnBody::SetData { path: path("/c"), data: Data::from(&b"x"[..]), version: 1 })
}

/// A leader that was established at 0, applies what is committed, and checks every second; a container that never had
/// a child may stay for 3 s.
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
                let refused = proposed(TxnBody::Error(crate::vocabulary::error::Error::NotEmpty));
                self.tell(at, &refused)
            }
            Proposed => {
                let change = TxnBody::SetAcl { path: path("/c"), acl: AclList::OPEN, aversion: 1 };
                let proposed = proposed(change);
                self.tell(at, &proposed)
            }
            End => self.monitor.end(View::new(at, &self.history)),
        }
    }
}

/// Returns the monitor's verdict on these events, each with its second.
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

/// All transactions before the deletion count, even those that the leader has not applied.
#[test]
fn a_container_that_has_lost_its_children_may_go() {
    let used = |behind: Vec<At>| {
        let before = [create(EphemeralType::Container), Applied, child(), Applied, childless()];
        before.into_iter().chain(behind).map(|it| (1, it)).collect::<Vec<_>>()
    };
    assert_eq!(judged(used(vec![Deletes])), Ok(()));
    objects(used(vec![Applied, child(), Deletes]), "it has 1 children");
}

/// A znode that was created in the place of the container must stay, whether it is another container or of another
/// kind.
#[test]
fn what_has_taken_its_place_stays() {
    let replaced = |by: EphemeralType| {
        let before = [create(EphemeralType::Container), child(), childless(), Applied];
        let gone = Committed(TxnBody::Delete { path: path("/c") });
        before.into_iter().chain([gone, create(by), Deletes]).map(|it| (1, it)).collect()
    };
    objects(replaced(EphemeralType::Container), "it never had a child");
    objects(replaced(EphemeralType::Void), "the znode there is neither a container");
    objects(replaced(EphemeralType::Ttl(TTL)), "its time to live is 5s");
}

/// A limit beyond the end of time is never reached.
#[test]
fn a_limit_without_end() {
    let run =
        |last| judged(vec![(1, create(EphemeralType::Ttl(Duration::MAX))), (1, Applied), last]);
    assert_eq!(run((99, End)), Ok(()));
    assert!(run((99, Deletes)).is_err());
}

#[test]
fn one_that_never_had_any_stays_for_a_while() {
    let run = |second| vec![(1, create(EphemeralType::Container)), (1, Applied), (second, Deletes)];
    objects(run(4), "its data were last changed 3s ago, and it may stay for 3s");
    assert_eq!(judged(run(5)), Ok(()));
    let set = vec![(1, create(EphemeralType::Container)), (4, set()), (5, Deletes)];
    objects(set, "its data were last changed 1s ago");
    objects(
        vec![(1, create(EphemeralType::Void)), (1, Applied), (9, Deletes)],
        "neither a container",
    );
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
    // The znode is due from the sixth second on, and the deletions take 12 ms.
    assert_eq!(run(None, 8), Ok(()));
    let saw = run(None, 9).expect_err("two intervals are over");
    assert!(saw.contains("/c, which has been due in its tree for 3s"), "{saw}");
    assert_eq!(run(Some(Refused), 9), Ok(()));
    assert!(run(Some(Refused), 10).is_err());
    // A deletion may stay outstanding for any time.
    assert_eq!(run(Some(Deletes), 99), Ok(()));
}

/// The leader need not delete a znode with an outstanding change, and checks it again after it has applied the
/// change.
#[test]
fn what_is_being_changed_may_stay() {
    let run = |end| {
        judged(vec![
            (1, create(EphemeralType::Ttl(TTL))),
            (1, Applied),
            (7, Proposed),
            (20, Committed(TxnBody::SetAcl { path: path("/c"), acl: AclList::OPEN, aversion: 1 })),
            (20, Applied),
            (end, End),
        ])
    };
    assert_eq!(run(22), Ok(()));
    assert!(run(23).is_err());
}
