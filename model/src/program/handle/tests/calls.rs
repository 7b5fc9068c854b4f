//! Calls, their slots and their answers.

use super::*;
use crate::program::handle::MultiError;
use crate::program::host::{Message, ResourceRequest};
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{CreateMode, Op, OpResult, SessionState, Version};
use crate::vocabulary::time::Time;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A program that makes one call and observes its end.
macro_rules! one_call {
    (|$zookeeper:ident| $call:expr) => {
        started(|$zookeeper| async move {
            let _ = $call.await;
            $zookeeper.custom("over", &[]);
            forever().await;
            Ok(())
        })
    };
}

#[test]
fn every_call_suspends_once_and_is_answered_by_its_reply() {
    let written = |result| answer(Ok(Response::Written(result)));
    let created = written(OpResult::Created("/a".into(), stat(0)));
    let session = SessionId(7);
    let message = Message { from: ClientId(2), body: Arc::from(*b"hi") };
    let cases = [
        (one_call!(|zk| zk.create("/a", b"", CreateMode::Ephemeral)), created),
        (one_call!(|zk| zk.delete("/a", Version::Any)), written(OpResult::Deleted)),
        (one_call!(|zk| zk.set_data("/a", b"x", Version::Is(0))), written(OpResult::Set(stat(1)))),
        (one_call!(|zk| zk.exists("/a")), answer(Ok(Response::Exists(stat(0))))),
        (one_call!(|zk| zk.get_data("/a")), answer(Err(Error::NoNode))),
        (one_call!(|zk| zk.get_children("/a")), answer(Err(Error::ConnectionLoss))),
        (one_call!(|zk| zk.multi(Vec::new())), answer(Ok(Response::Multi(Vec::new())))),
        (one_call!(|zk| zk.sync("/")), answer(Ok(Response::Synced))),
        (one_call!(|zk| zk.connect()), Outcome::Connected(session)),
        (one_call!(|zk| zk.close()), Outcome::Closed),
        (one_call!(|zk| zk.sleep(seconds_of(0))), Outcome::Elapsed),
        (one_call!(|zk| zk.now()), Outcome::Now(Time(3))),
        (one_call!(|zk| zk.random()), Outcome::Random(4)),
        (one_call!(|zk| zk.receive()), Outcome::Message(message)),
        (one_call!(|zk| zk.write_resource("disk", None, 1)), Outcome::Resource(Err(Zxid(9)))),
        (one_call!(|zk| zk.cancellable(forever())), Outcome::Cancelled),
    ];
    for ((mut process, begun), outcome) in cases {
        assert!(matches!(begun[..], [Output::Submit { call: CallId(0), .. }]), "{begun:?}");
        assert_eq!(reply(&mut process, 0, outcome.clone()), [said("over")], "{outcome:?}");
    }
}

#[test]
fn operations_and_results_of_calls() {
    let (mut process, begun) = started(|zookeeper| async move {
        let created = zookeeper.create("/q/n-", b"me", CreateMode::EphemeralSequential).await;
        assert_eq!(created, Ok(("/q/n-0000000003".to_owned(), stat(0))));
        assert_eq!(zookeeper.exists("/q").await, Ok(None));
        let (names, stat_of_q) = zookeeper.get_children2("/q").await.expect("children");
        assert_eq!((names, stat_of_q), (vec!["a".to_owned(), "b".to_owned()], stat(2)));
        assert_eq!(zookeeper.write_resource("disk", Some(Zxid(5)), 1).await, Err(Zxid(9)));
        Ok(())
    });
    let mode = CreateMode::EphemeralSequential;
    let create = Op::create("/q/n-", *b"me", mode);
    assert_eq!(begun, [request(0, Request::Write(create), None)]);
    let created = OpResult::Created("/q/n-0000000003".into(), stat(0));
    assert_eq!(
        reply(&mut process, 0, answer(Ok(Response::Written(created)))),
        [request(0, Request::Exists { path: "/q".into(), watch: false }, None)]
    );
    assert_eq!(
        reply(&mut process, 0, answer(Err(Error::NoNode))),
        [request(0, Request::GetChildren { path: "/q".into(), watch: false }, None)]
    );
    let children = Response::Children(vec!["a".into(), "b".into()], stat(2));
    let write = ResourceRequest { resource: "disk".into(), token: Some(Zxid(5)), value: 1 };
    assert_eq!(
        reply(&mut process, 0, answer(Ok(children))),
        [submit(0, Operation::Resource(write))]
    );
    assert_eq!(reply(&mut process, 0, Outcome::Resource(Err(Zxid(9)))), [Output::Finished(Ok(()))]);
}

