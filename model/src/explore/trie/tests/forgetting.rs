//! What a program does not see, and what it says it has forgotten, keeps no two of its states apart;
//! and a program that has not forgotten what it says is found out.

use super::*;
use crate::error::Error;
use crate::op::{AddWatchMode, EventType, Response, WatchedEvent};
use crate::stat::Stat;
use crate::zxid::Zxid;

/// Draws numbers, and begins anew after each odd one.
async fn gambler(zookeeper: ZooKeeper) -> Result<(), String> {
    loop {
        zookeeper.checkpoint("a new game");
        if zookeeper.random().await % 2 == 0 {
            zookeeper.sleep(seconds(1)).await;
            return Ok(());
        }
    }
}

fn draw(memo: &mut Memo, value: u64) -> Vec<Output> {
    reply(memo, 0, Outcome::Random(value))
}

#[test]
fn a_loop_that_begins_anew_is_where_it_began() {
    let mut memo = alone(gambler);
    let beginning = memo.fingerprint();
    for odd in [1, 3, 5, 3, 1] {
        draw(&mut memo, odd);
        assert_eq!(memo.fingerprint(), beginning);
    }
    // The root and the new game, however many were played.
    assert_eq!(nodes(&memo), 2);
    assert_eq!(draw(&mut memo, 2), [submit(0, Operation::Sleep(seconds(1)))]);
    assert_eq!(reply(&mut memo, 0, Outcome::Elapsed), [Output::Finished(Ok(()))]);
    assert_eq!(memo.dependent(), None);
}

#[test]
fn different_words_are_different_places() {
    let mut memo = alone(|zookeeper: ZooKeeper| async move {
        for round in 0..3 {
            zookeeper.checkpoint(&round);
            zookeeper.random().await;
        }
        Ok(())
    });
    let first = memo.fingerprint();
    draw(&mut memo, 7);
    assert_ne!(memo.fingerprint(), first);
}

/// Says that it has forgotten, and counts all the same.
async fn liar(zookeeper: ZooKeeper) -> Result<(), String> {
    let mut lost = 0;
    loop {
        zookeeper.checkpoint("a new game");
        if zookeeper.random().await % 2 == 0 {
            zookeeper.sleep(seconds(lost)).await;
            return Ok(());
        }
        lost += 1;
    }
}

#[test]
fn a_program_that_has_not_forgotten_is_found_out() {
    let mut memo = alone(liar);
    for odd in [1, 3, 5] {
        draw(&mut memo, odd);
    }
    for even in [2, 4, 6, 8] {
        let mut memo = memo.clone();
        draw(&mut memo, even);
    }
    let why = memo.dependent().expect("it sleeps longer the more it has lost");
    assert!(why.contains("by another way to a checkpoint of its own"), "{why}");
}

#[test]
fn with_a_task_at_work_nothing_is_forgotten() {
    let mut memo = alone(|zookeeper: ZooKeeper| async move {
        let background = zookeeper.clone();
        zookeeper.spawn(async move { background.sleep(seconds(9)).await });
        loop {
            zookeeper.checkpoint("a new game");
            zookeeper.random().await;
        }
    });
    let first = memo.fingerprint();
    draw(&mut memo, 1);
    assert_ne!(memo.fingerprint(), first);
}

fn children(pzxid: u64) -> Outcome {
    let stat = Stat { pzxid: Zxid(pzxid), ..Stat::default() };
    Outcome::Response(Ok(Response::Children(vec!["a".into()], stat)))
}

#[test]
fn names_without_a_stat_are_the_same_whenever_they_were_read() {
    let mut plain = alone(|zookeeper: ZooKeeper| async move {
        let names = zookeeper.get_children("/").await;
        zookeeper.custom(&format!("{names:?}"), &[]);
        zookeeper.sleep(seconds(1)).await;
        Ok(())
    });
    let mut other = plain.clone();
    let told = reply(&mut plain, 0, children(5));
    assert_eq!(told, reply(&mut other, 0, children(9)));
    assert_eq!(plain.fingerprint(), other.fingerprint());

    let mut with_stat = alone(|zookeeper: ZooKeeper| async move {
        let _ = zookeeper.get_children2("/").await;
        zookeeper.sleep(seconds(1)).await;
        Ok(())
    });
    let mut other = with_stat.clone();
    reply(&mut with_stat, 0, children(5));
    reply(&mut other, 0, children(9));
    assert_ne!(with_stat.fingerprint(), other.fingerprint());
}

#[test]
fn a_watch_without_content_tells_that_it_fired_and_nothing_else() {
    let memo = alone(|zookeeper: ZooKeeper| async move {
        let mut watch = zookeeper.watch_data("/a").await.map_err(|error| error.to_string())?;
        let event = watch.changed().await;
        zookeeper.custom(&format!("{event:?}"), &[]);
        Ok(())
    });
    let fire = |data: &[u8], zxid: u64| {
        let mut memo = memo.clone();
        let stat = Stat { mzxid: Zxid(zxid), ..Stat::default() };
        reply(&mut memo, 0, Outcome::Response(Ok(Response::Data(data.into(), stat))));
        let event =
            WatchedEvent { kind: EventType::NodeDeleted, path: "/a".into(), zxid: Zxid(zxid) };
        reply(&mut memo, 1, Outcome::Watch(Ok(event)))
    };
    assert_eq!(fire(b"one", 1), fire(b"another", 2));
    assert_eq!(nodes(&memo), 4, "root, begun, watching, finished");

    let mut refused = memo.clone();
    let outputs = reply(&mut refused, 0, Outcome::Response(Err(Error::NoNode)));
    assert_eq!(outputs, [Output::Finished(Err(Error::NoNode.to_string()))]);
}

/// Its events wait for the program, so a place where some do is another place than where none do,
/// whatever the program says of itself.
#[test]
fn unread_events_are_not_forgotten() {
    let mut memo = alone(|zookeeper: ZooKeeper| async move {
        let mode = AddWatchMode::Persistent;
        let mut events =
            zookeeper.add_watch("/a", mode).await.map_err(|error| error.to_string())?;
        loop {
            zookeeper.checkpoint("a new round");
            if zookeeper.random().await % 2 == 0 {
                let event = events.next().await.ok_or("over")?;
                zookeeper.custom(&event.path, &[]);
            }
        }
    });
    reply(&mut memo, 0, Outcome::Response(Ok(Response::Watches)));
    let round = memo.fingerprint();
    draw(&mut memo, 1);
    assert_eq!(memo.fingerprint(), round);
    let event = |kind| WatchedEvent { kind, path: "/a".into(), zxid: Zxid(5) };
    let created = Input::Event { call: CallId(1), event: event(EventType::NodeCreated) };
    feed(&mut memo, ONE, created);
    draw(&mut memo, 1);
    assert_ne!(memo.fingerprint(), round);
    assert_eq!(draw(&mut memo, 2), [said("/a"), submit(0, Operation::Random)]);
    assert_eq!(memo.fingerprint(), round);
    reply(&mut memo, 1, Outcome::Watch(Ok(event(EventType::PersistentWatchRemoved))));
    draw(&mut memo, 1);
    let unread = memo.fingerprint();
    assert_ne!(unread, round);
    assert_eq!(draw(&mut memo, 2), [said("/a"), submit(0, Operation::Random)]);
    assert_eq!(draw(&mut memo, 2), [Output::Finished(Err("over".into()))]);
    assert_eq!(memo.dependent(), None);
}
