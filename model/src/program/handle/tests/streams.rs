//! Persistent watches: one slot, many events, one end.

use super::*;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent, WatcherType};
use crate::vocabulary::zxid::Zxid;

fn event(kind: EventType) -> WatchedEvent {
    WatchedEvent { kind, path: "/a".into(), zxid: Zxid(9) }
}

fn fire(process: &mut Process, call: u32, kind: EventType) -> Vec<Output> {
    feed(process, Input::Event { call: CallId(call), event: event(kind) })
}

fn added(process: &mut Process, call: u32) -> Vec<Output> {
    reply(process, call, answer(Ok(Response::Watches)))
}

fn removed() -> Outcome {
    Outcome::Watch(Ok(event(EventType::PersistentWatchRemoved)))
}

/// Observes every event of a watch on /a and its end, then shows which slots are free.
fn listener() -> (Process, Vec<Output>) {
    started(|zookeeper| async move {
        let mode = AddWatchMode::PersistentRecursive;
        match zookeeper.add_watch("/a", mode).await {
            Ok(mut watch) => {
                while let Some(event) = watch.next().await {
                    zookeeper.custom(&format!("{:?}", event.kind), &[]);
                }
                zookeeper.custom("over", &[]);
            }
            Err(error) => zookeeper.custom(&format!("{error:?}"), &[]),
        }
        zookeeper.timeout(seconds_of(2), zookeeper.sleep(seconds_of(1))).await.ok();
        Ok(())
    })
}

#[test]
fn its_slot_stays_until_the_session_ends() {
    let (mut process, begun) = listener();
    let mode = AddWatchMode::PersistentRecursive;
    let add_watch = Request::AddWatch { path: "/a".into(), mode };
    assert_eq!(begun, [request(0, add_watch, Some(1))]);
    assert_eq!(added(&mut process, 0), []);
    for kind in [EventType::NodeCreated, EventType::NodeDeleted, EventType::NodeCreated] {
        assert_eq!(fire(&mut process, 1, kind), [said(&format!("{kind:?}"))]);
    }
    let end = Outcome::Watch(Err(Error::SessionExpired));
    assert_eq!(reply(&mut process, 1, end), [said("over"), sleep(0, 1), sleep(1, 2)]);
}

#[test]
fn its_removal_is_its_last_event() {
    let (mut process, _) = listener();
    added(&mut process, 0);
    assert_eq!(
        reply(&mut process, 1, removed()),
        [said("PersistentWatchRemoved"), said("over"), sleep(0, 1), sleep(1, 2)]
    );
}

/// As in the client's table (rule 3.3.1), NoNode registers the watch, although the program gets the error and no
/// watch.
#[test]
fn a_watch_that_is_not_registered_frees_its_slot() {
    for (error, registered) in
        [(Error::NoAuth, false), (Error::ConnectionLoss, false), (Error::NoNode, true)]
    {
        let (mut process, _) = listener();
        let told = reply(&mut process, 0, answer(Err(error)));
        let given_back = registered.then(|| abandon(1));
        let said = [said(&format!("{error:?}")), sleep(0, 1), sleep(1, 2)];
        let expected: Vec<Output> = given_back.into_iter().chain(said).collect();
        assert_eq!(told, expected, "{error:?}");
    }
}

/// No event is lost while the program does something else, and the end comes last.
#[test]
fn events_wait_for_the_program() {
    let (mut process, _) = started(|zookeeper| async move {
        let mode = AddWatchMode::Persistent;
        let mut watch = zookeeper.add_watch("/a", mode).await.expect("added");
        zookeeper.sleep(seconds_of(1)).await;
        while let Some(event) = watch.next().await {
            zookeeper.custom(&format!("{:?}", event.kind), &[]);
        }
        Ok(())
    });
    added(&mut process, 0);
    assert_eq!(fire(&mut process, 1, EventType::NodeCreated), []);
    assert_eq!(fire(&mut process, 1, EventType::NodeChildrenChanged), []);
    let pending = |process: &Process| format!("{:?}", process.pending());
    assert!(pending(&process).contains("NodeChildrenChanged"), "{}", pending(&process));
    assert_eq!(reply(&mut process, 1, Outcome::Watch(Err(Error::AuthFailed))), []);
    assert_eq!(
        reply(&mut process, 0, Outcome::Elapsed),
        [said("NodeCreated"), said("NodeChildrenChanged"), Output::Finished(Ok(()))]
    );
}

