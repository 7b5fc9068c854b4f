use super::*;
use crate::property::testing::replied;
use crate::property::testing::{
    Bodies, ONE, SESSION, THREE, TWO, committed, create_request, exists, lost, sent, session, txn,
    z,
};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::AtMaster;
use crate::vocabulary::id::{ClientConnection, ClientId, LearnerConnection, Machine};
use crate::vocabulary::step::Tail;
use crate::vocabulary::step::Unwritten;
use crate::vocabulary::time::Time;
use crate::world::history::History;

/// Feeds the events, ends the run, and returns the counts, one line per mark.
fn counted(events: Vec<Event>) -> String {
    let mut marks = MarkCounter::new(&Config::new(3, 1));
    let mut history = History::new();
    for event in &events {
        if let Event::Committed { txn, .. } = event {
            history.commit(txn.clone());
        }
        marks.event(View::new(Time::ZERO, &history), event);
    }
    marks.finish(View::new(Time::ZERO, &history));
    let line = |(mark, count): (&Mark, &u64)| format!("{mark} {count}");
    marks.counts().iter().map(line).collect::<Vec<_>>().join("; ")
}

fn create(counter: u32, xid: u32, path: &str) -> Event {
    committed(txn(z(1, counter), xid, Bodies(&History::new()).create(path, "")))
}

fn send(xid: u32) -> Event {
    sent(xid, create_request("/a", ""))
}

fn lose(xid: u32) -> Event {
    lost(xid, create_request("/a", ""))
}

fn connected(server: ServerId) -> Event {
    session(SessionState::SyncConnected, Some(server))
}

fn disconnected() -> Event {
    session(SessionState::Disconnected, None)
}

#[test]
fn a_lost_create_that_was_applied() {
    let events =
        vec![connected(ONE), send(1), create(1, 1, "/a"), disconnected(), lose(1), connected(ONE)];
    assert_eq!(counted(events), "lost reply: applied 1");
}

#[test]
fn a_lost_create_that_is_still_pending() {
    let events = vec![
        connected(ONE),
        send(1),
        lose(1),
        disconnected(),
        connected(TWO),
        create(1, 1, "/a"),
        // A second reconnect does not count it again.
        connected(TWO),
    ];
    assert_eq!(counted(events), "lost reply: pending 1; session moved 1");
}

#[test]
fn lost_creates_that_are_never_applied() {
    // Never committed.
    let events = vec![connected(ONE), send(1), lose(1), disconnected(), connected(ONE)];
    assert_eq!(counted(events), "lost reply: never applied 1");
    // The session ends first.
    let expired = session(SessionState::Expired, None);
    let events = vec![connected(ONE), send(1), lose(1), disconnected(), expired];
    assert_eq!(counted(events), "lost reply: never applied 1; session expired 1");
    // Committed as a failure: before the session was connected again, and after it.
    let failed = || committed(txn(z(1, 1), 1, TxnBody::Error(Error::NodeExists)));
    let events = vec![connected(ONE), send(1), failed(), lose(1), disconnected(), connected(ONE)];
    assert_eq!(counted(events), "lost reply: never applied 1");
    let events = vec![connected(ONE), send(1), lose(1), disconnected(), connected(ONE), failed()];
    assert_eq!(counted(events), "lost reply: never applied 1");
}

#[test]
fn requests_that_are_no_lost_creates() {
    let stat = crate::vocabulary::stat::Stat::default();
    let created = crate::vocabulary::op::OpResult::Created("/a".into(), stat);
    let reply = Ok(crate::vocabulary::op::Response::Written(created));
    let events = vec![
        connected(ONE),
        // Answered.
        send(1),
        create(1, 1, "/a"),
        replied(1, z(1, 1), create_request("/a", ""), reply),
        // A read.
        sent(2, exists("/a")),
        lost(2, exists("/a")),
        // Never sent.
        lose(3),
        // Still in flight when the run ends.
        send(4),
        disconnected(),
        connected(ONE),
        // The same number in another session.
        committed({
            let mut other = (*txn(z(1, 2), 4, TxnBody::Error(Error::NoNode))).clone();
            other.session = SessionId(SESSION.0 + 1);
            other.into()
        }),
    ];
    assert_eq!(counted(events), "");
}

fn established(leader: ServerId, epoch: u32) -> Event {
    Event::Established { leader, epoch: Epoch(epoch), last_zxid: z(0, 0) }
}

fn elected(server: ServerId, leader: ServerId) -> Event {
    Event::Elected { server, leader, round: 1 }
}