/// A failed multi has reply code 0; the handle returns the first non-zero code inside, with its index.
#[test]
fn a_failed_multi_names_the_operation_that_failed() {
    let multi = |results| {
        let (mut process, _) = started(|zookeeper| async move {
            let check = |path: &str| Op::Check { path: path.into(), version: Version::Any };
            let result = zookeeper.multi(vec![check("/a"), check("/b"), check("/c")]).await;
            Err(format!("{result:?}"))
        });
        match &reply(&mut process, 0, results)[..] {
            [Output::Finished(Err(text))] => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    let failed = vec![
        OpResult::Failed(None),
        OpResult::Failed(Some(Error::BadVersion)),
        OpResult::Failed(Some(Error::RuntimeInconsistency)),
    ];
    let text = |result: Result<Vec<OpResult>, MultiError>| format!("{result:?}");
    assert_eq!(
        multi(answer(Ok(Response::Multi(failed)))),
        text(Err(MultiError { index: Some(1), error: Error::BadVersion }))
    );
    let checked = vec![OpResult::Checked; 3];
    assert_eq!(multi(answer(Ok(Response::Multi(checked.clone())))), text(Ok(checked)));
    assert_eq!(
        multi(answer(Err(Error::ConnectionLoss))),
        text(Err(MultiError { index: None, error: Error::ConnectionLoss }))
    );
}

#[test]
fn a_scope_is_part_of_the_request() {
    let (_, begun) = started(|zookeeper| async move {
        zookeeper.scope(SessionId(7)).sync("/").await.map_err(|error| error.to_string())
    });
    let request = Arc::new(Request::Sync { path: "/".into() });
    let scope = Some(SessionId(7));
    assert_eq!(begun, [submit(0, Operation::Request { request, watch: None, scope })]);
}

/// Slots are the lowest free ones, so that histories that differ only in finished calls look alike.
#[test]
fn the_lowest_free_slot_is_used_again() {
    let (mut process, begun) = started(|zookeeper| async move {
        for seconds in [1, 2, 3] {
            let zk = zookeeper.clone();
            zookeeper.spawn(async move {
                zk.sleep(seconds_of(seconds)).await;
                zk.sleep(seconds_of(10 * seconds)).await;
            });
        }
        forever().await;
        Ok(())
    });
    assert_eq!(begun, [sleep(0, 1), sleep(1, 2), sleep(2, 3)]);
    assert_eq!(reply(&mut process, 1, Outcome::Elapsed), [sleep(1, 20)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 10)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), []);
    assert_eq!(reply(&mut process, 2, Outcome::Elapsed), [sleep(0, 30)]);
}

/// A slot is free once its answer is delivered, even before the program takes the answer: here the part that is
/// polled first takes the slot of the one that is polled second.
#[test]
fn a_slot_can_be_used_again_before_its_answer_is_taken() {
    let (mut process, begun) = started(|zookeeper| async move {
        let mut polls = 0;
        let second_poll = std::future::poll_fn(|_| {
            polls += 1;
            if polls > 1 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        let first = async {
            second_poll.await;
            zookeeper.random().await
        };
        let second = async {
            zookeeper.sleep(seconds_of(1)).await;
            zookeeper.custom("slept", &[]);
        };
        Err(crate::program::handle::join(first, second).await.0.to_string())
    });
    assert_eq!(begun, [sleep(0, 1)]);
    assert_eq!(
        reply(&mut process, 0, Outcome::Elapsed),
        [submit(0, Operation::Random), said("slept")]
    );
    assert_eq!(reply(&mut process, 0, Outcome::Random(8)), [Output::Finished(Err("8".to_owned()))]);
}

#[test]
fn a_dropped_call_is_abandoned_and_its_slot_is_free() {
    let (mut process, begun) = started(|zookeeper| async move {
        let _ = zookeeper.timeout(seconds_of(1), zookeeper.sync("/")).await;
        zookeeper.sleep(seconds_of(5)).await;
        Ok(())
    });
    assert_eq!(begun, [request(0, Request::Sync { path: "/".into() }, None), sleep(1, 1)]);
    assert_eq!(reply(&mut process, 1, Outcome::Elapsed), [abandon(0), sleep(0, 5)]);
}

#[test]
fn a_call_that_was_never_polled_was_never_made() {
    let (_, begun) = started(|zookeeper| async move {
        drop(zookeeper.sync("/"));
        zookeeper.sleep(seconds_of(1)).await;
        Ok(())
    });
    assert_eq!(begun, [sleep(0, 1)]);
}

/// A call whose answer was delivered but not taken needs no abandon.
#[test]
fn a_call_dropped_after_its_reply_is_not_abandoned() {
    let (mut process, begun) = started(|zookeeper| async move {
        let mut first = Box::pin(zookeeper.sleep(seconds_of(1)));
        let mut seen = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut seen, true) {
                return std::task::Poll::Ready(());
            }
            first.as_mut().poll(context)
        })
        .await;
        drop(first);
        zookeeper.sleep(seconds_of(2)).await;
        Ok(())
    });
    assert_eq!(begun, [sleep(0, 1)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 2)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [Output::Finished(Ok(()))]);
}

