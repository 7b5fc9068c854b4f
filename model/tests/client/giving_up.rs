//! Clients that give their session up by themselves (ZOOKEEPER-4508; rule 2.8.3).

use crate::scene::*;

fn patient_no_more() -> Scene {
    Scene::connected_of(|config| config.expires_locally = true)
}

/// Every packet that is read postpones the client's own expiry. Silence ends the session and not only the connection.
/// No server has expired the session, and the monitors see that.
#[test]
fn silence_ends_the_session() {
    let mut scene = patient_no_more();
    scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
    scene.fires(ClientTimer::Read);
    scene.fires(ClientTimer::Reconnect);
    scene.request(2, sync());
    scene.fires(ClientTimer::Expiry);
    scene.request(0, sync());
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: addWatch /a (Persistent)
      send #1 addWatch /a (Persistent)
      arm Ping: 2s
    read: reply #1 at 1:4: Watches
      monitors: Replied #1 addWatch /a (Persistent)
      program: call 0 gets Watches
      arm Read: 4s
      arm Expiry: 8s
    timer Read fires
      close
      disarm Ping
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 1:4
      arm Connect: 2s
    call 2: sync /
    timer Expiry fires
      close
      disarm Connect
      monitors: session 0xa Expired
      program: Expired
      program: call 2 gets SessionExpired
      program: call 1 gets SessionExpired for its watch
    call 0: sync /
      program: call 0 gets SessionExpired
    "#);
}

/// Between two attempts there is no connection to close. A waiting `Connect` begins a new session.
#[test]
fn silence_ends_the_session_between_two_attempts() {
    let mut scene = patient_no_more();
    scene.lost();
    scene.call(0, Operation::Connect);
    scene.transcript.clear();
    scene.fires(ClientTimer::Expiry);
    insta::assert_snapshot!(scene.transcript, @r#"
    timer Expiry fires
      disarm Reconnect
      monitors: session 0xa Expired
      program: Expired
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    "#);
}

/// An expiry by the server, a close and a killed process leave no timer armed. A session that no server has begun is
/// never given up.
#[test]
fn nothing_is_given_up_twice() {
    let armed = |scene: &Scene| scene.machine.is_armed(ClientTimer::Expiry);
    let mut scene = patient_no_more();
    assert!(armed(&scene));
    scene.lost();
    assert!(armed(&scene));
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    assert!(!armed(&scene) && scene.transcript.contains("disarm Expiry"));

    let mut scene = patient_no_more();
    scene.call(0, Operation::Close);
    scene.reply(1, 4, Ok(Response::Closed));
    assert!(!armed(&scene) && scene.transcript.contains("disarm Expiry"));

    let mut scene = patient_no_more();
    scene.act("kill", |machine, out| machine.kill(out));
    assert!(!armed(&scene) && scene.transcript.contains("disarm Expiry"));

    let mut scene = Scene::of(|config| config.expires_locally = true);
    scene.start();
    assert!(!armed(&scene));
    scene.transcript.clear();
    scene.fires(ClientTimer::Expiry);
    assert_eq!(scene.transcript, "timer Expiry fires\n");
}

/// Clients up to 3.9.2 wait without limit.
#[test]
fn by_default_nobody_gives_up() {
    let mut scene = Scene::connected();
    scene.lost();
    assert!(!scene.transcript.contains("Expiry"));
    scene.transcript.clear();
    scene.fires(ClientTimer::Expiry);
    assert_eq!(scene.transcript, "timer Expiry fires\n");
}
