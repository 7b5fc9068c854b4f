//! Requests and their replies.

use crate::scene::*;

/// A delete was sent and its reply was lost: it may have been applied or not, it is not repeated, and the client
/// requests the same session from the next server. The program learns of the failures first, and then of the
/// disconnection.
#[test]
fn a_lost_reply() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(1, 5, deleted());
    scene.request(0, delete("/b"));
    assert_eq!(scene.machine.pending().map(|(xid, _)| xid.0).collect::<Vec<_>>(), [2, 3]);
    scene.moves();
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #1 delete /a
      arm Ping: 2s
    call 1: sync /
      send #2 sync /
      arm Ping: 2s
    read: reply #1 at 1:5: Deleted
      monitors: Replied #1 delete /a
      program: call 0 gets Deleted
      arm Read: 4s
    call 0: delete /b
      send #3 delete /b
      arm Ping: 2s
    the connection ends
      disarm Read
      disarm Ping
      monitors: Lost #2 sync /
      monitors: Lost #3 delete /b
      program: call 1 gets ConnectionLoss
      program: call 0 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 1:5
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}

/// A reply that does not belong to the oldest request shows that one side has lost count. The client closes the
/// connection.
#[test]
fn replies_out_of_order_end_the_connection() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(2, 5, Ok(Response::Synced));
    assert_eq!(scene.machine.last_zxid(), Zxid::ZERO);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #1 delete /a
      arm Ping: 2s
    call 1: sync /
      send #2 sync /
      arm Ping: 2s
    read: reply #2 at 1:5: Synced
      monitors: Mismatched, awaited #1
      close
      disarm Read
      disarm Ping
      monitors: Lost #1 delete /a
      monitors: Lost #2 sync /
      program: call 0 gets ConnectionLoss
      program: call 1 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    "#);
}

/// A scope belongs to one session: in another session, or before any session, its requests fail immediately.
#[test]
fn a_scoped_request_on_another_session() {
    let scoped = |session: u64| Operation::Request {
        request: Arc::new(sync()),
        watch: None,
        scope: Some(SessionId(session)),
    };
    let mut scene = Scene::new();
    scene.start();
    scene.call(0, scoped(0xa));
    scene.accept(SESSION);
    scene.transcript.clear();
    scene.call(0, scoped(0xb));
    scene.call(0, scoped(0xa));
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: sync /, on session 0xb only
      program: call 0 gets SessionExpired
    call 0: sync /, on session 0xa only
      send #1 sync /
      arm Ping: 2s
    "#);
}

/// An abandoned call gets no outcome, but its request is sent, and its slot serves the next call. Of two watches of
/// /b, one remains and gets the event.
#[test]
fn abandoned_calls_hear_nothing() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.machine.abandon(CallId(0));
    scene.watch(0, 1, get_data("/b"));
    scene.watch(2, 3, get_data("/b"));
    scene.reply(1, 4, deleted());
    scene.reply(2, 4, data());
    scene.reply(3, 4, data());
    scene.machine.abandon(CallId(1));
    scene.transcript.clear();
    scene.notify(EventType::NodeDataChanged, "/b", 5);
    scene.request(1, delete("/c"));
    scene.machine.abandon(CallId(1));
    scene.reply(4, 6, deleted());
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeDataChanged /b at 1:5
      monitors: Notified NodeDataChanged /b at 1:5
      program: call 3 gets NodeDataChanged /b at 1:5
      arm Read: 4s
    call 1: delete /c
      send #4 delete /c
      arm Ping: 2s
    read: reply #4 at 1:6: Deleted
      monitors: Replied #4 delete /c
      arm Read: 4s
    "#);
}

/// The last zxid is that of the last reply with a zxid; a notification's zxid does not count.
#[test]
fn the_last_zxid_is_a_replys() {
    let mut scene = Scene::connected();
    scene.request(0, sync());
    scene.request(1, sync());
    scene.reply(1, 5, Ok(Response::Synced));
    scene.read(ServerPacket::Reply { xid: Xid(2), zxid: Zxid::ZERO, result: Ok(Response::Synced) });
    scene.notify(EventType::NodeCreated, "/a", 9);
    assert_eq!(scene.machine.last_zxid(), zxid(5));
}
