//! Tests of the monitors in runs made by hand: which runs violate a property, and which do not.

use super::*;
use crate::double_barrier::DoubleBarrierSeen;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::observation::Observed;
use vivarium_model::op::Request;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{LooksBack, Monitors, View};
use vivarium_model::time::{Duration, Time};
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

const BARRIER: &str = "/b";

/// One monitor and the run that it watches: client n has session n.
struct Scene {
    monitor: Box<dyn Monitor>,
    history: History,
    objection: Option<String>,
}

impl Scene {
    /// Returns a scene with three clients; a generation needs two.
    fn new(monitor: impl Monitor + 'static) -> Scene {
        let monitor = Box::new(monitor);
        let mut scene = Scene { monitor, history: History::new(), objection: None };
        for client in 1..=3 {
            let timeout = Duration::from_secs(6);
            scene.commit(client, TxnBody::CreateSession { timeout });
        }
        for path in ["/b", "/b/0", "/b/1"] {
            let body = TxnBody::create(znode(path), [], EphemeralType::Void, 1);
            scene.commit(1, body);
        }
        scene
    }

    fn commit(&mut self, session: u8, body: TxnBody) {
        let zxid = Zxid(self.history.last().0.max(Epoch(1).opening().0) + 1);
        let session = SessionId(session.into());
        let txn = Arc::new(Txn { zxid, session, cxid: Xid(1), time: 0, body });
        self.history.commit(Arc::clone(&txn));
        self.tell(true, &Event::Committed { leader: ServerId(1), txn });
    }

    fn says(&mut self, client: u8, observation: DoubleBarrierSeen) {
        self.tell(
            false,
            &Event::Observed {
                client: ClientId(client.into()),
                session: Some(SessionId(client.into())),
                next_xid: Xid(1),
                observation: Observed::new(observation),
            },
        );
    }

    fn tell(&mut self, is_new: bool, event: &Event) {
        let view = if is_new { View::of_new } else { View::new };
        let view = view(Time::ZERO, &self.history).within(self.monitor.looks_back());
        if self.monitor.concerns(event) {
            let told = self.monitor.event(view, event).map_err(|objection| objection.to_string());
            self.objection = self.objection.take().or(told.err());
        }
    }

    /// Begins to enter a generation, and registers.
    fn registers(&mut self, client: u8, generation: u64) {
        self.says(
            client,
            DoubleBarrierSeen::Entering {
                barrier: BARRIER.into(),
                generation,
                members: format!("{BARRIER}/{generation}").into(),
                party: format!("party {client}").into(),
            },
        );
        let owned = EphemeralType::Normal(SessionId(client.into()));
        let path = znode(&format!("{BARRIER}/{generation}/{client}"));
        self.commit(client, TxnBody::create(path, [], owned, 1));
    }

    fn deletes(&mut self, client: u8, generation: u64) {
        let path = znode(&format!("{BARRIER}/{generation}/{client}"));
        self.commit(client, TxnBody::Delete { path });
    }

    fn expires(&mut self, client: u8) {
        let session = SessionId(client.into());
        let ephemerals = self.history.tree().ephemerals(session).cloned().collect();
        self.commit(client, TxnBody::CloseSession { ephemerals });
    }

    /// Lets two clients register and enter.
    fn open(mut self) -> Scene {
        self.registers(1, 0);
        self.registers(2, 0);
        self.says(1, entered(0));
        self.says(2, entered(0));
        self
    }
}

fn znode(path: &str) -> ZnodePath {
    ZnodePath::new(path).expect("a path in a test is valid")
}

fn entered(generation: u64) -> DoubleBarrierSeen {
    DoubleBarrierSeen::Entered { barrier: BARRIER.into(), generation }
}

fn timed_out(generation: u64) -> DoubleBarrierSeen {
    DoubleBarrierSeen::TimedOut { barrier: BARRIER.into(), generation }
}

fn leaving() -> DoubleBarrierSeen {
    DoubleBarrierSeen::Leaving { barrier: BARRIER.into(), generation: 0 }
}

fn left() -> DoubleBarrierSeen {
    DoubleBarrierSeen::Left { barrier: BARRIER.into(), generation: 0 }
}

#[test]
fn a_search_for_the_double_barrier_need_not_tell_pasts_apart() {
    assert_eq!(Monitors::new(monitors(BARRIER, 2)).look_back(), LooksBack::Tip);
}

#[test]
fn one_that_enters_alone_is_refused() {
    let mut scene = Scene::new(Enough::new(BARRIER, 2));
    scene.registers(1, 0);
    scene.says(1, entered(0));
    insta::assert_snapshot!(scene.objection.unwrap_or_default(), @"double barrier DB1 enough: client 1 enters generation 0, in which there have never been 2 parties at one time: now 1 of them");
}

