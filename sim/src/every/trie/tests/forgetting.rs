//! Tests that parts of inputs that a program does not observe do not separate its states.

use super::*;
use vivarium_model::error::Error;
use vivarium_model::op::{EventType, Response, WatchedEvent};
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

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