#[test]
fn session_events_are_every_later_change_in_order() {
    let (mut process, _) = started(|zookeeper| async move {
        zookeeper.sleep(seconds_of(1)).await;
        let mut events = zookeeper.session_events();
        zookeeper.sleep(seconds_of(2)).await;
        loop {
            zookeeper.custom(&events.next().await.to_string(), &[]);
        }
    });
    assert_eq!(feed(&mut process, Input::Session(SessionState::SyncConnected.into())), []);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 2)]);
    assert_eq!(feed(&mut process, Input::Session(SessionState::Disconnected.into())), []);
    assert_eq!(feed(&mut process, Input::Session(SessionState::SyncConnected.into())), []);
    let missed = [said("Disconnected"), said("SyncConnected")];
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), missed);
    assert_eq!(feed(&mut process, Input::Session(SessionState::Expired.into())), [said("Expired")]);
}

mod mistakes_of_the_world {
    use super::*;

    fn one_sleep() -> Process {
        let sleeper = |zookeeper: ZooKeeper| async move {
            zookeeper.sleep(seconds_of(1)).await;
            let _watch = zookeeper.exists_watch("/a").await;
            forever().await;
            Ok(())
        };
        started(sleeper).0
    }

    #[test]
    #[should_panic(expected = "a reply to the free slot")]
    fn a_reply_to_a_free_slot() {
        reply(&mut one_sleep(), 1, Outcome::Elapsed);
    }

    #[test]
    #[should_panic(expected = "a reply to the free slot")]
    fn a_second_reply() {
        let mut process = one_sleep();
        reply(&mut process, 0, Outcome::Elapsed);
        reply(&mut process, 0, answer(Err(Error::ConnectionLoss)));
        reply(&mut process, 0, answer(Err(Error::ConnectionLoss)));
    }

    #[test]
    #[should_panic(expected = "was answered with")]
    fn an_answer_of_another_kind() {
        reply(&mut one_sleep(), 0, Outcome::Closed);
    }

    #[test]
    #[should_panic(expected = "was answered with")]
    fn a_response_to_another_request() {
        let mut process = one_sleep();
        reply(&mut process, 0, Outcome::Elapsed);
        reply(&mut process, 0, answer(Ok(Response::Synced)));
    }

    #[test]
    #[should_panic(expected = "registered: false")]
    fn a_watch_event_before_the_watch_is_registered() {
        let mut process = one_sleep();
        reply(&mut process, 0, Outcome::Elapsed);
        reply(&mut process, 1, Outcome::Watch(Err(Error::SessionExpired)));
    }

    #[test]
    #[should_panic(expected = "a program is started once")]
    fn an_input_before_the_start() {
        feed(
            &mut process(|_| async { Ok(()) }),
            Input::Session(SessionState::SyncConnected.into()),
        );
    }

    #[test]
    #[should_panic(expected = "a program is started once")]
    fn a_second_start() {
        feed(&mut one_sleep(), Input::Start);
    }

    #[test]
    #[should_panic(expected = "after the program's end")]
    fn an_input_after_the_end() {
        let (mut process, _) = started(|_| async { Ok(()) });
        feed(&mut process, Input::Session(SessionState::Expired.into()));
    }
}
