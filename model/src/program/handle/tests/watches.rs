//! Watches and their slots.

use super::*;
use crate::program::handle::Watch;
use crate::vocabulary::op::{EventType, WatchedEvent};
use crate::vocabulary::zxid::Zxid;

fn event(kind: EventType) -> WatchedEvent {
    WatchedEvent { kind, path: "/a".into(), zxid: Zxid(9) }
}

async fn tell(zookeeper: &ZooKeeper, mut watch: Watch) -> Result<(), String> {
    let text = match watch.changed().await {
        Ok(event) => format!("{:?}", event.kind),
        Err(error) => format!("{error:?}"),
    };
    zookeeper.custom(&text, &[]);
    Ok(())
}

/// Reads /a with a watch, observes an error of the read, and otherwise awaits the watch.
fn reader(read: &'static str) -> (Process, Vec<Output>) {
    started(move |zookeeper| async move {
        let watch = match read {
            "exists" => zookeeper.exists_watch("/a").await.map(|(_, watch)| watch),
            "getData" => zookeeper.get_data_watch("/a").await.map(|(.., watch)| watch),
            _ => zookeeper.get_children_watch("/a").await.map(|(.., watch)| watch),
        };
        match watch {
            Ok(watch) => tell(&zookeeper, watch).await?,
            Err(error) => zookeeper.custom(&format!("{error:?}"), &[]),
        }
        // Shows which slots are free.
        zookeeper.timeout(seconds_of(2), zookeeper.sleep(seconds_of(1))).await.ok();
        Ok(())
    })
}

#[test]
fn a_watch_has_its_own_slot_and_resolves_from_its_event() {
    let (mut process, begun) = reader("getData");
    let get_data = Request::GetData { path: "/a".into(), watch: true };
    assert_eq!(begun, [request(0, get_data, Some(1))]);
    let data = Response::Data([].into(), stat(0));
    assert_eq!(reply(&mut process, 0, answer(Ok(data))), []);
    assert_eq!(
        reply(&mut process, 1, Outcome::Watch(Ok(event(EventType::NodeDataChanged)))),
        [said("NodeDataChanged"), sleep(0, 1), sleep(1, 2)]
    );
}

#[test]
fn a_watch_ends_with_its_session() {
    let (mut process, _) = reader("getChildren");
    let children = Response::Children(Vec::new(), stat(0));
    reply(&mut process, 0, answer(Ok(children)));
    assert_eq!(
        reply(&mut process, 1, Outcome::Watch(Err(Error::SessionExpired))),
        [said("SessionExpired"), sleep(0, 1), sleep(1, 2)]
    );
}

/// Rule 1.8: only exists leaves a watch on an absent znode; after any other error there is no watch.
#[test]
fn an_unregistered_watch_gives_its_slot_back() {
    for (read, error, registered) in [
        ("exists", Error::NoNode, true),
        ("exists", Error::ConnectionLoss, false),
        ("getData", Error::NoNode, false),
        ("getData", Error::SessionExpired, false),
        ("getChildren", Error::NoNode, false),
    ] {
        let (mut process, _) = reader(read);
        let told = reply(&mut process, 0, answer(Err(error)));
        if registered {
            assert_eq!(told, [], "{read} {error:?}");
            let created = Outcome::Watch(Ok(event(EventType::NodeCreated)));
            assert_eq!(reply(&mut process, 1, created)[0], said("NodeCreated"));
        } else {
            // No Abandon, because the world frees the slot by the same rule.
            let expected = [said(&format!("{error:?}")), sleep(0, 1), sleep(1, 2)];
            assert_eq!(told, expected, "{read} {error:?}");
        }
    }
}

#[test]
fn a_dropped_watch_is_abandoned() {
    let (mut process, _) = started(|zookeeper| async move {
        let (_, watch) = zookeeper.exists_watch("/a").await.expect("exists");
        zookeeper.sleep(seconds_of(1)).await;
        drop(watch);
        zookeeper.sleep(seconds_of(2)).await;
        zookeeper.timeout(seconds_of(4), zookeeper.sleep(seconds_of(3))).await.ok();
        Ok(())
    });
    assert_eq!(reply(&mut process, 0, answer(Err(Error::NoNode))), [sleep(0, 1)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [abandon(1), sleep(0, 2)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 3), sleep(1, 4)]);
}

#[test]
fn a_dropped_read_abandons_its_reply_and_its_watch() {
    let (mut process, _) = started(|zookeeper| async move {
        zookeeper.timeout(seconds_of(1), zookeeper.exists_watch("/a")).await.ok();
        zookeeper.sleep(seconds_of(2)).await;
        Ok(())
    });
    assert_eq!(reply(&mut process, 2, Outcome::Elapsed), [abandon(0), abandon(1), sleep(0, 2)]);
}

/// The event arrived, but the task that owns the watch drops it first: no abandon is needed.
#[test]
fn a_watch_dropped_after_its_event_is_not_abandoned() {
    let (mut process, _) = started(|zookeeper| async move {
        let (_, watch) = zookeeper.exists_watch("/a").await.expect("exists");
        let mut other = Some(zookeeper.exists_watch("/a").await.expect("exists").1);
        tell(&zookeeper, watch).await?;
        assert!(!other.as_ref().expect("still there").has_fired());
        drop(other.take());
        zookeeper.sleep(seconds_of(1)).await;
        Ok(())
    });
    reply(&mut process, 0, answer(Err(Error::NoNode)));
    reply(&mut process, 0, answer(Err(Error::NoNode)));
    let event = || Outcome::Watch(Ok(event(EventType::NodeCreated)));
    assert_eq!(reply(&mut process, 2, event()), []);
    assert_eq!(reply(&mut process, 1, event()), [said("NodeCreated"), sleep(0, 1)]);
}

#[test]
fn waiting_for_a_watch_can_be_interrupted_and_resumed() {
    let (mut process, _) = started(|zookeeper| async move {
        let (_, mut watch) = zookeeper.exists_watch("/a").await.expect("exists");
        while zookeeper.timeout(seconds_of(1), watch.changed()).await.is_err() {}
        Ok(())
    });
    assert_eq!(reply(&mut process, 0, answer(Err(Error::NoNode))), [sleep(0, 1)]);
    assert_eq!(reply(&mut process, 0, Outcome::Elapsed), [sleep(0, 1)]);
    let created = Outcome::Watch(Ok(event(EventType::NodeCreated)));
    assert_eq!(reply(&mut process, 1, created), [abandon(0), Output::Finished(Ok(()))]);
}

#[test]
fn awaiting_a_fired_watch_panics() {
    let (mut process, _) = started(|zookeeper| async move {
        let (_, mut watch) = zookeeper.exists_watch("/a").await.expect("exists");
        loop {
            watch.changed().await.map_err(|error| error.to_string())?;
        }
    });
    reply(&mut process, 0, answer(Err(Error::NoNode)));
    let created = Outcome::Watch(Ok(event(EventType::NodeCreated)));
    let told = reply(&mut process, 1, created);
    assert!(
        matches!(&told[..], [Output::Panicked(message)] if message.contains("fired already")),
        "{told:?}"
    );
}
