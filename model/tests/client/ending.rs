//! The end of a session, by expiry and by closing, and what follows.

use crate::scene::*;

/// Expired is the last state of a session. The state comes first, then everything that depends on the session fails.
/// The program begins a new session itself, which has nothing of the old one: no watch, no zxid, and request numbers
/// from 1.
#[test]
fn expiry_and_a_new_session() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.lost();
    scene.request(2, sync());
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    scene.request(0, sync());
    scene.call(3, Operation::Connect);
    scene.request(0, sync());
    scene.accept(SessionId(0xb));
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired at server 2
      program: Expired
      program: call 2 gets SessionExpired
      program: call 1 gets SessionExpired for its watch
    call 0: sync /
      program: call 0 gets SessionExpired
    call 3: Connect
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: sync /
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 3 gets session 0xb
      send #1 sync /
    "#);
}

/// A program that waits to be connected when its session expires gets a new session.
#[test]
fn connect_outlasts_the_session() {
    let mut scene = Scene::connected();
    scene.lost();
    scene.call(0, Operation::Connect);
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    scene.accept(SessionId(0xb));
    scene.call(1, Operation::Connect);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired at server 2
      program: Expired
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 0 gets session 0xb
    call 1: Connect
      program: call 1 gets session 0xb
    "#);
}

/// Close follows earlier requests and waits for its reply. Requests made meanwhile fail with ConnectionLoss, later
/// ones with SessionExpired; watches end with the session.
#[test]
fn close_waits_for_its_reply() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.transcript.clear();
    scene.request(0, delete("/a"));
    scene.call(2, Operation::Close);
    scene.request(3, sync());
    scene.reply(2, 5, deleted());
    scene.reply(3, 6, Ok(Response::Closed));
    scene.request(0, sync());
    scene.call(0, Operation::Close);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #2 delete /a
      arm Ping: 2s
    call 2: Close
      send #3 closeSession
      arm Ping: 2s
    call 3: sync /
      program: call 3 gets ConnectionLoss
    read: reply #2 at 1:5: Deleted
      monitors: Replied #2 delete /a
      program: call 0 gets Deleted
      arm Read: 4s
    read: reply #3 at 1:6: Closed
      monitors: Replied #3 closeSession
      close
      disarm Read
      disarm Ping
      monitors: session 0xa Closed
      program: Closed
      program: call 1 gets SessionExpired for its watch
      program: call 2 gets Closed
    call 0: sync /
      program: call 0 gets SessionExpired
    call 0: Close
      program: call 0 gets Closed
    "#);
}

/// The connection breaks before closeSession is answered: the client does not reconnect for it. The session counts as
/// closed at the client, and lives at the servers until it expires if the request was lost.
#[test]
fn close_without_a_reply() {
    let mut scene = Scene::connected();
    scene.call(0, Operation::Close);
    scene.call(1, Operation::Close);
    scene.lost();
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: Close
      send #1 closeSession
      arm Ping: 2s
    call 1: Close
    the connection ends
      disarm Read
      disarm Ping
      monitors: Lost #1 closeSession
      monitors: session 0xa Disconnected
      program: Disconnected
      monitors: session 0xa Closed
      program: Closed
      program: call 0 gets Closed
      program: call 1 gets Closed
    "#);
}

/// A session that is closed before it began is given up with the attempt, or begun only to be closed. A waiting
/// `Connect` is for the next session.
#[test]
fn close_while_connecting() {
    let mut scene = Scene::new();
    scene.start();
    scene.call(0, Operation::Close);
    scene.call(1, Operation::Connect);
    scene.lost();
    scene.call(0, Operation::Close);
    scene.accept(SESSION);
    scene.reply(1, 1, Ok(Response::Closed));
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: Close
    call 1: Connect
    the connection ends
      disarm Connect
      monitors: session no id Closed
      program: Closed
      program: call 0 gets Closed
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: Close
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
      send #1 closeSession
    read: reply #1 at 1:1: Closed
      monitors: Replied #1 closeSession
      close
      disarm Read
      disarm Ping
      monitors: session 0xa Closed
      program: Closed
      program: call 0 gets Closed
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    "#);
}

/// The expiry precedes the close: no session is left to close.
#[test]
fn close_of_an_expired_session() {
    let mut scene = Scene::connected();
    scene.lost();
    scene.call(0, Operation::Close);
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired at server 2
      program: Expired
      program: call 0 gets Closed
    "#);
}
