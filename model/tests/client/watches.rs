//! Watches at one server, and across servers.

use crate::scene::*;

/// A moved session keeps its watches: the new server first receives the list of watches and the last zxid. The
/// notification did not change the last zxid (1:7), so its event is reported again if the path is watched again.
#[test]
fn a_moved_session_sets_its_watches_again() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/data"));
    scene.reply(1, 4, data());
    scene.watch(0, 2, exists("/absent"));
    scene.reply(2, 5, Err(Error::NoNode));
    scene.watch(0, 3, exists("/present"));
    scene.reply(3, 6, Ok(Response::Exists(Stat::default())));
    scene.watch(0, 4, get_children("/parent"));
    scene.reply(4, 7, children());
    scene.notify(EventType::NodeDataChanged, "/present", 9);
    scene.lost();
    scene.request(0, sync());
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      monitors: Rearming since 1:7
      send SetWatches since 1:7: data ["/data"], exist ["/absent"], child ["/parent"]
      send #5 sync /
    "#);
}

/// A request that failed leaves no watch: none is set again.
#[test]
fn failed_requests_register_no_watch() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.watch(2, 3, get_children("/a"));
    scene.watch(4, 5, exists("/b"));
    scene.reply(1, 4, Err(Error::NoNode));
    scene.reply(2, 4, Err(Error::NoNode));
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}

/// Several calls watch one path: the server sends one notification, and each call gets it, in the order in which the
/// watches were registered. A change of the children does not fire data watches.
#[test]
fn one_notification_for_all_who_watch() {
    let mut scene = Scene::connected();
    for (at, request) in [get_data("/a"), get_children("/a"), exists("/a")].into_iter().enumerate()
    {
        scene.watch(0, 9 - at as u32, request);
    }
    scene.reply(1, 4, data());
    scene.reply(2, 4, children());
    scene.reply(3, 4, Ok(Response::Exists(Stat::default())));
    scene.transcript.clear();
    scene.notify(EventType::NodeChildrenChanged, "/a", 5);
    scene.notify(EventType::NodeDeleted, "/a", 6);
    scene.notify(EventType::NodeCreated, "/a", 7);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeChildrenChanged /a at 1:5
      monitors: Notified NodeChildrenChanged /a at 1:5
      program: call 8 gets NodeChildrenChanged /a at 1:5
      arm Read: 4s
    read: NodeDeleted /a at 1:6
      monitors: Notified NodeDeleted /a at 1:6
      program: call 9 gets NodeDeleted /a at 1:6
      program: call 7 gets NodeDeleted /a at 1:6
      arm Read: 4s
    read: NodeCreated /a at 1:7
      monitors: Notified NodeCreated /a at 1:7
      arm Read: 4s
    "#);
}

/// A watch that was abandoned while its request was in flight is never registered, and a watch that was abandoned
/// later is not set again.
#[test]
fn abandoned_watches_are_not_set_again() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.machine.abandon(CallId(1));
    scene.watch(0, 1, get_data("/b"));
    scene.machine.abandon(CallId(1));
    scene.reply(2, 4, data());
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}