#[test]
fn an_election_while_the_leader_is_dead() {
    let crash = || Event::Crashed { server: ONE, lost: 0 };
    let events = vec![
        elected(ONE, ONE),
        established(ONE, 1),
        crash(),
        elected(TWO, THREE),
        elected(THREE, THREE),
        // It is back before the end of the synchronisation; it was dead at the election.
        Event::Restarted { server: ONE },
        established(THREE, 2),
    ];
    assert_eq!(counted(events), "election with dead leader 1");
    let events = vec![
        established(ONE, 1),
        crash(),
        Event::Restarted { server: ONE },
        elected(TWO, THREE),
        established(THREE, 2),
    ];
    assert_eq!(counted(events), "", "the old leader took part");
    let events = vec![established(ONE, 1), crash(), elected(TWO, THREE), established(TWO, 2)];
    assert_eq!(counted(events), "", "another one was established");
}

#[test]
fn a_late_leader_does_not_pass_for_the_present_one() {
    let events = vec![
        established(TWO, 2),
        established(ONE, 1),
        Event::Crashed { server: ONE, lost: 3 },
        elected(TWO, TWO),
        established(TWO, 3),
    ];
    assert_eq!(counted(events), "unsynced tail lost 1; late leader 1");
}

#[test]
fn synchronisations_moves_and_exits() {
    let learner = LearnerConnection { learner: TWO, slot: 0 };
    let sync = |mode| Event::Synchronising { leader: ONE, learner, mode };
    let events = vec![
        sync(SyncMode::Diff),
        sync(SyncMode::Snap),
        sync(SyncMode::Diff),
        sync(SyncMode::Trunc),
        Event::Exited { server: TWO, reason: "refused to start" },
        connected(ONE),
        disconnected(),
        connected(ONE),
        disconnected(),
        connected(THREE),
        connected(ONE),
    ];
    assert_eq!(
        counted(events),
        "sync by DIFF 2; sync by TRUNC 1; sync by SNAP 1; session moved 2; server exited 1"
    );
}

#[test]
fn what_observer_masters_do() {
    let observer = LearnerConnection { learner: TWO, slot: 0 };
    let at = |what| Event::AtMaster { master: ONE, observer, what };
    let events = vec![
        connected(TWO),
        connected(ONE),
        at(AtMaster::Synchronises),
        at(AtMaster::SendsCached),
        at(AtMaster::TooFarBehind),
        at(AtMaster::EndsMeanwhile),
        at(AtMaster::Outlives),
        connected(TWO),
        connected(THREE),
    ];
    assert_eq!(
        counted(events),
        "session moved 3; observer synchronised by a follower 1; observer sent what its master had kept 1; \
         observer refused as too far behind 1; session moved between servers of one observer master 1; \
         role of an observer master ended while it synchronised 2"
    );
}

#[test]
fn every_fault_step_is_a_disruption() {
    let client = ClientConnection { client: ClientId(1), slot: 0 };
    let learner = LearnerConnection { learner: TWO, slot: 0 };
    let (from, to) = (Machine::Server(ONE), Machine::Server(TWO));
    let torn = Tail { torn: true, ..Tail::LOST };
    let steps = [
        Step::Crash { server: ONE, tail: Tail::LOST },
        Step::Crash { server: ONE, tail: torn },
        Step::Restart(ONE),
        Step::Rejoin(ONE),
        Step::BreakClient { connection: client, to_server: 0, to_client: 0 },
        Step::BreakLearner { connection: learner, to_leader: 0, to_learner: 0 },
        Step::Cut { from, to },
        Step::Expire(SESSION),
        Step::Kill(ClientId(1)),
        Step::Pause(ClientId(1)),
        Step::Cancel(ClientId(1)),
        Step::FsyncError { server: ONE, survive: 0, rest: Unwritten::Lost },
    ];
    let mut disruptions = DisruptionCounter::new();
    for step in &steps {
        assert!(step.is_fault() || *step == Step::Restart(ONE), "{step}");
        disruptions.step(step);
    }
    // The engine counts these two itself, because they are not steps.
    disruptions.count(Disruption::DelayBurst);
    disruptions.count(Disruption::DiskStall);
    let kinds: Vec<Disruption> = disruptions.counts().keys().copied().collect();
    assert_eq!(kinds, Disruption::ALL, "one step of each kind, in order");
    assert!(disruptions.counts().values().all(|count| *count == 1));
    for step in [Step::Heal { from, to }, Step::Resume(ClientId(1)), Step::Append(ONE)] {
        assert_eq!(Disruption::of(&step), None, "{step}");
    }
}
