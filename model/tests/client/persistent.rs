//! Persistent watches, and the removal of watches (rule 3.3).

use crate::scene::*;

const BOTH: [AddWatchMode; 2] = [AddWatchMode::Persistent, AddWatchMode::PersistentRecursive];

/// One notification serves all watches of a path, of every kind: the one-shot watch fires and is gone, the persistent
/// ones remain. Events of descendants go only to the recursive watch.
#[test]
fn watches_that_stay_beside_one_that_does_not() {
    let mut scene = Scene::connected();
    scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
    scene.watch(0, 2, get_data("/a"));
    scene.reply(2, 4, data());
    scene.add_watch(0, 3, "/a", AddWatchMode::PersistentRecursive);
    scene.transcript.clear();
    scene.notify(EventType::NodeDataChanged, "/a", 5);
    scene.notify(EventType::NodeDataChanged, "/a", 6);
    scene.notify(EventType::NodeChildrenChanged, "/a", 7);
    scene.notify(EventType::NodeCreated, "/a/b/c", 8);
    scene.notify(EventType::NodeDataChanged, "/ab", 9);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeDataChanged /a at 1:5
      monitors: Notified NodeDataChanged /a at 1:5
      program: watch 1 gets NodeDataChanged /a at 1:5
      program: call 2 gets NodeDataChanged /a at 1:5
      program: watch 3 gets NodeDataChanged /a at 1:5
      arm Read: 4s
    read: NodeDataChanged /a at 1:6
      monitors: Notified NodeDataChanged /a at 1:6
      program: watch 1 gets NodeDataChanged /a at 1:6
      program: watch 3 gets NodeDataChanged /a at 1:6
      arm Read: 4s
    read: NodeChildrenChanged /a at 1:7
      monitors: Notified NodeChildrenChanged /a at 1:7
      program: watch 1 gets NodeChildrenChanged /a at 1:7
      arm Read: 4s
    read: NodeCreated /a/b/c at 1:8
      monitors: Notified NodeCreated /a/b/c at 1:8
      program: watch 3 gets NodeCreated /a/b/c at 1:8
      arm Read: 4s
    read: NodeDataChanged /ab at 1:9
      monitors: Notified NodeDataChanged /ab at 1:9
      arm Read: 4s
    "#);
}

/// A watch is registered when the reply arrives, even if the reply is NoNode.
#[test]
fn the_reply_registers_it() {
    for (result, registered) in [
        (Ok(Response::Watches), true),
        (Err(Error::NoNode), true),
        (Err(Error::NoAuth), false),
        (Err(Error::BadArguments), false),
    ] {
        for mode in BOTH {
            let mut scene = Scene::connected();
            scene.watch(0, 1, Request::AddWatch { path: "/a".into(), mode });
            scene.transcript.clear();
            scene.notify(EventType::NodeCreated, "/a", 4);
            assert!(!scene.transcript.contains("program:"), "too early: {}", scene.transcript);
            scene.reply(1, 4, result.clone());
            scene.notify(EventType::NodeDeleted, "/a", 5);
            let told = scene.transcript.contains("program: watch 1 gets NodeDeleted");
            assert_eq!(told, registered, "{mode:?} after {result:?}: {}", scene.transcript);
        }
    }
}

/// One packet tells the next server of all watches, except abandoned ones.
#[test]
fn a_moved_session_takes_them_along() {
    let mut scene = Scene::connected();
    scene.add_watch(0, 1, "/p", AddWatchMode::Persistent);
    scene.add_watch(0, 2, "/r", AddWatchMode::PersistentRecursive);
    scene.add_watch(0, 3, "/dropped", AddWatchMode::PersistentRecursive);
    scene.watch(0, 4, get_children("/c"));
    scene.reply(4, 6, children());
    scene.machine.abandon(CallId(3));
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    scene.notify(EventType::NodeCreated, "/r/new", 7);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      monitors: Rearming since 1:6
      send SetWatches since 1:6: data [], exist [], child ["/c"], persistent ["/p"], recursive ["/r"]
    read: NodeCreated /r/new at 1:7
      monitors: Notified NodeCreated /r/new at 1:7
      program: watch 2 gets NodeCreated /r/new at 1:7
      arm Read: 4s
    "#);
}