#[test]
fn waiting_can_be_interrupted_and_the_watch_dropped() {
    let (mut process, _) = started(|zookeeper| async move {
        let mode = AddWatchMode::Persistent;
        let mut watch = zookeeper.add_watch("/a", mode).await.expect("added");
        zookeeper.timeout(seconds_of(1), watch.next()).await.ok();
        let event = zookeeper.timeout(seconds_of(2), watch.next()).await;
        zookeeper.custom(if event.is_ok() { "fired" } else { "late" }, &[]);
        drop(watch);
        zookeeper.sleep(seconds_of(3)).await;
        Ok(())
    });
    assert_eq!(added(&mut process, 0), [sleep(0, 1)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 2)]);
    let outputs = fire(&mut process, 1, EventType::NodeCreated);
    assert_eq!(outputs, [abandon(0), said("fired"), abandon(1), sleep(0, 3)]);
}

#[test]
fn awaiting_an_ended_watch_panics() {
    let (mut process, _) = started(|zookeeper| async move {
        let mode = AddWatchMode::Persistent;
        let mut watch = zookeeper.add_watch("/a", mode).await.expect("added");
        loop {
            watch.next().await;
        }
    });
    added(&mut process, 0);
    let told = reply(&mut process, 1, Outcome::Watch(Err(Error::SessionExpired)));
    assert!(
        matches!(&told[..], [Output::Panicked(message)] if message.contains("has ended already")),
        "{told:?}"
    );
}

/// Inputs of a watch that no world can deliver.
mod mistakes {
    use super::*;

    #[test]
    #[should_panic(expected = "an event on the free slot")]
    fn an_event_on_a_free_slot() {
        let (mut process, _) = listener();
        fire(&mut process, 5, EventType::NodeCreated);
    }

    #[test]
    #[should_panic(expected = "is not that of a watch that stays")]
    fn an_event_before_the_reply() {
        let (mut process, _) = listener();
        fire(&mut process, 1, EventType::NodeCreated);
    }

    #[test]
    #[should_panic(expected = "stays: true) got")]
    fn an_end_that_is_none() {
        let (mut process, _) = listener();
        added(&mut process, 0);
        reply(&mut process, 1, Outcome::Watch(Ok(event(EventType::NodeCreated))));
    }

    fn one_shot() -> Process {
        let (mut process, _) = started(|zookeeper| async move {
            let (_, mut watch) = zookeeper.exists_watch("/a").await.expect("exists");
            let event = watch.changed().await.map_err(|error| error.to_string())?;
            zookeeper.custom(&format!("{:?}", event.kind), &[]);
            Ok(())
        });
        reply(&mut process, 0, answer(Err(Error::NoNode)));
        process
    }

    #[test]
    #[should_panic(expected = "is not that of a watch that stays")]
    fn an_event_that_leaves_a_one_shot_watch_where_it_is() {
        fire(&mut one_shot(), 1, EventType::NodeCreated);
    }

    #[test]
    #[should_panic(expected = "stays: false) got")]
    fn the_end_of_another_kind_of_watch() {
        reply(&mut one_shot(), 1, removed());
    }

    /// An input that a world can deliver.
    #[test]
    fn the_removal_of_a_one_shot_watch() {
        let told = Outcome::Watch(Ok(event(EventType::DataWatchRemoved)));
        let expected = [said("DataWatchRemoved"), Output::Finished(Ok(()))];
        assert_eq!(reply(&mut one_shot(), 1, told), expected);
    }
}

#[test]
fn removals_are_answered_like_requests() {
    for (result, words) in [
        (Ok(Response::Watches), "Ok(())"),
        (Err(Error::NoWatcher), "Err(NoWatcher)"),
        (Err(Error::ConnectionLoss), "Err(ConnectionLoss)"),
    ] {
        let (mut process, begun) = started(|zookeeper| async move {
            let removed = zookeeper.remove_watches("/a", WatcherType::Any, true).await;
            zookeeper.custom(&format!("{removed:?}"), &[]);
            Ok(())
        });
        let (path, kind) = ("/a".into(), WatcherType::Any);
        let operation = Operation::RemoveWatches { path, kind, local: true, scope: None };
        assert_eq!(begun, [submit(0, operation)]);
        let told = reply(&mut process, 0, answer(result));
        assert_eq!(told, [said(words), Output::Finished(Ok(()))]);
    }
}
