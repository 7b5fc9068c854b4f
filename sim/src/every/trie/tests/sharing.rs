//! Tests what is run once and shared: histories, ends, clones, threads.

use super::*;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::join;
use vivarium_model::handle::port::Pending;
use vivarium_model::op::SessionState;

/// Has two calls in flight, and makes an observation when both are answered.
async fn two_calls(zookeeper: ZooKeeper) -> Result<(), String> {
    join(zookeeper.sleep(seconds(1)), zookeeper.random()).await;
    zookeeper.custom("both", &[]);
    zookeeper.sleep(seconds(2)).await;
    Ok(())
}

#[test]
fn what_is_known_is_followed_and_not_run() {
    let walk = |memo: &mut Memo| {
        memo.start(ONE);
        [
            feed(memo, ONE, Input::Start),
            reply(memo, 1, Outcome::Random(7)),
            reply(memo, 0, Outcome::Elapsed),
            reply(memo, 0, Outcome::Elapsed),
        ]
    };
    let mut memo = Memo::new(Arc::new(Trie::new(vec![program(two_calls)])));
    let first = walk(&mut memo);
    let sleep = |span| submit(0, Operation::Sleep(seconds(span)));
    assert_eq!(first[0], [sleep(1), submit(1, Operation::Random)]);
    assert_eq!(first[1], []);
    assert_eq!(first[2], [said("both"), sleep(2)]);
    assert_eq!(first[3], [Output::Finished(Ok(()))]);

    let after_first = memo.trie().statistics();
    assert_eq!(after_first.nodes, 5, "the root, three waits, the end");
    assert_eq!(after_first.replays, 5, "one for each edge, and one to check the end");
    assert_eq!(walk(&mut memo), first);
    assert_eq!(memo.trie().statistics(), after_first);
}

#[test]
fn interleavings_share_what_they_have_in_common() {
    let mut left = alone(two_calls);
    let mut right = left.clone();
    assert_eq!(nodes(&left), 2);
    reply(&mut left, 0, Outcome::Elapsed);
    reply(&mut right, 1, Outcome::Random(7));
    assert_eq!(nodes(&left), 4);
    assert_ne!(left, right);
    assert_ne!(left.fingerprint(), right.fingerprint());
    // The order of the answers is history, although the program cannot observe it any more.
    let outputs = reply(&mut left, 1, Outcome::Random(7));
    assert_eq!(reply(&mut right, 0, Outcome::Elapsed), outputs);
    assert_eq!(nodes(&left), 6);
    assert_ne!(left.fingerprint(), right.fingerprint());
    // An ended program's history does not count.
    reply(&mut left, 0, Outcome::Elapsed);
    reply(&mut right, 0, Outcome::Elapsed);
    assert_eq!((nodes(&left), &left), (7, &right));
    assert_eq!(left.fingerprint(), right.fingerprint());
}

#[test]
fn an_ended_program_is_how_it_ended() {
    let judge = |zookeeper: ZooKeeper| async move {
        match zookeeper.random().await {
            0..10 => Ok(()),
            10..20 => Err("too large".to_owned()),
            value => panic!("{value} is far too large"),
        }
    };
    let waiting = begun(vec![program(judge), program(judge)]);
    let ended = |client, value| {
        let mut memo = waiting.clone();
        let outputs = feed(&mut memo, client, answered(0, Outcome::Random(value)));
        (memo, outputs)
    };
    let (fine, outputs) = ended(ONE, 1);
    assert_eq!(outputs, [Output::Finished(Ok(()))]);
    assert_eq!(state(&fine), &NodeState::Finished(Ok(())));
    assert_eq!(fine.fingerprint(), ended(ONE, 2).0.fingerprint());

    let (refused, _) = ended(ONE, 11);
    assert_eq!(refused, ended(ONE, 12).0);
    assert_ne!(refused.fingerprint(), fine.fingerprint());

    let (panicked, outputs) = ended(ONE, 20);
    let message = "20 is far too large".to_owned();
    assert_eq!(outputs, [Output::Panicked(message.clone())]);
    assert_eq!(state(&panicked), &NodeState::Panicked(message));
    assert_ne!(panicked.fingerprint(), ended(ONE, 21).0.fingerprint());

    // The client of the end counts.
    let both = |one, two| {
        let mut memo = waiting.clone();
        feed(&mut memo, ONE, answered(0, Outcome::Random(one)));
        feed(&mut memo, TWO, answered(0, Outcome::Random(two)));
        memo.fingerprint()
    };
    assert_eq!(both(1, 11), both(2, 12));
    assert_ne!(both(1, 11), both(11, 1));
    assert_eq!(waiting.dependent(), None);
}