/// A persistent watch ends once, with the session.
#[test]
fn it_ends_with_the_session() {
    let mut scene = Scene::connected();
    scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired at server 2
      program: Expired
      program: call 1 gets SessionExpired for its watch
    "#);
}

/// The removal is reported to the watches before the program's call succeeds. Watches of other types remain.
#[test]
fn removed_watches_are_told() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.watch(0, 2, get_children("/a"));
    scene.reply(2, 4, children());
    scene.add_watch(0, 3, "/a", AddWatchMode::Persistent);
    scene.transcript.clear();
    scene.remove(0, "/a", WatcherType::Children, false);
    scene.reply(4, 4, Ok(Response::Watches));
    scene.remove(0, "/a", WatcherType::Any, false);
    scene.reply(5, 4, Ok(Response::Watches));
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: removeWatches /a (Children)
      send #4 removeWatches /a (Children)
      arm Ping: 2s
    read: reply #4 at 1:4: Watches
      monitors: Replied #4 removeWatches /a (Children)
      program: call 2 gets ChildWatchRemoved /a at 0:0
      program: call 0 gets Watches
      arm Read: 4s
    call 0: removeWatches /a (Any)
      send #5 removeWatches /a (Any)
      arm Ping: 2s
    read: reply #5 at 1:4: Watches
      monitors: Replied #5 removeWatches /a (Any)
      program: call 1 gets DataWatchRemoved /a at 0:0
      program: call 3 gets PersistentWatchRemoved /a at 0:0
      program: call 0 gets Watches
      arm Read: 4s
    "#);
}

/// Three things together decide the program's answer and whether the watch remains: the server's answer, whether the
/// client has the watch, and whether the removal is local.
#[test]
fn what_a_removal_comes_to() {
    let lost = None;
    let ok = Some(Ok(Response::Watches));
    let none = Some(Err(Error::NoWatcher));
    // Whether the client has it, local, the server's answer: the program's answer, whether it remains.
    let cases = [
        (true, false, &ok, "Watches", false),
        (true, false, &none, "NoWatcher", true),
        (true, false, &lost, "ConnectionLoss", true),
        (true, true, &ok, "Watches", false),
        (true, true, &none, "Watches", false),
        (true, true, &lost, "Watches", false),
        (false, false, &ok, "NoWatcher", false),
        (false, true, &none, "NoWatcher", false),
        (false, true, &lost, "NoWatcher", false),
    ];
    for (has_it, local, answer, expected, stays) in cases {
        let mut scene = Scene::connected();
        if has_it {
            scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
        }
        let xid = scene.machine.next_xid().0;
        scene.remove(0, "/a", WatcherType::Persistent, local);
        scene.transcript.clear();
        match answer {
            Some(result) => scene.reply(xid, 4, result.clone()),
            None => scene.lost(),
        }
        let case = format!("{has_it} {local} {answer:?}: {}", scene.transcript);
        assert!(scene.transcript.contains(&format!("call 0 gets {expected}\n")), "{case}");
        let removed = "call 1 gets PersistentWatchRemoved /a at 0:0";
        assert_eq!(scene.transcript.contains(removed), has_it && !stays, "{case}");
        if answer.is_some() {
            scene.transcript.clear();
            scene.notify(EventType::NodeCreated, "/a", 5);
            assert_eq!(scene.transcript.contains("watch 1 gets NodeCreated"), stays, "{case}");
        }
    }
}

/// While the session is being closed, no request is sent, but the client's own watches still exist.
#[test]
fn a_local_removal_behind_a_close() {
    let mut scene = Scene::connected();
    scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
    scene.call(2, Operation::Close);
    scene.transcript.clear();
    scene.remove(3, "/a", WatcherType::Any, false);
    scene.remove(3, "/a", WatcherType::Any, true);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 3: removeWatches /a (Any)
      program: call 3 gets ConnectionLoss
    call 3: removeWatches /a (Any), here in any case
      program: call 1 gets PersistentWatchRemoved /a at 0:0
      program: call 3 gets Watches
    "#);
}