#[test]
fn enough_must_be_there_at_one_time_and_in_this_generation() {
    let mut scene = Scene::new(Enough::new(BARRIER, 2));
    scene.registers(1, 0);
    scene.deletes(1, 0);
    scene.registers(2, 0);
    scene.registers(3, 1);
    scene.says(2, entered(0));
    assert!(scene.objection.is_some());

    let mut scene = Scene::new(Enough::new(BARRIER, 2)).open();
    scene.registers(3, 0);
    scene.expires(1);
    scene.expires(2);
    scene.says(3, entered(0));
    assert_eq!(scene.objection, None);
}

#[test]
fn who_has_given_up_is_not_counted_and_who_has_died_is() {
    let mut scene = Scene::new(Enough::new(BARRIER, 2));
    scene.registers(1, 0);
    scene.says(1, timed_out(0));
    scene.registers(2, 0);
    scene.says(2, entered(0));
    assert!(scene.objection.is_some());

    let mut scene = Scene::new(Enough::new(BARRIER, 2));
    scene.registers(1, 0);
    scene.tell(false, &Event::Killed { client: ClientId(1) });
    scene.registers(2, 0);
    scene.says(2, entered(0));
    assert_eq!(scene.objection, None);
}

#[test]
fn one_that_leaves_while_another_is_inside_is_refused() {
    let mut scene = Scene::new(Emptiness::new(BARRIER)).open();
    scene.says(1, leaving());
    scene.deletes(1, 0);
    scene.says(1, left());
    insta::assert_snapshot!(scene.objection.unwrap_or_default(), @"double barrier DB2 emptiness: client 1 has left generation 0, and never since it began to was there a moment at which all others had: client 2 is inside");
}

#[test]
fn so_is_one_that_leaves_while_another_is_registered_and_does_not_know_yet() {
    let mut scene = Scene::new(Emptiness::new(BARRIER));
    scene.registers(1, 0);
    scene.registers(2, 0);
    scene.says(1, entered(0));
    scene.says(1, leaving());
    scene.says(1, left());
    assert!(scene.objection.is_some_and(|saw| saw.ends_with("client 2 is registered")));
}

#[test]
fn who_leaves_or_has_lost_its_session_is_not_waited_for() {
    let mut scene = Scene::new(Emptiness::new(BARRIER)).open();
    scene.says(1, leaving());
    scene.says(2, leaving());
    scene.says(1, left());
    assert_eq!(scene.objection, None);

    let mut scene = Scene::new(Emptiness::new(BARRIER)).open();
    scene.says(1, leaving());
    scene.expires(2);
    // One such moment is enough: the client need not wait for a member that arrives later.
    scene.registers(3, 0);
    scene.says(3, entered(0));
    scene.says(1, left());
    assert_eq!(scene.objection, None);
}

#[test]
fn one_that_enters_the_next_generation_too_early_is_refused() {
    let mut scene = Scene::new(OneGeneration::new(BARRIER)).open();
    scene.says(1, leaving());
    scene.registers(1, 1);
    scene.registers(3, 1);
    scene.says(3, entered(1));
    insta::assert_snapshot!(scene.objection.unwrap_or_default(), @"double barrier DB3 one generation: client 3 enters generation 1 while client 2 is inside generation 0");
}

#[test]
fn one_that_is_out_or_over_is_inside_no_longer() {
    let mut scene = Scene::new(OneGeneration::new(BARRIER)).open();
    scene.says(1, leaving());
    scene.expires(2);
    scene.registers(1, 1);
    scene.registers(3, 1);
    scene.says(3, entered(1));
    assert_eq!(scene.objection, None);
}

#[test]
fn two_verdicts_are_refused_in_either_order() {
    let mut scene = Scene::new(OneVerdict::new(BARRIER)).open();
    scene.says(3, timed_out(1));
    scene.says(3, timed_out(0));
    insta::assert_snapshot!(scene.objection.unwrap_or_default(), @"double barrier DB4 one verdict: client 3 gives up generation 0, which another member has entered");

    let mut scene = Scene::new(OneVerdict::new(BARRIER));
    scene.says(3, timed_out(0));
    scene.says(1, entered(0));
    assert!(scene.objection.is_some());
}

#[test]
fn one_that_asks_on_when_its_time_is_up_is_refused() {
    let run = |times: u32| {
        let mut scene = Scene::new(Patience::new(BARRIER)).open();
        let sent = || Event::Sent {
            client: ClientId(1),
            session: SessionId(1),
            connection: ClientConnection { client: ClientId(1), slot: 0 },
            xid: Xid(1),
            request: Arc::new(Request::GetChildren { path: "/b/0".into(), watch: false }),
        };
        scene.says(1, leaving());
        for _ in 0..9 {
            scene.tell(false, &sent());
        }
        let barrier = || BARRIER.into();
        scene.says(1, DoubleBarrierSeen::OutOfPatience { barrier: barrier(), generation: 0 });
        for _ in 0..times {
            scene.tell(false, &sent());
        }
        scene.objection
    };
    assert_eq!(run(2), None);
    insta::assert_snapshot!(run(3).unwrap_or_default(), @"double barrier DB5 patience: client 1 no longer waits for the others to leave, but has listed the members in /b/0 3 times since");
}