#[test]
#[should_panic(
    expected = "client 1: Session(SessionChange { state: Expired, session: None }) after the program's end"
)]
fn an_ended_program_gets_no_input() {
    let mut memo = alone(|_| async { Ok(()) });
    feed(&mut memo, ONE, Input::Session(SessionState::Expired.into()));
}

/// An impossible input panics with a plain message, and does not corrupt the trie: the edge is not made.
#[test]
fn an_input_that_no_program_could_get_panics() {
    let memo = alone(two_calls);
    let attempt = || memo.peek(ONE, &answered(5, Outcome::Elapsed));
    for _ in 0..2 {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt));
        let message = panic.expect_err("there is no call 5");
        let message = message.downcast_ref::<String>().expect("a formatted message");
        assert!(message.contains("a reply to the free slot CallId(5)"), "{message}");
    }
    assert_eq!(nodes(&memo), 2);
}

#[test]
fn clones_go_their_own_ways() {
    let waiting = begun(vec![program(two_calls), program(two_calls)]);
    let mut walker = waiting.clone();
    let before = waiting.fingerprint();
    reply(&mut walker, 0, Outcome::Elapsed);
    assert_eq!(waiting.fingerprint(), before);
    assert_ne!(walker.fingerprint(), before);
    assert_ne!(walker, waiting);

    // A process that was killed and restarted has no history.
    walker.kill(ONE);
    assert!(walker.node(ONE).is_none());
    assert_eq!(walker.node(TWO).map(|node| node.client()), Some(TWO));
    walker.start(ONE);
    assert_eq!(walker.node(ONE).map(|node| node.id()), Some(walker.trie().root(ONE)));
    feed(&mut walker, ONE, Input::Start);
    assert_eq!((walker.fingerprint(), &walker), (before, &waiting));
    walker.kill(ONE);
    walker.kill(TWO);
    assert_eq!(walker.fingerprint(), Fingerprint::default());
}

#[test]
fn a_look_ahead_tells_what_spawns_a_task() {
    let memo = alone(|zookeeper| async move {
        match zookeeper.random().await {
            0 => zookeeper.sleep(seconds(1)).await,
            1 => zookeeper.custom("seen", &[]),
            2 => zookeeper.send(TWO, b"sent"),
            3 => zookeeper.spawn(std::future::ready(())),
            4 => return Ok(()),
            _ => panic!("no"),
        }
        zookeeper.random().await;
        Ok(())
    });
    let look = |value| memo.peek(ONE, &answered(0, Outcome::Random(value)));
    let spawned: Vec<bool> = (0..6).map(|value| look(value).spawned()).collect();
    assert_eq!(spawned, [false, false, false, true, false, false]);
    assert_eq!(memo.node(ONE).map(|node| node.pending().len()), Some(1), "it has not moved");
    let child = memo.trie().node(look(0).child());
    assert_eq!(child.pending(), [(CallId(0), Pending::Answer(Operation::Sleep(seconds(1))))]);
}

#[test]
fn a_change_of_session_that_nobody_listens_to_leads_nowhere() {
    let mut memo = alone(|zookeeper| async move {
        zookeeper.random().await;
        let mut events = zookeeper.session_events();
        while events.next().await != SessionState::Expired {}
        Ok(())
    });
    let lost = || Input::Session(SessionState::Disconnected.into());
    let deaf = memo.clone();
    assert_eq!(feed(&mut memo, ONE, lost()), []);
    assert_eq!((&memo, nodes(&memo)), (&deaf, 2));
    reply(&mut memo, 0, Outcome::Random(0));
    let listening = memo.clone();
    assert!(memo.node(ONE).is_some_and(|node| node.listens()));
    feed(&mut memo, ONE, lost());
    assert_ne!(memo, listening);
    let expired = feed(&mut memo, ONE, Input::Session(SessionState::Expired.into()));
    assert_eq!(expired, [Output::Finished(Ok(()))]);
    assert_eq!(memo.dependent(), None);
}
