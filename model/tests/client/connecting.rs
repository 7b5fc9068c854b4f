//! Finding a server, staying with it, leaving it.

use crate::scene::*;

/// A connection attempt may take a third of the timeout, because there are three servers. Silence ends the connection
/// after two thirds; a ping is due after a third without a request.
#[test]
fn it_connects_asks_and_pings() {
    let mut scene = Scene::new();
    scene.start();
    scene.accept(SESSION);
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(1, 5, deleted());
    scene.reply(2, 5, Ok(Response::Synced));
    scene.fires(ClientTimer::Ping);
    scene.read(ServerPacket::Pong);
    assert_eq!(scene.machine.last_zxid(), zxid(5));
    assert_eq!(scene.machine.next_xid(), Xid(3));
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
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
    read: reply #2 at 1:5: Synced
      monitors: Replied #2 sync /
      program: call 1 gets Synced
      arm Read: 4s
    timer Ping fires
      send Ping
      arm Ping: 2s
    read: Pong
      arm Read: 4s
    "#);
}

/// A request that is made while there is no connection waits for the next attempt. If the attempt succeeds, the
/// request is sent; otherwise it fails, and the monitors report no loss, because nothing was sent.
#[test]
fn requests_queue_while_connecting() {
    let mut scene = Scene::new();
    scene.start();
    scene.request(0, delete("/a"));
    scene.call(1, Operation::Connect);
    scene.lost();
    scene.request(0, delete("/b"));
    scene.fires(ClientTimer::Reconnect);
    scene.request(2, sync());
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: delete /a
    call 1: Connect
    the connection ends
      disarm Connect
      program: call 0 gets ConnectionLoss
      arm Reconnect: 0ns and up to 1s
    call 0: delete /b
    timer Reconnect fires
      open a connection to server 2
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 2: sync /
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      program: call 1 gets session 0xa
      send #2 delete /b
      send #3 sync /
    "#);
}

/// Refused, silent, and refused again: the client goes round robin through the list, with a random delay from the
/// second attempt on, and reports nothing to a program that was never connected.
#[test]
fn refused_connections_go_round_the_list() {
    let mut scene = Scene::new();
    scene.start();
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.fires(ClientTimer::Connect);
    scene.fires(ClientTimer::Reconnect);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    the connection ends
      disarm Connect
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    timer Connect fires
      close
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 3
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    the connection ends
      disarm Connect
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    "#);
}

/// The client closes a connection on which it receives nothing.
#[test]
fn a_silent_server_is_left() {
    let mut scene = Scene::connected();
    scene.request(0, sync());
    scene.fires(ClientTimer::Read);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: sync /
      send #1 sync /
      arm Ping: 2s
    timer Read fires
      close
      disarm Ping
      monitors: Lost #1 sync /
      program: call 0 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    "#);
}

/// The *negotiated* timeout counts: two thirds of it, and a ping is due after ten seconds at the latest.
#[test]
fn timers_follow_the_negotiated_timeout() {
    let mut scene = Scene::new();
    scene.start();
    scene.transcript.clear();
    let timeout = Duration::from_secs(60);
    scene.read(ServerPacket::Connected { session: SESSION, timeout, read_only: false });
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 60s
      disarm Connect
      arm Read: 40s
      arm Ping: 10s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
    the connection ends
      disarm Read
      disarm Ping
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 0:0
      arm Connect: 20s
    "#);
}

/// A killed process sends nothing. Started again, it is as new.
#[test]
fn a_killed_process_is_silent() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.request(0, delete("/a"));
    scene.transcript.clear();
    scene.act("kill", |machine, out| machine.kill(out));
    assert_eq!(scene.machine, Scene::new().machine);
    scene.start();
    scene.act("kill", |machine, out| machine.kill(out));
    insta::assert_snapshot!(scene.transcript, @r#"
    kill
      close
      disarm Read
      disarm Ping
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    kill
      close
      disarm Connect
    "#);
}

/// A machine that is stuck must be able to say what it waits for.
#[test]
fn it_says_what_it_waits_for() {
    let mut scene = Scene::new();
    let mut said = vec![scene.machine.waits_for()];
    scene.start();
    said.push(scene.machine.waits_for());
    scene.lost();
    said.push(scene.machine.waits_for());
    scene.fires(ClientTimer::Reconnect);
    scene.accept(SESSION);
    said.push(scene.machine.waits_for());
    scene.watch(0, 1, get_data("/a"));
    said.push(scene.machine.waits_for());
    scene.reply(1, 4, data());
    said.push(scene.machine.waits_for());
    scene.watch(0, 2, get_children("/b"));
    scene.reply(2, 4, children());
    said.push(scene.machine.waits_for());
    scene.call(0, Operation::Close);
    scene.reply(3, 5, Ok(Response::Closed));
    said.push(scene.machine.waits_for());
    insta::assert_snapshot!(said.join("\n"), @r#"
    nothing: it is not running
    server 1 to accept its session
    its next attempt to connect
    nothing: it is connected to server 2
    server 2 to answer getData /a (watch) (xid 1)
    the watch on /a to fire
    one of the watches on /a, /b to fire
    nothing: its session is closed
    "#);
}
